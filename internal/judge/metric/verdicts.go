package metric

import (
	"iter"

	"redline/internal/drive/record"
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
	return verdicts, s.Window.overloaded(), nil
}

// collectForObjectives collects what objectives are judged by.
func collectForObjectives(records func() iter.Seq2[*record.Record, error], o Options) (view, Summary, error) {
	c := newCollector(o)
	c.onlyJudged = !c.withTails && len(c.arrived.blocks) == 0
	gaps, err := c.collect(records, c.withTails)
	if err != nil {
		return view{}, Summary{}, err
	}
	s := Summary{Window: Window{Varies: o.Varies}, Requests: countAll(c.requests.all)}
	s.Window.judge(c, s.Requests.Due)
	v := c.view(gaps, s.Window)
	v.judgesGood = c.goodput() != nil
	return v, s, nil
}
