package assemble

import (
	"math"

	"redline/internal/catalog"
	"redline/internal/judge/slo"
	"redline/internal/observe/engine"
	"redline/internal/plan/config"
)

// Guesses go through batches that double, up to maxBatch of them.
const maxBatch = 4096

// tailShare is how much of what an objective on a percentile allows the mean of
// it may be.
const tailShare = 0.7

// GuessLimit is about how many requests per second a server can take within the
// plan's objectives, by arithmetic over the model's shape and the accelerator's
// data sheet, for requests of these mean lengths; 0 where the model or the
// hardware is not known. It may be wrong by a factor of three either way.
func GuessLimit(c *config.Config, model string, facts engine.Facts, prompt, output float64) float64 {
	if c.Pools() || output < 1 {
		return 0
	}
	d, err := deploymentOf(c, Run{Plan: c, Model: model, Facts: facts}.setting(), nil)
	if err != nil {
		return 0
	}
	guess := 0.0
	for batch := 1.0; batch <= maxBatch; batch *= 2 {
		f := d.Forecast(catalog.Traffic{Prompt: prompt, Output: output, Concurrency: batch})
		if !f.Fits() || f.Batch < batch || d.seqs > 0 && batch > float64(d.seqs) {
			break
		}
		reply := f.TTFT + output*f.TPOT
		if !leavesRoom(c.Objectives, map[string]float64{"ttft": f.TTFT, "tpot": f.TPOT, "e2e": reply}) {
			break
		}
		guess = max(guess, batch/reply*float64(d.replicas))
	}
	return guess
}

// leavesRoom reports whether mean times in seconds leave room to objectives.
func leavesRoom(objectives []slo.Objective, means map[string]float64) bool {
	for _, o := range objectives {
		limit := o.Limit / 1e9
		if o.P > 0 {
			limit *= tailShare
		}
		if mean, ok := means[o.Metric]; ok && !o.Above && !math.IsNaN(mean) && mean > limit {
			return false
		}
	}
	return true
}
