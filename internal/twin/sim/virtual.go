package sim

import "iter"

// Watch is told what happens in a virtual run. Either field may be nil.
type Watch struct {
	Token func(Token)
	// Refused hears of jobs that the core does not take.
	Refused func(*Job, error)
}

// RunOpen plays a whole workload against a core in virtual time: each job is
// submitted at its time, whatever became of the others. The times must not go
// backwards. It gives the time of the last step.
func RunOpen(core Core, arrivals iter.Seq2[int64, *Job], w Watch) (end int64) {
	v := newVirtual(core, w)
	for at, j := range arrivals {
		v.advance(at)
		v.submit(at, j)
	}
	v.advance(Idle)
	return v.now
}

// RunClosed plays jobs against a core in virtual time from start on, so that
// inFlight of them are in the engine as long as there are more: each one that
// ends makes way for the next at the same moment.
func RunClosed(core Core, start int64, inFlight int, jobs iter.Seq[*Job], w Watch) (end int64) {
	v := newVirtual(core, w)
	v.now = start
	next, stop := iter.Pull(jobs)
	defer stop()
	v.refill = func(at int64, places int) {
		for places > 0 {
			j, ok := next()
			if !ok {
				return
			}
			if v.submit(at, j) {
				places--
			}
		}
	}
	v.refill(start, inFlight)
	v.advance(Idle)
	return v.now
}

// virtual is a core and the time at which it wants its next step.
type virtual struct {
	core   Core
	watch  Watch
	next   int64
	now    int64
	ended  int // jobs that ended in the step being made
	refill func(at int64, places int)
	emit   func(Token)
}

func newVirtual(core Core, w Watch) *virtual {
	v := &virtual{core: core, watch: w, next: Idle}
	v.emit = func(t Token) {
		if t.Last {
			v.ended++
		}
		if w.Token != nil {
			w.Token(t)
		}
	}
	return v
}

// advance makes every step that is due before the given time.
func (v *virtual) advance(before int64) {
	for v.next < before {
		v.now = v.next
		v.ended = 0
		v.next = v.core.Step(v.now, v.emit)
		if v.ended > 0 && v.refill != nil {
			v.refill(v.now, v.ended)
		}
	}
}

// submit reports whether the core took the job.
func (v *virtual) submit(at int64, j *Job) bool {
	if err := v.core.Submit(at, j); err != nil {
		if v.watch.Refused != nil {
			v.watch.Refused(j, err)
		}
		return false
	}
	v.next = min(v.next, at)
	return true
}
