package measure

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/store"
	"redline/internal/text"
	"redline/internal/twin/sim"

	"github.com/google/go-cmp/cmp"
)

func TestLookLengths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		longest, rare time.Duration
		want          []int
	}{
		{time.Minute, 0, nil},
		{70 * time.Second, 0, []int{60}},
		{90 * time.Second, 0, []int{60}},
		{2 * time.Minute, 0, []int{60, 85}},
		{5 * time.Minute, 0, []int{60, 90, 134, 201}},
		{30 * time.Minute, 0, []int{60, 140, 329, 769}},
		{5 * time.Minute, 10 * time.Second, []int{60, 90, 134, 201}},
		{5 * time.Minute, time.Minute, []int{180}},
		{15 * time.Minute, 5 * time.Minute, nil},
	} {
		longest, want := tt.longest, tt.want
		var got []int
		for _, d := range lookLengths(load.Spec{MaxDuration: longest, Rare: tt.rare}) {
			got = append(got, int(d/time.Second))
		}
		expect.NoDiff(t, cmp.Diff(want, got), "up to %v", longest)
		if len(got) >= account.Looks {
			t.Errorf("up to %v: %d looks beside the last, %d are paid for", longest, len(got), account.Looks)
		}
	}
}

func length(p result.Point) float64 { return math.Round(1000*(p.Window.EndS-p.Window.StartS)) / 1000 }

// A run without a length ends by itself once its objectives are decided, with
// the longest it may last, or at the first look.
func TestARunGoesOnUntilItIsDecided(t *testing.T) {
	for _, tt := range []struct {
		name, objective string
		standing        slo.Standing
		least, most     float64
	}{
		{"nothing comes in time", "ttft:p99<5ms", slo.Missed, 60, 60},
		{"healthy", "ttft:p99<500ms", slo.Met, 60, 120},
		{"at the limit", "", slo.Undecided, 150, 150},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if raced && tt.standing != slo.Missed {
				t.Skip("minutes of load")
			}
			if tt.objective == "" {
				tt.objective = "ttft:p90<" + atTheLimit(t)
			}
			flags := map[string][]string{"url": {"http://sim"}, "rate": {"5"}, "workload": {"fixed(512,32)"},
				"slo": {tt.objective}, "max-duration": {"150s"}, "telemetry-interval": {"10s"}}
			runVirtual(t, flags, "", func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
				p := res.Points[0]
				if v := p.Objectives[0]; v.Standing != tt.standing {
					t.Errorf("%+v, want it %s", v, tt.standing)
				}
				if got := length(p); got < tt.least || got > tt.most {
					t.Errorf("a window of %v s, want from %v to %v", got, tt.least, tt.most)
				}
				checkPhases(t, dir, p)
			})
		})
	}
}

// A run without a length ends at a look where an objective is missed and the queue
// grows, whatever else is open, and says so. One that keeps up goes on.
func TestAHopelessRunEnds(t *testing.T) {
	for _, tt := range []struct {
		name, rate string
		ends       bool
	}{{"overloaded", "8", true}, {"keeps up", "1", false}} {
		t.Run(tt.name, func(t *testing.T) {
			slow := sim.Spec{Model: "llama-3.1-8b", MaxNumSeqs: 1} // four requests a second
			flags := func(more map[string][]string) map[string][]string {
				all := map[string][]string{"url": {"http://sim"}, "rate": {tt.rate}, "workload": {"fixed(64,32)"}, "telemetry-interval": {"10s"}}
				maps.Copy(all, more)
				return all
			}
			var open string // the median of the same load, which nothing decides
			runVirtualOn(t, slow, flags(map[string][]string{"duration": {"120s"}}), "", func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
				open = fmt.Sprintf("tpot:p50<%.4fms", res.Points[0].Latency.TPOT.P["p50"])
			})
			runVirtualOn(t, slow, flags(map[string][]string{"slo": {"ttft:p99<2ms", open}, "max-duration": {"150s"}}), "", func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
				p := res.Points[0]
				if p.Objectives[0].Standing != slo.Missed || p.Objectives[1].Standing != slo.Undecided {
					t.Fatalf("%+v, want the first missed and the second open", p.Objectives)
				}
				want := "stopped after " + text.Seconds(length(p)) + ", as the queue grows; missed: ttft p99; left open: tpot p50"
				if got := slices.Contains(res.Verdict.Reasons, want); got != tt.ends || (length(p) < 150) != tt.ends {
					t.Errorf("a window of %v s, reasons %q", length(p), res.Verdict.Reasons)
				}
				checkPhases(t, dir, p)
			})
		})
	}
}

// checkPhases holds every record to the window as it came out.
func checkPhases(t *testing.T, dir *store.Dir, p result.Point) {
	t.Helper()
	for r, err := range dir.Records() {
		must.Do(t, err)
		due, phase := float64(r.Due)/1e9, record.Measure
		switch {
		case due < p.Window.StartS:
			phase = record.Warmup
		case due >= p.Window.EndS:
			phase = record.Cooldown
		}
		if r.Phase != phase {
			t.Fatalf("due at %v s in the window of %v s to %v s: %s", due, p.Window.StartS, p.Window.EndS, r.Phase)
		}
	}
}

