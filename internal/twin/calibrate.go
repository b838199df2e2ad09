package twin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"redline/internal/stats"
	"redline/internal/text"
	"redline/internal/twin/sim"
)

// Schema names the format of a calibration as JSON.
const Schema = "redline/calibration/1"

// Goals are the largest median errors of a good twin, by metric.
var Goals = map[string]float64{"ttft": 0.20, "tpot": 0.10, "e2e": 0.10}

// maxError is the largest error at any level of the range in which a twin holds.
const maxError = 0.25

// Comparison is a figure measured and simulated, in milliseconds.
type Comparison struct {
	MeasuredMS float64 `json:"measured_ms"`
	TwinMS     float64 `json:"twin_ms"`
	// Error is the twin's distance from the measurement over the latter.
	Error float64 `json:"error"`
}

// Row is one level's medians, and the tail of the first token's.
type Row struct {
	Level    string  `json:"level"`
	Rate     float64 `json:"rate"`
	Requests int     `json:"requests"`
	// HeldOut says that the engine it is compared with was fitted without it.
	HeldOut bool `json:"held_out"`
	Invalid bool `json:"invalid,omitempty"`
	// Overloaded says that the server's queue grew to the end, so that its
	// figures depend on how long it was measured.
	Overloaded bool                  `json:"overloaded,omitempty"`
	P50        map[string]Comparison `json:"p50"`
	P99        map[string]Comparison `json:"p99,omitempty"`
}

// Calibration is an engine fitted to measurements, and how far to trust it.
type Calibration struct {
	Schema   string    `json:"schema"`
	Spec     sim.Spec  `json:"-"`
	Evidence *Evidence `json:"-"`
	Rows     []Row     `json:"levels"`
	// HeldOut is the median error over the levels that a fit to the others did
	// not see; absent where there are too few levels to part.
	HeldOut map[string]float64 `json:"held_out_error,omitempty"`
	// InFit is the median error of the engine over the levels it was fitted to.
	InFit map[string]float64 `json:"fit_error"`
	Limit *LimitCheck        `json:"limit,omitempty"`
	// Good says whether every median error is within Goals, of levels held out
	// where there are some, and no level that was not overloaded is off by more
	// than a quarter.
	Good bool `json:"good"`
	// Holds is how many levels, from the lowest load on, are off by no more than
	// a quarter in any figure.
	Holds int `json:"holds"`
	// Engine is the fitted engine, as its file says it.
	Engine Constants `json:"engine"`
	// Parts says of each part of the engine whether the data decide it.
	Parts []Part `json:"parts"`
	cache *cacheFit
	// Notes say what the measurement does not tell, and how to measure it.
	Notes []string `json:"notes,omitempty"`
}

// LimitCheck is the limit as it was searched for on the server, and by the
// twin.
type LimitCheck struct {
	Measured float64 `json:"measured"`
	Twin     float64 `json:"twin"`
	Error    float64 `json:"error"`
	Binding  string  `json:"binding,omitempty"`
}

// minToSplit is how many loads it takes to fit to some and test on others.
const minToSplit = 3

// Calibrate fits an engine to the evidence: to every other level first, to see
// how well it predicts the rest, and then to all of them.
func Calibrate(ctx context.Context, ev *Evidence) (*Calibration, error) {
	c := &Calibration{Schema: Schema, Evidence: ev}
	levels := ev.Levels
	whole := fit(ctx, levels, ev)
	whole, c.cache = fitCache(ctx, levels, whole)
	c.Spec = whole.spec()
	c.Spec.Model = ev.Model
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if math.IsInf(whole.loss, 1) {
		return nil, fmt.Errorf("no engine reproduces this measurement: too few answers came of it")
	}
	all, err := rows(levels, c.Spec, false)
	if err != nil {
		return nil, err
	}
	c.Rows, c.InFit = all, medians(all)
	if _, n := ev.loadOf(); n >= minToSplit {
		if err := c.holdOut(ctx); err != nil {
			return nil, err
		}
	}
	c.judge()
	if err := c.checkLimit(ctx); err != nil {
		return nil, err
	}
	c.Engine = constantsOf(c.Spec)
	c.Parts, c.Notes = c.parts(), c.notes()
	return c, nil
}

