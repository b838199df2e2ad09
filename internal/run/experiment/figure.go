package experiment

import (
	"fmt"
	"math"
	"strings"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// distOf finds the distribution that an objective or expectation names, in its
// due form where there is one.
func distOf(l *metric.Latency, name string) *metric.Dist {
	due := func(due, sent *metric.Dist) *metric.Dist {
		if due != nil {
			return due
		}
		return sent
	}
	switch name {
	case "ttft":
		return due(l.TTFTDue, l.TTFT)
	case "e2e", "latency":
		return due(l.E2EDue, l.E2E)
	case "ttfa":
		return l.TTFA
	case "tpot":
		return l.TPOT
	case "itl":
		return l.ITL
	case "icl":
		return l.ICL
	case "stall":
		return l.Stall
	case "decode":
		return l.Decode
	}
	return nil
}

var costUnits = map[string]string{slo.CostPer1mOutput: "per million output tokens", slo.CostPerRequest: "a request",
	slo.CostPer1kTokens: "per thousand tokens", slo.CostPer1mAccepted: "per million accepted tokens"}

// figureOf reads a figure such as "ttft:p50" or "throughput" off a point, with
// its unit.
func figureOf(p *result.Point, figure string) (value float64, unit string, ok bool) {
	name, stat, _ := strings.Cut(figure, ":")
	switch name {
	case "throughput":
		return p.Throughput.Output, "tokens/s", true
	case "prompt_throughput":
		return p.Throughput.Prompt, "tokens/s", true
	case "requests":
		return p.Throughput.Requests, "requests/s", true
	case "error":
		return share(p.Requests.Failed, p.Requests.Due), "", p.Requests.Due > 0
	case "reject":
		return share(p.Requests.Rejected, p.Requests.Due), "", p.Requests.Due > 0
	case "retry":
		return share(p.Requests.Retried, p.Requests.Due), "", p.Requests.Due > 0
	case "kv":
		if p.KV == nil {
			return 0, "", false
		}
		return p.KV.MaxMBPerRequest, "MB", true
	case "cost":
		value, ok = price.Figure(p.Cost, stat)
		return value, costUnits[stat], ok
	case "good":
		if p.Goodput == nil {
			return 0, "", false
		}
		return p.Goodput.Fraction, "", true
	}
	value, ok = statistic(distOf(&p.Latency, name), stat)
	return value, "ms", ok
}

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

func statistic(d *metric.Dist, stat string) (float64, bool) {
	switch {
	case d == nil || d.N == 0:
		return 0, false
	case stat == "mean":
		return d.Mean, true
	case stat == "max":
		return d.Max, true
	}
	return d.Get(stat)
}

// bound holds a point's figure against an objective that the run itself did not
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
	figure := o.Metric + ":" + o.Stat
	value, unit, ok := figureOf(p, figure)
	if !ok {
		return result.AcceptUndecided, figure + " was not measured"
	}
	limit := o.Limit
	if unit == "ms" {
		limit /= float64(time.Millisecond)
	}
	lo, hi, firm := value, value, true
	if d := distOf(&p.Latency, o.Metric); unit == "ms" && o.P > 0 {
		ci, known := d.CI[o.Stat]
		if firm = d.IsFirm(o.Stat); known {
			lo, hi, firm = ci[0], ci[1], true
		}
	}
	outcome = figure + " is " + text.Unit(text.Digits(value, 4), unit)
	lost := p.Requests.Due - p.Requests.OK
	if unit == "ms" && lost > 0 {
		outcome += fmt.Sprintf(", but %d of %d requests were not answered", lost, p.Requests.Due)
		hi = math.Inf(1)
	}
	switch {
	case math.IsInf(hi, 1) && o.P > 0 && share(lost, p.Requests.Due) > 1-o.P:
		return result.AcceptNot, outcome
	case p.Requests.Due < fewest:
		return result.AcceptUndecided, strings.TrimSpace(outcome) + fewOf(p.Requests.Due)
	case !firm:
		return result.AcceptUndecided, outcome + ", of too few requests"
	case math.IsInf(hi, 1) && lo <= limit:
		return result.AcceptUndecided, outcome
	case o.Above && lo >= limit, !o.Above && hi <= limit:
		return result.AcceptMet, strings.TrimSpace(outcome)
	case o.Above && hi < limit, !o.Above && lo > limit:
		return result.AcceptNot, strings.TrimSpace(outcome)
	}
	return result.AcceptUndecided, strings.TrimSpace(outcome) + ", at the limit"
}

// fewest is how many requests an answer needs at least: of six, the median lies
// between the fastest and the slowest in all but 3 % of cases; of fewer, chance
// decides.
const fewest = 6

// fewOf says that an answer would be chance's.
func fewOf(n int) string { return ", of " + text.Plural(n, "request") + " only: not decided" }

// judged is a verdict of the run as an answer.
func judged(v slo.Verdict) (standing, outcome string) {
	outcome = "was not measured"
	if v.Value != nil {
		outcome = text.Unit(text.Digits(*v.Value, 4), v.Unit)
	}
	switch v.Standing {
	case slo.Met:
		return result.AcceptMet, outcome
	case slo.Missed:
		return result.AcceptNot, outcome
	}
	if v.Note != "" {
		outcome += ", " + v.Note
	}
	return result.AcceptUndecided, outcome
}

// weigh holds an expectation against what came of a row; rows are the points of
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
	var parts []string
	for _, v := range p.Objectives {
		parts = append(parts, v.Objective+" "+strings.ReplaceAll(string(v.Standing), "_", " "))
	}
	if parts == nil {
		return "the plan has no objectives", nil
	}
	outcome := strings.Join(parts, ", ")
	switch slo.Overall(p.Objectives) {
	case slo.Met:
		return outcome, new(true)
	case slo.Missed:
		return outcome, new(false)
	}
	return outcome, nil
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
