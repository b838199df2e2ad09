package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"redline/internal/config"
	"redline/internal/result"
	"redline/internal/search"
	"redline/internal/slo"
)

// Sweep offers one load after another, ascending, until the server is saturated
// or the levels are through; with find_limit it searches for the highest rate
// that keeps the objectives.
func Sweep(ctx context.Context, o Options) (*result.Result, string, error) {
	x, err := begin(ctx, o)
	if err != nil {
		return nil, "", err
	}
	if o.Config.Experiment.FindLimit {
		err = x.findLimit(ctx)
	} else {
		err = x.sweep(ctx)
	}
	return x.finish(err)
}

// sweep walks up the levels.
func (x *conductor) sweep(ctx context.Context) error {
	by := "rate"
	if x.Config.Experiment.Concurrencies != nil {
		by = "concurrency"
	}
	stop := ""
	for stage := range x.levels() {
		res, err := x.run(ctx, stage)
		if err != nil {
			return err
		}
		x.curve(by, stop)
		if stop = saturated(res); stop != "" {
			break
		}
	}
	x.curve(by, stop)
	x.res.Verdict.SLO = overall(x.res.Points)
	return nil
}

// levels gives the stages of a sweep, each with the warm-up that the one before
// it left to be done.
func (x *conductor) levels() func(yield func(Stage) bool) {
	e := x.Config.Experiment
	return func(yield func(Stage) bool) {
		switch {
		case e.Concurrencies != nil:
			for _, n := range e.Concurrencies {
				if !yield(x.atConcurrency(n)) {
					return
				}
			}
		case e.Rates != nil:
			for _, r := range e.Rates {
				if !yield(x.atRate(r, "level")) {
					return
				}
			}
		default:
			const doublings = 20
			rate := e.Start
			if rate == 0 {
				rate = 1
			}
			for range doublings {
				if !yield(x.atRate(rate, "level")) {
					return
				}
				rate *= 2
			}
		}
	}
}

// atRate is a stage of an open loop at a rate.
func (x *conductor) atRate(rate float64, purpose string) Stage {
	c := x.level()
	c.Load.Rate, c.Load.Profile = rate, ""
	return Stage{Name: strconv.FormatFloat(rate, 'g', 4, 64) + " requests/s", Purpose: purpose, Config: c}
}

// atConcurrency is a stage of a closed loop.
func (x *conductor) atConcurrency(n int) Stage {
	c := x.level()
	c.Load.Rate, c.Load.Profile, c.Load.Process = 0, "", ""
	c.Load.Bounds.MaxConcurrency = n
	return Stage{Name: fmt.Sprintf("%d in flight", n), Purpose: "level", Config: c}
}

// level is the plan of a level but for its load. The server is warm from the
// one before, so that only the change of load has to settle.
func (x *conductor) level() *config.Config {
	const least, most = 3 * time.Second, 30 * time.Second
	c := *x.Config
	c.Experiment = config.Experiment{}
	if c.Load.Bounds.Warmup == nil && x.e2e > 0 {
		settle := min(max(2*x.e2e, least), most).Round(time.Second)
		c.Load.Bounds.Warmup = &settle
	}
	return &c
}

// curve lists the levels so far by ascending load.
func (x *conductor) curve(by, stopped string) {
	points := make([]int, len(x.res.Points)-x.firstLevel)
	for i := range points {
		points[i] = x.firstLevel + i
	}
	slices.SortStableFunc(points, func(a, b int) int {
		return compareLoad(x.res.Points[a].Load, x.res.Points[b].Load)
	})
	x.res.Curve = &result.Curve{By: by, Points: points, Stopped: stopped}
}

