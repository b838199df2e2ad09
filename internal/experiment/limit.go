package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"redline/internal/config"
	"redline/internal/load"
	"redline/internal/measure"
	"redline/internal/price"
	"redline/internal/result"
	"redline/internal/search"
	"redline/internal/slo"
	"redline/internal/store"
)

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
	plan := s.Plan()
	if len(plan.Levels) == 0 {
		return plan, fmt.Errorf("a budget of %v does not pay for one level: give more", c.Experiment.Budget)
	}
	return plan, nil
}

// findLimit runs the levels that the search asks for.
func (x *conductor) findLimit(ctx context.Context) error {
	spec := limitSpec(x.Config.Experiment)
	s, err := search.New(spec, x.Config.Objectives)
	if err != nil {
		return err
	}
	defer func() { x.answer(s); x.endLimit(s) }()
	left, lost := spec.Budget, false
	prompt, output := x.target.MeanLengths(x.Config)
	for {
		level, ok := s.Next()
		if !ok {
			return nil
		}
		level.Rate = fourDigits(level.Rate)
		stage := x.atLevel(level)
		if spec.Budget > 0 {
			if level, ok = affordable(level, left, x.expectedWarmup(stage), cmp.Or(spec.Shortest, defaultShortest)); !ok {
				return nil
			}
			stage = x.atLevel(level)
		}
		res, err := x.run(ctx, stage)
		if err != nil {
			return err
		}
		if len(res.Points) == 0 {
			return fmt.Errorf("%s: nothing was measured", stage.Name)
		}
		seen := search.FromPoint(res.Points[0])
		if seen.Spent, err = x.spent(res.Points[0]); err != nil {
			return err
		}
		seen.Spent += x.lost
		left -= seen.Spent
		if x.leftOut != "" {
			if lost {
				return nil // the search would ask for nothing else
			}
			lost = true
			continue
		}
		lost = false
		seen.Work = luck(res.Points[0], seen.Work, prompt, output)
		s.Observe(asMeasured(level, res), seen)
		if level.Purpose == search.Sustain && res.Interrupted == "" {
			x.res.Sustained = new(len(x.res.Points) - 1)
			if err := x.judgeAccepted(); err != nil {
				return err
			}
		}
		x.answer(s)
	}
}

// endLimit makes a search invalid of which no level counts: otherwise what is
// known is the answer, also where a level had to be left out.
func (x *conductor) endLimit(s *search.Search) {
	if x.leftOut != "" && s.Answer().Requests == 0 {
		x.unsupported("no level of the search counts")
	}
}

