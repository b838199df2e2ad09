package compare

import (
	"math/rand/v2"
	"testing"
)

// errorSeries are the figures of runs of so many requests each, of which any fails
// with the chance that its run has.
func errorSeries(requests int, chances []float64, r *rand.Rand) []Sample {
	values := make([]Values, len(chances))
	for i, chance := range chances {
		failed := 0
		for range requests {
			if r.Float64() < chance {
				failed++
			}
		}
		values[i] = Values{"fault:rate": float64(failed) / float64(requests)}
	}
	series := months(values)
	for i := range series {
		series[i].Requests = requests
	}
	return series
}

// TestRareErrorsAreNoDrift: most runs of a server that fails one request in five
// hundred show no failure, and so no spread; two that do are no new level. Alarms
// stay within the 4 % that drift promises, and a server that breaks is called.
func TestRareErrorsAreNoDrift(t *testing.T) {
	t.Parallel()
	const trials = 200
	steady, broken := make([]float64, 24), make([]float64, 14)
	for i := range steady {
		steady[i] = 0.002
	}
	for i := range broken {
		broken[i] = 0.002
		if i >= 12 {
			broken[i] = 0.05
		}
	}
	alarms, called := 0, 0
	r := rand.New(rand.NewPCG(1, 2))
	for range trials {
		if calls(errorSeries(200, steady, r)) >= 0 {
			alarms++
		}
		if calls(errorSeries(600, broken, r)) >= 12 {
			called++
		}
	}
	if alarms > trials*4/100 || called < trials*9/10 {
		t.Errorf("%d false alarms in %d series, %d allowed; a server that broke was called in %d", alarms, trials, trials*4/100, called)
	}
}
