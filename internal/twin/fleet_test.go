package twin

import (
	"math"
	"testing"
	"time"

	"redline/internal/catalog"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/traffic/arrival"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// server is an engine that takes ten milliseconds for each request, one at a
// time: with Poisson arrivals the queue M/D/1, whose figures are known.
func server() sim.Spec {
	return sim.Spec{MaxNumSeqs: 1, Law: &catalog.Law{WeightsUS: 10_000, Corner: 1}}
}

func one() []Conversation { return single(replay.Request{Prompt: 1, Output: 1}) }

// single are conversations of one request each.
func single(requests ...replay.Request) (mix []Conversation) {
	for _, r := range requests {
		mix = append(mix, Conversation{{Request: r}})
	}
	return mix
}

func objectives(t *testing.T, texts ...string) []slo.Objective {
	t.Helper()
	list := must.Get(slo.ParseAll(texts))(t)
	return list
}

// Requests in the system are ρ + ρ²/(2(1−ρ)) in the mean, and with ρ = 0.7 and
// t below one service time P(wait ≤ t) = (1−ρ)·exp(λt).
func TestFleetOfOneIsAQueue(t *testing.T) {
	t.Parallel()
	const rho = 0.7
	out := must.Get(Fleet{Spec: server(), Instances: 1}.Run(t.Context(), Traffic{Times: arrival.Spec{Rate: 70}.Times(3), Mix: one(), Span: 2 * time.Hour, Settle: time.Minute},
		objectives(t, "ttft:p90<15ms")))(t)
	mean := 0.0
	for _, p := range out.Parts[1:] {
		mean += p.InFlight / (parts - 1)
	}
	if want := rho + rho*rho/(2*(1-rho)); math.Abs(mean/want-1) > 0.03 {
		t.Errorf("%.3f requests inside in the mean, want %.3f", mean, want)
	}
	if want := 1 - (1-rho)*math.Exp(rho/2); math.Abs(out.Violating-want) > 0.01 || out.Objectives[0].Met {
		t.Errorf("%.4f of the requests wait for more than 5 ms, want %.4f; %+v", out.Violating, want, out.Objectives)
	}
}

// The limit is where (1−ρ)·exp(ρ/2) is 0.9.
func TestLimitOfAQueue(t *testing.T) {
	t.Parallel()
	low, high := 0.0, 1.0
	for range 50 {
		if rho := (low + high) / 2; (1-rho)*math.Exp(rho/2) > 0.9 {
			low = rho
		} else {
			high = rho
		}
	}
	ev := &Evidence{Objectives: []string{"ttft:p90<15ms"}, Limit: &result.Limit{Rate: 2 * low / 0.010, Binding: "ttft:p90<15ms"},
		Levels: []Level{{Recording: replay.Recording{Requests: []replay.ObservedRequest{{Counted: true, Request: one()[0][0].Request}}}}}}
	c := &Calibration{Spec: server(), Evidence: ev}
	if err := c.checkLimit(t.Context()); err != nil || c.Limit == nil || math.Abs(c.Limit.Error-0.5) > 0.04 {
		t.Errorf("beside a limit of twice its own the twin has %+v, %v", c.Limit, err)
	}
	got, err := Limit(t.Context(), server(), one(), objectives(t, "ttft:p90<15ms"), 2*time.Hour, 1)
	if want := low / 0.010; err != nil || math.Abs(got/want-1) > 0.03 {
		t.Errorf("%.2f requests/s, %v; want %.2f", got, err, want)
	}
	if got, err := Limit(t.Context(), server(), one(), objectives(t, "ttft:p90<5ms"), time.Minute, 1); err != nil || got != 0 {
		t.Errorf("an objective below the service time is kept up to %v, %v", got, err)
	}
}

// Handing each request to the least busy of four shortens the waits of taking
// turns, and both serve all.
func TestRouters(t *testing.T) {
	t.Parallel()
	tail := map[string]float64{}
	for _, router := range sim.Routers {
		out := must.Get(Fleet{Spec: likeH100(), Instances: 4, Router: router}.Run(t.Context(), Traffic{Times: arrival.Spec{Rate: 60}.Times(5), Seed: 1, Span: 10 * time.Minute,
			Mix: single(replay.Request{Prompt: 100, Output: 20}, replay.Request{Prompt: 4000, Output: 600})}, nil))(t)
		if out.Requests < 35_000 || out.Requests > 37_000 || len(out.Parts) != parts {
			t.Errorf("%s: %d requests in %d parts", router, out.Requests, len(out.Parts))
		}
		tail[router] = out.Latency["e2e"].P95
	}
	if tail[sim.LeastOutstanding] >= tail[sim.RoundRobin] {
		t.Errorf("tails %v", tail)
	}
}

func TestFleetRefuses(t *testing.T) {
	t.Parallel()
	traffic := Traffic{Times: arrival.Spec{Rate: 1}.Times(1), Mix: one(), Span: time.Minute}
	if _, err := (Fleet{Spec: server()}).Run(t.Context(), traffic, nil); err == nil {
		t.Error("a fleet of none runs")
	}
	if _, err := (Fleet{Spec: sim.Spec{}, Instances: 1}).Run(t.Context(), traffic, nil); err == nil {
		t.Error("an engine without a law runs")
	}
	traffic.Mix = single(replay.Request{Prompt: 1 << 20, Output: 1})
	out, err := Fleet{Spec: server(), Instances: 1}.Run(t.Context(), traffic, objectives(t, "ttft:p99<1s"))
	if err != nil || out.Refused != out.Requests || out.Met() {
		t.Errorf("requests that no engine takes: %+v, %v", out, err)
	}
	traffic.Mix = nil
	if _, err := (Fleet{Spec: server(), Instances: 1}).Run(t.Context(), traffic, nil); err == nil {
		t.Error("a fleet runs without lengths")
	}
}
