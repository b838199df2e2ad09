// Package protocol is the benchmark from its first request to its verdict: one
// request, a warm-up, fixed shapes, two settings of generation, the production
// mix, the limit, bursts, overload and a hot tenant at the limit, a sustained run.
// It takes a plan and what is known so far and gives the next step, and at the end
// the answer to the stopping rule and what a report has to state. It runs
// nothing, reads no file and no clock.
package protocol

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"redline/internal/answer/matrix"
	"redline/internal/answer/search"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// Defaults fills in what the protocol needs and the plan leaves open: a mix that
// looks like production, and the objectives of an assistant.
func Defaults(c *config.Config) (*config.Config, error) {
	out := *c
	if c.Defaulted("workload") && c.Defaulted("load_profile.context_distribution") {
		mix, err := workload.Parse("mix")
		if err != nil {
			return nil, err
		}
		out.Workload = mix
	}
	if c.Defaulted("load_profile.rate") && c.Load.Profile == "" {
		// What nobody asked for is found out: by the closed loops before it.
		out.Load.Rate = 0
	}
	if len(out.Objectives) == 0 {
		list, err := slo.Expand("chat")
		if err != nil {
			return nil, err
		}
		out.Objectives = list
	}
	return &out, nil
}

// Known is what the steps so far showed.
type Known struct {
	matrix.Known
	Limit *result.Limit
	// Sustained says that the search has made a sustained run.
	Sustained bool
}

// Step is a row of the protocol, or the search for the limit.
type Step struct {
	config.Row
	// Purpose is that of a step that no figure is taken from.
	Purpose string
	Search  bool
}

// SustainedRow is the row that the stopping rule is about.
const SustainedRow = "sustained"

// Next is the step that follows from what is known; false where none does.
func Next(c *config.Config, k Known) (Step, bool) {
	if steps := Steps(c, k); k.Over < len(steps) {
		return steps[k.Over], true
	}
	return Step{}, false
}

// Steps are all that are known to come, those that are over included.
func Steps(c *config.Config, k Known) []Step {
	steps := []Step{
		{Row: config.Row{Name: "smoke", Workload: matrix.Shape(256, 64), Concurrency: 1, Requests: 1}, Purpose: result.PurposeSmoke},
		{Row: config.Row{Name: "warm-up", Workload: matrix.Shape(256, 128), Concurrency: 4, Requests: warmRequests}, Purpose: result.PurposeWarmUp},
	}
	add := func(rows ...config.Row) {
		for _, r := range rows {
			steps = append(steps, Step{Row: r})
		}
	}
	add(c.Experiment.Rows...)
	for _, r := range matrix.Rows {
		if len(c.Experiment.Rows) == 0 && slices.Contains(shapes, r.Name) {
			add(r)
		}
	}
	add(settings...)
	add(config.Row{Name: "mix", About: "production shape", Rate: cmp.Or(c.Load.Rate, lightRate(k.Points["product"])),
		Hypothesis:  "What the fixed shapes showed holds for the real mix at a light load.",
		Question:    "Does the synthetic conclusion survive realism?",
		Expectation: []string{"objectives"}})
	steps = append(steps, Step{Search: true})
	limit := k.limitRate()
	if limit == 0 {
		return steps
	}
	add(atLimit(limit)...)
	add(tenantRows(c.Workload, limit)...)
	if !k.Sustained {
		add(config.Row{Name: SustainedRow, About: "at the limit", Rate: limit, Duration: c.SearchSpec().Complete().Sustained,
			Question: "Does the limit hold?", Expectation: []string{"objectives"}})
	}
	return steps
}

// warmRequests is what a server has to see before it is warm: compilation,
// allocation, caches of its own.
const warmRequests = 50

// shapes names the rows of the matrix that isolate prefill and decode, saturate
// both, and show a warm prefix.
var shapes = []string{"A", "B", "C", "D-single", "D", "E-cold", "E"}

// settings are the plan's own work under both settings of generation.
var settings = []config.Row{
	{Name: "deterministic", About: "generation", Generation: "deterministic", Concurrency: 4,
		Hypothesis:  "With the most likely token each time, answers repeat and runs compare.",
		Question:    "How fast is the plan's own work, lightly loaded, under the settings that benchmarks use?",
		Expectation: []string{"error:rate<10%"}},
	{Name: "product", About: "generation", Generation: "product", Concurrency: 4,
		Hypothesis:  "Sampling costs little beside the model itself.",
		Question:    "How fast is it under the settings that users get?",
		Expectation: []string{"tpot:p50 within 20% of deterministic"}},
}

