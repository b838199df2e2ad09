package measure

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/plan/config"
	"redline/internal/store"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// witness is a core that remembers its jobs, in the order of their arrival.
type witness struct {
	sim.Core
	jobs []*sim.Job
}

func (w *witness) Submit(now int64, j *sim.Job) error {
	w.jobs = append(w.jobs, j)
	return w.Core.Submit(now, j)
}

// runVirtual measures a plan against the simulated engine in a bubble: the
// real client, HTTP server and engine, over connections in memory. It calls
// check, still inside the bubble, with what came of it.
func runVirtual(t *testing.T, flags map[string][]string, plan string, check func(*result.Result, *store.Dir, []*sim.Job)) {
	runVirtualOn(t, sim.Spec{}, flags, plan, check)
}

// runVirtualOn is runVirtual against an engine of another kind than the plan's.
func runVirtualOn(t *testing.T, engine sim.Spec, flags map[string][]string, plan string, check func(*result.Result, *store.Dir, []*sim.Job)) {
	out := filepath.Join(t.TempDir(), "run")
	flags["out"] = []string{out}
	synctest.Test(t, func(t *testing.T) {
		cfg := must.Get(config.Resolve(config.Input{PlanPath: plan, Flags: flags, Seed: 7,
			LookupEnv: func(name string) (string, bool) {
				value, ok := map[string]string{"INFERENCE_API_KEY": "secret-key"}[name]
				return value, ok
			}}))(t)
		if engine.Model == "" {
			engine = cfg.Server.Sim
		}
		spec := must.Get(engine.Resolve())(t)
		core := must.Get(sim.NewBatching(spec))(t)
		if cfg.Provider.Model != "" {
			spec.ServedModelName = cfg.Provider.Model
		}
		watched := &witness{Core: core}
		server := must.Get(simserver.NewServer(simserver.Options{Spec: spec, Core: watched, Clock: clock.Virtual()}))(t)
		l := pipe.Listen("memory")
		served := make(chan error, 1)
		go func() { served <- server.Serve(t.Context(), l) }()

		res, _ := must.Get2(Run(t.Context(), Options{Config: cfg, Clock: clock.Virtual(), Dial: l.Dial}))(t)
		expect.OK(t, server.Close())
		expect.OK(t, <-served)
		dir := must.Get(store.Open(out))(t)
		check(res, dir, watched.jobs)
	})
}

// sentRecords lists the records of a run in the order of their sending.
func sentRecords(t *testing.T, dir *store.Dir) []record.Record {
	t.Helper()
	var list []record.Record
	for r, err := range dir.Records() {
		must.Do(t, err)
		if r.Sent != 0 {
			list = append(list, *r)
		}
	}
	// Of two that are sent at the same moment either may end first.
	slices.SortFunc(list, func(a, b record.Record) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// An hour of load, or a part of one: every time to first token is the engine's
// own, to the nanosecond.
func TestAnHourOfStreams(t *testing.T) {
	length := effort.Of(5*time.Minute, time.Hour)
	flags := map[string][]string{"url": {"http://sim"}, "rate": {"5"}, "duration": {length.String()},
		"warmup": {"0s"}, "workload": {"fixed(64,20)"}, "telemetry-interval": {"10s"}}
	runVirtual(t, flags, "", func(res *result.Result, dir *store.Dir, jobs []*sim.Job) {
		records := sentRecords(t, dir)
		due, planned := float64(res.Points[0].Requests.Due), 5*length.Seconds()
		if spread := 5 * math.Sqrt(planned); math.Abs(due-planned) > spread {
			t.Errorf("%g requests in %v at 5/s, want %g ± %.0f", due, length, planned, spread)
		}
		if got := res.Points[0].Requests; got.OK != got.Due {
			t.Errorf("%d of %d requests are ok", got.OK, got.Due)
		}
		// Of two that are sent at the same moment either may reach the engine first.
		slices.SortFunc(records, func(a, b record.Record) int {
			return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.First, b.First))
		})
		slices.SortFunc(jobs, func(a, b *sim.Job) int {
			return cmp.Or(cmp.Compare(a.Arrived, b.Arrived), cmp.Compare(a.First, b.First))
		})
		jobs = jobs[len(jobs)-len(records):] // after the preflight requests
		if len(records) != len(jobs) {
			t.Fatalf("%d requests were sent, %d reached the engine", len(records), len(jobs))
		}
		for i, r := range records {
			if r.Outcome != llm.OK {
				continue // cut off when the run was over
			}
			if got, want := r.First-r.Sent, jobs[i].First-jobs[i].Arrived; got != want {
				t.Fatalf("request %d: ttft %v, the engine's own is %v", r.ID, time.Duration(got), time.Duration(want))
			}
		}
		if lag := res.Points[0].Latency.Lag.Max; lag != 0 {
			t.Errorf("lag of %v ms in virtual time", lag)
		}
	})
}

// The plan that asked for the product runs whole, with the shape of its model
// for the objective on the cache.
func TestSeedPlanRunsWhole(t *testing.T) {
	requests, flags := effort.Of(200, 1000), map[string][]string{"url": {"http://sim/v1/messages"}, "catalog": {"../../plan/config/testdata/shape/config.json"}}
	flags["requests"] = []string{strconv.Itoa(requests)}
	runVirtual(t, flags, "../../plan/config/testdata/benchmark-config.yaml", func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
		point := res.Points[0]
		if point.Load.Mode != config.Closed || *point.Load.Concurrency != 32 || point.Requests.Due != requests {
			t.Errorf("load %+v with %d requests; want a closed loop of 32 and %d", point.Load, point.Requests.Due, requests)
		}
		if point.Requests.OK != requests {
			t.Errorf("%d of %d requests are ok: %v", point.Requests.OK, requests, point.Requests.Faults)
		}
		if res.Engine.API != "anthropic-messages" {
			t.Errorf("api %s", res.Engine.API)
		}
		if point.Concurrency.Max != 32 {
			t.Errorf("%d in flight at most, want 32", point.Concurrency.Max)
		}
		var judged []string
		for _, o := range point.Objectives {
			judged = append(judged, o.Objective)
			// The longest prompt alone takes 4 GiB.
			if o.Objective == "kv:max<1024MB" && (o.Standing != slo.Missed || *o.Value < 4096) {
				t.Errorf("%s: %s with %v MB", o.Objective, o.Standing, *o.Value)
			}
		}
		if len(judged) != 3 {
			t.Errorf("objectives %v, want the plan's three", judged)
		}
		lengths := map[int]int{}
		for r, err := range dir.Records() {
			must.Do(t, err)
			if r.Outcome == llm.OK {
				lengths[r.PromptTokens]++
			}
		}
		for _, want := range []int{512, 2048, 8192, 16384, 32768} {
			if lengths[want] == 0 {
				t.Errorf("no prompt of %d tokens", want)
			}
			delete(lengths, want)
		}
		if len(lengths) != 0 {
			t.Errorf("prompts of other lengths than the plan's: %v", lengths)
		}
	})
}
