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

	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/run/measure"
	"redline/internal/stats"
	"redline/internal/store"
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
		res := must.Get(measure.Rebuild(dir))(t)
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
	rows := must.Get(csv.NewReader(strings.NewReader(export("csv"))).ReadAll())(t)
	columns, lines := map[string][]float64{}, strings.Split(export("jsonl"), "\n")
	for i, row := range rows[1:] {
		var object map[string]any
		must.Do(t, json.Unmarshal([]byte(lines[i]), &object))
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
		percent := must.Get(strconv.ParseFloat(key[1:], 64))(t)
		if percent > 100 {
			percent /= 10
		}
		same(key, stats.Quantile(values, percent/100), d.P[key])
	}
	return 1
}

// The tables of an experiment have the requests of all its stages, with the load of
// each; Parquet has the rows of the lines of JSON (internal/show/export).
func TestTablesOfASweepHaveAllStages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, column string
		loads        []string
	}{
		{"sweep --rates 10,20,40", "rate", []string{"10", "20", "40"}},
		{"sweep --concurrencies 1,3", "concurrency", []string{"1", "3"}},
		{"run --rate 10 --repeat 2", "rate", []string{"10", "10"}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		virtually(t, func(w *world) {
			args := append(strings.Fields(tt.args), "--duration", "2s", "--warmup", "1s", "--workload", "fixed(50,5)", "--quiet", "--out", out)
			if code, _, stderr := w.redline(args...); code != exitOK {
				w.Fatalf("%v: exit %d: %s", args, code, stderr)
			}
		})
		stages, err := filepath.Glob(filepath.Join(out, "stages", "*"))
		if err != nil || len(stages) != len(tt.loads) {
			t.Fatalf("%s: stages %v (%v), want one for each of %v", tt.args, stages, err, tt.loads)
		}
		want := map[string]int{}
		for i, path := range stages {
			for r, err := range (&store.Dir{Path: path}).Records() {
				must.Do(t, err)
				if r.Phase == record.Measure {
					want[filepath.Base(path)+" at "+tt.loads[i]]++
				}
			}
		}
		inCSV, inJSON := map[string]int{}, map[string]int{}
		code, table, stderr := redline(t, nil, "export", "--format", "csv", out)
		rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if code != exitOK || err != nil || len(rows) == 0 {
			t.Fatalf("%s: exit %d: %s %v", tt.args, code, stderr, err)
		}
		stage, load := slices.Index(rows[0], "stage"), slices.Index(rows[0], tt.column)
		for _, row := range rows[1:] {
			inCSV[row[stage]+" at "+row[load]]++
		}
		_, lines, _ := redline(t, nil, "export", "--format", "jsonl", out)
		for line := range strings.Lines(lines) {
			var row map[string]any
			must.Do(t, json.Unmarshal([]byte(line), &row))
			inJSON[fmt.Sprint(row["stage"], " at ", row[tt.column])]++
		}
		if !maps.Equal(inCSV, want) || !maps.Equal(inJSON, want) {
			t.Errorf("%s: rows in CSV %v, in JSON %v, want %v", tt.args, inCSV, inJSON, want)
		}
		if code, _, stderr := redline(t, nil, "export", "--format", "vllm", out); code != exitUsage || !strings.Contains(stderr, filepath.ToSlash(stages[0])) {
			t.Errorf("%s: as vLLM's file: exit %d, %q; want a usage error that names a stage", tt.args, code, stderr)
		}
	}
}
