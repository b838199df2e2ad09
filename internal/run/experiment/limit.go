package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"redline/internal/answer/search"
	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/price"
	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/text"
)

// thoroughly is the length of a sustained run that is to show drift.
const thoroughly = 30 * time.Minute

// limitSpec is the search that the plan asks for, whose levels have the plan's
// own warm-up and drain where it has any.
func limitSpec(c *config.Config) search.Spec {
	s := c.Experiment.Spec
	if c.Experiment.Thorough && s.Sustained == 0 {
		s.Sustained = thoroughly
	}
	s.Warmup = c.Load.Bounds.Warmup
	// The plan that is kept names its default, so the value has to tell.
	if d := c.Load.Bounds.Drain; d != nil && *d != load.DefaultDrain {
		s.Drain = d
	}
	return s
}

// PlanLimit says what a search for the limit will probably do.
func PlanLimit(c *config.Config) (search.Plan, error) {
	s, err := search.New(limitSpec(c), c.Objectives)
	if err != nil {
		return search.Plan{}, err
	}
	return s.Plan(), nil
}

// findLimit runs the levels that the search asks for.
func (x *conductor) findLimit(ctx context.Context) error {
	s, err := search.New(x.reachable(limitSpec(x.Config)), x.Config.Objectives)
	if err != nil {
		return err
	}
	defer func() { x.answer(s); x.endLimit(s) }()
	f := finder{conductor: x, search: s}
	f.prompt, f.output = x.target.MeanLengths(x.Config)
	for {
		level, ok := s.Next()
		if !ok || f.lostLevels > 1 {
			return nil // after two levels in a row that do not count it would ask for nothing else
		}
		if x.Begin != nil {
			x.levelsAhead = aheadOf(s)
		}
		if level.Purpose == search.Ramp {
			err = f.ramp(ctx, level)
		} else {
			err = f.level(ctx, level)
		}
		if err != nil {
			return err
		}
		x.answer(s)
		if err := x.keep(result.Killed); err != nil {
			return err
		}
	}
}

// aheadOf names the two levels that probably follow the next one: rehearsing more
// would keep the search waiting.
func aheadOf(s *search.Search) []string {
	levels := s.Ahead(3)
	return text.Each(levels[min(1, len(levels)):], func(l search.Level) string {
		return l.Purpose + " about " + text.Unit(text.Digits(l.Rate, 2), "requests/s")
	})
}

// endLimit makes a search invalid of which no level counts: otherwise what is
// known is the answer, also where a level had to be left out.
func (x *conductor) endLimit(s *search.Search) {
	if x.leftOut != "" && s.Answer().Requests == 0 {
		x.unsupported("no level of the search counts")
	}
}

// reachable is the search with a ceiling that this machine can open
// connections for.
func (x *conductor) reachable(s search.Spec) search.Spec {
	most := x.target.MostRate(x.Config)
	if most > 0 && (s.Ceiling == 0 || s.Ceiling > most) {
		// By a power of two, so that it is the same when a search is resumed.
		s.Ceiling = max(math.Exp2(math.Floor(math.Log2(most))), s.Floor, s.Start, leastCeiling)
	}
	return s
}

// leastCeiling is what is offered whatever the machine seems to hold.
const leastCeiling = 1

// finder is a search for the limit under way.
type finder struct {
	*conductor
	search         *search.Search
	prompt, output float64 // mean tokens of the workload
	lostLevels     int     // levels in a row that do not count
}

