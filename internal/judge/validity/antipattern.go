package validity

import (
	"fmt"
	"slices"
	"strconv"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// What makes lengths alike, prompts short, and a cache better than the workload
// explains.
const (
	alikeWithin      = 0.02
	shortPrompt      = 1000
	unexplainedShare = 0.05
)

// antiPatterns are ways to benchmark that mislead, though nothing is wrong with
// the run: why, and what to do instead.
var antiPatterns = []struct {
	name, why, cure string
	found           func(*result.Result) bool
}{
	{"one prompt length", "users' prompts differ in length, and the scheduler sees a mix", "a workload with a distribution, such as --workload chat",
		func(r *result.Result) bool {
			return sameLengths(r, func(t *metric.Tokens) *metric.Dist { return t.PromptLengths })
		}},
	{"one output length", "replies that end together leave the batch together", "a workload with a distribution, such as --workload chat",
		func(r *result.Result) bool {
			return sameLengths(r, func(t *metric.Tokens) *metric.Dist { return t.OutputLengths })
		}},
	{"short prompts only", "neither prefill nor the KV cache is put under pressure", "a workload with long prompts too, such as --workload mix",
		func(r *result.Result) bool {
			return every(r, func(p *result.Point) bool {
				d := p.Tokens.PromptLengths
				return d != nil && d.N > 1 && d.Max < shortPrompt
			})
		}},
	{"averages only", "a mean hides the requests that are slow", "--percentiles 50,95,99", func(r *result.Result) bool { return maxPercentile(r) < 95 }},
	{"one request at a time", "neither a batch nor a queue forms", "a rate or a concurrency as in production",
		func(r *result.Result) bool {
			return every(r, func(p *result.Point) bool { return p.Load.Concurrency != nil && *p.Load.Concurrency == 1 })
		}},
	{"no warm-up", "the first requests pay one-time costs", "leave out --warmup", func(r *result.Result) bool {
		w := r.Points[0].Window.WarmupS
		return w != nil && *w == 0 && !slices.ContainsFunc(r.Stages, func(s result.Stage) bool {
			return s.Purpose == result.PurposeWarmUp || s.Purpose == result.PurposeRamp // which offers load, too
		})
	}},
	{"one tenant", "noisy neighbors and routing do not show", "tenants in the workload, or --profile hot-spot",
		func(r *result.Result) bool {
			return every(r, func(p *result.Point) bool { return len(p.Tenants) < 2 })
		}},
	{"no quality gate", "faster answers may be worse answers", "--golden builtin",
		func(r *result.Result) bool {
			return every(r, func(p *result.Point) bool { return p.Quality == nil })
		}},
	{"client on the server's host", "the two compete for cores, and no network is measured", "run redline on another machine",
		func(r *result.Result) bool { return r.Client.SharesHost }},
	{"cache hits by repetition", "the server's cache holds the prompts of earlier runs, which it would not hold for users", "leave out --salt false", func(r *result.Result) bool {
		return !every(r, func(p *result.Point) bool {
			c := p.Cache
			return c == nil || c.Usage == nil || *c.Usage <= unexplainedShare+designedShare(c)
		})
	}},
}

// AntiPatterns names the ways in which a result may mislead its readers although
// it is sound.
func AntiPatterns(r *result.Result) []result.AntiPattern {
	if len(r.Points) == 0 || r.Comparison != nil {
		return nil
	}
	var list []result.AntiPattern
	for _, a := range antiPatterns {
		if a.found(r) {
			list = append(list, result.AntiPattern{Name: a.name, Why: a.why, Cure: a.cure})
		}
	}
	return list
}

func every(r *result.Result, is func(*result.Point) bool) bool {
	return !slices.ContainsFunc(r.Points, func(p result.Point) bool { return !is(&p) })
}

func sameLengths(r *result.Result, of func(*metric.Tokens) *metric.Dist) bool {
	return every(r, func(p *result.Point) bool {
		d := of(&p.Tokens)
		return d != nil && d.N > 1 && d.Max <= (1+alikeWithin)*d.Mean
	})
}

// maxPercentile is the highest percentile that the plan wants shown.
func maxPercentile(r *result.Result) float64 {
	metrics, _ := r.Plan["metrics"].(map[string]any)
	list, _ := metrics["percentiles"].([]any)
	most := 0.0
	for _, p := range list {
		v, err := strconv.ParseFloat(fmt.Sprint(p), 64)
		if err != nil {
			return 100
		}
		most = max(most, v)
	}
	if most == 0 {
		return 100 // the usual ones
	}
	return most
}

func designedShare(c *result.Cache) float64 {
	if c.Designed == nil {
		return 0
	}
	return *c.Designed
}
