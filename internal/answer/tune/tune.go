// Package tune walks over the settings of a server, one value at a time. It takes
// the knobs, what better means and what came of the values so far, and gives the
// next value to try, whether it is better by a comparison of two runs, and at the
// end which settings to keep. It starts nothing, and reads no file and no clock.
package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"redline/internal/answer/compare"
	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
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
		return fmt.Errorf("knobs: at most %d are possible, got %d", maxKnobs, len(s.Knobs))
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
			return fmt.Errorf("knobs[%d]: values: at most %d are possible, got %d", i, maxValues, len(k.Values))
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

// Objectives reads what better means, as comparisons call it. Older plans write
// goodput for the share of requests that keep every objective. Without a price the
// least cost is the most tokens: on one machine the two decide alike.
func Objectives(texts []string, priced bool) (figures []string, err error) {
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
			return nil, fmt.Errorf("expected it to begin with min or max, or with the figure itself, got %q", text)
		case wish == "min" && s.More, wish == "max" && !s.More:
			return nil, fmt.Errorf("%q asks for the worse: leave out %s", text, wish)
		}
		if s.Unit.Money() && !priced {
			s, _ = figure.Parse("throughput", figure.Compare)
		}
		figures = append(figures, s.String())
	}
	return figures, nil
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
	// Objectives are the figures that ought to become better, the first that shows
	// a difference deciding.
	Objectives []string
	// Tolerance is the relative difference that does not matter; 0 means 0.05.
	Tolerance float64
	// Spread is how far runs of the same settings lay apart, by figure: a
	// smaller difference says nothing.
	Spread map[string]float64
}

// tolerance is the difference of a figure that does not matter.
func (o Options) tolerance(figure string) float64 {
	return max(cmp.Or(o.Tolerance, compare.DefaultTolerance), o.Spread[figure])
}

// Judge says whether a run with one setting changed is better than the run that
// it is compared with, and why, by the figures of both. Which runs count is for the
// caller to say.
func Judge(before, after *result.Result, o Options) (standing slo.Standing, why string, moves []result.Change, err error) {
	c, err := compare.Runs([]*result.Result{before}, []*result.Result{after}, compare.Options{Tolerance: o.Tolerance, Anyway: true, Seed: 1, Figures: o.Objectives})
	if err != nil {
		return "", "", nil, err
	}
	if after.Verdict.SLO == slo.Missed && before.Verdict.SLO != slo.Missed {
		return slo.Worse, "breaks " + missedObjectives(after) + ", which was not broken before", c.Metrics, nil
	}
	standing, why = compare.Decide(c.Metrics, o.Objectives, o.tolerance)
	return standing, why, c.Metrics, nil
}

func missedObjectives(r *result.Result) string {
	var texts []string
	for _, p := range r.Points {
		for _, o := range p.Objectives {
			if o.Standing == slo.Missed {
				texts = append(texts, o.Objective)
			}
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "an objective")
}
