package validity

import (
	"math"
	"testing"

	"redline/internal/judge/slo"
)

// What lag may be while a run goes on: a share of the objective or of the median,
// 1 ms at least, and more where the objective is clear.
func TestLagLimit(t *testing.T) {
	t.Parallel()
	judged := func(value float64, standing slo.Standing) []slo.Verdict {
		return []slo.Verdict{{Objective: "ttft:p99<500ms", Value: &value, Limit: 500, Standing: standing}, {Objective: "e2e:p99<2s"}, {Objective: "tpot:p99<1ms", Value: new(float64), Limit: 1}}
	}
	for name, tt := range map[string]struct {
		judged []slo.Verdict
		ttft   float64
		strict bool
		want   float64
	}{
		"no objective":  {nil, 200, false, 10},
		"fast server":   {nil, 5, false, 1},
		"strict":        {judged(490, slo.Met), 200, true, 2},
		"near a limit":  {judged(490, slo.Met), 200, false, 25},
		"clearly met":   {judged(100, slo.Met), 200, false, 400},
		"not known yet": {[]slo.Verdict{{Objective: "ttft:p99<500ms"}}, 200, false, 10},
	} {
		if got := LagLimit(tt.judged, tt.ttft, tt.strict); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v ms, want %v", name, got, tt.want)
		}
	}
}