// judgeAccepted adds to the last point what its records say of the stopping
// rule's objectives. They are no objectives of the stage itself, whose goodput
// is that of the plan's.
func (x *conductor) judgeAccepted() error {
	conditions, err := x.Config.Experiment.Conditions()
	if err != nil {
		return err
	}
	p := &x.res.Points[len(x.res.Points)-1]
	var asked []slo.Objective
	for _, c := range conditions {
		known := slices.ContainsFunc(p.Objectives, func(v slo.Verdict) bool {
			return v.Objective == c.Objective.Text && v.Scope == c.Objective.Scope
		})
		if c.Limit == 0 && !known {
			asked = append(asked, c.Objective)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	stage := x.res.Stages[len(x.res.Stages)-1]
	verdicts, err := measure.Judge(x.Config, filepath.Join(x.dir.Path, filepath.FromSlash(stage.Dir)), asked)
	if err != nil {
		return err
	}
	p.Objectives = slices.Concat(p.Objectives, verdicts)
	return nil
}

// luck is the work that the window's requests brought over what was promised:
// as many as came, with the lengths that they asked for against those that the
// workload has in the mean.
func luck(p result.Point, requests, prompt, output float64) float64 {
	over := func(asked int64, mean float64) float64 {
		if mean <= 0 || p.Requests.OK == 0 {
			return 0
		}
		return float64(asked) / float64(p.Requests.OK) / mean
	}
	return search.Luck(requests, over(p.Tokens.AskedPrompt, prompt), over(p.Tokens.AskedOutput, output))
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
	if l.Purpose != search.Probe && x.Config.Load.Bounds.Warmup == nil {
		// The limit is about runs that begin as any run does.
		stage.Config.Load.Bounds.Warmup = nil
	}
	// The plan that is kept names its default, so the value has to tell.
	if d := x.Config.Load.Bounds.Drain; d == nil || *d == load.DefaultDrain {
		stage.Config.Load.Bounds.Drain = new(drainOf(l, x.Config.Objectives))
	}
	return stage
}

// drainOf is how long the last requests of a level get to end. A probe that is
// far too high never drains, and what has not ended after as long again says
// no more. But where an objective allows longer than that, ending earlier would
// hide who breaks it.
func drainOf(l search.Level, objectives []slo.Objective) time.Duration {
	drain := load.DefaultDrain
	if l.Purpose == search.Probe {
		drain = min(max(l.Duration, shortestDrain), drain)
	}
	for _, o := range objectives {
		if o.Metric == "ttft" || o.Metric == "e2e" {
			drain = max(drain, time.Duration(1.1*o.Limit))
		}
	}
	return drain
}

// shortestDrain is what the last requests of a short level get to end.
const shortestDrain = 10 * time.Second

// expectedWarmup is how long a stage will load the server before its window, as
// far as the levels before tell.
func (x *conductor) expectedWarmup(s Stage) time.Duration {
	if w := s.Config.Load.Bounds.Warmup; w != nil {
		return *w
	}
	const requests, longest = 50, time.Minute
	first := time.Duration(requests / s.Config.Load.Rate * float64(time.Second))
	return min(max(first, 2*x.e2e), longest)
}

// affordable is a level within what is left of the budget, of which its warm-up
// takes a part; not ok where too little would be measured.
func affordable(l search.Level, left, warmup, shortest time.Duration) (search.Level, bool) {
	left -= warmup
	if left < shortest || l.Purpose == search.Sustain && left < l.Duration {
		return search.Level{}, false
	}
	l.Duration = min(l.Duration, left)
	return l, true
}

// spent is how long the last stage kept the server busy: from the start of its
// load to its last reply, which comes after the window.
func (x *conductor) spent(p result.Point) (time.Duration, error) {
	start, last := p.Window.StartS, p.Window.EndS
	if p.Window.WarmupS != nil {
		start -= *p.Window.WarmupS
	}
	stage := x.res.Stages[len(x.res.Stages)-1]
	dir, err := store.Open(filepath.Join(x.dir.Path, filepath.FromSlash(stage.Dir)))
	if err != nil {
		return 0, err
	}
	for r, err := range dir.Records() {
		if err != nil {
			return 0, err
		}
		last = max(last, time.Duration(r.End).Seconds())
	}
	return time.Duration((last - start) * float64(time.Second)), nil
}

// answer puts what the search knows into the result.
func (x *conductor) answer(s *search.Search) {
	if x.res == nil {
		return
	}
	limit := s.Answer()
	if limit.Requests == 0 {
		return // no level has ended: nothing is known of a limit
	}
	limit.LeastCost = price.Least(x.counted(x.firstLevel))
	x.res.Limit = &limit
	x.curve("rate", "")
	x.res.Curve.Knee = limit.Knee
	x.res.Verdict.SLO = standing(&limit)
}

// standing is what a limit says of the objectives: they can be kept, cannot at
// any load, or that is not decided.
func standing(l *result.Limit) slo.Standing {
	switch l.Standing {
	case result.LimitBelow:
		return slo.Missed
	case result.LimitFound:
		return slo.Met
	case result.LimitAtLeast:
		if l.Confirmed {
			return slo.Met
		}
	}
	return slo.Undecided
}