func compareLoad(a, b result.Load) int {
	amount := func(l result.Load) float64 {
		switch {
		case l.Rate != nil:
			return *l.Rate
		case l.Concurrency != nil:
			return float64(*l.Concurrency)
		}
		return 0
	}
	switch x, y := amount(a), amount(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// keptUp is the share of the offered rate below which a server does not keep
// up with it.
const keptUp = 0.9

// saturated says why no higher load is worth offering, "" where it is.
func saturated(res *result.Result) string {
	if len(res.Points) == 0 {
		return ""
	}
	p := res.Points[0]
	if p.Load.Rate == nil {
		return ""
	}
	overloaded := p.Window.Overload != nil && *p.Window.Overload
	if overloaded || p.Rates.Completed < keptUp*p.Rates.Offered {
		return fmt.Sprintf("saturated at %.4g requests/s: %.4g completed", *p.Load.Rate, p.Rates.Completed)
	}
	return ""
}

// overall is the standing of the best level: what the server can keep at some
// load is kept.
func overall(points []result.Point) string {
	best := "none"
	for _, p := range points {
		switch standing := slo.Overall(p.Objectives); {
		case standing == string(slo.Met):
			return standing
		case best == "none" || standing == string(slo.Undecided):
			best = standing
		}
	}
	return best
}

// thoroughly is the length of a sustained run that is to show drift.
const thoroughly = 30 * time.Minute

// limitSpec is the search that the plan asks for.
func limitSpec(e config.Experiment) search.Spec {
	s := e.Spec
	if e.Thorough && s.Sustained == 0 {
		s.Sustained = thoroughly
	}
	return s
}

// PlanLimit says what a search for the limit will probably do.
func PlanLimit(c *config.Config) (search.Plan, error) {
	s, err := search.New(limitSpec(c.Experiment), c.Objectives)
	if err != nil {
		return search.Plan{}, err
	}
	return s.Plan(), nil
}

// findLimit runs the levels that the search asks for.
func (x *conductor) findLimit(ctx context.Context) error {
	s, err := search.New(limitSpec(x.Config.Experiment), x.Config.Objectives)
	if err != nil {
		return err
	}
	defer func() { x.answer(s) }()
	expected := x.target.MeanOutput(x.Config)
	for {
		level, ok := s.Next()
		if !ok {
			return nil
		}
		level.Rate = fourDigits(level.Rate)
		stage := x.atLevel(level)
		res, err := x.run(ctx, stage)
		if err != nil {
			return err
		}
		if len(res.Points) == 0 {
			return fmt.Errorf("%s: nothing was measured", stage.Name)
		}
		seen := search.FromPoint(res.Points[0])
		seen.Spent = spent(res.Points[0])
		seen.Work *= luck(res.Points[0], expected)
		s.Observe(level, seen)
		if level.Purpose == search.Sustain {
			x.res.Sustained = new(len(x.res.Points) - 1)
		}
		x.answer(s)
	}
}

// luck is how much more output the window's requests asked for than the
// workload does in the mean.
func luck(p result.Point, expected float64) float64 {
	if expected <= 0 || p.Requests.OK == 0 || p.Tokens.AskedOutput == 0 {
		return 1
	}
	return float64(p.Tokens.AskedOutput) / float64(p.Requests.OK) / expected
}

// fourDigits rounds a rate to what a person would have asked for.
func fourDigits(rate float64) float64 {
	scale := math.Pow(10, 3-math.Floor(math.Log10(rate)))
	return math.Round(rate*scale) / scale
}

// atLevel is the stage of a level of the search. Levels of one draw share their
// sessions and gaps, scaled by the rate.
func (x *conductor) atLevel(l search.Level) Stage {
	stage := x.atRate(l.Rate, l.Purpose)
	stage.Name = fmt.Sprintf("%s %s", l.Purpose, stage.Name)
	stage.Config.Load.Bounds.Duration = l.Duration
	stage.Config.Load.Bounds.TotalRequests = 0
	stage.Config.Seed += uint64(l.Draw)
	return stage
}

// spent is the load time of a point with its warm-up.
func spent(p result.Point) time.Duration {
	seconds := p.Window.EndS - p.Window.StartS
	if p.Window.WarmupS != nil {
		seconds += *p.Window.WarmupS
	}
	return time.Duration(seconds * float64(time.Second))
}

// answer puts what the search knows into the result.
func (x *conductor) answer(s *search.Search) {
	if x.res == nil {
		return
	}
	limit := resultLimit(s.Answer())
	limit.LeastCost = leastCost(x.res.Points[x.firstLevel:])
	x.res.Limit = limit
	x.curve("rate", "")
	x.res.Curve.Knee = limit.Knee
	x.res.Verdict.SLO = standing(limit)
}

// resultLimit is the search's answer as the document has it.
func resultLimit(l search.Limit) *result.Limit {
	out := &result.Limit{Rate: l.Rate, Interval: l.Interval, Standing: l.Standing, Binding: l.Binding,
		ByObjective: map[string]result.Bound{}, Edge: l.Edge, Knee: l.Knee, Confirmed: l.Confirmed,
		Unmet: l.Unmet, LoadS: l.LoadS, Requests: l.Requests, Notes: l.Notes}
	for name, bound := range l.ByObjective {
		out.ByObjective[name] = result.Bound(bound)
	}
	if l.BestGoodput != nil {
		out.BestGoodput = new(result.BestGoodput(*l.BestGoodput))
	}
	return out
}

// standing is what a limit says of the objectives: they can be kept, cannot at
// any load, or that is not decided.
func standing(l *result.Limit) string {
	switch l.Standing {
	case result.LimitBelow:
		return string(slo.Missed)
	case result.LimitFound, result.LimitAtLeast:
		return string(slo.Met)
	}
	return string(slo.Undecided)
}

// leastCost is the level at which a request that kept every objective costs
// least, nil without a price.
func leastCost(points []result.Point) *result.LeastCost {
	var best *result.LeastCost
	for _, p := range points {
		if p.Cost == nil || p.Load.Rate == nil || p.Goodput == nil || p.Goodput.Fraction <= 0 {
			continue
		}
		each := p.Cost.PerRequest / p.Goodput.Fraction
		if best == nil || each < best.PerRequest {
			best = &result.LeastCost{Rate: *p.Load.Rate, PerRequest: each}
		}
	}
	return best
}
