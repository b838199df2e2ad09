package sim

import (
	"math"

	"redline/internal/catalog"
)

// duration is how long the step in hand takes, in nanoseconds.
func (b *batching) duration() int64 {
	seconds := b.seconds(b.load) + b.guesses.seconds(b.seconds)
	if b.jitter > 0 {
		// The shift by half the variance keeps the mean of the noise at one.
		seconds *= math.Exp(b.jitter*b.noise.NormFloat64() - b.jitter*b.jitter/2)
	}
	return max(1, int64(seconds*1e9)) + int64(b.spec.StepOverhead)
}

// seconds is what a step takes by the law, or by the catalog's arithmetic.
func (b *batching) seconds(l catalog.StepLoad) float64 {
	if b.spec.Law == nil {
		return b.time.Seconds(l)
	}
	return b.spec.Law.Seconds(catalog.Work{Tokens: l.Tokens, Sequences: l.Sequences, Context: l.Growing, Pairs: l.Pairs})
}
