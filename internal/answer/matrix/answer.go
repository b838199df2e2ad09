package matrix

import (
	"fmt"
	"strings"

	"redline/internal/answer/compare"
	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// Objectives are the bounds that a row's expectations have of their own.
func Objectives(r config.Row) (list []slo.Objective) {
	for _, text := range r.Expectation {
		if e, err := config.ParseExpectation(text); err == nil && e.Objective != nil {
			list = append(list, *e.Objective)
		}
	}
	return list
}

// Answer compares a row's expectations with its point, by the verdicts on its
// objectives: refuted if one is, undecided (nil) if one is, else confirmed.
func Answer(r config.Row, p *result.Point, verdicts []slo.Verdict, before map[string]*result.Point) (outcome string, agrees *bool) {
	var outcomes []string
	var standings []slo.Standing
	for _, text := range r.Expectation {
		e, err := config.ParseExpectation(text)
		if err != nil {
			return err.Error(), nil
		}
		outcome, standing := weigh(e, p, verdicts, before)
		outcomes, standings = append(outcomes, outcome), append(standings, standing)
	}
	return strings.Join(outcomes, "; "), Agrees(slo.First(slo.None, standings, slo.Missed, slo.Undecided, slo.Met))
}

// Agrees is whether something is as expected; nil is not decided.
func Agrees(s slo.Standing) *bool {
	switch s {
	case slo.Met:
		return new(true)
	case slo.Missed, slo.NotMet:
		return new(false)
	}
	return nil
}

// weigh compares one expectation with what came of a row.
func weigh(e config.Expectation, p *result.Point, verdicts []slo.Verdict, before map[string]*result.Point) (string, slo.Standing) {
	switch {
	case e.ObjectivesMet:
		return weighObjectives(p)
	case e.Objective != nil:
		v, _ := e.Objective.Verdict(verdicts)
		words, standing := WordVerdict(v)
		if v.Value != nil {
			words = "is " + words
		}
		return e.Objective.Metric + ":" + e.Objective.Stat + " " + words, standing
	}
	return weighRow(e, p, before[e.Row])
}

// WordVerdict is what came of an objective: its figure, and where it stands.
func WordVerdict(v slo.Verdict) (outcome string, standing slo.Standing) {
	outcome, standing = "was not measured", slo.Undecided
	if v.Value != nil {
		outcome = text.Unit(text.Digits(*v.Value, 4), strings.TrimSuffix(v.Unit, string(figure.Fraction)))
	}
	if v.Standing == slo.Met || v.Standing == slo.Missed {
		return outcome, v.Standing
	}
	return text.Join(", ", outcome, v.Note), standing
}

// weighObjectives asks whether every objective of the plan is met.
func weighObjectives(p *result.Point) (string, slo.Standing) {
	parts := text.Each(p.Objectives, func(v slo.Verdict) string {
		return v.Objective + " " + strings.ReplaceAll(string(v.Standing), "_", " ")
	})
	if parts == nil {
		return "the plan has no objectives", slo.Undecided
	}
	return strings.Join(parts, ", "), slo.Overall(p.Objectives)
}

// minRequests is how many requests a comparison of two rows needs at least: of six, the
// median lies between the fastest and the slowest in all but 3 % of cases; of
// fewer, chance decides.
const minRequests = 6

func weighRow(e config.Expectation, p, other *result.Point) (string, slo.Standing) {
	s, err := figure.Parse(e.Figure, figure.Compare)
	if err != nil {
		return err.Error(), slo.Undecided
	}
	value, ok := s.Read(p)
	if !ok {
		return e.Figure + " was not measured", slo.Undecided
	}
	unit := string(s.Unit)
	if s.Share() {
		unit = ""
	}
	outcome := e.Figure + " is " + text.Unit(text.Digits(value, 4), unit)
	if other == nil {
		return outcome + ", and nothing was measured in " + e.Row, slo.Undecided
	}
	base, ok := s.Read(other)
	if !ok || base <= 0 {
		return outcome + ", and was not measured in " + e.Row, slo.Undecided
	}
	ratio := value / base
	outcome += fmt.Sprintf(", %sx %s (%s)", text.Number(ratio), e.Row, text.Digits(base, 4))
	if n := min(p.Requests.OK, other.Requests.OK); n < minRequests {
		return outcome + ", of only " + text.Plural(n, "request") + ": not decided", slo.Undecided
	}
	low, high, known := compare.RatioOf(s, other, p)
	if !known {
		low, high = ratio, ratio
	}
	switch below, above := sideOf(e, low), sideOf(e, high); {
	case below != above:
		return outcome + fmt.Sprintf(", between %sx and %sx: too close to call", text.Number(low), text.Number(high)), slo.Undecided
	case below != 0:
		return outcome, slo.Missed
	}
	return outcome, slo.Met
}

// sideOf is 0 where a ratio is as expected, -1 where it is too low and 1 where it is
// too high.
func sideOf(e config.Expectation, ratio float64) int {
	switch {
	case e.Op == config.AtLeast && ratio < e.Factor, e.Op == config.Within && ratio < 1-e.Factor:
		return -1
	case e.Op == config.AtMost && ratio > e.Factor, e.Op == config.Within && ratio > 1+e.Factor:
		return 1
	}
	return 0
}
