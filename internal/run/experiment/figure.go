package experiment

import (
	"fmt"
	"math"
	"strings"
	"time"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// figureOf reads a figure such as "ttft:p50" or "throughput" off a point, with
// its unit.
func figureOf(p *result.Point, name string) (value float64, unit string, ok bool) {
	s, err := figure.Parse(name, figure.Compare)
	if err != nil {
		return 0, "", false
	}
	if value, ok = s.Read(p); !s.Share() {
		unit = string(s.Unit)
	}
	return value, unit, ok
}

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// bound compares a point's figure with an objective that the run itself did not
// judge: by the figure's interval where it has one, else by the figure where it
// is firm. Requests that failed are later than any limit.
func bound(p *result.Point, o slo.Objective) (standing, outcome string) {
	for _, v := range p.Objectives {
		if v.Objective == o.Text && v.Scope == o.Scope {
			return judged(v)
		}
	}
	if o.Scope != (slo.Scope{}) {
		return result.AcceptUndecided, "is about a part of the requests, which was not judged"
	}
	name := o.Metric + ":" + o.Stat
	value, unit, ok := figureOf(p, name)
	if !ok {
		return result.AcceptUndecided, name + " was not measured"
	}
	limit := o.Limit
	if unit == "ms" {
		limit /= float64(time.Millisecond)
	}
	lo, hi, firm := value, value, true
	if d := p.Latency.Judged(o.Metric); unit == "ms" && o.P > 0 {
		ci, known := d.CI[o.Stat]
		if firm = d.IsFirm(o.Stat); known {
			lo, hi, firm = ci[0], ci[1], true
		}
	}
	outcome = strings.TrimSpace(name + " is " + text.Unit(text.Digits(value, 4), unit))
	lost := p.Requests.Due - p.Requests.OK
	if unit == "ms" && lost > 0 {
		outcome += fmt.Sprintf(", but %d of %d requests were not answered", lost, p.Requests.Due)
		hi = math.Inf(1)
	}
	switch {
	case math.IsInf(hi, 1) && o.P > 0 && share(lost, p.Requests.Due) > 1-o.P:
		return result.AcceptNot, outcome
	case p.Requests.Due < fewest:
		return result.AcceptUndecided, outcome + fewOf(p.Requests.Due)
	case !firm:
		return result.AcceptUndecided, outcome + ", of too few requests"
	case math.IsInf(hi, 1) && lo <= limit:
		return result.AcceptUndecided, outcome
	case o.Above && lo >= limit, !o.Above && hi <= limit:
		return result.AcceptMet, outcome
	case o.Above && hi < limit, !o.Above && lo > limit:
		return result.AcceptNot, outcome
	}
	return result.AcceptUndecided, outcome + ", at the limit"
}

// fewest is how many requests an answer needs at least: of six, the median lies
// between the fastest and the slowest in all but 3 % of cases; of fewer, chance
// decides.
const fewest = 6

// fewOf says that an answer would be chance's.
func fewOf(n int) string { return ", of only " + text.Plural(n, "request") + ": not decided" }

// judged is a verdict of the run as an answer.
func judged(v slo.Verdict) (standing, outcome string) {
	outcome = "was not measured"
	if v.Value != nil {
		outcome = text.Unit(text.Digits(*v.Value, 4), v.Unit)
	}
	standing = acceptance(v.Standing)
	if v.Note != "" && standing == result.AcceptUndecided {
		outcome += ", " + v.Note
	}
	return standing, outcome
}

// acceptance is a standing of objectives as an answer.
func acceptance(s slo.Standing) string {
	switch s {
	case slo.Met:
		return result.AcceptMet
	case slo.Missed:
		return result.AcceptNot
	}
	return result.AcceptUndecided
}

// weigh compares an expectation with what came of a row; rows are the points of
// those before it. A nil answer is not decided.
func weigh(e config.Expectation, p *result.Point, rows map[string]*result.Point) (outcome string, agrees *bool) {
	switch {
	case e.Kept:
		return weighObjectives(p)
	case e.Objective != nil:
		standing, outcome := bound(p, *e.Objective)
		return outcome, answered(standing)
	}
	value, unit, ok := figureOf(p, e.Figure)
	if !ok {
		return e.Figure + " was not measured", nil
	}
	outcome = e.Figure + " is " + text.Unit(text.Digits(value, 4), unit)
	other := rows[e.Row]
	if other == nil {
		return outcome + ", and nothing was measured in " + e.Row, nil
	}
	base, _, ok := figureOf(other, e.Figure)
	if !ok || base <= 0 {
		return outcome + ", and was not measured in " + e.Row, nil
	}
	ratio := value / base
	outcome += fmt.Sprintf(", %sx %s (%s)", text.Number(ratio), e.Row, text.Digits(base, 4))
	if n := min(p.Requests.OK, other.Requests.OK); n < fewest {
		return outcome + fewOf(n), nil
	}
	switch e.Op {
	case config.AtLeast:
		return outcome, new(ratio >= e.Factor)
	case config.AtMost:
		return outcome, new(ratio <= e.Factor)
	}
	return outcome, new(ratio >= 1-e.Factor && ratio <= 1+e.Factor)
}

// weighObjectives asks whether every objective of the plan is met.
func weighObjectives(p *result.Point) (string, *bool) {
	parts := text.Each(p.Objectives, func(v slo.Verdict) string {
		return v.Objective + " " + strings.ReplaceAll(string(v.Standing), "_", " ")
	})
	if parts == nil {
		return "the plan has no objectives", nil
	}
	return strings.Join(parts, ", "), answered(acceptance(slo.Overall(p.Objectives)))
}

func answered(standing string) *bool {
	switch standing {
	case result.AcceptMet:
		return new(true)
	case result.AcceptNot:
		return new(false)
	}
	return nil
}
