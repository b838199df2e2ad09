package twin

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/docs/pages"
	"redline/internal/must"
	"redline/internal/text"
	"redline/internal/traffic/arrival"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// everySecond is requests one second apart, so many a second from each time on.
func everySecond(rates map[time.Duration]int, span time.Duration) []int64 {
	var list []int64
	now := 0
	for at := time.Duration(0); at < span; at += time.Second {
		if n, ok := rates[at]; ok {
			now = n
		}
		for i := range now {
			list = append(list, int64(at)+int64(i)*int64(time.Second)/int64(now))
		}
	}
	return list
}

// A load that triples at ten minutes meets the instances of before until the new ones
// are there: the delay later, and at most a minute and a look after that for the mean of
// the last minute to rise. With no delay, that minute is all.
func TestAutoscalerWaitsForInstances(t *testing.T) {
	t.Parallel()
	const span, jump, delay = 40 * time.Minute, 10 * time.Minute, 5 * time.Minute
	times := everySecond(map[time.Duration]int{0: 16, jump: 48, 30 * time.Minute: 16}, span)
	play := func(delay time.Duration) Plan {
		slow := server()
		slow.Law.WeightsUS *= 10
		return Plan{Spec: slow, Engine: "e", Instances: 8, Limit: 10, Mix: one(), Objectives: objectives(t, "ttft:p90<5s"),
			Arrivals: RecordedArrivals("steps", slices.Values(times)), Setup: Setup{Scale: Scale{Min: 1, Max: 8, Target: 0.8, Delay: delay}}}
	}
	out := must.Get(Rehearse(t.Context(), play(delay)))(t)
	s := out.Planned.Scaled
	if s == nil || s.Min != 2 || s.Max != 6 || s.Started != 4 || out.AtOnce == nil || out.OneLess != nil {
		t.Fatalf("scaled %+v, at once %v, one less %v", s, out.AtOnce != nil, out.OneLess != nil)
	}
	// Two serve 20 of the 48 a second that come, while they wait.
	if late, soon := out.Planned.Violating, out.AtOnce.Violating; late < 2*soon || late*float64(out.Planned.Requests) < 48*delay.Seconds() {
		t.Errorf("%.3f beyond their objective with the delay, %.3f without", late, soon)
	}
	// Two for 10 minutes, six for 20, and two again after the calm of five and a minute.
	low, high := (2*10+6*20+6*5+2*5)/60.0, (2*10+6*20+6*7+2*3)/60.0
	if s.InstanceHours < low-0.2 || s.InstanceHours > high+0.2 {
		t.Errorf("%.2f instance-hours, want %.2f to %.2f", s.InstanceHours, low, high)
	}
	if n := out.Planned.Parts[20].Instances; n == nil || *n != 6 {
		t.Errorf("after 33 minutes there are %v instances", *n)
	}
}

// Instances that fail lose what they have, and others take their place after the delay.
func TestInstancesFail(t *testing.T) {
	t.Parallel()
	run := func(s Scale) (failures int, lost int64, mean float64) {
		out := must.Get(Fleet{Spec: likeH100(), Instances: 4, Scale: s}.Run(t.Context(), Traffic{Times: arrival.Spec{Rate: 8}.Times(2), Seed: 3, Span: time.Hour,
			Mix: single(replay.Request{Prompt: 500, Output: 200})}, objectives(t, "ttft:p99<1s")))(t)
		if got := out.Requests; got < 28_000 || got > 30_000 {
			t.Errorf("%d requests", got)
		}
		return out.Scaled.Failures, out.Lost, out.Scaled.Mean
	}
	failures, lost, mean := run(Scale{Failures: 3, Delay: 10 * time.Minute})
	// Each had some four requests of two seconds; three were away for up to ten minutes.
	if failures != 3 || lost < 3 || lost > 40 || mean >= 4 || mean < 3.4 {
		t.Errorf("%d failures lost %d requests, %.2f instances on average", failures, lost, mean)
	}
	// Of four instances, 24 times a day each: four in an hour, in this one two to seven.
	if failures, _, mean = run(Scale{FailuresADay: 24, Delay: time.Minute}); failures < 1 || failures > 9 || mean > 4-float64(failures)/80 {
		t.Errorf("%d failures, %.2f instances on average", failures, mean)
	}
}

