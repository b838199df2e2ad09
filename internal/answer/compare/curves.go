package compare

import (
	"math"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// meanCurves puts the distributions of several runs together, as their figures
// are: the geometric mean of the values at each percentage. A latency that one of
// them lacks is left out; nil where one has none, or other percentages.
func meanCurves(list []*result.Distributions) *result.Distributions {
	if len(list) == 0 || list[0] == nil {
		return nil
	}
	percent := list[0].Percent
	for _, d := range list {
		if d == nil || len(d.Percent) != len(percent) {
			return nil
		}
	}
	mean := func(of func(*result.Distributions) []float64) []float64 {
		sums := make([]float64, len(percent))
		for _, d := range list {
			values := of(d)
			if len(values) != len(sums) {
				return nil
			}
			for i, v := range values {
				sums[i] += math.Log(v) / float64(len(list))
			}
		}
		for i, sum := range sums {
			sums[i] = text.Round(math.Exp(sum), 4)
		}
		return sums
	}
	return &result.Distributions{Percent: percent,
		TTFT: mean(func(d *result.Distributions) []float64 { return d.TTFT }),
		TPOT: mean(func(d *result.Distributions) []float64 { return d.TPOT }),
		E2E:  mean(func(d *result.Distributions) []float64 { return d.E2E }),
		ITL:  mean(func(d *result.Distributions) []float64 { return d.ITL })}
}