// judge says in which range the twin holds. A level that was overloaded is one
// whose queue grew for as long as it was measured; a twin need not follow it
// there, but has to say so.
func (c *Calibration) judge() {
	for c.Holds < len(c.Rows) && c.Rows[c.Holds].worst() <= maxError {
		c.Holds++
	}
	tested := c.InFit
	if c.HeldOut != nil {
		tested = c.HeldOut
	}
	c.Good = len(tested) > 0 && c.Holds > 0
	for name, goal := range Goals {
		c.Good = c.Good && !(tested[name] > goal)
	}
	for _, r := range c.Rows[c.Holds:] {
		c.Good = c.Good && (r.Overloaded || r.worst() <= maxError)
	}
}

// worst is the largest error of a row's medians.
func (r Row) worst() float64 {
	most := 0.0
	for _, c := range r.P50 {
		most = max(most, c.Error)
	}
	return most
}

// Range says in words where the twin holds and where it does not.
func (c *Calibration) Range() string {
	switch {
	case c.Holds == 0:
		return fmt.Sprintf("at no level are all figures within %s", text.Percent(maxError))
	case c.Holds == len(c.Rows):
		levels := "at " + c.Rows[0].Level
		if c.Rows[0].Level != c.Rows[c.Holds-1].Level {
			levels = "from " + c.Rows[0].Level + " to " + c.Rows[c.Holds-1].Level
		}
		return fmt.Sprintf("holds %s: no figure is off by more than %s", levels, text.Percent(c.worst(c.Holds)))
	}
	next := c.Rows[c.Holds]
	out := fmt.Sprintf("holds up to %s (at most %s off); at %s it is %s off", c.Rows[c.Holds-1].Level, text.Percent(c.worst(c.Holds)), next.Level, text.Percent(next.worst()))
	if next.Overloaded {
		out += ", where the server was overloaded"
	}
	return out
}

// worst is the largest error of the first n levels.
func (c *Calibration) worst(n int) float64 {
	most := 0.0
	for _, r := range c.Rows[:n] {
		most = max(most, r.worst())
	}
	return most
}

// loadOf numbers the loads of the levels from 1 on, level by level, and gives how many
// there are.
func (ev *Evidence) loadOf() (list []int, n int) {
	for i, l := range ev.Levels {
		if i == 0 || l.Name != ev.Levels[i-1].Name {
			n++
		}
		list = append(list, n)
	}
	return list, n
}

// holdOut fits to every other load and tests on those between: a level says nothing of
// how well another of the same load is predicted.
func (c *Calibration) holdOut(ctx context.Context) error {
	ev := c.Evidence
	var seen, unseen []Level
	var places []int
	loads, _ := ev.loadOf()
	for i, l := range ev.Levels {
		if loads[i]%2 == 1 {
			seen = append(seen, l)
		} else {
			unseen, places = append(unseen, l), append(places, i)
		}
	}
	half, _ := fitCache(ctx, seen, fit(ctx, seen, ev))
	if err := ctx.Err(); err != nil {
		return err
	}
	tested, err := rows(unseen, half.spec(), true)
	if err != nil {
		return err
	}
	for i, at := range places {
		c.Rows[at] = tested[i]
	}
	c.HeldOut = medians(tested)
	return nil
}

// rows lays measurement and engine side by side, level by level.
func rows(levels []Level, spec sim.Spec, heldOut bool) ([]Row, error) {
	out := make([]Row, len(levels))
	for i := range levels {
		t := newTarget(&levels[i])
		figures, err := t.simulate(spec)
		if err != nil {
			return nil, err
		}
		got := t.collect(figures, -1)
		row := Row{Level: t.Name, Rate: t.Load, HeldOut: heldOut, Invalid: t.Invalid, Overloaded: t.Overloaded, Requests: len(t.measured[2]),
			P50: map[string]Comparison{}, P99: map[string]Comparison{}}
		for m, name := range Figures {
			if len(t.measured[m]) == 0 || len(got[m]) == 0 {
				continue
			}
			row.P50[name] = compare(t.measured[m], got[m], 0.5)
			if len(t.measured[m]) >= 100 {
				row.P99[name] = compare(t.measured[m], got[m], 0.99)
			}
		}
		out[i] = row
	}
	return out, nil
}

