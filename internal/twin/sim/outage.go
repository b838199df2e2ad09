package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// Gateway is a core of several engines that can go away and come back one by one.
type Gateway interface {
	Core
	// Kill has an engine go away at once: emit gets a token that says so of each of
	// its jobs.
	Kill(now int64, engine int, emit func(Token)) error
	// Drain gives an engine no more jobs and has it go away after its last one; then
	// it calls gone.
	Drain(engine int, gone func()) error
	// Start brings an engine back that is away, as a new process: its cache is empty
	// and its counters are at zero.
	Start(engine int) error
}

// Forget empties the caches of all engines.
func (f *fleet) Forget() bool {
	done := true
	for i := range f.engines {
		if core, caches := f.engines[i].core.(Forgetful); !f.engines[i].isAway { // one that is away comes back with an empty one
			done = caches && core.Forget() && done
		}
	}
	return done
}

// routerOf is the router that knows an engine, and by which number.
func (f *fleet) routerOf(engine int) (r *Router, number int) {
	if f.HasPools() && engine >= f.Prefill {
		return f.decoders, engine - f.Prefill
	}
	return f.entry, engine
}

func (f *fleet) Kill(now int64, engine int, emit func(Token)) error {
	m := &f.engines[engine]
	if m.isAway {
		return fmt.Errorf("%s is away already", f.EngineName(engine))
	}
	hit := slices.DeleteFunc(slices.Clone(f.live), func(p *passage) bool { return p.at != engine })
	slices.SortFunc(hit, func(a, b *passage) int { return cmp.Compare(a.job.ID, b.job.ID) })
	for _, p := range hit {
		f.Cancel(now, p.job.ID)
		emit(Token{Job: p.job, Cut: true, At: now})
	}
	m.isAway, m.noticed = true, now+int64(f.Failover) // away already where it was being drained
	f.alarms.Set(engine, Idle)
	f.unnoticed = append(f.unnoticed, engine)
	return nil
}

func (f *fleet) Drain(engine int, gone func()) error {
	m := &f.engines[engine]
	if m.isAway || m.gone != nil {
		return fmt.Errorf("%s is away already, or on its way", f.EngineName(engine))
	}
	r, number := f.routerOf(engine)
	m.gone = gone
	r.take(number, false)
	f.leaveWhenIdle(engine)
	return nil
}

// leaveWhenIdle has an engine that is being drained go away after its last job.
func (f *fleet) leaveWhenIdle(engine int) {
	m := &f.engines[engine]
	if r, number := f.routerOf(engine); m.gone == nil || r.load[number] > 0 {
		return
	}
	m.isAway = true
	m.gone()
	m.gone = nil
}

func (f *fleet) Start(engine int) error {
	m := &f.engines[engine]
	if !m.isAway {
		return fmt.Errorf("%s is not away", f.EngineName(engine))
	}
	core, err := f.of.Raise(engine)
	if err != nil {
		return err
	}
	*m = member{core: core}
	f.alarms.Set(engine, Idle)
	r, number := f.routerOf(engine)
	r.take(number, true)
	return nil
}
