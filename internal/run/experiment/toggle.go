package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"redline/internal/answer/toggle"
	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/plan/config"
)

// togglePurpose is that of a run with an optimization, or without.
const togglePurpose = "toggle"

// toggleRounds is how often each side is measured where the plan does not say:
// each is first once.
const toggleRounds = 2

// toggles measures each optimization with and without, one after another.
func (x *conductor) toggles(ctx context.Context) (err error) {
	defer x.settleToggles()
	for _, name := range x.Config.Experiment.Toggles {
		on, off, err := x.pair(ctx, name)
		if err != nil {
			return err
		}
		err = x.toggle(ctx, name, on, off)
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
	c, err := x.Config.Toggled(name, on)
	if err != nil {
		return side{}, err
	}
	s, err := x.open(ctx, onOff(on), c)
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, onOff(on), err)
	}
	return s, err
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// toggle runs the rounds of one optimization.
func (x *conductor) toggle(ctx context.Context, name string, on, off side) error {
	t := result.Toggle{Name: name, With: on.about(), Without: off.about()}
	var seen, spoilt []toggle.Request
	logs, skip, at := map[string]map[turnKey]outcome{}, "", -1
	err := x.take(ctx, turns{sides: [2]side{off, on}, rounds: roundsOf(x.Config),
		stage: func(s side, round int) Stage {
			title := fmt.Sprintf("%s %d %s", s.name, round+1, strings.ReplaceAll(name, "_", " "))
			stage := x.turn(s, round, title, togglePurpose, x.scaled(rowWarmup), false)
			stage.Config.Load.Bounds.Duration = toggleLength(x.Config)
			return stage
		},
		seen: func(s side, round int, _ *result.Result) (err error) {
			if x.leftOut != "" {
				skip = fmt.Sprintf("round %d %s: not valid: %s", round+1, s.name, x.leftOut)
			}
			logs[s.name], err = x.lastRecords()
			return err
		},
		over: func(round int) {
			paired, alone := pairUp(logs["on"], logs["off"], round)
			if skip == "" {
				seen, t.Unpaired, t.Rounds = append(seen, paired...), t.Unpaired+alone, t.Rounds+1
			} else {
				spoilt, t.Skipped, skip = append(spoilt, paired...), append(t.Skipped, skip), ""
			}
			if t.Rounds > 0 {
				at = x.judgeToggle(t, seen, at)
			} else {
				at = x.judgeToggle(t, spoilt, at) // shown, and said to be not valid
			}
		}})
	if err != nil {
		return err
	}
	return x.keep(result.Killed)
}

// notValid is the verdict on figures that are only shown.
const notValid = "not judged: no round was valid on both sides"

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
			x.unsupported("%s: no round was valid on both sides", t.Name)
		}
	}
}

// judgeToggle puts what is known so far of a toggle at its place in the result.
func (x *conductor) judgeToggle(t result.Toggle, seen []toggle.Request, at int) int {
	toggle.Judge(&t, seen, toggle.Options{Tolerance: x.Config.Experiment.Tolerance})
	if t.Rounds == 0 {
		t.Verdict = notValid
		for i := range t.Metrics {
			t.Metrics[i].Standing, t.Metrics[i].Verdict = result.ToggleUndecided, notValid
		}
	}
	if t.Unpaired > 0 {
		t.Warnings = append(t.Warnings, result.Warning{Figure: "requests", Text: fmt.Sprintf(
			"%d of %d requests did not end well on both sides and are left out: the side that lost more of them looks better for it",
			t.Unpaired, t.Unpaired+t.Requests)})
	}
	if at < 0 {
		x.res.Toggles = append(x.res.Toggles, t)
		return len(x.res.Toggles) - 1
	}
	x.res.Toggles[at] = t
	return at
}

func roundsOf(c *config.Config) int {
	return cmp.Or(c.Experiment.Rounds, toggleRounds)
}

// toggleLength is how long a side's run is: a row's, unless the plan says.
func toggleLength(c *config.Config) time.Duration {
	b := c.Load.Bounds
	if c.Defaulted("load_profile.duration") && b.TotalRequests == 0 {
		return scaledBy(c, rowLength)
	}
	return scaledBy(c, b.Duration)
}

// planToggles estimates them. Its error is that of a server that cannot be
// switched.
func planToggles(c *config.Config) (Estimate, error) {
	e := Estimate{What: "run", Exact: true}
	for _, name := range c.Experiment.Toggles {
		for _, on := range []bool{true, false} {
			if _, err := c.Toggled(name, on); err != nil {
				return e, err
			}
		}
		e.add(2*roundsOf(c), warmupOf(c, scaledBy(c, rowWarmup)), toggleLength(c))
	}
	return e, nil
}

// turnKey is what the same request has in common on both sides.
type turnKey struct{ session, turn int }

// outcome is what became of it on one of them.
type outcome struct {
	ok      bool
	due     int64
	context int
	times   toggle.Times
}

// lastRecords reads the measured requests of the stage that has just ended.
func (x *conductor) lastRecords() (map[turnKey]outcome, error) {
	out := map[turnKey]outcome{}
	err := x.eachRecord(func(r *record.Record) {
		if r.Phase == record.Measure {
			out[turnKey{r.Session, r.Turn}] = outcome{r.Outcome == llm.OK, r.Due, max(r.PromptTokens, r.AskedPrompt), metric.Times(r)}
		}
	})
	return out, err
}

// pairUp gives the requests that ended well on both sides, and how many did not.
func pairUp(on, off map[turnKey]outcome, round int) (paired []toggle.Request, alone int) {
	for key, a := range on {
		b := off[key]
		if !a.ok || !b.ok {
			alone++
			continue
		}
		paired = append(paired, toggle.Request{Round: round, Due: b.due, Context: b.context, With: a.times, Without: b.times})
	}
	for key := range off {
		if _, both := on[key]; !both {
			alone++
		}
	}
	return paired, alone
}
