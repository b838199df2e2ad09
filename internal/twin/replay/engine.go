package replay

import (
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// Engine is what requests are offered to in virtual time.
type Engine interface {
	// Submit queues a request at now, which must not be before anything that was
	// simulated. It reports whether the request can run at all.
	Submit(now int64, r Request, tag int64) bool
	// Advance does everything that is due by now, and Next is when there is
	// something to do, or Idle.
	Advance(now int64)
	Next() int64
	// Outstanding is the number of requests inside, and Held the tokens that the
	// cache has room taken for.
	Outstanding() int
	Held() int
	// Counts are steps and preemptions so far.
	Counts() (steps, preemptions int64)
}

// NewEngine gives the engine that the spec describes, which must have a law: an
// Instance, or the simulator's own scheduler where the spec asks for what only
// that has. done gets each answer.
func NewEngine(spec sim.Spec, done func(Answer)) (Engine, error) {
	if !needsScheduler(spec) {
		return NewInstance(spec, done)
	}
	if spec.Law == nil {
		return nil, errNoLaw
	}
	core, err := sim.NewBatching(spec)
	if err != nil {
		return nil, err
	}
	return &scheduler{core: core, done: done, next: Idle, prefix: spec.EnablePrefixCaching == nil || *spec.EnablePrefixCaching}, nil
}

// needsScheduler says whether a spec asks for what an Instance does not have.
func needsScheduler(s sim.Spec) bool {
	return s.SchedulingPolicy == sim.Priority || s.MaxLoras > 0 || s.GrammarCompileTime != nil || s.Speculation.Tokens > 0 ||
		s.EnablePrefixCaching != nil && *s.EnablePrefixCaching
}

// scheduler is the simulator's engine as an Engine: token by token, some eight times
// slower than an Instance, with everything that requests can carry.
type scheduler struct {
	core     sim.Core
	done     func(Answer)
	next     int64
	serial   uint64
	inside   int
	prefix   bool // texts are looked up, in place of taking what was recorded as cached
	nothings []int32
}

// Submit queues a request.
func (s *scheduler) Submit(now int64, r Request, tag int64) bool {
	s.serial++
	j := &sim.Job{ID: s.serial, Output: r.Output, Priority: r.Priority, Adapter: r.Adapter, Grammar: r.Grammar,
		Owner: &Answer{Request: r, Tag: tag}}
	if s.prefix {
		j.Prompt, j.Reply = r.tokens(0, r.Prompt), r.tokens(r.Prompt, r.Prompt+r.Output)
	} else {
		if len(s.nothings) < r.Prompt {
			s.nothings = make([]int32, 2*r.Prompt)
		}
		j.Prompt, j.Transferred = s.nothings[:max(r.Prompt, 0)], min(max(r.Cached, 0), r.Prompt-1)
	}
	if s.core.Submit(now, j) != nil {
		return false
	}
	s.inside++
	s.next = min(s.next, now)
	return true
}

// tokens are ids that stand for what the prompt and the reply say: those of the
// shared text, then those of the session, whose later turns go on where it was.
func (r Request) tokens(from, to int) []int32 {
	list := make([]int32, to-from)
	shared, own := stats.Scramble(uint64(r.Prefix)), stats.Scramble(^uint64(r.Text))
	for i := range list {
		key := own
		if from+i < r.Shared {
			key = shared
		}
		list[i] = int32(stats.Scramble(key + uint64(from+i)))
	}
	return list
}

// Advance steps until now.
func (s *scheduler) Advance(now int64) {
	for s.next <= now {
		s.next = s.core.Step(s.next, s.take)
	}
}

func (s *scheduler) take(t sim.Token) {
	a := t.Job.Owner.(*Answer)
	if t.Index == 0 {
		a.First = t.At
	}
	if !t.Last {
		return
	}
	s.inside--
	if a.Last = t.At; s.prefix {
		a.Cached = t.Job.Cached
	}
	if s.done != nil {
		s.done(*a)
	}
}

// Next is when there is something to do.
func (s *scheduler) Next() int64 { return s.next }

// Outstanding is the number of requests inside.
func (s *scheduler) Outstanding() int { return s.inside }

// Held is the tokens in the cache.
func (s *scheduler) Held() int {
	now := s.core.Stats()
	return int(now.KVUsage*float64(now.KVBlocks)+0.5) * BlockSize
}

// Counts are steps and preemptions.
func (s *scheduler) Counts() (steps, preemptions int64) {
	now := s.core.Stats()
	return now.Steps, now.Preemptions
}
