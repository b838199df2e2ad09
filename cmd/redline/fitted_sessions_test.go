package main

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// talkLog is a log of sessions of one to five turns with their histories, and what
// there is in it: turns a session, requests a second, and prompts by turn.
func talkLog(minutes int) (log string, turns, rate float64, prompts [5]float64) {
	const every = time.Second // a session
	start := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	type row struct {
		at     time.Duration
		fields string
	}
	var rows []row
	var counts [5]float64
	r := stats.Rand(1, "talk", 0)
	sessions := minutes * int(time.Minute/every)
	for s := range sessions {
		at, prompt := time.Duration(float64(every)*(float64(s)+r.Float64())), 0
		for turn := range 1 + r.IntN(5) {
			output := 5 + r.IntN(15)
			prompt += 30 + r.IntN(100)
			rows = append(rows, row{at, fmt.Sprintf(`"session_id": "s%d", "prompt_tokens": %d, "completion_tokens": %d, "user_agent": "curl"`, s, prompt, output)})
			counts[turn]++
			prompts[turn] += float64(prompt)
			prompt += output
			at += time.Duration((1 + 8*r.Float64()) * float64(time.Second))
		}
	}
	for turn := range prompts {
		prompts[turn] /= counts[turn]
	}
	var b strings.Builder
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	for _, row := range rows {
		fmt.Fprintf(&b, `{"timestamp": %q, %s}`+"\n", start.Add(row.at).Format(time.RFC3339Nano), row.fields)
	}
	return b.String(), float64(len(rows)) / float64(sessions), float64(len(rows)) / float64(minutes*60), prompts
}

// A log of conversations is sent as conversations: as many turns, as long prompts
// from turn to turn and as many requests a second as it has, with replies in the
// histories that the server's cache finds.
func TestALogOfConversationsIsSentAsConversations(t *testing.T) {
	log, turns, rate, prompts := talkLog(5)
	virtually(t, func(w *world) {
		path, fitted := must.File(w, "talks.jsonl", log), filepath.Join(w.TempDir(), "talks.yaml")
		code, stdout, stderr := w.redline("workload", "fit", path, "-o", fitted)
		if want := fmt.Sprintf(": 300 sessions of %.3g turns on average, ", turns); code != exitOK || !strings.Contains(stdout, want) || !strings.Contains(stderr, "not used, and in how many rows: user_agent ") {
			w.Fatalf("exit %d, want %q:\n%s%s", code, want, stdout, stderr)
		}
		if _, shown, _ := w.redline("workload", "show", fitted); !strings.Contains(shown, "s from turn to turn") {
			w.Errorf("the sessions are not shown:\n%s", shown)
		}
		if _, shown, _ := w.redline("run", "--workload", fitted, "--duration", "2s", "--warmup", "0s", "--dry-run"); !strings.Contains(shown, "later turns come late: only about ") {
			w.Errorf("nothing said of turns that come behind the window:\n%s", shown)
		}
		out := filepath.Join(w.TempDir(), "run")
		url := w.engine(sim.Spec{}, 0)
		if code, stdout, stderr = w.redline("run", "--url", url, "--workload", fitted, "--duration", "5m", "--out", out); code != exitOK {
			w.Fatalf("exit %d:\n%s%s", code, stdout, stderr)
		}
		var got, n [5]float64
		cached, requests := 0, 0.0
		last := map[int]int{}
		for _, rec := range measuredRecords(w.T, out) {
			requests++
			got[rec.Turn] += float64(rec.AskedPrompt)
			n[rec.Turn]++
			cached += rec.CachedTokens
			if before, ok := last[rec.Session]; ok && rec.Turn != before+1 {
				w.Errorf("session %d: turn %d follows turn %d", rec.Session, rec.Turn, before)
			}
			last[rec.Session] = rec.Turn
		}
		near := func(name string, got, want, share float64) {
			if math.Abs(got/want-1) > share {
				w.Errorf("%s: %.4g, the log has %.4g", name, got, want)
			}
		}
		near("turns a session", requests/n[0], turns, 0.1)
		near("requests/s", requests/300, rate, 0.1)
		for turn := range prompts {
			near(fmt.Sprintf("prompt of turn %d", turn), got[turn]/n[turn], prompts[turn], 0.1)
		}
		if cached == 0 {
			w.Error("no histories in the server's cache")
		}
	})
}
