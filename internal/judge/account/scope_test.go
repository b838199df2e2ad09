package account

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
)

// mixClasses makes every second request one of class rag, which is slow, and gives
// every third to tenant acme.
func mixClasses(i int, l *life) {
	l.class, l.tenant = "chat", "other"
	if i%2 == 1 {
		l.class = "rag"
		l.chunks[0].at += 10
		l.usage.PromptTokens, l.usage.CachedTokens = 1000, 600
	}
	if i%3 == 0 {
		l.tenant = "acme"
	}
}

func TestObjectivesOfAScopeJudgeItsRequestsOnly(t *testing.T) {
	t.Parallel()
	kv := func(tokens int) float64 { return float64(tokens) }
	for _, c := range []struct {
		objective string
		want      slo.Verdict
	}{
		{"ttft:p50<15ms", slo.Verdict{Standing: slo.Undecided, Value: ptr(15.0), Unit: "ms", Limit: 15, N: 1200, Violations: 600, NEff: ptr(1200.0), Note: "at the limit"}},
		{"class=chat ttft:p99<15ms", slo.Verdict{Scope: slo.Scope{Class: "chat"}, Standing: slo.Met, Value: ptr(10.0), Unit: "ms", Limit: 15, N: 600, NEff: ptr(600.0)}},
		{"class=rag ttft:p99<15ms", slo.Verdict{Scope: slo.Scope{Class: "rag"}, Standing: slo.Missed, Value: ptr(20.0), Unit: "ms", Limit: 15, N: 600, Violations: 600, NEff: ptr(600.0)}},
		{"class=rag itl:p99<25ms", slo.Verdict{Scope: slo.Scope{Class: "rag"}, Standing: slo.Met, Value: ptr(20.0), Unit: "ms", Limit: 25, N: 1200, NEff: ptr(1200.0)}},
		{"tenant=acme ttft:max<15ms", slo.Verdict{Scope: slo.Scope{Tenant: "acme"}, Standing: slo.Missed, Value: ptr(20.0), Unit: "ms", Limit: 15, N: 400, Violations: 200}},
		{"class=chat tenant=acme error:rate<5%", slo.Verdict{Scope: slo.Scope{Class: "chat", Tenant: "acme"}, Standing: slo.Met, Value: ptr(0.0), Unit: "fraction", Limit: 0.05, N: 200, NEff: ptr(200.0)}},
		{"class=chat ttft:mean<15ms", slo.Verdict{Scope: slo.Scope{Class: "chat"}, Standing: slo.Met, Value: ptr(10.0), Unit: "ms", Limit: 15, N: 600}},
		{"throughput:min>29", slo.Verdict{Standing: slo.Met, Value: ptr(30.0), Unit: "tokens/s", Limit: 29, N: 1200}},
		{"class=rag throughput:min>29", slo.Verdict{Scope: slo.Scope{Class: "rag"}, Standing: slo.Missed, Value: ptr(15.0), Unit: "tokens/s", Limit: 29, N: 600}},
		{"class=chat kv:max<500MB", slo.Verdict{Scope: slo.Scope{Class: "chat"}, Standing: slo.Met, Value: ptr(103.0), Unit: "MB", Limit: 500, N: 600}},
		{"class=rag kv:max<500MB", slo.Verdict{Scope: slo.Scope{Class: "rag"}, Standing: slo.Missed, Value: ptr(1003.0), Unit: "MB", Limit: 500, N: 600}},
		{"class=code ttft:p99<15ms", slo.Verdict{Scope: slo.Scope{Class: "code"}, Standing: slo.NotJudged, Unit: "ms", Limit: 15,
			Note: "not measured: no request of class=code was due in the window"}},
	} {
		o := window(1200, objectives(t, c.objective)...)
		o.KVMB = kv
		c.want.Objective = c.objective
		got := summarizeRecords(t, o, alike(1200, mixClasses)).Objectives
		expect.NoDiff(t, cmp.Diff([]slo.Verdict{c.want}, got, withoutBounds), "%s (-want +got)", c.objective)
	}
}