func compare(measured, got []float64, p float64) Comparison {
	was, is := stats.Quantile(measured, p)/1e6, stats.Quantile(got, p)/1e6
	return Comparison{MeasuredMS: was, TwinMS: is, Error: math.Abs(is/was - 1)}
}

// medians is the median error of the medians, by metric.
func medians(list []Row) map[string]float64 {
	out := map[string]float64{}
	for _, name := range Figures {
		var errors []float64
		for _, r := range list {
			if c, ok := r.P50[name]; ok {
				errors = append(errors, c.Error)
			}
		}
		if len(errors) > 0 {
			slices.Sort(errors)
			out[name] = stats.Quantile(errors, 0.5)
		}
	}
	return out
}

// notes say what the measurement leaves open, with the command that would tell.
func (c *Calibration) notes() []string {
	ev := c.Evidence
	var out []string
	server := "--url " + cmp.Or(ev.Server, "URL") + " "
	if ev.Embedded {
		server = ""
	}
	if slices.ContainsFunc(ev.Levels, func(l Level) bool { return l.Invalid }) {
		out = append(out, "some levels are of runs that found themselves invalid: their times may be this machine's, not the server's")
	}
	if ev.engines > 1 {
		out = append(out, fmt.Sprintf("one engine is fitted to a fleet of %d: it stands for all of them together, and is none of them; measure one replica by itself for a twin of it", ev.engines))
	}
	seen := look(ev.Levels)
	if _, n := ev.loadOf(); n < minToSplit {
		out = append(out, fmt.Sprintf("%s cannot show how well the twin predicts others; measure more: redline sweep %s%s",
			text.Plural(n, "load"), server, suggestLevels(ev.Levels)))
	}
	if !c.filledBatch(seen) {
		out = append(out, fmt.Sprintf("the batch was never full, so its size is not known (%s assumed); push further: redline sweep %s%s",
			text.Count(c.Spec.MaxNumSeqs), server, suggestLevels(ev.Levels)))
	}
	if ev.Blocks == 0 {
		out = append(out, "the server does not report the size of its KV cache, so the twin's never fills; set server.sim.num_gpu_blocks_override if you know it")
	}
	return out
}

// suggestLevels is an option with levels from the lowest seen to four times the
// highest, in the unit in which they were asked for.
func suggestLevels(levels []Level) string {
	first, last := levels[0], levels[len(levels)-1]
	low, high := max(cmp.Or(first.Asked, first.Load), 0.01), max(4*cmp.Or(last.Asked, last.Load), 0.08)
	option := "--rates "
	if first.Closed {
		option = "--concurrencies "
	}
	var list []string
	for i := range 6 {
		level := text.Round(low*math.Pow(high/low, float64(i)/5), 2)
		if first.Closed {
			level = math.Round(level)
		}
		list = append(list, text.Plain(level))
	}
	return option + strings.Join(slices.Compact(list), ",")
}

// Verdict says in a word and a line whether the twin can be used.
func (c *Calibration) Verdict() (word, why string) {
	word, which, errors := "GOOD TWIN", "held-out levels", c.HeldOut
	if errors == nil {
		word, which, errors = "UNTESTED TWIN", "the levels it was fitted to", c.InFit
	}
	next := ""
	if !c.Good {
		word = "POOR TWIN"
		sweep := "redline sweep"
		if c.Evidence != nil && len(c.Evidence.Levels) > 0 {
			sweep += " " + suggestLevels(c.Evidence.Levels)
		}
		next = "; plan nothing by it: measure more levels for longer, on a machine without hold-ups (" + sweep + " --duration 120s), and calibrate again"
	}
	var parts []string
	for _, name := range []string{"tpot", "e2e", "ttft"} {
		if e, ok := errors[name]; ok {
			goal := Goals[name]
			if name == "ttft" {
				name = "ttft from sent"
			}
			parts = append(parts, fmt.Sprintf("%s %.1f%% (goal %s)", name, 100*e, text.Percent(goal)))
		}
	}
	return word, "median error on " + which + ": " + strings.Join(parts, ", ") + next
}
