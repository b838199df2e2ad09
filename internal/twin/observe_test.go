package twin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/store"
	"redline/internal/twin/replay"
)

// keep writes a run whose requests have a fixed shape: sent every second, 10
// tokens, the first after 50 ms and one every 20 ms from then on.
func keep(t *testing.T, path string, change func(*result.Result)) string {
	t.Helper()
	d := must.Get((*store.Hold)(nil).Create(path, false))(t)
	log := must.Get(d.StartLog(record.Header{Run: "r"}))(t)
	for i := range int64(12) {
		log.Add(recordAt(i))
	}
	must.Do(t, log.Close())
	rate := 1.0
	res := &result.Result{Schema: result.Schema, Points: []result.Point{{Load: result.Load{Mode: "open", Rate: &rate},
		Summary: metric.Summary{Rates: metric.Rates{Sent: 1}}}}}
	res.Model.Name, res.Engine.Name, res.Engine.URL = "m", "e", "http://a"
	change(res)
	must.Do(t, d.WriteResult(res))
	return path
}

func recordAt(i int64) *record.Record {
	const ms = 1_000_000
	sent := (i + 1) * 1000 * ms
	r := &record.Record{ID: int(i), Session: int(i / 2), Turn: int(i % 2), Phase: record.Measure, Due: sent, Streamed: true}
	if i < 2 {
		r.Phase = record.Warmup
	}
	r.Observe(llm.Event{Kind: llm.Sent, At: sent})
	for k := range int64(10) {
		r.Observe(llm.Event{Kind: llm.Output, At: sent + 50*ms + k*20*ms, Text: []byte("x")})
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{PromptTokens: 100, CachedTokens: 32, OutputTokens: 10}})
	r.Observe(llm.Event{Kind: llm.End, At: sent + 230*ms})
	r.Settle()
	return r
}

func same(*result.Result) {}

func TestObserve(t *testing.T) {
	t.Parallel()
	path := keep(t, filepath.Join(t.TempDir(), "run"), func(r *result.Result) {
		r.Model.MaxLen = 4096
		r.Points[0].Server = &telemetry.ServerUse{Config: map[string]string{"num_gpu_blocks": "500", "block_size": "32"}}
	})
	ev := must.Get(Observe(path))(t)
	if ev.Model != "m" || ev.Engine != "e" || ev.Server != "http://a" || ev.Blocks != 1000 || ev.MaxLen != 4096 || len(ev.Levels) != 1 {
		t.Fatalf("evidence %+v", ev)
	}
	l := ev.Levels[0]
	if l.Name != "1/s" || l.Cap != 0 || l.Closed || len(l.Requests) != 12 {
		t.Errorf("level %+v", l)
	}
	want := []replay.ObservedRequest{
		{Request: replay.Request{Prompt: 100, Cached: 32, Output: 10}, Session: 1, Turn: 0, At: 3e9, Counted: true, TTFT: 50e6, TPOT: 20e6, E2E: 230e6, First: 3050e6, Last: 3230e6},
		{Request: replay.Request{Prompt: 100, Cached: 32, Output: 10}, Session: 1, Turn: 1, At: 4e9, Counted: true, TTFT: 50e6, TPOT: 20e6, E2E: 230e6, First: 4050e6, Last: 4230e6},
	}
	expect.NoDiff(t, cmp.Diff(want, l.Requests[2:4]), "requests (-want +got)")
	if l.Requests[0].Counted {
		t.Error("a request of the warm-up counts")
	}
}

func TestObserveAnExperiment(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sweep")
	d := must.Get((*store.Hold)(nil).Create(path, false))(t)
	four := 4
	keep(t, filepath.Join(path, store.StagesDir, "01-a"), func(r *result.Result) {
		r.Points[0].Load = result.Load{Mode: "closed", Concurrency: &four}
		r.Points[0].Rates.Sent = 3
		r.Verdict.Valid = "no"
	})
	keep(t, filepath.Join(path, store.StagesDir, "02-b"), same)
	keep(t, filepath.Join(path, store.StagesDir, "03-c"), func(r *result.Result) { r.Points = nil })
	must.Do(t, d.WriteKind("sweep"))
	ev := must.Get(Observe(path))(t)
	var names []string
	for _, l := range ev.Levels {
		names = append(names, l.Name)
	}
	if diff := cmp.Diff([]string{"1/s", "4 in flight"}, names); diff != "" || !ev.Levels[1].Invalid || len(ev.Skipped) != 1 {
		t.Errorf("levels in the order of their load: %s; %+v, left out %q", diff, ev.Levels, ev.Skipped)
	}
}

func TestObserveRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := keep(t, filepath.Join(dir, "one"), same)
	other := keep(t, filepath.Join(dir, "other"), func(r *result.Result) { r.Engine.URL = "http://b" })
	pair := must.Get((*store.Hold)(nil).Create(filepath.Join(dir, "pair"), false))(t)
	must.Do(t, pair.WriteKind("compare"))
	broken := keep(t, filepath.Join(dir, "broken"), same)
	must.Write(t, filepath.Join(broken, "result.json"), "{")
	killed := keep(t, filepath.Join(dir, "killed"), same)
	must.Do(t, os.Remove(filepath.Join(killed, "result.json")))
	for want, paths := range map[string][]string{
		"no such file":                 {filepath.Join(dir, "none")},
		"a twin is of one server":      {one, other},
		"holds two servers":            {pair.Path},
		"not a result":                 {broken},
		"no answer with its token":     {killed},
		"holds no run (no records.jso": {dir},
	} {
		if _, err := Observe(paths...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q in it", paths, err, want)
		}
	}
}