// Each objective is judged on each bucket of prompts alone, and says of all what it
// says without them.
func TestBucketsAreJudgedAlone(t *testing.T) {
	t.Parallel()
	o := window(1200, objectives(t, "ttft:p99<15ms", "class=rag ttft:p99<15ms", "throughput:min>29", "itl:p99<25ms", "kv:max<500MB", "tpot:mean<1ms")...)
	o.KVMB = func(tokens int) float64 { return float64(tokens) }
	s := summarizeRecords(t, o, alike(1200, func(i int, l *life) {
		mixClasses(i, l)
		l.askedPrompt = l.usage.PromptTokens
		if i%2 == 1 {
			l.askedPrompt, l.usage.PromptTokens = 2000, 2000
		}
	}))
	got := map[string][]slo.Standing{}
	for _, b := range s.Buckets {
		for _, v := range b.Objectives {
			got[b.Name] = append(got[b.Name], v.Standing)
			if v.N > b.Requests.Due && v.Objective != "itl:p99<25ms" {
				t.Errorf("%s: %s is judged by %d requests of %d", b.Name, v.Objective, v.N, b.Requests.Due)
			}
		}
	}
	want := map[string][]slo.Standing{"<1k": {slo.Met, slo.Met, slo.Met, slo.Missed}, "1k-4k": {slo.Missed, slo.Met, slo.Missed, slo.Missed}}
	expect.NoDiff(t, cmp.Diff(want, got), "ttft, itl, kv and tpot by bucket (-want +got)")
	var whole []slo.Standing
	for _, v := range s.Objectives {
		whole = append(whole, v.Standing)
	}
	expect.NoDiff(t, cmp.Diff([]slo.Standing{slo.Missed, slo.Missed, slo.Met, slo.Met, slo.Missed, slo.Missed}, whole), "all together (-want +got)")
}

// The phases of replies are 1 together, for all and for each bucket; of the time to
// the first token only the server's own times tell the parts.
func TestPhases(t *testing.T) {
	t.Parallel()
	s := summarizeRecords(t, window(1200), alike(1200, mixClasses))
	p := s.Phases
	if p == nil || len(s.Buckets) == 0 || s.Buckets[0].Phases == nil {
		t.Fatalf("phases %v, %d buckets", p, len(s.Buckets))
	}
	if sum := p.Client + p.FirstToken + p.Decode; math.Abs(sum-1) > 1e-6 {
		t.Errorf("%+v sum to %v", p, sum)
	}
	if first := s.Latency.TTFT.Mean / s.Latency.E2E.Mean; math.Abs(p.FirstToken-first) > 1e-6 || p.Dominant != metric.DecodePhase || p.Overhead != nil {
		t.Errorf("%+v, want a first token of %v, mostly decode and no overhead without the server's times", p, first)
	}
	split := func(queue, prefill float64) {
		l := *s.Ledger
		l.Parts = slices.Clone(l.Parts)
		l.Scrape(metric.PrefillPart, prefill)
		l.Scrape(metric.QueuePart, queue)
		p.Split(s.Latency.E2EDue, &l)
	}
	split(1, 2)
	if want := (s.Latency.TTFTDue.Mean - 2) / s.Latency.E2EDue.Mean; math.Abs(*p.Overhead-want) > 1e-6 || math.Abs(*p.Queue+*p.Prefill+*p.Network-p.FirstToken) > 1e-6 {
		t.Errorf("%+v with 2 ms of prefill: overhead %v, want %v", p, *p.Overhead, want)
	}
	split(1e6, 1e6)
	if *p.Queue < 0 || *p.Network < 0 || *p.Prefill > p.FirstToken {
		t.Errorf("a server that states more than the client saw: %+v", p)
	}
}