// The search gives each pool what it needs: long prompts and short replies more that
// prefill, short prompts and long replies more that decode. One less of a pool with
// several misses at the peak what it is for.
func TestPoolsAreSizedByTheirWork(t *testing.T) {
	t.Parallel()
	size := func(r replay.Request) (*Plan, bool) {
		p := Plan{Spec: likeH100(), Engine: "e", Instances: 2, Mix: single(r), Objectives: objectives(t, "ttft:p95<1s", "tpot:p95<15ms"), KVBytes: 131072,
			Arrivals: planArrivals(arrival.Spec{Rate: 12}, 3*time.Minute, 1), Setup: Setup{Pools: true, Rate: 12}}
		out := must.Get(Rehearse(t.Context(), p))(t)
		pools := out.Planned.Pools
		p.Prefill, p.Decode = pools.Prefill.Instances, pools.Decode.Instances
		if p.Prefill > 1 && (out.LessPrefill == nil || out.LessPrefill.Met()) || p.Decode > 1 && (out.LessDecode == nil || out.LessDecode.Met()) {
			t.Errorf("%+v: one less of %d or of %d will do", r, p.Prefill, p.Decode)
		}
		return &p, out.Planned.Met()
	}
	long, met := size(replay.Request{Prompt: 6000, Output: 20})
	short, also := size(replay.Request{Prompt: 100, Output: 1500})
	if !met || !also || long.Prefill < 2 || long.Decode != 1 || short.Prefill != 1 || short.Decode < 2 {
		t.Errorf("long prompts: %d prefill, %d decode, met %v; long replies: %d prefill, %d decode, met %v", long.Prefill, long.Decode, met, short.Prefill, short.Decode, also)
	}
}

// An objective about the first token says nothing of the pool that decodes: it gets as
// many as keep up all the same.
func TestPoolsKeepUp(t *testing.T) {
	t.Parallel()
	p := Plan{Spec: likeH100(), Engine: "e", Instances: 2, Mix: single(replay.Request{Prompt: 100, Output: 1500}), Objectives: objectives(t, "ttft:p95<5s"), KVBytes: 131072,
		Arrivals: planArrivals(arrival.Spec{Rate: 20}, 3*time.Minute, 1), Setup: Setup{Rate: 20, Prefill: 1, Decode: 1}}
	given := must.Get(Rehearse(t.Context(), p))(t)
	if parts := given.Planned.Parts; !given.Planned.Met() || parts[23].InFlight < 1.3*parts[12].InFlight || len(given.Notes) == 0 || !strings.Contains(given.Notes[0], "too small") {
		t.Fatalf("one that decodes keeps up with 30,000 tokens/s, or nothing is said: %v, %v", given.Planned.Parts, given.Notes)
	}
	p.Pools, p.Prefill, p.Decode = true, 0, 0
	found := must.Get(Rehearse(t.Context(), p))(t)
	if n := found.Planned.Pools.Decode.Instances; n < 2 || !found.Planned.Met() {
		t.Errorf("%d decode", n)
	}
}

// The time to the first token of pools has the transfer in it: 4,000 tokens of 1 MB are
// 160 ms at 25 GB/s, and a millisecond more.
func TestPoolsHandOverTheCache(t *testing.T) {
	t.Parallel()
	run := func(f Fleet) float64 {
		f.Spec = likeH100()
		out := must.Get(f.Run(t.Context(), Traffic{Times: slices.Values([]int64{1e9, 11e9}), Span: time.Minute, Mix: single(replay.Request{Prompt: 4000, Output: 50})}, nil))(t)
		return out.Latency["ttft"].P50
	}
	alone, apart := run(Fleet{Instances: 1}), run(Fleet{Prefill: 1, Decode: 1, KVBytes: 1e6})
	if got := apart - alone; math.Abs(got-161) > 1 {
		t.Errorf("ttft %.1f ms with pools, %.1f ms without: %.1f ms for the transfer", apart, alone, got)
	}
}