// atTheLimit is the p90 of ttft over five minutes of the load that is judged.
func atTheLimit(t *testing.T) (limit string) {
	t.Helper()
	flags := map[string][]string{"url": {"http://sim"}, "rate": {"5"}, "workload": {"fixed(512,32)"},
		"duration": {"5m"}, "telemetry-interval": {"10s"}}
	runVirtual(t, flags, "", func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
		limit = fmt.Sprintf("%.3fms", res.Points[0].Latency.TTFTDue.P["p90"])
	})
	return limit
}

// Conversations on an idle server are no overload: the window begins when later
// turns come as often as they will.
func TestConversationsSettleBeforeTheWindow(t *testing.T) {
	if raced {
		t.Skip("minutes of load")
	}
	for _, seed := range effort.Of([]string{"1"}, []string{"1", "2", "3", "4"}) {
		flags := map[string][]string{"url": {"http://sim"}, "rate": {"2"}, "workload": {"multi_turn_chat"}, "duration": {"60s"},
			"seed": {seed}, "telemetry-interval": {"10s"}}
		runVirtual(t, flags, "", func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
			p := res.Points[0]
			if o := p.Window.Overload; o != nil && *o {
				t.Errorf("seed %s: overload, a growth of %v among %d requests", seed, *p.Window.Growth, p.Requests.Due)
			}
			// Five turns a session, at two sessions a second.
			if p.Rates.Offered < 8 {
				t.Errorf("seed %s: %v requests/s after %v s of warm-up, want about ten", seed, p.Rates.Offered, *p.Window.WarmupS)
			}
		})
	}
}

// The sample that looks judge stays small and even, whatever the rate: it is
// halved by the requests' numbers.
func TestLookoutKeepsASample(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		objective   string
		chunks      int
		least, most int
	}{
		{"ttft:p99<1s", 100, account.LookedAt / 3, account.LookedAt},
		{"itl:p99<1s", 1, account.LookedAt / 3, account.LookedAt},
		{"itl:p99<1s", 200, minLookedRequests / 3, minLookedRequests},
	} {
		c := must.Get(config.Resolve(config.Input{Command: "run", Flags: map[string][]string{"slo": {tt.objective}}, Seed: 1}))(t)
		l := newLookout(c)
		const n = 50_000
		for id := range n {
			r := &record.Record{ID: id, Due: int64(id + 1), Phase: record.Measure}
			for i := range tt.chunks {
				r.Observe(llm.Event{Kind: llm.Output, At: int64(id + i + 1)})
			}
			l.add(r)
		}
		if got := len(l.sampled); got < tt.least || got > tt.most {
			t.Errorf("%s, %d chunks: %d kept, want %d to %d", tt.objective, tt.chunks, got, tt.least, tt.most)
		}
		early := 0
		for _, r := range l.sampled {
			if r.ID < n/2 {
				early++
			}
		}
		if share := float64(early) / float64(len(l.sampled)); share < 0.4 || share > 0.6 {
			t.Errorf("%s: %.0f%% of the sample is from the first half", tt.objective, 100*share)
		}
	}
}

// A sample has fewer tokens than came: it shows that a throughput is reached, and
// not that it is not.
func TestALookMissesNoThroughput(t *testing.T) {
	t.Parallel()
	for objective, want := range map[string]bool{"throughput:min>500": true, "throughput:min>4000": false} {
		c := must.Get(config.Resolve(config.Input{Command: "run", Flags: map[string][]string{"slo": {objective}}, Seed: 1}))(t)
		l := newLookout(c)
		const n, tokens, minute = 3000, 100, int64(time.Minute)
		for id := range n { // 5,000 tokens/s
			at := int64(id+1) * minute / (n + 2)
			r := &record.Record{ID: id, Due: at, Sent: at, End: at, Phase: record.Measure, Streamed: true, Outcome: llm.OK, OutputTokens: tokens}
			for range tokens {
				r.Observe(llm.Event{Kind: llm.Output, At: at})
			}
			l.add(r)
		}
		if l.halved == 0 {
			t.Fatal("all are looked at")
		}
		if got := l.isDecided(load.Look{Start: 0, End: minute}); got != want {
			t.Errorf("%s: decided %t, want %t", objective, got, want)
		}
	}
}

func lookAt(t *testing.T, objective string, n int, request func(id int, at int64) *record.Record) *lookout {
	t.Helper()
	c := must.Get(config.Resolve(config.Input{Command: "run", Flags: map[string][]string{"slo": {objective[strings.Index(objective, " ")+1:]}}, Seed: 1}))(t)
	parsed := must.Get(slo.Parse(objective))(t)
	c.Objectives = []slo.Objective{parsed} // of a class that the plan need not name
	l := newLookout(c)
	for id := range n {
		l.add(request(id, int64(id)*int64(time.Minute)/int64(n)+1))
	}
	return l
}