func TestGoodputCountsThePromisesAboutARequest(t *testing.T) {
	t.Parallel()
	o := window(1200, objectives(t, "class=chat ttft:p99<15ms", "class=rag ttft:p99<25ms", "class=rag tpot:p99<10ms", "good:fraction>0.4", "class=chat good:fraction>0.9")...)
	got := summarizeRecords(t, o, alike(1200, mixClasses))
	if diff := cmp.Diff(&metric.Goodput{Requests: 5, Fraction: 0.5}, got.Goodput); diff != "" { // rag's tpot is 15 ms
		t.Errorf("goodput (-want +got):\n%s", diff)
	}
	for i, want := range map[int]slo.Standing{3: slo.Met, 4: slo.Met} {
		if v := got.Objectives[i]; v.Standing != want {
			t.Errorf("%s stands %s, want %s", v.Objective, v.Standing, want)
		}
	}
	type row struct {
		Name                   string
		Good                   float64
		Prompt, Cached, Output int64
	}
	var rows []row
	for _, g := range got.Classes {
		rows = append(rows, row{g.Name, g.Goodput.Fraction, g.PromptTokens, g.CachedTokens, g.OutputTokens})
	}
	want := []row{{"chat", 1, 60_000, 0, 1800}, {"rag", 0, 600_000, 360_000, 1800}}
	expect.NoDiff(t, cmp.Diff(want, rows), "classes (-want +got)")
}

func TestFluidityKeepsToTheDeadlinesOfTheClass(t *testing.T) {
	t.Parallel()
	o := window(100, objectives(t, "class=chat ttft:p99<10ms", "class=chat tpot:p99<20ms", "class=rag ttft:p99<1ms", "class=rag tpot:p99<1ms")...)
	// chat is on time with every token, rag with none of its three.
	if got := summarizeRecords(t, o, alike(100, mixClasses)).Fluidity; got == nil || *got != 0.5 {
		t.Errorf("fluidity %v, want 0.5", got)
	}
}

// TestRepliesWithoutOutput: an embedding has a latency and a prompt, and none
// of the figures of a stream.
func TestRepliesWithoutOutput(t *testing.T) {
	t.Parallel()
	o := window(600, objectives(t, "e2e:p99<100ms", "ttft:p99<100ms")...)
	o.Inputs = func(r *record.Record) int { return r.PromptTokens / 25 }
	got := summarizeRecords(t, o, alike(600, func(_ int, l *life) {
		l.chunks, l.whole, l.askedOutput = nil, true, 0
		l.usage = llm.Usage{PromptTokens: 100}
	}))
	if got.Latency.E2E.P["p50"] != 50 || !got.Latency.E2EDue.IsFirm("p99") || got.Latency.TTFT != nil || got.Latency.ICL != nil {
		t.Errorf("latency %+v", got.Latency)
	}
	expect.NoDiff(t, cmp.Diff(metric.Throughput{Requests: 10, Prompt: 1000, Total: 1000, Inputs: 40}, got.Throughput), "throughput (-want +got)")
	if got.Tokens.OutputLengths != nil || got.Tokens.Output != 0 || got.Requests.Short != 0 {
		t.Errorf("tokens %+v, %d short", got.Tokens, got.Requests.Short)
	}
	if got.Objectives[0].Standing != slo.Met || got.Objectives[1].Standing != slo.NotJudged {
		t.Errorf("e2e stands %s, ttft %s", got.Objectives[0].Standing, got.Objectives[1].Standing)
	}
}

// TestARateThatVariesIsNoOverload: the level follows the plan, so nothing is
// said of the server by it.
func TestARateThatVariesIsNoOverload(t *testing.T) {
	t.Parallel()
	growing := func(i int, l *life) { // a second more for every tenth of the window
		l.chunks[2].at, l.end = l.chunks[2].at+int64(i)*10, l.end+int64(i)*10
	}
	o := window(600)
	if w := summarizeRecords(t, o, alike(600, growing)).Window; !w.Overloaded() {
		t.Fatal("a queue that grows by 60 requests is no overload")
	}
	o.Varies = true
	s := summarizeRecords(t, o, alike(600, growing))
	expect.NoDiff(t, cmp.Diff(metric.Window{StartS: 1, EndS: 61, Varies: true}, s.Window), "window (-want +got)")
	if !slices.Contains(s.Notes, metric.Note{Figure: "window.steady", Text: "not known: the rate changes by plan"}) {
		t.Errorf("notes %q", s.Notes)
	}
	o.AskedRate = 0 // a recording
	for _, n := range summarizeRecords(t, o, alike(600, growing)).Notes {
		if n.Figure == "rates.offered" || n.Figure == "latency.e2e_due_ms" {
			t.Errorf("note %q on a load that was recorded", n)
		}
	}
}
