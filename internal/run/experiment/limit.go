package experiment

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"redline/internal/answer/search"
	"redline/internal/answer/sweep"
	"redline/internal/drive/record"
	"redline/internal/judge/price"
	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// finder is a search for the limit under way.
type finder struct {
	*conductor
	search     *search.Search
	lengths    search.Lengths // of the workload
	turns      float64        // of its sessions; rates are those of sessions where it is above 1
	agents     bool           // what is called a rate is a number of agents
	first      int            // the index of the first point that belongs to the curve
	lostLevels int            // levels in a row that do not count
	counted    time.Time      // up to when time is counted as spent: what is computed between levels is too
}

// findLimit runs the levels that the search asks for.
func (x *conductor) findLimit(ctx context.Context) error {
	spec := x.withForeknowledge(x.withCeiling(x.Config.SearchSpec()))
	s, err := search.New(spec, x.Config.Objectives)
	if err != nil {
		return err
	}
	f := finder{conductor: x, search: s, lengths: spec.Lengths, turns: spec.Turns, agents: spec.Agents, counted: time.Now()}
	if x.res != nil {
		f.first = len(x.res.Points)
	}
	defer func() {
		if f.answer(); f.leftOut != "" && f.search.Answer().Requests == 0 { // else what is known is the answer
			f.invalidate("no level of the search counts")
		}
	}()
	for {
		level, ok := s.Next()
		if !ok || f.lostLevels > 1 {
			return nil // after two levels in a row that do not count it would ask for nothing else
		}
		if level.Purpose == search.Ramp {
			err = f.ramp(ctx, level)
		} else {
			err = f.level(ctx, level)
		}
		if err != nil {
			return err
		}
		f.answer()
		if err := x.keep(result.Killed); err != nil {
			return err
		}
	}
}

// ahead names the two levels that probably follow the next one: rehearsing more
// would keep the search waiting.
func (f *finder) ahead() []string {
	if f.Begin == nil {
		return nil
	}
	levels := f.search.Ahead(3)
	return text.Each(levels[min(1, len(levels)):], func(l search.Level) string {
		return l.Purpose + " about " + text.Unit(text.Digits(l.Rate, 2), f.rateUnit())
	})
}

// rateUnit is the unit of the search's rates, and rateText is one of them.
func (f *finder) rateUnit() string {
	switch {
	case f.agents:
		return result.Agents
	case f.turns > 1:
		return result.SessionRates
	}
	return "requests/s"
}

func (f *finder) rateText(rate float64) string {
	return text.Unit(text.Digits(rate, 4), f.rateUnit())
}

// withCeiling is the search with a ceiling that this machine can open
// connections for.
func (x *conductor) withCeiling(s search.Spec) search.Spec {
	most := x.target.MaxRate(x.Config)
	if s.Agents {
		most = float64(x.target.MaxConnections(x.Config))
	}
	if most > 0 && (s.Ceiling == 0 || s.Ceiling > most) {
		// By a power of two, so that it is the same when a search is resumed.
		s.Ceiling = max(math.Exp2(math.Floor(math.Log2(most))), s.Floor, s.Start, minCeiling)
	}
	return s
}

// withForeknowledge is the search with what is known before any load: how long a lone
// reply takes, by the preflight, the lengths of the workload, and what model and
// hardware can do by arithmetic; where requests are turns of sessions, how these go on.
func (x *conductor) withForeknowledge(s search.Spec) search.Spec {
	s.Reply, s.Pace = x.target.Lone(x.Config)
	s.Lengths.Prompt, s.Lengths.Output = x.target.MeanLengths(x.Config)
	s.Lengths.Residence = x.target.Residence(x.Config)
	s.Guess = x.target.GuessLimit(x.Config)
	s.Turns, s.Settle = x.target.Sessions(x.Config, 0)
	s.Settle = min(s.Settle, maxSession)
	return s
}

