package protocol

import (
	"fmt"
	"math"

	"redline/internal/answer/matrix"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// Conclude answers what the protocol asks at its end, and says why the stopping
// rule is not met.
func Conclude(c *config.Config, res *result.Result, k Known) (p *result.Protocol, reasons []string) {
	p = &result.Protocol{Neighbour: neighbor(c, k), Acceptance: accept(c, res)}
	if s := c.Experiment.Scale; s > 0 && s < 1 {
		p.Scale = s
	}
	for _, condition := range p.Acceptance.Conditions {
		if condition.Standing != slo.Met {
			reasons = append(reasons, fmt.Sprintf("stopping rule %s %s: %s", condition.Text, condition.Standing, condition.Outcome))
		}
	}
	return p, reasons
}

// accept answers the stopping rule: not met if a part is not, else undecided if
// a part is, else met.
func accept(c *config.Config, res *result.Result) result.Acceptance {
	conditions, err := c.Experiment.Conditions()
	if err != nil {
		return result.Acceptance{Standing: slo.NotStated}
	}
	var out result.Acceptance
	for _, condition := range conditions {
		outcome, standing := "no sustained run was made", slo.Undecided
		switch {
		case condition.Limit > 0:
			outcome, standing = LimitWords(res.Limit), limitAbove(res.Limit, condition.Limit)
		case res.Sustained != nil && *res.Sustained < len(res.Points):
			// The run that held its rate, else the last.
			v, _ := condition.Objective.Verdict(res.Points[*res.Sustained].Objectives)
			outcome, standing = matrix.WordVerdict(v)
		}
		if standing == slo.Missed {
			standing = slo.NotMet
		}
		out.Conditions = append(out.Conditions, result.Condition{Text: condition.Text, Standing: standing, Outcome: outcome})
	}
	out.Standing = Acceptance(text.Each(out.Conditions, func(c result.Condition) slo.Standing { return c.Standing }))
	return out
}

// Acceptance is what all parts of an acceptance together are.
func Acceptance(parts []slo.Standing) slo.Standing {
	return slo.First(slo.NotStated, parts, slo.NotMet, slo.Undecided, slo.Met)
}

// limitAbove is where a limit stands that should be at least a rate.
func limitAbove(l *result.Limit, rate float64) slo.Standing {
	atLeast := slo.Objective{Above: true}
	switch {
	case l == nil, l.Standing == result.LimitAtLeast && !l.Confirmed:
		return slo.Undecided
	case l.Standing == result.LimitBelow:
		return slo.Missed
	case l.Standing == result.LimitAtLeast:
		return atLeast.JudgeInterval(l.Rate, math.Inf(1), rate)
	case l.UnmissedTo != nil:
		return atLeast.JudgeInterval(l.Interval[0], math.Inf(1), rate)
	}
	return atLeast.JudgeInterval(l.Interval[0], l.Interval[1], rate)
}

// LimitWords is what is known of a limit.
func LimitWords(l *result.Limit) string {
	if l == nil {
		return "no limit was searched for"
	}
	rate := text.Unit(text.Digits(l.Rate, 4), l.RateUnit())
	between := fmt.Sprintf("the limit is %s, between %s and %s", rate, text.Digits(l.Interval[0], 4), text.Digits(l.Interval[1], 4))
	switch {
	case l.Standing == result.LimitBelow:
		return "the objectives are met at no rate that was offered"
	case l.Standing == result.LimitAtLeast && !l.Confirmed:
		return "nothing was missed up to " + rate + ", but no sustained run held that"
	case l.Standing == result.LimitAtLeast:
		return "the limit is at least " + rate
	case l.Held != nil:
		return between + "; " + text.Digits(l.Held.Rate, 4) + " was held"
	}
	return between
}
