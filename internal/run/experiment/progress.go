package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/answer/matrix"
	"redline/internal/answer/protocol"
	"redline/internal/answer/search"
	"redline/internal/answer/sweep"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/text"
)

// Estimate is what an experiment will probably take.
type Estimate struct {
	// Stages is how many there are, 0 where only the run itself will show it.
	Stages int
	// Exact says that there will be no more and no fewer, MayEnd that there may be fewer.
	Exact, MayEnd bool
	// What names one of them: "level", "round", "run", "stage".
	What string
	// Names are those of the stages in their order, as far as they are known
	// beforehand; a search for the limit is one of them.
	Names []string
	// Load is how long they offer load: their warm-ups and windows. Clock is
	// that, and the last replies that each of them waits for.
	Load, Clock time.Duration
	// Sustained is how long the sustained runs of a search are, whose clock is
	// its budget.
	Sustained time.Duration
	// Agents says that a search has no ramp.
	Agents bool
	// Expect is what each value of a tuning should do and what it risks.
	Expect []string
	// Warnings say what the plan is too short for, and what would do.
	Warnings []string
}

// What a stage probably takes where nothing is known of the server yet.
const (
	likelyWarmup = 5 * time.Second
	likelyEnd    = 5 * time.Second // for the replies that are still to come
	likelyLaunch = 3 * time.Second // and the end of a server that is launched
)

// add counts a stage, of which the name may not be known.
func (e *Estimate) add(name string, warmup, window time.Duration) {
	if name != "" {
		e.Names = append(e.Names, name)
	}
	e.Stages++
	e.Load += warmup + window
	e.Clock += warmup + window + likelyEnd
}

// String says it in one line.
func (e Estimate) String() string {
	if e.Sustained > 0 {
		levels := fmt.Sprintf("a ramp, about %d levels", e.Stages-1)
		if e.Agents {
			levels = fmt.Sprintf("about %d numbers of agents", e.Stages)
		}
		return fmt.Sprintf("a budget of %s: %s, of which the last are sustained runs of up to %s",
			text.Length(e.Clock), levels, text.Length(e.Sustained))
	}
	if e.Stages == 0 {
		return "levels until the server is saturated, how many is not known"
	}
	number := text.Plural(e.Stages, e.What)
	switch {
	case e.MayEnd:
		number = "up to " + number
	case !e.Exact:
		number = "about " + number
	}
	return fmt.Sprintf("%s: %s of load, about %s by the clock", number, text.About(e.Load), text.About(e.Clock))
}

// estimates are how each command's experiment is foreseen.
var estimates = map[string]func(*config.Config) (Estimate, error){
	"bench": planBench, "tune": planTune, "matrix": planMatrix, "compare": planRounds, "sweep": planSweep, "run": planRepeats}

// Foresee estimates the experiment that a command makes of a plan. Its error is
// that of a plan that cannot be carried out.
func Foresee(command string, c *config.Config) (Estimate, error) {
	return estimates[command](c)
}

// planSearch estimates a search, whose levels depend on what it finds and whose
// time does not.
func planSearch(c *config.Config) (Estimate, error) {
	s, err := search.New(c.SearchSpec(), c.Objectives)
	if err != nil {
		return Estimate{}, err
	}
	plan := s.Plan()
	e := Estimate{What: "stage", Stages: len(plan.Levels), Names: []string{limitSearch}, Clock: plan.Budget, Sustained: plan.Sustained, Agents: c.Experiment.Agents}
	for _, l := range plan.Levels {
		e.Load += l.Warmup + l.Duration
	}
	return e, nil
}

func planSweep(c *config.Config) (Estimate, error) {
	switch {
	case c.Experiment.WorkingSet != "":
		return planWorkingSet(c)
	case c.Experiment.FindLimit:
		return planSearch(c)
	}
	e := Estimate{What: "level", Exact: true}
	for i, l := range sweep.Levels(c) {
		likely := likelyWarmup
		if i == 0 && l.Rate > 0 {
			likely = firstWarmup(c, l.Rate)
		}
		e.add(l.Name(), warmupOf(c, likely), windowOf(c))
	}
	if short := shortLevels(c); short != "" {
		e.Warnings = append(e.Warnings, short)
	}
	return e, nil
}

