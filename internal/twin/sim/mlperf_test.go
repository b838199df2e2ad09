package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"redline/internal/must"
)

// TestPublishedShape holds the engine against an MLPerf Inference result that
// it was not made from: llama2-70b on eight MI300X, with 27,804 tokens/s
// offline, 83.5 requests/s as server (p99 TTFT 2 s, TPOT 200 ms) and 29.5 as
// interactive (450 ms, 40 ms): 0.88 and 0.32 of offline.
//
// The box is eight replicas of one device each, since 70 G weights of 8 bits
// leave most of 192 GiB to the cache, and one of them is simulated with an
// eighth of the load. Lengths stand for the OpenOrca set: at most 1,024
// tokens, a mean prompt near 250 and a mean output near 290 (294 published).
// Prompts differ, so there is no prefix cache.
//
// Three things are not the engine's defaults. Steps are prompts or generation,
// never both, as in the vLLM of that time; the published mean TTFT of six
// steps also says that prompts did not join running steps. Matrix products
// reach what public runs on this device reach, which is in the catalog. And
// the share of bandwidth that weight reads reach is calibrated on one figure
// of the result that is no part of what is tested: the mean TPOT of 32.1 ms at
// the interactive rate. It comes to 0.59, within the 0.55 to 0.75 that whole
// engines are known to reach.
func TestPublishedShape(t *testing.T) {
	t.Parallel()
	off, quiet := false, 0.0
	replica := Spec{
		Model: "llama-2-70b", GPU: "MI300X", Quantization: "fp8", KVCacheDtype: "fp8",
		EnablePrefixCaching: &off, PrefillFirst: true, MemoryShare: 0.59, Jitter: &quiet,
	}
	const replicas = 8
	jobs := openOrcaLike(5000)

	calibration := playPoisson(t, replica, jobs, 29.5/replicas)
	if math.Abs(calibration.meanTPOT/32.1e6-1) > 0.05 {
		t.Errorf("calibration: mean TPOT %.1f ms at the interactive rate, want 32.1", calibration.meanTPOT/1e6)
	}
	offline := playPoisson(t, replica, jobs, math.Inf(1)).tokensPerSecond
	server := highestRate(t, replica, jobs, 2000e6, 200e6) * meanOutput(jobs)
	interactive := highestRate(t, replica, jobs, 450e6, 40e6) * meanOutput(jobs)
	t.Logf("tokens/s of the box: offline %.0f, server %.0f, interactive %.0f",
		replicas*offline, replicas*server, replicas*interactive)
	if ratio := server / offline; math.Abs(ratio-0.88) > 0.1 {
		t.Errorf("server/offline %.2f, want 0.88 ± 0.1", ratio)
	}
	if ratio := interactive / offline; math.Abs(ratio-0.32) > 0.1 {
		t.Errorf("interactive/offline %.2f, want 0.32 ± 0.1", ratio)
	}
}

type lengths struct{ prompt, output int }

func openOrcaLike(n int) []lengths {
	random := rand.New(rand.NewPCG(1, 2))
	tokens := func(median, sigma float64) int {
		return min(1024, max(2, int(median*math.Exp(sigma*random.NormFloat64()))))
	}
	jobs := make([]lengths, n)
	for i := range jobs {
		jobs[i] = lengths{tokens(200, 0.7), tokens(220, 0.8)}
	}
	return jobs
}

func meanOutput(jobs []lengths) float64 {
	sum := 0
	for _, j := range jobs {
		sum += j.output
	}
	return float64(sum) / float64(len(jobs))
}

// outcome is one virtual run; times in nanoseconds.
type outcome struct {
	p99TTFT, p99TPOT, meanTPOT float64
	tokensPerSecond            float64
}

// playPoisson offers the jobs at a Poisson rate per second; an infinite rate
// offers them all at once.
func playPoisson(t *testing.T, s Spec, jobs []lengths, rate float64) outcome {
	t.Helper()
	core := must.Get(NewBatching(s))(t)
	random := rand.New(rand.NewPCG(3, 4))
	prompt := make([]int32, 1024)
	arrivals := func(yield func(int64, *Job) bool) {
		at := 0.0
		for i, l := range jobs {
			at += random.ExpFloat64() / rate
			if !yield(int64(at*1e9), &Job{ID: uint64(i), Prompt: prompt[:l.prompt], Output: l.output}) {
				return
			}
		}
	}
	var ttft, tpot []float64
	var o outcome
	end := RunOpen(core, arrivals, Watch{Token: func(k Token) {
		o.tokensPerSecond++
		if j := k.Job; k.Last {
			ttft = append(ttft, float64(j.First-j.Arrived))
			tpot = append(tpot, float64(j.Last-j.First)/float64(j.Output-1))
			o.meanTPOT += tpot[len(tpot)-1] / float64(len(jobs))
		}
	}})
	slices.Sort(ttft)
	slices.Sort(tpot)
	o.p99TTFT, o.p99TPOT = ttft[len(ttft)*99/100], tpot[len(tpot)*99/100]
	o.tokensPerSecond /= float64(end) / 1e9
	return o
}

// highestRate bisects for the rate at which both 99th percentiles still meet
// their limits, to one part in a hundred.
func highestRate(t *testing.T, s Spec, jobs []lengths, ttft, tpot float64) float64 {
	t.Helper()
	met, missed := 0.0, 16.0
	for missed-met > met/100 {
		rate := (met + missed) / 2
		if o := playPoisson(t, s, jobs, rate); o.p99TTFT <= ttft && o.p99TPOT <= tpot {
			met = rate
		} else {
			missed = rate
		}
	}
	return met
}
