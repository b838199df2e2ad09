package account

import (
	"iter"

	"redline/internal/drive/record"
	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
)

// Looks is how often a run that goes on until it is decided is judged at most,
// the last time by its report.
const Looks = 5

// LookedAt is how many requests a look is handed at most, so that it costs the
// load little however many there were. They decide what is clear, down to a
// p99.9; what they leave open the whole window decides.
const LookedAt = 8192

// Verdicts judges the objectives over a window and nothing else, for a look at
// a run that goes on: the figures of a report cost many times as much. One on a
// figure that was not measured is open while too few requests have succeeded to
// show that it never will be. Grows says that the server cannot keep up.
func Verdicts(records func() iter.Seq2[*record.Record, error], o Options) (verdicts []slo.Verdict, grows bool, err error) {
	v, s, err := collectForObjectives(records, o)
	if err != nil {
		return nil, false, err
	}
	verdicts = v.verdicts(s)
	for i, one := range verdicts {
		if one.Standing == slo.NotJudged && v.judge(o.Objectives[i], s).requests.OK < minRequests {
			verdicts[i].Standing = slo.Undecided
		}
	}
	return verdicts, s.Window.Overloaded(), nil
}

func collectForObjectives(records func() iter.Seq2[*record.Record, error], o Options) (view, metric.Summary, error) {
	c := newCollector(o)
	c.onlyJudged = !c.withTails && len(c.arrived.blocks) == 0
	gaps, err := c.collect(records, c.withTails)
	if err != nil {
		return view{}, metric.Summary{}, err
	}
	s := metric.Summary{Window: metric.Window{Varies: o.Varies}, Requests: countAll(c.requests.all)}
	judgeWindow(&s.Window, c, s.Requests.Due)
	v := c.view(gaps, s.Window)
	v.judgesGood = c.goodput() != nil
	return v, s, nil
}

// JudgeFigures judges objectives by the figures of a window whose single requests are
// not known, as another benchmark left them. Beyond the limit is missed; within it
// nothing says how far the figure could be off, so that is too close to call.
func JudgeFigures(objectives []slo.Objective, s *metric.Summary) []slo.Verdict {
	var list []slo.Verdict
	for _, o := range objectives {
		list = append(list, judgeFigure(o, s))
	}
	return list
}

func judgeFigure(o slo.Objective, s *metric.Summary) slo.Verdict {
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
	if o.JudgeExact(value, v.Limit) == slo.Missed {
		v.Standing = slo.Missed
	}
	return v
}