// ramp finds the scale of the server.
func (f *finder) ramp(ctx context.Context, l search.Level) error {
	var climber search.Climber
	stage := f.rising(l)
	stage.enough = func(s progress.Snapshot) bool {
		return climber.Enough(l, s.Elapsed, s.Due-s.Answered-s.Errors-s.Rejected, s.Answered, s.Errors+s.Rejected)
	}
	begun := time.Now()
	res, err := f.figuresOf(ctx, stage)
	if err != nil {
		return err
	}
	length := time.Duration(res.Points[0].Window.Seconds() * float64(time.Second))
	seen := search.Observation{Queued: length < l.Duration-watchGrain, InFlight: float64(res.Points[0].Requests.Censored)}
	if seen.E2E, seen.Pace, err = f.lightest(); err != nil {
		return err
	}
	l.Duration = min(length, l.Duration)
	if seen.Spent, err = f.took(begun, res.Points[0]); err != nil {
		return err
	}
	entry := f.last()
	entry.Outcome = fmt.Sprintf("no queue up to %s", text.Rate(l.RateAt(l.Duration)))
	late, _ := res.Points[0].Latency.Lag.Get("p99")
	switch behind := time.Duration(late * float64(time.Millisecond)); {
	case behind > length/4:
		// Of a ramp that this machine could not send, only the rate counts that it did.
		l.Duration, seen.Queued = max(length-behind, length/8), true
		entry.Outcome = fmt.Sprintf("this machine fell behind at %s", text.Rate(l.RateAt(l.Duration)))
	case seen.Queued:
		entry.Outcome = fmt.Sprintf("%s at %s", whatEnded(res.Points[0].Requests), text.Rate(l.RateAt(l.Duration)))
	}
	f.search.Observe(l, seen)
	f.firstLevel = len(f.res.Points)
	return nil
}

// whatEnded says what a ramp met.
func whatEnded(r metric.Requests) string {
	switch {
	case r.Rejected > r.Failed:
		return "requests were rejected"
	case r.Failed > 0:
		return "requests failed"
	}
	return "a queue formed"
}

// fewestPaced is how many tokens a reply needs for its pace to be more than the
// chance of two reads.
const fewestPaced = 16

// lightest is what a mean request takes at the lightest load of the last stage,
// of the shortest time to a first token and the fastest pace of the others, and
// that pace where long replies have it.
func (f *finder) lightest() (alone, steady time.Duration, err error) {
	first, pace, long := math.Inf(1), math.Inf(1), math.Inf(1)
	err = f.eachRecord(func(r *record.Record) {
		switch {
		case r.Outcome != llm.OK:
			return
		case r.First == 0:
			first, pace = min(first, float64(r.Last-r.Sent)), 0
			return
		}
		first = min(first, float64(r.First-r.Sent))
		if r.OutputTokens > 1 {
			pace = min(pace, float64(r.Last-r.First)/float64(r.OutputTokens-1))
		}
		if r.OutputTokens >= fewestPaced {
			long = min(long, float64(r.Last-r.First)/float64(r.OutputTokens-1))
		}
	})
	if !math.IsInf(long, 1) {
		steady = time.Duration(long)
	}
	if whole := first + pace*f.output; !math.IsInf(whole, 1) && !math.IsNaN(whole) {
		alone = time.Duration(whole)
	}
	return alone, steady, err
}

// watchGrain is how much shorter than planned a ramp is that was ended.
const watchGrain = 10 * time.Millisecond

// level runs one level and takes in what came of it.
func (f *finder) level(ctx context.Context, l search.Level) error {
	l.Rate = text.Round(l.Rate, 4)
	stage := f.atLevel(l)
	stage.once = !f.search.Repeatable(l)
	begun := time.Now()
	res, err := f.figuresOf(ctx, stage)
	if err != nil {
		return err
	}
	seen := search.FromPoint(res.Points[0])
	if seen.Spent, err = f.took(begun, res.Points[0]); err != nil {
		return err
	}
	seen.Work = luck(res.Points[0], seen.Work, f.prompt, f.output)
	f.res.Workload.Arrival = res.Workload.Arrival // of a level, not of the ramp
	if f.leftOut != "" {
		f.lostLevels++
		f.search.Pass(seen.Spent)
		return nil
	}
	f.lostLevels = 0
	f.search.Observe(asMeasured(l, res), seen)
	if l.Purpose == search.Sustain && res.Interrupted == "" {
		f.res.Sustained = new(len(f.res.Points) - 1)
	}
	return f.judgeAccepted()
}

