// Package tune decides whether one change of a server's settings made it
// better. It takes the results of two runs that differ in that one setting,
// and what better means, and gives a verdict with what moved, by how much and
// how surely. It starts nothing, and reads no file and no clock.
package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"redline/internal/answer/compare"
	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// Spec is what is tried, and what for: the plan's tune block.
type Spec struct {
	// Knobs are changed one after another, in this order.
	Knobs []Knob `yaml:"knobs,omitempty"`
	// Objective lists what better means, the first that shows a difference
	// deciding: "good:fraction", "tpot:p50", "min ttft:p99".
	Objective []string `yaml:"objective,omitempty"`
	// SideBySide runs both servers of the last comparison at once. Otherwise
	// they take turns, because one machine seldom holds two.
	SideBySide bool `yaml:"side_by_side,omitempty"`
}

// Knob is one setting of the server.
type Knob struct {
	// Name stands in the command template in braces.
	Name string `yaml:"name"`
	// Baseline is the value that it has now; Values are those to try, in order.
	Baseline string   `yaml:"baseline"`
	Values   []string `yaml:"values"`
	// Hypothesis is what is supposed to come of it, Risk what it may cost; of the
	// usual flags of engines both are known.
	Hypothesis string `yaml:"hypothesis,omitempty"`
	Risk       string `yaml:"risk,omitempty"`
}

const (
	maxKnobs  = 20
	maxValues = 50
)

// Validate checks the block for itself.
func (s Spec) Validate() error {
	if len(s.Knobs) > maxKnobs {
		return fmt.Errorf("knobs: want at most %d, got %d", maxKnobs, len(s.Knobs))
	}
	for i, k := range s.Knobs {
		switch {
		case k.Name == "":
			return fmt.Errorf("knobs[%d]: name: is missing", i)
		case slices.ContainsFunc(s.Knobs[:i], func(o Knob) bool { return o.Name == k.Name }):
			return fmt.Errorf("knobs[%d]: name: %s is the name of another knob", i, k.Name)
		case len(k.Trials()) == 0:
			return fmt.Errorf("knobs[%d]: values: %s has none beside its baseline: give at least one to try", i, k.Name)
		case len(k.Values) > maxValues:
			return fmt.Errorf("knobs[%d]: values: want at most %d, got %d", i, maxValues, len(k.Values))
		}
	}
	if _, err := Objectives(s.Objective, true); err != nil {
		return fmt.Errorf("objective: %w", err)
	}
	return nil
}

