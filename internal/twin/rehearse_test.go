package twin

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/catalog"
	"redline/internal/must"
	"redline/internal/traffic/arrival"
	"redline/internal/traffic/job"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// Two servers of ten milliseconds carry 150 requests/s between them; one of
// them alone cannot, and the rehearsal says so.
func TestRehearsalTellsWhatOneLessDoes(t *testing.T) {
	t.Parallel()
	out := must.Get(Rehearse(t.Context(), Plan{Spec: server(), Engine: "e", Instances: 2, Limit: 100, Mix: one(),
		Objectives: objectives(t, "ttft:p90<100ms"), Arrivals: planArrivals(arrival.Spec{Rate: 150}, 4*time.Minute, 1)}))(t)
	if !out.Planned.Met() || out.OneLess == nil || out.OneLess.Met() || out.OneLess.Violating < 0.9 {
		t.Errorf("planned %+v, one less %+v", out.Planned.Objectives, out.OneLess.Objectives)
	}
	part := out.Planned.Parts[10]
	if math.Abs(part.Rate-150) > 15 || math.Abs(*part.Utilization-part.Rate/200) > 1e-9 {
		t.Errorf("in its tenth part %.1f requests/s and a utilisation of %.2f", part.Rate, *part.Utilization)
	}
	if out.Router != sim.LeastOutstanding || out.SpanS != 240 || !strings.Contains(out.Traffic, "150 requests/s") {
		t.Errorf("%s for %v s by %s", out.Traffic, out.SpanS, out.Router)
	}
}

// A plan is tried on the requests of a run, against an engine of a file or one
// that is fitted to it.
func TestTrialOnARun(t *testing.T) {
	t.Parallel()
	run := keep(t, filepath.Join(t.TempDir(), "run"), same)
	for _, engine := range []*sim.Spec{nil, {Law: &catalog.Law{WeightsUS: 20_000, Corner: 1}}} {
		out := must.Get(Trial{Run: run, Engine: engine, EngineName: "engine.yaml", Instances: 1, Objectives: []string{"tpot:p99<30ms"},
			Arrivals: RecordedArrivals("a trace", slices.Values([]int64{5e9, 6e9, 7e9, 8e9, 25e9})), Seed: 1}.Try(t.Context()))(t)
		if out.Planned.Requests != 3 || !out.Planned.Met() || out.OneLess != nil || (out.Error == nil) != (engine != nil) {
			t.Errorf("%+v", out)
		}
	}
	if _, err := (Trial{Run: run, Instances: 1, Objectives: []string{"nonsense"}}).Try(t.Context()); err == nil {
		t.Error("an objective that nobody knows is tried")
	}
}

// A day has the mean that was asked for, and without one an hour its peak.
func TestDay(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name           string
		peak, mean     float64
		span           time.Duration
		rate           float64
		expected, near float64
	}{
		{"a day between two rates", 10, 6, 24 * time.Hour, 6, 6 * 86400, 0.01},
		{"an hour at the peak", 10, 0, time.Hour, 10, 36000, 0.03},
	} {
		d := Day(row.peak, row.mean, 1)
		n := 0
		for at := range d.Times {
			if at >= int64(d.Span) {
				break
			}
			n++
		}
		if d.Span != row.span || math.Abs(d.Rate/row.rate-1) > 0.01 || math.Abs(float64(n)/row.expected-1) > row.near {
			t.Errorf("%s: %d arrivals in %v at %.3g/s, want %.0f", row.name, n, d.Span, d.Rate, row.expected)
		}
	}
}

// Ten agents fit the caches of two instances; one alone computes their contexts again
// and again.
func TestRehearsalOfAgents(t *testing.T) {
	t.Parallel()
	const first, grows, turns = 4000, 200, 12
	var list []*job.Job
	for n := range uint64(30) {
		j := &job.Job{Requests: []job.Request{{Prompt: first, Output: 50, From: -1, Blocks: []job.Block{{ID: n << 8, Tokens: first}}}}}
		for i := 1; i < turns; i++ {
			j.Requests = append(j.Requests, job.Request{After: []int{i - 1}, Pause: 4 * time.Second, From: i - 1, Keep: i, Prompt: first + i*grows, Output: 50,
				Blocks: []job.Block{{ID: n<<8 + uint64(i), Tokens: grows}}})
		}
		list = append(list, j)
	}
	spec := likeH100()
	spec.NumGPUBlocksOverride = 7 * (first + grows*turns/2) / replay.BlockSize // seven contexts
	out := must.Get(Rehearse(t.Context(), Plan{Spec: spec, Engine: "e", Instances: 2, Objectives: objectives(t, "ttft:p90<60ms"), Agents: Agents{Live: 10, Jobs: list}}))(t)
	if !out.Planned.Met() || *out.Planned.Cached < 0.85 || out.OneLess.Met() || *out.OneLess.Cached > 0.3 {
		t.Errorf("planned: %.2f cached, %+v; one less: %.2f, %+v", *out.Planned.Cached, out.Planned.Objectives, *out.OneLess.Cached, out.OneLess.Objectives)
	}
	// Of each agent twelve turns in eleven pauses and twelve replies of 0.3 to 0.7 s, over
	// half an hour.
	if n := float64(out.Planned.Requests); n < 10*1800/(44+12*0.7)*12 || n > 10*1800/(44+12*0.3)*12 || out.Traffic != "10 live agents" {
		t.Errorf("%.0f requests of %s", n, out.Traffic)
	}
}