// Sessions that come back find their turns where they were: by prefix and sticky nearly
// all of them, in turns one in four.
func TestRoutersFindSessions(t *testing.T) {
	t.Parallel()
	talk := Conversation{{Request: replay.Request{Prompt: 1000, Output: 50}}}
	for i := 1; i < 6; i++ {
		talk = append(talk, Exchange{replay.Request{Prompt: 1000 + 200*i, Cached: 850 + 200*i, Output: 50}, int64(5 * time.Second)})
	}
	ttft := map[string]float64{}
	for _, router := range sim.Routers {
		out := must.Get(Fleet{Spec: likeH100(), Instances: 4, Router: router}.Run(t.Context(), Traffic{Times: arrival.Spec{Rate: 20}.Times(5), Seed: 1, Span: 10 * time.Minute,
			Settle: time.Minute, Mix: []Conversation{talk}}, nil))(t)
		ttft[router] = out.Latency["ttft"].P50
	}
	for _, router := range []string{sim.PrefixAware, sim.Sticky} {
		if ttft[router] > 0.75*ttft[sim.RoundRobin] {
			t.Errorf("%s: ttft %v", router, ttft)
		}
	}
}

// What requests carry counts in a fleet too: of two adapters in turn on an engine with room
// for one, each that is not there takes its time to load.
func TestFleetsLoadAdapters(t *testing.T) {
	t.Parallel()
	ttft := func(adapters ...string) float64 {
		spec := likeH100()
		spec.LoraModules, spec.MaxLoras, spec.LoraLoadTime = []string{"*"}, 1, new(300*time.Millisecond)
		var mix []Conversation
		for _, name := range adapters {
			mix = append(mix, single(replay.Request{Prompt: 100, Output: 10, Adapter: name})...)
		}
		out := must.Get(Fleet{Spec: spec, Instances: 2}.Run(t.Context(), Traffic{Times: arrival.Spec{Rate: 0.5}.Times(1), Seed: 1, Span: 5 * time.Minute, Mix: mix}, nil))(t)
		return out.Latency["ttft"].P95
	}
	if one, two := ttft("a", "a"), ttft("a", "b"); math.Abs(two-one-300) > 3 {
		t.Errorf("ttft p95 %.1f ms with one adapter, %.1f ms with two", one, two)
	}
}

// A day of 100 replicas under an autoscaler runs through; REDLINE_DAY=1 (make day) has the
// load of a busy service, and writes how long that takes.
func TestDayOfAHundredReplicas(t *testing.T) {
	t.Parallel()
	peak, spec := 1.0, likeH100()
	long := os.Getenv("REDLINE_DAY") != ""
	if long {
		peak = 5 // of each
		// Four times the weights: an instance that carries some six requests/s.
		spec.Law.WeightsUS, spec.Law.TokenUS, spec.Law.ContextUS = 20_000, 80, 0.04
	}
	mix := make([]replay.Request, 500)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range mix {
		mix[i] = replay.Request{Prompt: 100 + r.IntN(900), Output: 50 + r.IntN(400)}
	}
	rows := ""
	play := func(name string, s Scale) {
		day := Day(100*peak, 60*peak, 1)
		if !long {
			day = Day(peak, 0.6*peak, 1)
		}
		began := time.Now()
		out := must.Get(Fleet{Spec: spec, Instances: 100, Scale: s}.Run(t.Context(), Traffic{Times: day.Times, Span: day.Span, Mix: single(mix...), Seed: 1},
			objectives(t, "ttft:p99<1s", "tpot:p95<60ms")))(t)
		took := time.Since(began)
		t.Logf("%s: %v", name, took)
		if want := day.Rate * 86400; math.Abs(float64(out.Requests)/want-1) > 0.02 || out.Parts[12].Rate < 1.5*day.Rate {
			t.Errorf("%s: %d requests, want %.0f; at noon %.1f a second", name, out.Requests, want, out.Parts[12].Rate)
		}
		rows += fmt.Sprintf("| %s | %s | %s | %.2f%% | %.0f |\n", name, text.Count(out.Requests), text.Count(out.Steps), 100*(1-out.Violating), took.Seconds())
	}
	scaled := Scale{Min: 10, Max: 100, Target: 0.8, Limit: peak * 1.2, Delay: 3 * time.Minute, FailuresADay: 0.05}
	if !long {
		scaled.Limit /= 100
		play("autoscaled", scaled)
		return
	}
	play("100 replicas", Scale{})
	play("10 to 100, autoscaled, 3 min of delay, each fails every 20 days", scaled)
	t.Log("\n" + rows)
	must.Do(t, pages.Write("SCALE.md", "day", fmt.Sprintf("%s/%s, GOMAXPROCS %d.\n\n| a day of | requests | engine steps | within the objectives | wall time, s |\n|---|--:|--:|--:|--:|\n%s",
		runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), rows)))
}
