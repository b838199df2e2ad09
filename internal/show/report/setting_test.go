package report

import (
	"strings"
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// The header tells of what was sent at the limit, else in the point that the
// workload is of, and never of the smoke test.
func TestTheWorkloadIsThatOfTheLimit(t *testing.T) {
	t.Parallel()
	of := func(prompt float64) result.Point {
		p := result.Point{}
		p.Tokens.PromptLengths = &metric.Dist{N: 1, P: map[string]float64{"p50": prompt}}
		return p
	}
	r := &result.Result{Workload: result.Workload{Name: "mix", Point: 1}, Points: []result.Point{of(256), of(500), of(700)}}
	if got := workload(r); !strings.Contains(got, "prompt p50"+hard+"500") {
		t.Errorf("without a limit: %s", got)
	}
	r.Sustained = new(2)
	if got := workload(r); !strings.Contains(got, "prompt p50"+hard+"700") {
		t.Errorf("at the limit: %s", got)
	}
}