// shortLevels says that the length which was given leaves levels of a sweep open,
// however far the server stays within its objectives, unless a higher level decides
// for them; "" where it does not.
func shortLevels(c *config.Config) string {
	o, needed := measure.HardestObjective(c, func(slo.Scope) float64 { return 1 })
	length := c.Load.Bounds.Duration.Seconds()
	if needed == 0 || length == 0 {
		return ""
	}
	lowest, highest := math.Inf(1), 0.0
	for _, l := range sweep.Levels(c) {
		lowest, highest = min(lowest, l.Rate), max(highest, l.Rate)
	}
	if lowest <= 0 || lowest*length >= float64(needed) {
		return ""
	}
	enough := func(rate float64) string {
		return text.Option(time.Duration(math.Ceil(float64(needed)/rate/10)*10) * time.Second)
	}
	cure := enough(lowest) + " or more"
	if highest*length < float64(needed) && highest > lowest {
		cure = enough(highest) + " or more for the highest level, " + enough(lowest) + " for each"
	}
	return fmt.Sprintf("levels below %s requests/s bring too few requests in %v to call %s met, which takes at least %d, unless a higher level meets it: give --duration %s",
		text.Rough(float64(needed)/length), c.Load.Bounds.Duration, o.Text, needed, cure)
}

func planRepeats(c *config.Config) (Estimate, error) {
	e := Estimate{What: "run", Exact: true}
	for n := range max(1, c.Experiment.Repeat) {
		e.add(repeatName(n+1), warmupOf(c, firstWarmup(c, c.Load.Rate)), windowOf(c))
	}
	return e, nil
}

// planRounds estimates a live comparison, of which each round has two turns.
func planRounds(c *config.Config) (Estimate, error) {
	e := Estimate{What: "turn", Exact: c.Experiment.Rounds > 0, MayEnd: c.Experiment.Rounds == 0}
	if c.Experiment.Rounds == 1 {
		e.Warnings = append(e.Warnings, "one round does not show by how much rounds differ, so nothing can be judged: give --rounds 2 or more, or leave it out")
	}
	for i, name := range turnNames(cmp.Or(c.Experiment.Rounds, compare.DefaultRounds)) {
		likely := likelyWarmup
		if i < 2 {
			likely = roundLength
		}
		e.add(name, warmupOf(c, likely), cmp.Or(turnLength(c), roundLength))
	}
	return e, nil
}

// turnNames are those of so many rounds, each begun by the other side.
func turnNames(rounds int) (list []string) {
	for n := range 2 * rounds {
		round, side := compare.TurnAt(n)
		list = append(list, roundName(round, []string{"A", "B"}[side]))
	}
	return list
}

func planMatrix(c *config.Config) (Estimate, error) {
	if len(c.Experiment.Toggles) > 0 {
		return planToggles(c)
	}
	if c.Experiment.Isolation {
		return planIsolation(c)
	}
	e := Estimate{What: "row", Exact: true}
	for _, r := range matrix.RowsOf(c) {
		e.addRow(c, r)
	}
	return e, nil
}

// addRow counts a row; one of a number of requests is taken to last as long as
// any other.
func (e *Estimate) addRow(c *config.Config, r config.Row) {
	e.add(matrix.Name(r), warmupOf(c, matrix.Scale(c, matrix.Warmup)), matrix.Scale(c, cmp.Or(r.Duration, matrix.Length)))
}

// planBench estimates the protocol, as if it found a limit and held it.
func planBench(c *config.Config) (Estimate, error) {
	e := Estimate{What: "stage"}
	for _, step := range protocol.Steps(c, protocol.Known{Limit: &result.Limit{Rate: 1}, Sustained: true}) {
		switch {
		case step.Search:
			e.Names = append(e.Names, limitSearch)
		case step.Purpose == result.PurposeSmoke:
			e.add(step.Name, 0, 0)
		case step.Purpose == result.PurposeWarmUp:
			e.add(step.Name, 0, matrix.Scale(c, matrix.Length/2))
		default:
			e.addRow(c, step.Row)
		}
	}
	searched := *c
	searched.Experiment.Spec, searched.Experiment.Thorough = protocol.SearchSpec(c), false
	plan, err := planSearch(&searched)
	if err != nil {
		return Estimate{}, err
	}
	e.Stages, e.Load, e.Clock = e.Stages+plan.Stages, e.Load+plan.Load, e.Clock+plan.Clock
	if n := len(c.Experiment.Variants); n > 1 {
		e.Stages, e.Load, e.Clock = e.Stages*n, e.Load*time.Duration(n), e.Clock*time.Duration(n)
	}
	return e, nil
}

