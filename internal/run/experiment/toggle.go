package experiment

import (
	"context"
	"fmt"
	"maps"

	"redline/internal/answer/matrix"
	"redline/internal/answer/sweep"
	"redline/internal/answer/toggle"
	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
)

// togglePurpose is that of a run with an optimization, or without.
const togglePurpose = "toggle"

// toggles measures each optimization with and without, one after another.
func (x *conductor) toggles(ctx context.Context) (err error) {
	defer x.settleToggles()
	for _, name := range x.Config.Experiment.Toggles {
		on, off, err := x.pair(ctx, name)
		if err != nil {
			return err
		}
		for _, level := range toggleLevels(x.Config) {
			if err = x.toggle(ctx, name, level, on, off); err != nil {
				break
			}
		}
		on.target.Close()
		off.target.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// pair opens the server with the optimization and the one without.
func (x *conductor) pair(ctx context.Context, name string) (on, off side, err error) {
	if on, err = x.openSide(ctx, name, true); err != nil {
		return on, off, err
	}
	off, err = x.openSide(ctx, name, false)
	if err == nil && sameServer(on, off) {
		off.target.Close()
		err = fmt.Errorf("--on-url and --off-url are one server: give one that runs with %s and one without", name)
	}
	if err != nil {
		on.target.Close()
	}
	return on, off, err
}

func (x *conductor) openSide(ctx context.Context, name string, on bool) (side, error) {
	c, err := x.Config.WithOptimization(name, on)
	if err != nil {
		return side{}, err
	}
	s, err := x.open(ctx, toggle.SideName(on), c)
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, toggle.SideName(on), err)
	}
	return s, err
}

// toggleLevels are the loads at which optimizations are measured: those that the plan
// lists, or its own, which is nil.
func toggleLevels(c *config.Config) []*sweep.Level {
	levels := []*sweep.Level{}
	for _, l := range sweep.Levels(c) {
		levels = append(levels, &l)
	}
	if len(levels) == 0 {
		return []*sweep.Level{nil}
	}
	return levels
}

// toggle runs the rounds of one optimization of the plan, at its load or another.
func (x *conductor) toggle(ctx context.Context, name string, level *sweep.Level, on, off side) error {
	at, study := 0, toggle.NewStudy(x.Config, name, on.about(), off.about())
	if x.res != nil {
		at = len(x.res.Toggles)
	}
	study.Closed = x.Config.Mode() == config.Closed || level != nil && level.Concurrency > 0
	for first := true; ; first = false {
		turn, more := study.Next()
		if !more {
			return x.keep(result.Killed)
		}
		if !first {
			x.rest(ctx, x.Config.Experiment.Cooldown)
		}
		s := off
		if turn.On {
			s = on
		}
		name := turn.Name
		if level != nil {
			name += " at " + level.Name()
		}
		stage := x.turn(s, turn.Round, name, togglePurpose, matrix.Scale(x.Config, matrix.Warmup), false)
		stage.Config.Load.Bounds.Duration = toggle.Length(x.Config)
		if level != nil {
			level.Apply(stage.Config)
		}
		if _, err := x.run(ctx, stage); err != nil {
			return err
		}
		answers, err := x.lastAnswers(stage.Config)
		if err != nil {
			return err
		}
		if study.Observe(turn, answers, x.leftOut) {
			found := study.Judge()
			if found.Ended != "" {
				x.say("ended %s", found.Ended)
			}
			if level != nil {
				found.Load = new(level.Load())
			}
			x.res.Toggles = append(x.res.Toggles[:at], found)
			x.res.ToggleLoads = toggle.OverLoads(x.res.Toggles)
		}
	}
}

// settleToggles says of the whole what its stages cannot: that nothing is known
// of an optimization, and that what the first stage declares holds for half of
// them only.
func (x *conductor) settleToggles() {
	if x.res == nil {
		return
	}
	x.res.Engine.Declared = maps.Clone(x.res.Engine.Declared)
	for i := range x.res.Toggles {
		t := &x.res.Toggles[i]
		delete(x.res.Engine.Declared, t.Name)
		if t.Rounds == 0 {
			x.invalidate("%s: no round was valid on both sides", t.Name)
		}
	}
}

// planToggles estimates them. Its error is that of a server that cannot be
// switched.
func planToggles(c *config.Config) (Estimate, error) {
	e := Estimate{What: "run", Exact: !toggle.MayEnd(c), MayEnd: toggle.MayEnd(c)}
	if short := toggle.TooShort(c, likelyEnd); short != "" {
		e.Warnings = append(e.Warnings, short)
	}
	for _, name := range c.Experiment.Toggles {
		for _, on := range []bool{true, false} {
			if _, err := c.WithOptimization(name, on); err != nil {
				return e, err
			}
		}
		for range 2 * toggle.Rounds(c) * len(toggleLevels(c)) {
			e.add("", warmupOf(c, matrix.Scale(c, matrix.Warmup)), toggle.Length(c))
		}
	}
	return e, nil
}

// lastAnswers reads the measured requests of the stage that has just ended.
func (x *conductor) lastAnswers(c *config.Config) (map[toggle.Key]toggle.Answer, error) {
	machine := measure.Machine(c, x.lastDir())
	out := map[toggle.Key]toggle.Answer{}
	err := x.eachRecord(func(r *record.Record) {
		if r.Phase == record.Measure {
			a := toggle.Answer{OK: r.Outcome == llm.OK, Due: r.Due, Context: max(r.PromptTokens, r.AskedPrompt)}
			a.Times, a.Low, a.High = account.Times(r, machine(r))
			out[toggle.Key{Session: r.Session, Turn: r.Turn}] = a
		}
	})
	return out, err
}
