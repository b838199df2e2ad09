package config

import (
	"fmt"
	"slices"
	"strings"

	"redline/internal/judge/figure"
	"redline/internal/judge/slo"
	"redline/internal/yaml"
)

// Expectation is a statement about a row that figures can confirm or refute.
type Expectation struct {
	Text string
	// Figure is what is compared with that of Row: "ttft:p50", "throughput".
	Figure string
	// Op is AtLeast, AtMost or Within, and Factor the multiple of the other
	// row's figure, or the relative distance from it.
	Op     string
	Factor float64
	Row    string
	// Objective is a bound of its own; Kept asks that every objective of the
	// plan is met.
	Objective     *slo.Objective
	ObjectivesMet bool
}

// The comparisons of an expectation.
const (
	AtLeast = ">="
	AtMost  = "<="
	Within  = "within"
)

const objectivesMet = "objectives"

// keptPercentiles are those that every result has.
var keptPercentiles = []string{"p50", "p75", "p90", "p95", "p99", "p999"}

// ParseExpectation reads "ttft:p50 >= 4x A", "tpot:p50 within 20% of A", an
// objective such as "error:rate<1%", or "objectives".
func ParseExpectation(text string) (Expectation, error) {
	words := strings.Fields(text)
	fail := func(format string, args ...any) (Expectation, error) {
		return Expectation{}, fmt.Errorf("expectation %q: %s", text, fmt.Sprintf(format, args...))
	}
	e := Expectation{Text: strings.Join(words, " ")}
	switch {
	case len(words) == 1 && words[0] == objectivesMet:
		e.ObjectivesMet = true
		return e, nil
	case len(words) == 5 && words[1] == Within && words[3] == "of":
		return e.relative(words[0], Within, words[2], "%", words[4])
	case len(words) == 4 && strings.HasSuffix(words[2], "x"):
		return e.relative(words[0], words[1], words[2], "x", words[3])
	}
	o, err := slo.Parse(text)
	if err != nil {
		return fail("expected one such as 'ttft:p50 >= 4x A', 'tpot:p50 within 20%% of A', an objective, or objectives")
	}
	e.Objective = &o
	return e, nil
}

// relative fills in a comparison with another row.
func (e Expectation) relative(name, op, amount, unit, row string) (Expectation, error) {
	fail := func(format string, args ...any) (Expectation, error) {
		return Expectation{}, fmt.Errorf("expectation %q: %s", e.Text, fmt.Sprintf(format, args...))
	}
	s, err := figure.Parse(name, figure.Compare)
	if err != nil {
		return fail("%v", err)
	}
	if s.P > 0 && !slices.Contains(keptPercentiles, s.Stat) {
		return fail("expected one of %s:%s, or %s:mean", s.Name, strings.Join(keptPercentiles, ", "), s.Name)
	}
	switch op {
	case AtLeast, ">":
		op = AtLeast
	case AtMost, "<":
		op = AtMost
	case Within:
	default:
		return fail("expected >=, <= or within, got %s", quote(op))
	}
	number, ok := strings.CutSuffix(amount, unit)
	factor, err := yaml.ParseFloat(number)
	if !ok || err != nil || !(factor > 0 && factor <= 1e6) {
		return fail("expected a number above 0 such as 4x or 20%%, got %s", quote(amount))
	}
	if unit == "%" {
		factor /= 100
	}
	e.Figure, e.Op, e.Factor, e.Row = s.String(), op, factor, row
	return e, nil
}