// took is the wall-clock time of the last stage: since it was begun, or as it
// was noted where it was kept from before.
func (f *finder) took(begun time.Time, p result.Point) (time.Duration, error) {
	stage := f.last()
	recorded, err := f.spent(p)
	took := f.before[stage.Dir]
	if !f.reused {
		took = time.Since(begun)
	}
	took = max(took, recorded+f.lost)
	stage.TookS = took.Seconds()
	return took, err
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
	verdicts, err := measure.Judge(x.Config, x.lastDir(), asked)
	if err != nil {
		return err
	}
	p.Objectives = slices.Concat(p.Objectives, verdicts)
	return nil
}

// luck is the work that the window's requests brought over what the workload
// brings on average: how many came, and the lengths that they asked for. Those that the drain cut off count too: they are the
// long ones.
func luck(p result.Point, requests, prompt, output float64) float64 {
	over := func(asked int64, mean float64) float64 {
		if mean <= 0 || p.Requests.Due == 0 {
			return 0
		}
		return float64(asked) / float64(p.Requests.Due) / mean
	}
	return search.Luck(requests, over(p.Tokens.DuePrompt, prompt), over(p.Tokens.DueOutput, output))
}

// rising is the stage of a ramp. Nothing is measured by it but how far it rose.
func (x *conductor) rising(l search.Level) Stage {
	return x.stage("ramp from "+text.Rate(l.From), result.PurposeRamp, func(c *config.Config) {
		c.Objectives = nil
		c.Load.Rate, c.Load.Profile = 0, fmt.Sprintf("ramp(%s..%s,%v,exp)", text.Plain(l.From), text.Plain(text.Round(l.Rate, 4)), l.Duration)
		b := &c.Load.Bounds
		b.Duration, b.TotalRequests, b.Warmup, b.Drain = l.Duration, 0, new(time.Duration), new(time.Duration)
	})
}

// atLevel is the stage of a level of the search. Where it sets the warm-up, that
// covers a session as far as the level allows.
func (x *conductor) atLevel(l search.Level) Stage {
	stage := x.atRate(l.Rate, l.Purpose)
	stage.Name = fmt.Sprintf("%s %s", l.Purpose, stage.Name)
	b := &stage.Config.Load.Bounds
	b.TotalRequests = 0
	stage.Config.Seed += uint64(l.Draw)
	if x.Config.Load.Bounds.Warmup == nil {
		longer := min(max(x.sessionTime()-l.Warmup, 0), l.Duration/2)
		l.Warmup, l.Duration = l.Warmup+longer, l.Duration-longer
	}
	b.Duration, b.Warmup, b.Drain = l.Duration, &l.Warmup, &l.Drain
	return stage
}

// spent is how long the last stage kept the server busy: from the start of its
// load to its last reply, which comes after the window.
func (x *conductor) spent(p result.Point) (time.Duration, error) {
	start, last := p.Window.StartS, p.Window.EndS
	if p.Window.WarmupS != nil {
		start -= *p.Window.WarmupS
	}
	err := x.eachRecord(func(r *record.Record) { last = max(last, time.Duration(r.End).Seconds()) })
	return time.Duration((last - start) * float64(time.Second)), err
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
	x.holding(limit.Held)
	x.curve("rate", "")
	x.res.Curve.Knee = limit.Knee
	var rates []float64
	for _, i := range x.res.Curve.Points {
		if rate := x.res.Points[i].Load.Rate; rate != nil {
			rates = append(rates, *rate)
		}
	}
	x.res.Curve.Standing = s.Standings(rates)
	x.res.Verdict.SLO = standing(&limit)
}

// holding makes the run that held its rate the sustained one.
func (x *conductor) holding(held *result.Held) {
	for i, p := range x.res.Points {
		if held != nil && i >= x.firstLevel && p.Load.Rate != nil && *p.Load.Rate == held.Rate && len(p.Invalid) == 0 && p.Window.Seconds() >= held.Seconds-1 {
			x.res.Sustained = new(i)
		}
	}
}

// standing is what a limit says of the objectives: they can be met, cannot at
// any load, or that is not decided.
func standing(l *result.Limit) slo.Standing {
	switch {
	case l.Standing == result.LimitBelow:
		return slo.Missed
	case l.Standing == result.LimitFound, l.Held != nil:
		return slo.Met
	}
	return slo.Undecided
}