// minCeiling is what is offered whatever the machine seems to hold.
const minCeiling = 1

// ramp finds the scale of the server. One that is resumed is the ramp that was
// kept: what is known before any load is not the same twice.
func (f *finder) ramp(ctx context.Context, l search.Level) error {
	if was, ok := f.rampBefore(); ok {
		l = was
	}
	l.From, l.Rate = text.Round(l.From, 4), text.Round(l.Rate, 4)
	climber := f.search.Climber(l)
	stage := f.rampStage(l)
	stage.ahead = f.ahead()
	stage.enough = func(s progress.Snapshot) bool {
		return climber.Enough(search.Moment{Elapsed: s.Elapsed, Due: s.Due, Answered: s.Answered, Ended: s.OK, Failed: s.Of(llm.Failures) + s.Of(llm.Rejections), Events: int(s.Events)})
	}
	res, err := f.figuresOf(ctx, stage)
	if err != nil {
		return err
	}
	length := time.Duration(res.Points[0].Window.Seconds() * float64(time.Second))
	ended := length < l.Duration-watchGrain
	risen := l.Until(min(length, l.Duration))
	seen, err := search.FromRamp(risen, res.Points[0].Window.StartS, f.lengths.Output, f.eachRecord)
	if err != nil {
		return err
	}
	seen.Queued = ended && seen.Queued
	if seen.Spent, err = f.took(res.Points[0]); err != nil {
		return err
	}
	entry := f.last()
	entry.Outcome = seen.RampWords(f.rateText(risen.Rate), res.Points[0].Requests)
	late, _ := res.Points[0].Latency.Lag.Get("p99")
	if behind := time.Duration(late * float64(time.Millisecond)); behind > length/4 {
		// Of a ramp that this machine could not send, only the rate counts that it did.
		risen, seen.Queued = l.Until(max(length-behind, length/8)), true
		entry.Outcome = fmt.Sprintf("this machine fell behind at %s", f.rateText(risen.Rate))
	}
	f.search.Observe(risen, seen)
	f.first = len(f.res.Points)
	return nil
}

// rampBefore is the ramp that an earlier attempt at the search made as the stage
// that comes now.
func (f *finder) rampBefore() (l search.Level, ok bool) {
	if f.was == nil {
		return l, false
	}
	number, length := fmt.Sprintf("%02d-", f.number+1), ""
	i := slices.IndexFunc(f.was.Stages, func(s result.Stage) bool {
		return s.Purpose == result.PurposeRamp && s.Point != nil && strings.HasPrefix(path.Base(s.Dir), number)
	})
	if i < 0 {
		return l, false
	}
	profile := f.was.Points[*f.was.Stages[i].Point].Load.Profile
	n, err := fmt.Sscanf(strings.NewReplacer(",", " ", "..", " ").Replace(profile), "ramp(%g %g %s", &l.From, &l.Rate, &length)
	if err != nil || n < 3 {
		return l, false
	}
	l.Duration, err = time.ParseDuration(length)
	l.Purpose = search.Ramp
	return l, err == nil && l.Duration > 0 && l.Rate > l.From && l.From > 0
}

// watchGrain is how much shorter than planned a ramp is that was ended.
const watchGrain = 10 * time.Millisecond

