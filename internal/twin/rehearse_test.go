package twin

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/catalog"
	"redline/internal/traffic/arrival"
	"redline/internal/twin/sim"
)

// Two servers of ten milliseconds carry 150 requests/s between them; one of
// them alone cannot, and the rehearsal says so.
func TestRehearsalTellsWhatOneLessDoes(t *testing.T) {
	t.Parallel()
	out, err := Rehearse(t.Context(), Plan{Spec: server(), Engine: "e", Instances: 2, Limit: 100, Mix: one(),
		Objectives: objectives(t, "ttft:p90<100ms"), Arrivals: PlanArrivals(arrival.Spec{Rate: 150}, 4*time.Minute, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if !out.Planned.Met() || out.OneLess == nil || out.OneLess.Met() || out.OneLess.Violating < 0.9 {
		t.Errorf("planned %+v, one less %+v", out.Planned.Objectives, out.OneLess.Objectives)
	}
	part := out.Planned.Parts[10]
	if math.Abs(part.Rate-150) > 15 || math.Abs(*part.Utilization-part.Rate/200) > 1e-9 {
		t.Errorf("in its tenth part %.1f requests/s and a utilisation of %.2f", part.Rate, *part.Utilization)
	}
	if out.Router != LeastOutstanding || out.SpanS != 240 || !strings.Contains(out.Traffic, "150 requests/s") {
		t.Errorf("%s for %v s by %s", out.Traffic, out.SpanS, out.Router)
	}
}

// A plan is tried on the requests of a run, against an engine of a file or one
// that is fitted to it.
func TestTrialOnARun(t *testing.T) {
	t.Parallel()
	run := keep(t, filepath.Join(t.TempDir(), "run"), same)
	for _, engine := range []*sim.Spec{nil, {Law: &catalog.Law{WeightsUS: 20_000, Corner: 1}}} {
		out, err := Trial{Run: run, Engine: engine, EngineName: "engine.yaml", Instances: 1, Objectives: []string{"tpot:p99<30ms"},
			Arrivals: RecordedArrivals("a trace", slices.Values([]int64{5e9, 6e9, 7e9, 8e9, 25e9})), Seed: 1}.Try(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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