// windowOf is how long a stage is measured.
func windowOf(c *config.Config) time.Duration { return cmp.Or(c.Load.Bounds.Duration, levelLength) }

// warmupOf is the warm-up that the plan gives every stage, else what is likely.
func warmupOf(c *config.Config, likely time.Duration) time.Duration {
	if given := c.Load.Bounds.Warmup; given != nil {
		return *given
	}
	return likely
}

// firstWarmup is that of a server that has answered nothing yet: fifty requests,
// and the time that the last of them take.
func firstWarmup(c *config.Config, rate float64) time.Duration {
	const requests, limit = 50, time.Minute
	if rate <= 0 {
		return 2 * likelyWarmup
	}
	return min(limit, c.Load.Bounds.MaxAround(), likelyWarmup+time.Duration(requests/rate*float64(time.Second)))
}

// Progress is where an experiment stands when a stage begins.
type Progress struct {
	// Number counts the stages from 1; Of is how many there will be, about so
	// many if Exact is false, 0 where that is not known.
	Number, Of int
	Exact      bool
	What       string
	// Warmup and Window are the stage's own, 0 where they are not known
	// beforehand.
	Warmup, Window time.Duration
	// Limit is what a search believes before one of its levels, nil before it
	// knows anything.
	Limit *result.Limit
	// Ahead is what it and the stages behind it will probably take, 0 where that
	// is not known.
	Ahead time.Duration
	// Next are the stages behind it, as far as they are known; of a search those
	// that follow if the limit is where it is believed to be.
	Next []string
}

// limitSearch stands for all levels of a search in a list of stages.
const limitSearch = "search for the limit"

// course is how far an experiment has come: how much of what was foreseen is over,
// and how many of the stages that were named beforehand.
type course struct {
	passed time.Duration
	named  int
}

func (x *conductor) stagesAhead(s Stage) []string {
	name := cmp.Or(s.repeats, s.Name)
	if s.Searches() || s.Purpose == result.PurposeRamp {
		name = limitSearch
	}
	for i, known := range x.Foreseen.Names {
		if name == known || strings.HasPrefix(name, known+" ") {
			x.named = i + 1
		}
	}
	return slices.Concat(s.ahead, x.Foreseen.Names[x.named:])
}

// progress says where the experiment stands before a stage.
func (x *conductor) progress(s Stage) Progress {
	b := s.Config.Load.Bounds
	p := Progress{Number: x.number, What: x.Foreseen.What, Exact: x.Foreseen.Exact, Window: b.Duration}
	p.Next = x.stagesAhead(s)
	if b.Warmup != nil {
		p.Warmup = *b.Warmup
	}
	if x.res != nil && s.Searches() {
		p.Limit = x.res.Limit
	}
	if x.number <= x.Foreseen.Stages {
		p.Of = x.Foreseen.Stages
		ahead := x.Foreseen.Clock - x.passed
		if over := x.number - 1; over > 1 && (p.What == "run" || p.What == "turn") { // which are alike
			ahead = x.passed / time.Duration(over) * time.Duration(p.Of-over)
		}
		p.Ahead = max(ahead, p.Warmup+p.Window+x.drainTime())
	}
	return p
}

// Searches reports whether the stage is a level of a search, of which a belief
// from all levels together says where the objectives stand.
func (s Stage) Searches() bool { return s.Purpose == search.Look || s.Purpose == search.Sustain }

// asMeasured is a level of a search as far as it was measured: one that was cut
// short is only as long as its window, and confirms nothing.
func asMeasured(l search.Level, res *result.Result) search.Level {
	if res.Interrupted != "" && len(res.Points) > 0 {
		w := res.Points[0].Window
		l.Duration = min(l.Duration, time.Duration(w.Seconds()*float64(time.Second)))
	}
	return l
}

// drainTime is how long a stage waits for its last replies.
func (x *conductor) drainTime() time.Duration { return cmp.Or(x.e2e, likelyEnd) }

// addElapsed counts the time that a stage took.
func (x *conductor) addElapsed(res *result.Result) {
	if len(res.Points) == 0 {
		return
	}
	w := res.Points[0].Window // whose clock began before the first stage
	took := w.Seconds()
	if w.WarmupS != nil {
		took += *w.WarmupS
	}
	x.passed += time.Duration(took*float64(time.Second)) + x.drainTime()
}
