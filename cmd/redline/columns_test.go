package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"redline/internal/effort"
	"redline/internal/judge/result"
	"redline/internal/run/measure"
	"redline/internal/stats"
)

// oddServer answers with several tokens an event, hidden reasoning, all of a reply
// at once, or a failure, as its seed has it.
func oddServer(seed uint64) http.HandlerFunc {
	habits := rand.New(rand.NewPCG(seed, 31))
	each, hidden, buffered, continuous := 1+habits.IntN(2)*9, habits.IntN(2)*300, habits.IntN(4) == 0, habits.IntN(2) == 0
	var asked atomic.Uint64
	return func(w http.ResponseWriter, q *http.Request) {
		_, err := io.Copy(io.Discard, q.Body)
		if err != nil || !strings.HasSuffix(q.URL.Path, "/chat/completions") {
			http.NotFound(w, q)
			return
		}
		r := rand.New(rand.NewPCG(seed, asked.Add(1)))
		time.Sleep(time.Duration(20+r.IntN(200)) * time.Millisecond)
		if asked.Load() > 10 && r.IntN(10) == 0 {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		events := 3 + r.IntN(12)
		usage := func(n int) string {
			return fmt.Sprintf(`"usage":{"prompt_tokens":20,"completion_tokens":%d,"completion_tokens_details":{"reasoning_tokens":%d}}`, n+hidden, hidden)
		}
		for i := range events {
			fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":%q}}]`, strings.Repeat("word ", each))
			if continuous {
				fmt.Fprintf(w, ",%s", usage((i+1)*each))
			}
			fmt.Fprint(w, "}\n\n")
			if !buffered {
				w.(http.Flusher).Flush()
				time.Sleep(time.Duration(5+r.IntN(50)) * time.Millisecond)
			}
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],%s}\n\ndata: [DONE]\n\n", usage(events*each))
	}
}

// Whoever takes percentiles of a column of the exported requests finds those of
// result.json, whatever a server does.
func TestColumnsAreTheFiguresOfTheResult(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for seed := range uint64(effort.Of(12, 200)) {
		dir := filepath.Join(t.TempDir(), "run")
		virtually(t, func(w *world) {
			load := []string{"--rate", "30"}
			if seed%3 == 0 {
				load = []string{"--concurrency", "4"}
			}
			if seed%3 == 1 {
				load = append(load, "--concurrency", "5")
			}
			args := append([]string{"run", "--url", w.serve(oddServer(seed)), "--model", "m", "--requests", "60", "--workload", "in=lognormal(60,0.5) out=20", "--quiet", "--out", dir}, load...)
			if code, _, stderr := w.redline(args...); code == exitError || code == exitUsage {
				w.Fatalf("seed %d: exit %d: %s", seed, code, stderr)
			}
			time.Sleep(time.Minute) // what was cut off ends
		})
		res, err := measure.Rebuild(dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range columnsOf(t, dir) {
			found[name] += checkColumn(t, fmt.Sprintf("seed %d: %s", seed, name), &res.Points[0], name, values)
		}
	}
	for _, name := range []string{"ttft_ms", "ttft_due_ms", "tpot_ms", "stall_ms", "e2e_ms", "e2e_due_ms", "decode_ms", "lag_ms", "slot_wait_ms"} {
		if found[name] == 0 {
			t.Errorf("no server had %s", name)
		}
	}
}

// columnsOf are the times of the exported requests by column, the same in CSV and
// in lines of JSON.
func columnsOf(t *testing.T, dir string) map[string][]float64 {
	t.Helper()
	export := func(format string) string {
		code, stdout, stderr := redline(t, nil, "export", "--format", format, dir)
		if code != exitOK {
			t.Fatalf("%s: exit %d: %s", format, code, stderr)
		}
		return stdout
	}
	rows, err := csv.NewReader(strings.NewReader(export("csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns, lines := map[string][]float64{}, strings.Split(export("jsonl"), "\n")
	for i, row := range rows[1:] {
		var object map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &object); err != nil {
			t.Fatal(err)
		}
		for j, name := range rows[0] {
			if value, err := strconv.ParseFloat(row[j], 64); err == nil && strings.HasSuffix(name, "_ms") {
				columns[name] = append(columns[name], value)
				if object[name] != value {
					t.Errorf("%s: %v in CSV, %v in JSON", name, value, object[name])
				}
			}
		}
	}
	return columns
}

// checkColumn compares a column with the distribution of its name, and gives 1
// where there is one.
func checkColumn(t *testing.T, what string, p *result.Point, name string, values []float64) int {
	t.Helper()
	d := p.Latency.Of(strings.TrimSuffix(name, "_ms"))
	if d == nil {
		if !strings.HasPrefix(name, "itl_") {
			t.Errorf("%s: %d values, and none in the result", what, len(values))
		}
		return 0
	}
	slices.Sort(values)
	same := func(stat string, got, want float64) {
		if math.Abs(got-want) > 1e-3+1e-4*want {
			t.Errorf("%s: %s is %v, in the result %v", what, stat, got, want)
		}
	}
	same("n", float64(len(values)), float64(d.N))
	same("mean", stats.Mean(values), d.Mean)
	same("max", slices.Max(values), d.Max)
	for _, key := range slices.Sorted(maps.Keys(d.P)) {
		percent, err := strconv.ParseFloat(key[1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		if percent > 100 {
			percent /= 10
		}
		same(key, stats.Quantile(values, percent/100), d.P[key])
	}
	return 1
}
