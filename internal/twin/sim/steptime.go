package sim

import (
	"math"

	"redline/internal/catalog"
)

// duration is how long the step in hand takes, in nanoseconds, if it begins at start.
func (b *batching) duration(start int64) int64 {
	b.clocks.Pass(float64(start-b.end)/1e9, 0)
	took, computing := b.seconds(b.load)
	took, computing = took+b.encoding, computing+b.encoding
	took += b.loading
	took += b.guesses.seconds(func(l catalog.StepLoad) float64 { t, _ := b.seconds(l); return t })
	if b.jitter > 0 {
		// The shift by half the variance keeps the mean of the noise at one.
		took *= math.Exp(b.jitter*b.noise.NormFloat64() - b.jitter*b.jitter/2)
	}
	ns := max(1, int64(took*1e9)) + int64(b.spec.StepOverhead)
	if b.slowness > 0 {
		ns = int64(float64(ns) * b.slowness)
	}
	if b.launched = start; b.spec.Law != nil {
		ns, b.launched = b.spec.Law.Launch(workOf(b.load), b.planned, start, ns)
	}
	b.clocks.Pass(float64(ns)/1e9, computing)
	return ns
}

// workOf is the work of a step as a law has it.
func workOf(l catalog.StepLoad) catalog.Work {
	return catalog.Work{Tokens: l.Tokens, Sequences: l.Sequences, Context: l.Growing, Pairs: l.Pairs}
}

// seconds is what a step takes by the law, or by the catalog's arithmetic, and how
// much of it is computing.
func (b *batching) seconds(l catalog.StepLoad) (all, computing float64) {
	if b.spec.Law == nil {
		return b.time.SecondsAt(l, b.clocks.Slowdown())
	}
	return b.spec.Law.SecondsAt(workOf(l), b.clocks.Slowdown())
}
