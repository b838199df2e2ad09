package replay

import "redline/internal/catalog"

// takes is how long the step takes that begins now with the work at hand.
func (e *Instance) takes(start int64) (took int64) {
	computing := 0.0
	if e.clocks.Drop == 0 {
		took = nanoseconds(e.times.Seconds(e.work)) + e.overhead
	} else {
		e.clocks.Pass(float64(start-e.end)/1e9, 0)
		seconds, busy := e.law.SecondsAt(e.work, e.clocks.Slowdown())
		took, computing = nanoseconds(seconds)+e.overhead, busy
	}
	took, e.launched = e.law.Launch(e.work, e.planned, start, took)
	e.clocks.Pass(float64(took)/1e9, computing)
	return took
}

func nanoseconds(seconds float64) int64 { return max(1, int64(seconds*1e9)) }

// coast makes at once the steps that end by now and in which every generating sequence
// gets its token and nothing else happens: no request is admitted, none ends, and the
// cache has room. Most steps of a day are such.
func (e *Instance) coast(now int64) {
	if e.generating == 0 || e.partial != nil || e.desk != nil || e.law.EagerUS > 0 && e.generating > e.law.EagerTokens {
		return
	}
	until := e.ends.Top().beat // the next that may end
	arrived := Idle
	if s := e.waiting.Front(); s != nil {
		arrived = s.arrived
	}
	work := catalog.Work{Tokens: e.generating, Sequences: e.generating, Context: e.context}
	steps := e.times.Decoding(e.generating)
	for e.beat+1 < until && e.end < arrived {
		crossing := e.crossing[(e.beat+1)&(BlockSize-1)]
		if crossing > e.free {
			return
		}
		var took int64
		before := e.clocks
		if e.clocks.Drop == 0 {
			took = nanoseconds(steps.Seconds(e.context)) + e.overhead
		} else {
			work.Context = e.context
			e.work, e.planned = work, e.end
			took = e.takes(e.end)
		}
		if e.end+took > now {
			e.clocks = before
			return
		}
		e.beat++
		e.free -= crossing
		e.context += int64(e.generating)
		e.began, e.launched = e.end, e.end
		e.end += took
		e.Busy += took
		e.Steps++
	}
}

// Horizon is a time before which no answer is complete, whatever may be submitted until
// then: what nobody asks of the instance before it need not be simulated before it.
// It is Idle where there is nothing to do.
func (e *Instance) Horizon() int64 {
	if e.desk != nil || !e.stepping {
		return e.Next()
	}
	steps := int64(1 << 20)
	if e.waiting.Len() > 0 || e.partial != nil {
		steps = 2 // one that is admitted next, and is short
	}
	for _, s := range e.fresh {
		steps = min(steps, int64(s.Output-s.sampled))
	}
	if e.ends.Len() > 0 {
		steps = min(steps, e.ends.Top().beat-e.beat+1)
	}
	if steps <= 1 {
		return e.end
	}
	step := e.shortest
	if need := int64(e.generating+len(e.fresh)) * (steps/BlockSize + 1); need <= int64(e.free) { // none is preempted
		step = nanoseconds(e.times.Seconds(catalog.Work{Tokens: e.generating, Sequences: e.generating, Context: e.context})) + e.overhead
	}
	return e.end + (steps-1)*step
}
