package compare

import (
	"math"

	"redline/internal/judge/result"
	"redline/internal/stats"
)

// fewestEarlier is how many earlier runs it takes to know their spread.
const fewestEarlier = 3

// single tests two single runs: by what each leaves open itself, and by what
// earlier runs differed by or else the tolerance.
func (f criterion) single(a, b *result.Point, earlier []float64, o Options) evidence {
	e := f.ownIntervals(a, b)
	e.bar = f.tolerated(o.tolerance())
	if len(earlier) < fewestEarlier {
		e.shy = true
		if !math.IsNaN(e.test.P) && math.Abs(e.test.Mean) > e.bar {
			e.why = "which is not more than the runs themselves leave open"
		}
		return e
	}
	if o.Tolerance <= 0 {
		e.bar = 0
	}
	between, se := againstSpread(e.test.Mean, earlier, 2, o.level())
	e.se, e.test.Freedom, e.test.Dz = se, between.Freedom, between.Dz
	// Both must hold, so the larger chance is that of the two together.
	if math.IsNaN(e.test.P) || between.P > e.test.P {
		e.test.P = between.P
	}
	e.why = "which is not more than the runs and the spread of earlier ones leave open"
	if math.IsInf(e.test.Lo, 0) {
		e.test.Lo, e.test.Hi = between.Lo, between.Hi
		return e
	}
	e.test.Lo, e.test.Hi = min(e.test.Lo, between.Lo), max(e.test.Hi, between.Hi)
	return e
}

// ownIntervals tests two runs by their own intervals. The interval of the
// difference takes from each side the half that points towards the other
// (Donner and Zou's recovery of variances), so it may be lopsided as they are.
func (f criterion) ownIntervals(a, b *result.Point) evidence {
	e := nothing(f)
	va, _ := f.of(a)
	vb, _ := f.of(b)
	e.a, e.b = f.scaled(va), f.scaled(vb)
	e.test.Mean = e.b - e.a
	e.equal = f.Share() && va == 0 && vb == 0
	alo, ahi, aok := f.within(a)
	blo, bhi, bok := f.within(b)
	if !aok || !bok {
		e.why = "a single run does not show how far it could be off; repeat it"
		return e
	}
	down := math.Hypot(e.b-f.scaled(blo), f.scaled(ahi)-e.a)
	up := math.Hypot(f.scaled(bhi)-e.b, e.a-f.scaled(alo))
	e.test.Lo, e.test.Hi = e.test.Mean-down, e.test.Mean+up
	towards := down
	if e.test.Mean < 0 {
		towards = up
	}
	e.test.P = 1
	if e.test.Mean != 0 {
		e.test.P = 2 * stats.NormalCDF(-math.Abs(e.test.Mean)/towards*stats.NormalQuantile(0.975))
	}
	return e
}