// What was not measured is open while too few requests have succeeded to show
// that it never will be.
func TestALookAtNothingIsOpen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		objective string
		outcome   llm.Outcome
		n         int
		want      bool
	}{
		{"itl:p99<50ms", llm.Censored, 600, false}, // every request was cut off
		{"itl:p99<50ms", llm.OK, 10, false},
		{"itl:p99<50ms", llm.OK, 600, true},         // no reply is streamed
		{"class=b ttft:p99<1s", llm.OK, 600, false}, // none of the class yet
	} {
		l := lookAt(t, tt.objective, tt.n, func(id int, at int64) *record.Record {
			return &record.Record{ID: id, Due: at, Sent: at, End: at + 1e6, Phase: record.Measure, Outcome: tt.outcome}
		})
		if got := l.isDecided(load.Look{Start: 0, End: int64(time.Minute)}); got != tt.want {
			t.Errorf("%s, %d requests that are %s: decided %t, want %t", tt.objective, tt.n, tt.outcome, got, tt.want)
		}
	}
}

// A look at a sample sees the queue of all requests: it moves too slowly for the
// window, which the sample alone would not show.
func TestALookSeesTheWholeQueue(t *testing.T) {
	t.Parallel()
	l := lookAt(t, "e2e:mean<86ms", 36_000, func(id int, at int64) *record.Record {
		took := (40 + 14*math.Sin(math.Pi*float64(id)/18_000)) / 600
		r := &record.Record{ID: id, Due: at, Sent: at, Phase: record.Measure}
		r.End = at + int64(took*1e9)
		r.Last, r.First, r.Outcome = r.End, r.End, llm.OK
		return r
	})
	if l.halved == 0 {
		t.Fatal("all are looked at")
	}
	if l.isDecided(load.Look{Start: 0, End: int64(time.Minute)}) {
		t.Error("86 ms are decided, as if the window were long for the queue")
	}
	l.config.Objectives[0].Limit = 100e6
	if !l.isDecided(load.Look{Start: 0, End: int64(time.Minute)}) {
		t.Error("100 ms are not decided, with every request below 90 ms")
	}
}

// A request that ended while a look began is handed over by both, and counts once.
func TestALookCountsNothingTwice(t *testing.T) {
	t.Parallel()
	const n, end = 600, int64(time.Minute)
	made := func(id int, at int64) *record.Record {
		return &record.Record{ID: id, Due: at, Sent: at, End: at + int64(time.Second), Phase: record.Measure, Outcome: llm.OK}
	}
	l := lookAt(t, "e2e:p90<2s", n, made)
	alone := l.levelWith(nil)
	late := &record.Record{ID: n, Due: end - 1e9, Sent: end - 1e9, End: end, Outcome: llm.Censored}
	twice := []*record.Record{{ID: 3, Due: 1, Sent: 1, End: end, Outcome: llm.Censored}, {ID: n - 1, Due: 1, Sent: 1, End: end, Outcome: llm.Censored}}
	if got := l.levelWith(twice); !reflect.DeepEqual(got, alone) {
		t.Error("requests that have ended are in flight as well")
	}
	want := alone.Clone()
	want.Add(late.Sent, late.End)
	if got := l.levelWith(append(twice, late)); !reflect.DeepEqual(got, want) {
		t.Error("a request that has not ended is not in flight")
	}
	seen := map[int]int{}
	for r := range l.sample(append(twice, late))() {
		seen[r.ID]++
	}
	if len(seen) != n+1 || seen[3] != 1 || seen[n] != 1 {
		t.Errorf("%d requests, request 3 %d times", len(seen), seen[3])
	}
}

// Looking costs: each judgement of a run that is looked at gets a part of the
// chance of a wrong verdict, the same when its directory is read again.
func TestWhichRunsAreLookedAt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags map[string][]string
		want  bool
	}{
		{map[string][]string{"slo": {"chat"}, "duration": {"60s"}}, false},
		{map[string][]string{"slo": {"chat"}}, true},
		{map[string][]string{"slo": {"chat"}, "confidence": {"0.99"}, "max-duration": {"2m"}}, true},
		{map[string][]string{"slo": {"chat"}, "max-duration": {"1m"}}, false},
	} {
		c := must.Get(config.Resolve(config.Input{Command: "run", Flags: tt.flags, Seed: 1}))(t)
		kept := must.Get(c.YAML())(t)
		path := must.File(t, "plan.yaml", kept)
		again := must.Get(config.Reopen(path))(t)
		if got, reread := maxWindow(c) > 0, maxWindow(again) > 0; got != tt.want || reread != got || again.Confidence != c.Confidence {
			t.Errorf("%v: %v, read again %v; want %v", tt.flags, got, reread, tt.want)
		}
	}
}
