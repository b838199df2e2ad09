package metric

import (
	fig "redline/internal/judge/figure"
	"redline/internal/judge/slo"
)

// JudgeFigures judges objectives by the figures of a window whose single requests are
// not known, as another benchmark left them. Beyond the limit is missed; within it
// nothing says how far the figure could be off, so that is too close to call.
func JudgeFigures(objectives []slo.Objective, s *Summary) []slo.Verdict {
	var list []slo.Verdict
	for _, o := range objectives {
		list = append(list, judgeFigure(o, s))
	}
	return list
}

func judgeFigure(o slo.Objective, s *Summary) slo.Verdict {
	f, err := fig.Parse(o.Metric+":"+o.Stat, fig.Promise)
	value, known := 0.0, false
	if err == nil && o.Scope == (slo.Scope{}) {
		value, known = f.Read(s)
	}
	if !known {
		return notJudged(o, "the figures of the run do not have it, and its single requests are not known")
	}
	v := blank(o)
	v.Value, v.N = &value, s.Requests.Due
	v.Note = "by one figure without an interval: the single requests are not known"
	if o.Above && value <= v.Limit || !o.Above && value >= v.Limit {
		v.Standing = slo.Missed
	}
	return v
}