// atLimit offers the limit in bursts, and more than the limit.
func atLimit(limit float64) []config.Row {
	return []config.Row{
		{Name: "burst", About: "at the limit", Rate: limit, Profile: "burst", Duration: 2 * matrix.Length,
			Hypothesis:  "The limit is that of even arrivals: three times as many for ten seconds are felt in the tail.",
			Question:    "What do users see while a burst lasts?",
			Expectation: []string{"error:rate<1%", "reject:rate<1%"}},
		{Name: "overload", About: "half as much again", Profile: "overload",
			Hypothesis:  "Above the limit latency breaks first; requests are queued or rejected, not failed.",
			Question:    "Does the server fail, or only become slow?",
			Expectation: []string{"error:rate<1%"}},
	}
}

// Plan is the plan of a step: of a row, or of the search, from the light load on.
func Plan(c *config.Config, s Step, k Known) *config.Config {
	whole := *c
	if s.Search {
		spec := SearchSpec(c)
		spec.Start = cmp.Or(spec.Start, min(max(lightRate(k.Points["product"]), spec.Floor), cmp.Or(spec.Ceiling, math.Inf(1))))
		whole.Experiment.Spec, whole.Experiment.Thorough = spec, false
		whole.Load.Rate, whole.Load.Profile = 0, ""
		whole.Load.Process = cmp.Or(whole.Load.Process, "poisson")
		return &whole
	}
	if s.Profile != "" {
		whole.Load.Limit = cmp.Or(k.limitRate(), whole.Load.Limit) // which the profiles refer to
	}
	plan := matrix.Plan(&whole, s.Row)
	if s.Purpose != "" {
		plan.Load.Bounds.Warmup = new(time.Duration(0))
	}
	return plan
}

// minLevel is what scaling leaves of a level of the search.
const minLevel = 200 * time.Millisecond

// SearchSpec is the search of the protocol, shortened as every stage is. What is
// short has a budget that is: a limit that is far away is then named as at least
// what was offered.
func SearchSpec(c *config.Config) search.Spec {
	spec, s := c.SearchSpec(), c.Experiment.Scale
	if !(s > 0 && s < 1) {
		return spec
	}
	whole := spec.Complete()
	spec.Sustained = max(matrix.Scale(c, whole.Sustained), minLevel)
	spec.MinWindow = min(max(matrix.Scale(c, whole.MinWindow), minLevel), spec.Sustained)
	spec.MaxWindow = matrix.Scale(c, spec.MaxWindow)
	spec.Budget = 0
	spec.Budget = max(matrix.Scale(c, whole.Budget), spec.MinBudget())
	if spec.Precision == 0 {
		// An interval narrows with the root of what was seen: with so much
		// less of it the usual one would be waited for in vain.
		spec.Precision = min(whole.Precision/math.Sqrt(s), 0.5)
	}
	return spec
}

// lightRate is the rate that a closed loop completed: about as many requests in
// flight, arriving as they like.
func lightRate(p *result.Point) float64 {
	const least = 0.1
	if p == nil {
		return least
	}
	rate := p.Rates.Completed
	if n := p.Requests; n.Sessions > 0 && n.Due > 0 {
		// A rate is one of sessions, of which some have several requests.
		rate *= float64(n.Sessions) / float64(n.Due)
	}
	return text.Round(max(rate, least), 4)
}

// limitRate is the rate that the steps after the search are given, 0 where the
// search found none.
func (k Known) limitRate() float64 {
	if l := k.Limit; l != nil && l.Rate > 0 && !math.IsInf(l.Rate, 0) {
		return text.Round(l.Rate, 4)
	}
	return 0
}

// Smoke says what came of the single request; a server that does not count tokens
// is worth a word, not the end.
func Smoke(res *result.Result) (outcome string, ok bool) {
	if len(res.Points) == 0 {
		return "nothing was measured", false
	}
	p := &res.Points[0]
	switch {
	case p.Requests.OK == 0 && len(p.Requests.Errors) > 0:
		return "failed: " + p.Requests.Errors[0].Text, false
	case p.Requests.OK == 0:
		return fmt.Sprintf("did not end in order: %d failed, %d rejected, %d cut off", p.Requests.Failed, p.Requests.Rejected, p.Requests.Censored), false
	case p.Requests.Short > 0:
		return fmt.Sprintf("ended with %d tokens in place of %d: the server does not keep to the length asked for", p.Tokens.Output, p.Tokens.AskedOutput), false
	}
	outcome = fmt.Sprintf("ended in order with %d of %d tokens", p.Tokens.Output, p.Tokens.AskedOutput)
	if p.Tokens.Counted["usage"] == 0 {
		outcome += "; the server does not say how many tokens it counts"
	}
	return outcome, true
}