// Trials are the values to try, each once and without the baseline.
func (k Knob) Trials() []string {
	var list []string
	for _, v := range k.Values {
		if v != k.Baseline && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// Baseline is every knob at the value that it has now.
func (s Spec) Baseline() map[string]string {
	values := map[string]string{}
	for _, k := range s.Knobs {
		values[k.Name] = k.Baseline
	}
	return values
}

// Objective is one figure that ought to become better.
type Objective struct {
	// Figure is as comparisons call it.
	Figure       string
	MoreIsBetter bool
}

// Objectives reads what better means. Older plans write goodput for the share
// of requests that keep every objective. Without a price the least cost is the
// most tokens: on one machine the two decide alike.
func Objectives(texts []string, priced bool) ([]Objective, error) {
	var list []Objective
	for _, text := range texts {
		wish, name, worded := strings.Cut(strings.TrimSpace(text), " ")
		if !worded {
			wish, name = "", wish
		}
		if name = strings.TrimSpace(name); name == "goodput" {
			name = "good"
		}
		s, err := figure.Parse(name, figure.Compare)
		switch {
		case err != nil:
			return nil, err
		case wish != "" && wish != "min" && wish != "max":
			return nil, fmt.Errorf("want it to begin with min or max, or with the figure itself, got %q", text)
		case wish == "min" && s.More, wish == "max" && !s.More:
			return nil, fmt.Errorf("%q asks for the worse: leave out %s", text, wish)
		}
		if s.Unit.Money() && !priced {
			s, _ = figure.Parse("throughput", figure.Compare)
		}
		list = append(list, Objective{Figure: s.String(), MoreIsBetter: s.More})
	}
	return list, nil
}

// Figures are those that objectives are about.
func Figures(objectives []Objective) []string {
	return text.Each(objectives, func(o Objective) string { return o.Figure })
}

// Usual is what better means where nothing is said: more requests that meet
// the objectives where there are some, more tokens where there are none; then
// faster answers.
func Usual(objectives bool) []string {
	if objectives {
		return []string{"good:fraction", "tpot:p50", "ttft:p50"}
	}
	return []string{"throughput", "tpot:p50", "ttft:p50"}
}

// Options says how to judge.
type Options struct {
	Objectives []Objective
	// Tolerance is the relative difference that does not matter; 0 means 0.05.
	Tolerance float64
	// Spread is how far runs of the same settings lay apart, by figure: a
	// smaller difference says nothing.
	Spread map[string]float64
}

// DefaultTolerance is the relative difference that does not matter where
// nothing is said.
const DefaultTolerance = 0.05

const alpha = 0.05

// Verdict is what came of a change.
type Verdict struct {
	Standing slo.Standing
	// Why says it in words.
	Why string
	// Decided is the figure that decided, nil where none did.
	Decided *result.Change
	// Moves are all figures of both runs.
	Moves []result.Change
}

// Judge says whether a run with one setting changed is better than the run that
// it is compared with. Objectives are looked at in their order: one that moved by
// no more than the tolerance leaves it to the next, one that moved by more and
// may be chance leaves it open. Which runs count is for the caller to say.
func Judge(before, after *result.Result, o Options) (Verdict, error) {
	c, err := compare.Stored([]*result.Result{before}, []*result.Result{after}, compare.Options{Tolerance: o.Tolerance, Anyway: true, Seed: 1, Figures: Figures(o.Objectives)})
	if err != nil {
		return Verdict{}, err
	}
	if after.Verdict.SLO == slo.Missed && before.Verdict.SLO != slo.Missed {
		return Verdict{Standing: slo.Worse, Why: "breaks " + broken(after) + ", which was not broken before", Moves: c.Metrics}, nil
	}
	decided := Weigh(c.Metrics, o)
	decided.Moves = c.Metrics
	return decided, nil
}

// Weigh looks at the objectives in their order among the figures of a
// comparison.
func Weigh(metrics []result.Change, o Options) Verdict {
	for _, objective := range o.Objectives {
		i := slices.IndexFunc(metrics, func(m result.Change) bool { return m.Name == objective.Figure })
		if i < 0 {
			continue
		}
		standing, why := objective.weigh(&metrics[i], o)
		if standing != slo.Same {
			return Verdict{Standing: standing, Why: why, Decided: &metrics[i]}
		}
	}
	return Verdict{Standing: slo.Same, Why: "nothing that counts moved by more than " + text.Percent(o.tolerance(""))}
}

func broken(r *result.Result) string {
	var texts []string
	for _, p := range r.Points {
		for _, o := range p.Objectives {
			if o.Standing == "missed" {
				texts = append(texts, o.Objective)
			}
		}
	}
	if len(texts) == 0 {
		return "an objective"
	}
	return strings.Join(texts, ", ")
}

// tolerance is the difference of a figure that does not matter.
func (o Options) tolerance(figure string) float64 {
	t := o.Tolerance
	if t <= 0 {
		t = DefaultTolerance
	}
	return max(t, o.Spread[figure])
}

// weigh judges one figure by itself: it was named before anything was run, so
// its chance needs no correction for the others.
func (b Objective) weigh(m *result.Change, o Options) (slo.Standing, string) {
	step, ok := step(m)
	words := b.Figure + " " + move(m)
	switch {
	case !ok:
		return slo.Same, ""
	case math.Abs(step) <= o.tolerance(m.Name):
		return slo.Same, ""
	case m.P == nil:
		return slo.Undecided, words + ", but the runs are too short to show how sure that is"
	case *m.P > alpha:
		return slo.Undecided, words + ", which may be chance (" + chance(m.P) + ")"
	case step > 0 == b.MoreIsBetter:
		return slo.Better, words + " (" + chance(m.P) + ")"
	}
	return slo.Worse, words + " (" + chance(m.P) + ")"
}

// step is the relative change of a figure, or the difference of a share.
func step(m *result.Change) (float64, bool) {
	switch {
	case m.Difference != nil:
		return *m.Difference, true
	case m.Ratio != nil:
		return *m.Ratio - 1, true
	}
	return 0, false
}

// move words a change with both its ends: "+18%, from 12.1 to 14.3 ms".
func move(m *result.Change) string {
	step, ok := step(m)
	switch {
	case !ok || m.A == nil || m.B == nil:
		return "not measured"
	case m.Difference != nil:
		return fmt.Sprintf("%s points, from %s to %s", text.Signed(100*step), text.Percent(*m.A), text.Percent(*m.B))
	}
	return fmt.Sprintf("%s%%, from %s to %s %s", text.Signed(100*step), text.Number(*m.A), text.Number(*m.B), m.Unit)
}

// chance words a probability.
func chance(p *float64) string {
	switch {
	case p == nil:
		return "p unknown"
	case *p < 0.001:
		return "p<0.001"
	}
	return "p=" + text.Digits(*p, 2)
}

// Spread is how far runs of the same settings lie apart, by figure: the largest
// relative difference, or difference of shares, between any two of them.
func Spread(runs []*result.Result, objectives []Objective) map[string]float64 {
	least, most := map[string]float64{}, map[string]float64{}
	for i, r := range runs {
		if len(r.Points) == 0 {
			continue
		}
		for name, v := range compare.ValuesOf(&r.Points[0], Figures(objectives)...) {
			if _, seen := least[name]; !seen || i == 0 {
				least[name], most[name] = v, v
			}
			least[name], most[name] = min(least[name], v), max(most[name], v)
		}
	}
	spread := map[string]float64{}
	for name := range least {
		spread[name] = most[name] - least[name]
		if s, _ := figure.Parse(name, figure.Compare); !s.Share() {
			spread[name] = most[name]/least[name] - 1
		}
	}
	return spread
}
