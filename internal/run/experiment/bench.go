package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"redline/internal/answer/search"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/doctor"
	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// BenchDefaults fills in what the protocol needs and the plan leaves open: a
// mix that looks like production, and the objectives of an assistant.
func BenchDefaults(c *config.Config) (*config.Config, error) {
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

// Bench goes through the whole protocol: preflight, one request, warm-up, fixed
// shapes, cold and warm prefix, two settings of generation, the production mix,
// the limit, bursts, overload and a hot tenant at the limit, and a sustained
// run. The plan is one that BenchDefaults has completed.
func Bench(ctx context.Context, o Options) (*result.Result, string, error) {
	if len(o.Config.Experiment.Variants) > 0 {
		return benchVariants(ctx, o)
	}
	found, err := preflight(ctx, o)
	if err != nil {
		return nil, "", err
	}
	x, err := begin(ctx, o, "bench")
	if err != nil {
		return nil, "", err
	}
	err = x.bench(ctx)
	if x.res != nil {
		x.conclude(found)
	}
	return x.finish(err)
}

// preflight looks at this machine and at the endpoint; one that is not fit for
// a run is an error. It ends at once when the user stops it: there is nothing to
// keep yet. In virtual time there is no machine to look at.
func preflight(ctx context.Context, o Options) ([]result.Found, error) {
	if o.Clock != nil {
		return nil, nil
	}
	ctx, cancel := untilStopped(ctx, o.Stop, nil)
	defer cancel()
	look := doctor.Options{Telemetry: o.Config.Telemetry, Say: func(line string) { o.say("%s", line) }}
	if !o.Config.Embedded() {
		look.Target = o.Config.Provider
	}
	if o.Config.Experiment.Scale > 0 && o.Config.Experiment.Scale < 1 {
		look.Pace = doctor.Pace{Sleeps: 20, RoundTrips: 200, Step: 50 * time.Millisecond, Steps: 2,
			Requests: 100 * time.Millisecond, Endpoint: 10 * time.Second}
	}
	report, err := doctor.Run(ctx, look)
	if err != nil {
		return nil, err
	}
	var found []result.Found
	for _, f := range report.Findings {
		if f.Mark != doctor.Warn && f.Mark != doctor.Bad {
			continue
		}
		found = append(found, result.Found{Check: f.Check, About: f.About, Mark: string(f.Mark), Figure: f.Figure, Cure: f.Cure})
		if f.Mark == doctor.Bad && f.About != "machine" {
			return nil, fmt.Errorf("preflight: %s: %s; %s", f.About, f.Figure, f.Cure)
		}
	}
	return found, nil
}

// errSmoke ends a protocol whose single request already went wrong.
var errSmoke = errors.New("the single request did not end as it should, so no load would tell anything")

// bench runs the stages in their order.
func (x *conductor) bench(ctx context.Context) error {
	shapes := func(ctx context.Context) error { return x.inOrder(ctx, benchRows(x.Config)) }
	for _, step := range []func(context.Context) error{
		x.smoke, x.warmUp, shapes, x.production, x.limitOf, x.rough, x.hotTenant, x.sustain,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// smoke sends one request and looks at it alone.
func (x *conductor) smoke(ctx context.Context) error {
	stage := x.rowStage(config.Row{Name: "smoke", Workload: shape(256, 64), Concurrency: 1, Requests: 1})
	stage.Purpose = result.PurposeSmoke
	stage.sound = func(res *result.Result) bool {
		_, ok := smoked(res)
		return ok
	}
	stage.Config.Load.Bounds.Warmup = new(time.Duration(0))
	res, err := x.run(ctx, stage)
	if err != nil {
		return err
	}
	entry := x.last()
	entry.Question = "Does one request come back whole?"
	entry.Expectation = "it ends in order, with the length asked for, and the server counts its tokens"
	var agrees bool
	entry.Outcome, agrees = smoked(res)
	entry.Agrees = &agrees
	if !agrees {
		return fmt.Errorf("%w: %s", errSmoke, entry.Outcome)
	}
	return nil
}

// smoked says what came of the single request; a server that does not count
// tokens is worth a word, not the end.
func smoked(res *result.Result) (outcome string, ok bool) {
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

// warmRequests is what a server has to see before it is warm: compilation,
// allocation, caches of its own.
const warmRequests = 50

// warmUp offers load that no figure is taken from.
func (x *conductor) warmUp(ctx context.Context) error {
	stage := x.rowStage(config.Row{Name: "warm-up", Workload: shape(256, 128), Concurrency: 4, Requests: warmRequests})
	stage.Purpose = result.PurposeWarmUp
	stage.Config.Load.Bounds.Warmup = new(time.Duration(0))
	_, err := x.run(ctx, stage)
	return err
}

// benchShapes names the rows of the matrix that isolate prefill and decode,
// saturate both, and show a warm prefix.
var benchShapes = []string{"A", "B", "C", "D-single", "D", "E-cold", "E"}

// settings are the plan's own work under both settings of generation.
var settings = []config.Row{
	{Name: "deterministic", About: "generation", Generation: "deterministic", Concurrency: 4,
		Hypothesis:  "With the most likely token each time, answers repeat and runs compare.",
		Question:    "How fast is the plan's own work, lightly loaded, under the settings that benchmarks use?",
		Expectation: []string{"error:rate<1%"}},
	{Name: "product", About: "generation", Generation: "product", Concurrency: 4,
		Hypothesis:  "Sampling costs little beside the model itself.",
		Question:    "How fast is it under the settings that users get?",
		Expectation: []string{"tpot:p50 within 20% of deterministic"}},
}

// inOrder runs one row after another.
func (x *conductor) inOrder(ctx context.Context, rows []config.Row) error {
	for _, row := range rows {
		if err := x.row(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// benchRows are the plan's own rows, or those of fixed shape; and the settings.
func benchRows(c *config.Config) []config.Row {
	rows := slices.Clone(c.Experiment.Rows)
	for _, r := range Rows {
		if len(c.Experiment.Rows) == 0 && slices.Contains(benchShapes, r.Name) {
			rows = append(rows, r)
		}
	}
	return append(rows, settings...)
}

// production offers the plan's own mix at the plan's rate, or at the one that a
// few users made.
func (x *conductor) production(ctx context.Context) error {
	rate := cmp.Or(x.Config.Load.Rate, x.lightRate())
	return x.row(ctx, config.Row{Name: "mix", About: "production shape", Rate: rate,
		Hypothesis:  "What the fixed shapes showed holds for the real mix at a light load.",
		Question:    "Does the synthetic conclusion survive realism?",
		Expectation: []string{"objectives"}})
}

// lightRate is the rate that the closed loop of the product settings completed:
// about as many requests in flight, arriving as they like.
func (x *conductor) lightRate() float64 {
	const least = 0.1
	p := x.rows["product"]
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

// shortestLevel is what scaling leaves of a level of the search.
const shortestLevel = 200 * time.Millisecond

// benchSpec is the search of the protocol, shortened as every stage is. What is
// short has a budget that is: a limit that is far away is then named as at least
// what was offered.
func benchSpec(c *config.Config) search.Spec {
	spec := limitSpec(c)
	s := c.Experiment.Scale
	if !(s > 0 && s < 1) {
		return spec
	}
	whole := spec.Complete()
	spec.Sustained = max(scaledBy(c, whole.Sustained), shortestLevel)
	spec.Shortest = min(max(scaledBy(c, whole.Shortest), shortestLevel), spec.Sustained)
	spec.Longest = scaledBy(c, spec.Longest)
	spec.Budget = 0
	spec.Budget = max(scaledBy(c, whole.Budget), spec.LeastBudget())
	if spec.Precision == 0 {
		// An interval narrows with the root of what was seen: with so much
		// less of it the usual one would be waited for in vain.
		spec.Precision = min(whole.Precision/math.Sqrt(s), 0.5)
	}
	return spec
}

// limitOf searches for the limit, from the light load on.
func (x *conductor) limitOf(ctx context.Context) error {
	x.firstLevel = len(x.res.Points)
	searched := *x.Config
	e := &searched.Experiment
	spec := benchSpec(x.Config)
	spec.Start = cmp.Or(spec.Start, min(max(x.lightRate(), spec.Floor), cmp.Or(spec.Ceiling, math.Inf(1))))
	e.Spec, e.Thorough = spec, false
	searched.Load.Rate, searched.Load.Profile = 0, ""
	searched.Load.Process = cmp.Or(searched.Load.Process, "poisson")
	return x.under(&searched, func() error { return x.findLimit(ctx) })
}

// under does something by another plan than the whole's.
func (x *conductor) under(c *config.Config, do func() error) error {
	whole := x.Config
	x.Config = c
	defer func() { x.Config = whole }()
	return do()
}

// limitRate is the rate that the stages after the search are given, 0 where
// the search found none.
func (x *conductor) limitRate() float64 {
	l := x.res.Limit
	if l == nil || !(l.Rate > 0) || math.IsInf(l.Rate, 0) {
		return 0
	}
	return text.Round(l.Rate, 4)
}

// rough offers the limit in bursts, and more than the limit.
func (x *conductor) rough(ctx context.Context) error {
	limit := x.limitRate()
	if limit == 0 {
		return nil
	}
	with := *x.Config
	with.Load.Limit = limit // which the profiles refer to
	rows := []config.Row{
		{Name: "burst", About: "at the limit", Rate: limit, Profile: "burst", Duration: 2 * rowLength,
			Hypothesis:  "The limit is that of even arrivals: three times as many for ten seconds are felt in the tail.",
			Question:    "What do users see while a burst lasts?",
			Expectation: []string{"error:rate<1%", "reject:rate<1%"}},
		{Name: "overload", About: "half as much again", Profile: "overload",
			Hypothesis:  "Above the limit latency breaks first; requests are queued or rejected, not failed.",
			Question:    "Does the server fail, or only become slow?",
			Expectation: []string{"error:rate<1%"}},
	}
	return x.under(&with, func() error { return x.inOrder(ctx, rows) })
}

// sustain runs at the limit for the sustained length, unless the search has
// done so to confirm it.
func (x *conductor) sustain(ctx context.Context) error {
	limit := x.limitRate()
	if limit == 0 || x.res.Sustained != nil {
		return nil
	}
	spec := limitSpec(x.Config)
	err := x.row(ctx, config.Row{Name: "sustained", About: "at the limit", Rate: limit,
		Duration:    spec.Complete().Sustained,
		Question:    "Does the limit hold?",
		Expectation: []string{"objectives"}})
	if err == nil && x.cut == "" && x.leftOut == "" {
		x.res.Sustained = new(len(x.res.Points) - 1)
	}
	return err
}
