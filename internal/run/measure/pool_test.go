package measure

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/store"
)

// keptRun writes a run whose window begins at 2 s: a request of the warm-up
// that ends in the window, and one that is measured, due as the window begins,
// with a first token after ttft and an end after the window.
func keptRun(t *testing.T, length, ttft time.Duration, point result.Point) string {
	t.Helper()
	const start = 2 * time.Second
	path := filepath.Join(t.TempDir(), "run")
	dir := must.Get((*store.Hold)(nil).Create(path, false))(t)
	log := must.Get(dir.StartLog(record.Header{Schema: record.Schema}))(t)
	end := start + length
	for i, r := range []record.Record{
		{Phase: record.Warmup, Due: int64(start - time.Second), First: int64(start), End: int64(start + time.Second)},
		{Phase: record.Measure, Due: int64(start), First: int64(start + ttft), End: int64(end + time.Second)},
	} {
		r.ID, r.Try, r.Outcome, r.Streamed, r.Class = i, 1, llm.OK, true, "chat"
		r.Sent, r.Answer, r.Last = r.Due, r.First, r.End
		r.PromptTokens, r.OutputTokens, r.AskedOutput = 10, 1, 1
		log.Add(&r)
	}
	must.Do(t, log.Close())
	point.Window = metric.Window{StartS: start.Seconds(), EndS: end.Seconds()}
	must.Do(t, dir.WriteResult(&result.Result{Schema: result.Schema, ID: path, Points: []result.Point{point}}))
	return path
}

// ownFigures is a point as a run wrote it: every rate is a multiple of unit.
func ownFigures(unit float64, limit int, standing slo.Standing) result.Point {
	p := result.Point{Load: result.Load{Mode: "open", Rate: new(5.0), Profile: "burst"}}
	p.Rates = metric.Rates{Asked: new(5.0), Offered: unit, Sent: 2 * unit, Completed: 3 * unit, Ended: 3.5 * unit}
	p.Throughput = metric.Throughput{Requests: 3 * unit, Output: 40 * unit, Prompt: 50 * unit, CachedPrompt: 6 * unit, Total: 90 * unit, Inputs: unit}
	p.Concurrency = metric.Concurrency{Mean: 7 * unit, Max: limit, Little: 8 * unit}
	p.Classes = []metric.Group{{Name: "chat", OutputPS: 40 * unit}}
	p.Objectives = []slo.Verdict{{Objective: "throughput:min>20", Standing: standing, Value: new(40 * unit)}}
	p.KV = &result.KV{PeakMB: 100 * unit}
	return p
}

// TestPoolKeepsTheRates: what moved per second includes requests of the
// warm-up, so that it is the runs' own; of the requests, those measured.
func TestPoolKeepsTheRates(t *testing.T) {
	t.Parallel()
	c := must.Get(config.Resolve(config.Input{Flags: map[string][]string{"rate": {"5"}, "slo": {"throughput:min>20"}, "url": {"http://127.0.0.1:1"}}}))(t)
	// The second window is three times as long, so unit 1 and 5 make 4.
	got := must.Get(Pool(c, []string{
		keptRun(t, 4*time.Second, 100*time.Millisecond, ownFigures(1, 9, slo.Met)),
		keptRun(t, 12*time.Second, 300*time.Millisecond, ownFigures(5, 3, slo.Missed)),
	}))(t)
	want := ownFigures(4, 9, slo.Undecided)
	expect.NoDiff(t, cmp.Diff(want.Load, got.Load), "load (-want +got)")
	for name, pair := range map[string][2]any{
		"rates":       {want.Rates, got.Rates},
		"throughput":  {want.Throughput, got.Throughput},
		"concurrency": {want.Concurrency, got.Concurrency},
		"class":       {want.Classes[0].OutputPS, got.Classes[0].OutputPS},
		"objective":   {fmt.Sprint(want.Objectives[0].Standing, *want.Objectives[0].Value), fmt.Sprint(got.Objectives[0].Standing, *got.Objectives[0].Value)},
		"window":      {metric.Window{EndS: 16}, got.Window},
		"cache":       {&result.KV{PeakMB: 500}, got.KV},
	} {
		expect.NoDiff(t, cmp.Diff(pair[0], pair[1]), "%s (-want +got)", name)
	}
	if d := got.Latency.TTFTDue; got.Requests.Due != 2 || d == nil || d.N != 2 || d.Mean != 200 || d.Max != 300 {
		t.Errorf("%d due, ttft %+v; want the two that were measured, of 100 and 300 ms", got.Requests.Due, d)
	}
}
