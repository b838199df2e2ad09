package compare

import (
	"math"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/stats"
)

// minEarlier is how many earlier runs it takes to know their spread.
const minEarlier = 3

// single tests two single runs: by what parts of each show of how far an equal
// run may lie from it, and by what earlier runs differed by or else the tolerance.
func (f criterion) single(a, b *result.Point, earlier []float64, o Options) evidence {
	e := f.byParts(a, b)
	e.bar = f.scaledTolerance(o.tolerance())
	if len(earlier) < minEarlier {
		if !math.IsNaN(e.test.P) && math.Abs(e.test.Mean) > e.bar {
			e.seconds = min(a.Window.Seconds(), b.Window.Seconds())
			if e.test.P > alpha {
				e.why = "which is not more than parts of the runs differ by"
			}
		}
		return e
	}
	if o.Tolerance <= 0 {
		e.bar = 0
	}
	between, se := againstSpread(e.test.Mean, earlier, 2)
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

// RatioOf is between what the figure of b, over that of a, lies by what parts of both
// runs and their machines show; false where they do not show it.
func RatioOf(s figure.Statistic, a, b *result.Point) (low, high float64, known bool) {
	f := criterion{s, s.String()}
	e := f.byParts(a, b)
	e.addMachines([]*result.Point{a}, []*result.Point{b})
	return f.fromScale(e.test.Lo - e.down), f.fromScale(e.test.Hi + e.up), e.why == "" && !f.Share()
}

// byParts tests two runs by their own standard errors: Student's t, for equal
// servers vary equally. Those that sent the same requests are tested by what the same
// requests differ by.
func (f criterion) byParts(a, b *result.Point) evidence {
	e := emptyEvidence(f)
	va, _ := f.of(a)
	vb, _ := f.of(b)
	e.a, e.b = f.toScale(va), f.toScale(vb)
	e.test.Mean = e.b - e.a
	e.equal = f.Share() && va == 0 && vb == 0
	seA, freedomA, okA := f.pointError(a)
	seB, freedomB, okB := f.pointError(b)
	if !okA || !okB {
		e.why = "a single run without its requests does not show how far it could be off; repeat it"
		return e
	}
	e.se, e.test.Freedom = math.Hypot(seA, seB), freedomA+freedomB
	if se, ok := f.pairedError(a, b, e.test.Mean); ok {
		e.se, e.test.Freedom = se, pairedFreedom
	}
	reach := e.se * stats.StudentQuantile((1+Level)/2, e.test.Freedom)
	e.test.Lo, e.test.Hi, e.test.P = e.test.Mean-reach, e.test.Mean+reach, 1
	if e.test.Mean != 0 {
		e.test.P = 2 * stats.StudentCDF(-math.Abs(e.test.Mean)/e.se, e.test.Freedom)
	}
	return e
}
