package sim

import (
	"fmt"
	"slices"
	"time"

	"redline/internal/text"
)

// The orders in which vLLM schedules what waits.
const (
	FCFS     = "fcfs"
	Priority = "priority"
)

// Defaults of what requests can carry beside their text.
const (
	defaultGrammarTime = 50 * time.Millisecond
	defaultLoraTime    = 20 * time.Millisecond
	defaultMaxLoras    = 1
)

// checkPolicy checks the words of the scheduler, and the times of grammars and
// adapters.
func (s Spec) checkPolicy() error {
	if p := s.EvictionPolicy; p != "" && p != LRU && p != MRU {
		return fmt.Errorf("eviction_policy: want %s or %s, got %q", LRU, MRU, text.Brief(p))
	}
	switch s.SchedulingPolicy {
	case "", FCFS, Priority:
	default:
		return fmt.Errorf("scheduling_policy: expected %s or %s, got %q", FCFS, Priority, text.Brief(s.SchedulingPolicy))
	}
	for _, one := range []struct {
		key  string
		took *time.Duration
	}{{"grammar_compile_time", s.GrammarCompileTime}, {"lora_load_time", s.LoraLoadTime}} {
		if one.took != nil && (*one.took < 0 || *one.took > time.Minute) {
			return fmt.Errorf("%s: expected a time from 0s to 1m, got %v", one.key, *one.took)
		}
	}
	return within(bound{"max_loras", float64(s.MaxLoras), 0, maxSeqs, "a positive number, or 0 for the default of 1"},
		bound{"structured_error", s.StructuredError, 0, 1, "a share from 0 to 1"})
}

// grammars are those that an engine has compiled, by their text: a request waits
// for its own, and whoever comes with the same meanwhile waits no longer than it.
type grammars struct {
	took  int64
	ready map[string]int64
}

// readyAt is when a request that comes now with a grammar can be scheduled.
func (g *grammars) readyAt(now int64, grammar string) int64 {
	if grammar == "" || g.took == 0 {
		return now
	}
	ready, known := g.ready[grammar]
	if !known {
		if g.ready == nil {
			g.ready = map[string]int64{}
		}
		ready = now + g.took
		g.ready[grammar] = ready
	}
	return max(now, ready)
}

// adapterSlots are the adapters that are in the accelerator's memory, the one that
// was used last at the end.
type adapterSlots struct {
	most     int
	took     int64
	resident []string
	loading  int64 // what the step in hand spends on it
}

// use has an adapter loaded where it is not there.
func (a *adapterSlots) use(name string) {
	if name == "" {
		return
	}
	if i := slices.Index(a.resident, name); i >= 0 {
		a.resident = slices.Delete(a.resident, i, i+1)
	} else {
		a.loading += a.took
		if len(a.resident) == a.most {
			a.resident = slices.Delete(a.resident, 0, 1)
		}
	}
	a.resident = append(a.resident, name)
}

// nextWaiting is the sequence that is scheduled next of those that had arrived by
// then, nil for none: the first, or that of the first priority; one whose adapter
// finds no place beside those of the batch is passed over.
func (b *batching) nextWaiting(by int64) *sequence {
	byPriority := b.spec.SchedulingPolicy == Priority
	if !byPriority && !b.adapted {
		if s := b.waiting.Front(); s != nil && s.job.Arrived <= by {
			return s
		}
		return nil
	}
	var batch []string
	for _, s := range b.running {
		if name := s.job.Adapter; name != "" && !slices.Contains(batch, name) {
			batch = append(batch, name)
		}
	}
	var next *sequence
	for s := range b.waiting.All {
		switch name := s.job.Adapter; {
		case s.job.Arrived > by:
		case name != "" && len(batch) >= b.adapters.most && !slices.Contains(batch, name):
		case next == nil || byPriority && s.job.Priority < next.job.Priority:
			next = s
		}
		if next != nil && !byPriority {
			break
		}
	}
	return next
}

// victim is which of the running sequences from i on gives its blocks back: the
// last, or that of the last priority.
func (b *batching) victim(i int) int {
	last := len(b.running) - 1
	if b.spec.SchedulingPolicy != Priority {
		return last
	}
	for k := last; k >= i; k-- {
		if b.running[k].job.Priority > b.running[last].job.Priority {
			last = k
		}
	}
	return last
}
