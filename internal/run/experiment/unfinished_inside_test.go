package experiment

import (
	"testing"

	"redline/internal/answer/compare"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
)

// A live comparison judges requests that never ended, where there are any: their
// server's latencies are those of the others. Which side they are of has nothing
// to do with what a page calls its points.
func TestUnfinishedRequestsAreCompared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		hung int
		want slo.Standing
	}{{0, ""}, {50, slo.Worse}, {-50, slo.Better}} {
		x := &conductor{Options: Options{Options: measure.Options{Config: &config.Config{}}}, res: &result.Result{}}
		sides := [2]side{{name: "A", rig: &rig{}}, {name: "B", rig: &rig{}}}
		var rounds []compare.Round
		for n := range 6 {
			round := compare.Round{First: sides[n%2].name}
			for i, s := range sides {
				r := metric.Requests{Due: 100, OK: 100, Sent: 100}
				if hung := tt.hung * (2*i - 1); hung > 0 {
					r.Censored, r.Unsent = hung+n, 1
					r.OK -= r.Censored + r.Unsent
				}
				x.note(s, &round, &result.Result{Points: []result.Point{{Name: "round of somebody", Summary: metric.Summary{Requests: r}}}}, nil)
			}
			rounds = append(rounds, round)
		}
		x.concludeComparison(rounds, sides[0], sides[1], nil, compare.Live)
		var got slo.Standing
		for _, m := range x.res.Comparison.Metrics {
			if m.Name == "unfinished:rate" {
				got = m.Standing
				if share := *m.A + *m.B; share < 0.51 || share > 0.57 {
					t.Errorf("%d hung: %v of A and %v of B are unfinished", tt.hung, *m.A, *m.B)
				}
			}
		}
		if got != tt.want {
			t.Errorf("%d hung: %q, want %q", tt.hung, got, tt.want)
		}
	}
}
