package compare

import (
	"math"

	"redline/internal/judge/result"
	"redline/internal/stats"
)

// pairedFreedom are the degrees of freedom of the halves of two runs. Tenths are more, but a
// level that wanders over minutes shows in them only in part.
const pairedFreedom = 2

// sameRequests reports whether the windows of two points had the same requests due.
func sameRequests(a, b *result.Point) bool {
	return a.Tenths != nil && b.Tenths != nil && a.Tenths.Requests == b.Tenths.Requests
}

// pairedError is the standard error of the step from A to B where both sent the same
// requests: what is hard about some of them is in both, and cancels. It comes from the steps
// of tenths of the window, laid around the whole. What one server did for longer than
// a tenth shows in the steps of longer parts, of which the widest count, and in tenths
// that resemble their neighbors: they count for as many as are independent (make pairs).
// The tail of a tenth is too few requests to show it at all.
func (f criterion) pairedError(a, b *result.Point, whole float64) (se float64, ok bool) {
	if f.Share() || f.isTail() || !sameRequests(a, b) {
		return 0, false
	}
	va, vb := a.Tenths.Values[f.name], b.Tenths.Values[f.name]
	if len(va) == 0 || len(va) != len(vb) {
		return 0, false
	}
	steps := make([]float64, len(va))
	for i := range va {
		if !f.usable(va[i]) || !f.usable(vb[i]) {
			return 0, false
		}
		steps[i] = f.toScale(vb[i]) - f.toScale(va[i])
	}
	for parts := len(steps); parts >= 2; parts /= 2 {
		squares, k := 0.0, float64(parts)
		for i := range parts {
			d := stats.Mean(steps[i*len(steps)/parts:(i+1)*len(steps)/parts]) - whole
			squares += d * d
		}
		se = max(se, math.Sqrt(squares/(k*(k-1))))
	}
	return se * stats.Widening(steps), true
}
