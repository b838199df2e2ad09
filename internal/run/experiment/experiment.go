// Package experiment conducts several runs as one: a sweep over loads, the
// search for the limit, repeats, a protocol, two servers side by side. It takes
// a plan and gives one result with a point for each run. It is control flow
// over measure's "run this stage": it holds no statistics and shows nothing.
//
// All of them vary one thing and compare. A stage is the plan with one thing
// changed (stage): a load, a row, a seed, a setting of the server. Which comes next
// is for the policies of answer/ to say; run repeats a stage where it has to be and
// adds it to the whole. What two servers differ in is seen
// where they take turns at the same requests (turns.go): compare, the
// confirmation of a tuning, and toggles.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/launch"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
)

// Options is everything that an experiment needs: those of a run, whose plan is
// the whole experiment's, and who hears of its stages.
type Options struct {
	measure.Options
	// Resume is the directory of an experiment that was cut short and is resumed.
	Resume string
	// Launch starts the servers of a tuning; nil starts processes.
	Launch func(context.Context, launch.Spec, launch.Options) (Server, error)
	// Foreseen is what the whole will probably take, for what Begin is told.
	Foreseen Estimate
	// Begin and End are called for each stage; End also of one that was kept from
	// before.
	Begin func(stage Stage, at Progress)
	End   func(stage Stage, res *result.Result, kept bool)
}

// Stage is one run of an experiment: a name, and the plan of its load.
type Stage struct {
	Name    string
	Purpose string
	Config  *config.Config
	// Side is which of two servers answers, "" where there is one.
	Side string

	// repeats is the name of the stage that this one is the second attempt at.
	repeats string
	// once says that no time is left for a second attempt.
	once bool
	on   *measure.Target // nil: the experiment's own
	// enough ends the window of the stage in order; nil: nothing does.
	enough func(progress.Snapshot) bool
	// launched is the server that the stage needs, where it has to be started.
	launched *rented
	// ahead are the stages that probably follow, where only a search knows them.
	ahead []string
	// sound reports whether what was kept of the stage need not be run again;
	// nil: whatever it is.
	sound func(*result.Result) bool
}

// Measures reports whether figures are taken from the stage: a single request, a
// warm-up and a ramp only prepare the way.
func (s Stage) Measures() bool {
	return s.Purpose != result.PurposeSmoke && s.Purpose != result.PurposeWarmUp && s.Purpose != result.PurposeRamp
}

// repeatable reports whether the stage is run again where it is not valid.
func (s Stage) repeatable() bool { return s.repeats == "" && !s.once }

// stage is the plan with one thing changed.
func (x *conductor) stage(name, purpose string, change func(*config.Config)) Stage {
	c := *x.Config
	c.Experiment = config.Experiment{}
	change(&c)
	return Stage{Name: name, Purpose: purpose, Config: &c}
}

type conductor struct {
	Options
	kind   string // the command that resumes it
	dir    *store.Dir
	target *measure.Target
	other  *measure.Target // the second server of a comparison
	number int
	res    *result.Result // nil before the first stage has ended
	was    *result.Result // of the attempt that is resumed, nil where there is none
	e2e    time.Duration  // mean of the last stage
	slow   time.Duration  // and of the slowest
	used   measure.Usage  // of the plan's limits on tokens and money
	billed float64        // what the stages cost, at the plan's prices
	ended
	course
	crew crew
	// rejected are all stages that do not count, and missing what the answer
	// lacks for that.
	rejected []rejected
	missing  []string
	// id is in the prompts of sides that may share a cache, and salts has those of the
	// turns of a comparison that is resumed, by their directories.
	id    string
	salts map[string]string
	// others are the requests of the turn before, of the same round.
	others compare.Requests
}

type ended struct {
	cut    string // why it was cut short, "" if it was not
	reused bool   // it was kept from before
	// leftOut is why it does not count, "" if it does; spoilt are the metrics of a
	// round that do not count, where the others do; and lost is how long its
	// attempts that do not count kept the server busy.
	leftOut string
	spoilt  []string
	lost    time.Duration
}

// errStopped says that the user ended the experiment; what was measured stands.
var errStopped = errors.New("interrupted")

// endedBy is the bound that ended an experiment: what was measured stands.
type endedBy string

func (e endedBy) Error() string { return string(e) }