// level runs one level and takes in what came of it.
func (f *finder) level(ctx context.Context, l search.Level) error {
	l.Rate = text.Round(l.Rate, 4)
	stage := f.atLevel(l)
	stage.once, stage.ahead = !f.search.Repeatable(l), f.ahead()
	res, err := f.figuresOf(ctx, stage)
	if err != nil {
		return err
	}
	seen, err := search.FromLevel(res.Points[0], f.turns, f.lengths, f.eachRecord)
	if err != nil {
		return err
	}
	if seen.Spent, err = f.took(res.Points[0]); err != nil {
		return err
	}
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

// took is the wall-clock time of the last stage: since the one before it, or as it
// was noted where it was kept from before.
func (f *finder) took(p result.Point) (time.Duration, error) {
	stage := f.last()
	recorded, err := f.timeSpent(p)
	took := recorded + f.lost
	if !f.reused {
		took = max(took, time.Since(f.counted))
	} else if f.was != nil {
		for _, s := range f.was.Stages {
			if s.Dir == stage.Dir {
				took = max(took, time.Duration(s.TookS*float64(time.Second)))
			}
		}
	}
	stage.TookS, f.counted = took.Seconds(), time.Now()
	return took, err
}

// rampStage is the stage of a ramp. Nothing is measured by it but how far it rose.
func (f *finder) rampStage(l search.Level) Stage {
	return f.stage("ramp from "+f.rateText(l.From), result.PurposeRamp, func(c *config.Config) {
		c.Objectives = nil
		c.Load.Rate, c.Load.Profile = 0, fmt.Sprintf("ramp(%s..%s,%v,exp)", text.Plain(l.From), text.Plain(text.Round(l.Rate, 4)), l.Duration)
		b := &c.Load.Bounds
		b.Duration, b.TotalRequests, b.Warmup, b.Drain = l.Duration, 0, new(time.Duration), new(time.Duration)
	})
}

func (f *finder) atLevel(l search.Level) Stage {
	load := sweep.Level{Rate: l.Rate}
	if f.agents {
		load = sweep.Level{Concurrency: int(l.Rate), Agents: true}
	}
	stage := f.conductor.level("", l.Purpose, load.Apply)
	stage.Name = l.Purpose + " " + f.rateText(l.Rate)
	b := &stage.Config.Load.Bounds
	b.TotalRequests = 0
	stage.Config.Seed += uint64(l.Draw)
	b.Duration, b.Warmup, b.Drain = l.Duration, &l.Warmup, &l.Drain
	return stage
}

// timeSpent is how long the last stage kept the server busy: from the start of its
// load to its last reply, which comes after the window.
func (x *conductor) timeSpent(p result.Point) (time.Duration, error) {
	start, last := p.Window.StartS, p.Window.EndS
	if p.Window.WarmupS != nil {
		start -= *p.Window.WarmupS
	}
	err := x.eachRecord(func(r *record.Record) { last = max(last, time.Duration(r.End).Seconds()) })
	return time.Duration((last - start) * float64(time.Second)), err
}

// answer puts what the search knows into the result.
func (f *finder) answer() {
	if f.res == nil {
		return
	}
	limit := f.search.Answer()
	if limit.Requests == 0 {
		return // no level has ended: nothing is known of a limit
	}
	limit.MinCost = price.MinCost(f.countedPoints(f.first))
	f.res.Limit = &limit
	for i, p := range f.res.Points {
		if limit.Held != nil && i >= f.first && p.Load.Amount() == limit.Held.Rate && len(p.Invalid) == 0 && p.Window.Seconds() >= limit.Held.Seconds-1 {
			f.res.Sustained = new(i)
		}
	}
	by := "rate"
	if f.agents {
		by = result.Agents
	}
	f.res.Curve = sweep.Curve(f.res.Points, f.first, by, "")
	f.res.Curve.Knee = limit.Knee
	var rates []float64
	for _, i := range f.res.Curve.Points {
		rates = append(rates, f.res.Points[i].Load.Amount())
	}
	f.res.Curve.Standing = f.search.Standings(rates)
	f.res.Verdict.SLO = f.standing(&limit)
}

// standing is what a limit says of the objectives: they can be met, as a level
// shows or as all of them together do, cannot at any load, or that is not decided.
func (f *finder) standing(l *result.Limit) slo.Standing {
	switch {
	case l.Standing == result.LimitBelow:
		return slo.Missed
	case l.Standing == result.LimitFound, l.Held != nil, f.search.MaxMetRate() > 0:
		return slo.Met
	}
	return slo.Undecided
}
