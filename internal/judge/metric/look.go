package metric

import (
	"iter"

	"redline/internal/drive/record"
	"redline/internal/judge/slo"
	"redline/internal/llm"
)

// Looks is how often a run that goes on until it is decided is judged at most,
// the last time by its report.
const Looks = 5

// LookedAt is how many requests a look is handed at most, so that it costs the
// load little however many there were. They decide what is clear, down to a
// p99.9; what they leave open the whole window decides.
const LookedAt = 8192

// Verdicts judges the objectives over a window and nothing else, for a look at
// a run that goes on: the figures of a report cost many times as much.
func Verdicts(records func() iter.Seq2[*record.Record, error], o Options) ([]slo.Verdict, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := newCollector(o)
	if err := walk(records, c.addJudged); err != nil {
		return nil, err
	}
	gaps := newTallies(c)
	if c.withTails {
		err := walk(records, func(r *record.Record) {
			if r.Outcome == llm.OK && r.Streamed {
				c.scratch = grouped(r, c.scratch[:0])
				gaps.add(r, c.naming.keysOf(r), c.scratch)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	gaps.close()
	return c.judged(gaps), nil
}

// addJudged takes in what verdicts need of a record. Where none is about gaps or
// throughput, the tokens of the window are left uncounted.
func (c *collector) addJudged(r *record.Record) {
	if c.withTails || len(c.arrived.blocks) > 0 {
		c.add(r)
		return
	}
	if r.Due != 0 {
		c.inSystem.add(r.Due, r.End)
	}
	if r.Sent != 0 {
		c.inFlight.add(r.Sent, r.End)
	}
	if c.within(r.Due) {
		c.scratch = grouped(r, c.scratch[:0])
		c.addRequest(r, c.naming.keysOf(r))
	}
}

// judged gives the verdicts of what was collected. One on a figure that was not
// measured is open while too few requests have succeeded to show that it never
// will be.
func (c *collector) judged(gaps *tallies) []slo.Verdict {
	s := Summary{Window: Window{Varies: c.o.Varies}, Requests: countAll(c.requests.all)}
	if !c.o.Varies {
		s.Window.growing(&c.inSystem, s.Requests.Due, c.meanService(), c.o.Seed)
		s.Window.Brief = c.brief()
	}
	v := view{collector: c, gaps: gaps, space: &workspace{}, trust: trust{batches: c.batchesOf(slo.Scope{}), sound: s.Window.sound()}}
	if c.tokens.Events > 0 {
		v.coalesced = float64(c.tokens.Coalesced) / float64(c.tokens.Events)
	}
	v.judgesGood = c.goodput() != nil
	verdicts := v.verdicts(s)
	for i, one := range verdicts {
		if one.Standing == slo.NotJudged && countAll(v.requestsOf(c.naming.part(one.Scope))).OK < fewestMissed {
			verdicts[i].Standing = slo.Undecided
		}
	}
	return verdicts
}