// say tells the user what goes on, where anybody listens.
func (o Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(format, args...)
	}
}

func (x *conductor) isStopped(ctx context.Context) bool {
	select {
	case <-x.Stop:
		return true
	default:
		return ctx.Err() != nil
	}
}

// run runs one stage, or takes what an earlier attempt left of it, and adds it
// to the result. A stage that fails a check which may pass the next time is
// repeated once; where that fails too, leftOut says that it does not count.
func (x *conductor) run(ctx context.Context, s Stage) (*result.Result, error) {
	x.lost = 0
	res, err := x.attempt(ctx, s)
	if err != nil || x.leftOut == "" || s.once {
		return res, err
	}
	x.withdraw()
	return x.attempt(ctx, x.again(s))
}

// figuresOf runs a stage whose figures the answer needs.
func (x *conductor) figuresOf(ctx context.Context, s Stage) (*result.Result, error) {
	res, err := x.run(ctx, s)
	if err == nil && len(res.Points) == 0 {
		err = fmt.Errorf("%s: nothing was measured: %s; see what the server says of it, or offer less load",
			s.Name, cmp.Or(res.Interrupted, "it ended before its window began"))
	}
	return res, err
}

func (x *conductor) last() *result.Stage { return &x.res.Stages[len(x.res.Stages)-1] }

func (x *conductor) attempt(ctx context.Context, s Stage) (*result.Result, error) {
	x.ended = ended{lost: x.lost}
	x.number++
	path := filepath.Join(x.dir.Path, store.StagesDir, fmt.Sprintf("%02d-%s", x.number, fileName(s.Name)))
	c := *s.Config
	c.Output.Dir, c.Output.Force = path, true
	s.Config = &c
	if s.on == nil {
		s.on = x.target
	}
	if s.launched != nil {
		s.launched.path = path
		if failure := s.launched.failedBefore(); failure != nil {
			return nil, failure
		}
	}
	res, err := x.previousResult(path, s), error(nil)
	x.reused = res != nil
	if !x.reused {
		if res, err = x.fresh(ctx, s); res == nil {
			return nil, err
		}
	}
	x.add(s, path, res)
	x.addElapsed(res)
	if x.End != nil {
		x.End(s, res, x.reused)
	}
	if x.hasBudget() {
		used, lost := measure.UsedBy(path, &c)
		x.used.Add(used)
		err = errors.Join(err, lost)
	}
	if !x.reused {
		err = errors.Join(err, x.keep(result.Killed))
	}
	if _, used := result.BudgetReached(res.Interrupted); err == nil && used {
		err = endedBy(res.Interrupted)
	}
	return res, err
}

// hasBudget reports whether the plan limits what all stages together may use.
func (x *conductor) hasBudget() bool {
	b := x.Config.Load.Bounds
	return b.MaxTokensTotal > 0 || b.MaxSpend > 0
}

// fresh runs a stage now; without a result there is an error.
func (x *conductor) fresh(ctx context.Context, s Stage) (*result.Result, error) {
	if x.isStopped(ctx) {
		return nil, errStopped
	}
	if x.Begin != nil {
		x.Begin(s, x.progress(s))
	}
	o := x.Options.Options
	if s.launched != nil {
		return x.onLaunched(ctx, s, o)
	}
	return x.measureStage(ctx, s, o)
}

// measureStage runs a stage on a target that is there.
func (x *conductor) measureStage(ctx context.Context, s Stage, o measure.Options) (*result.Result, error) {
	used := x.used
	for _, t := range []*measure.Target{x.target, x.other} {
		if x.other != nil && t != s.on { // asked before the load too, within the same limits
			used.Add(t.Preflight(s.Config))
		}
	}
	if limit := s.on.UsedUp(s.Config, used); limit != "" {
		return nil, endedBy(limit)
	}
	o.Config, o.Target, o.Used, o.Enough = s.Config, s.on, used, s.enough
	res, _, err := measure.Run(ctx, o)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, errStopped
	case res == nil:
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	case res.Interrupted == result.ByUser && isComplete(res, s.Config):
		return res, errors.Join(errStopped, keepComplete(res, s.Config.Output.Dir))
	case res.Interrupted == result.ByUser:
		return nil, errStopped
	}
	return res, err
}

// fileName is a stage's name as it can stand in a path.
func fileName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name), "-.")
}
