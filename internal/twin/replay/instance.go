// Package replay offers recorded requests to the simulated engine again, in
// virtual time. It takes lengths, moments and an engine with a law, and gives
// what each request would have seen, at a cost per step that does not grow with
// the batch. It reads no file and no clock.
package replay

import (
	"errors"
	"fmt"

	"redline/internal/catalog"
	"redline/internal/twin/queue"
	"redline/internal/twin/sim"
)

// BlockSize is the tokens that a block of the cache holds.
const BlockSize = 16

// Idle is the next time of an instance that has nothing to do.
const Idle = queue.Idle

// Request is what an engine is asked: lengths, and what goes with the text. An Instance
// looks at the lengths alone.
type Request struct {
	Prompt int
	Cached int // of the prompt, found in the prefix cache
	Output int
	// Priority, Adapter and Grammar are as in a sim.Job.
	Priority         int
	Adapter, Grammar string
	// Text names the conversation, whose later prompts repeat what was said before,
	// and Prefix the text that the first Shared tokens of the prompt have in common
	// with others. 0 stands for one as good as another.
	Text, Prefix, Shared int
}

// Answer is a request that was answered, with the tag given at Submit.
type Answer struct {
	Request
	Tag         int64
	First, Last int64
}

// TPOT is the mean time between tokens, negative where there is only one.
func (a Answer) TPOT() float64 {
	if a.Output < 2 {
		return -1
	}
	return float64(a.Last-a.First) / float64(a.Output-1)
}

// Instance is the simulated engine with a law, without its tokens: it gives
// the first and the last moment of every answer exactly as sim's scheduler
// does, at a cost per step that does not grow with the batch. That is what
// makes a day of traffic a matter of seconds. It can, because every sequence
// that generates gets one token in every step that generates at all: what the
// step takes follows from sums, and a sequence's end is known when it begins.
//
// A front end's events are spread evenly over their step, so that with one a
// moment is exact to within the events of a step.
//
// What it does not do is look for shared prefixes: a request says how much of
// its prompt is cached.
type Instance struct {
	law       *catalog.Law
	times     *catalog.StepTimes
	clocks    catalog.Clocks
	overhead  int64                // per step
	shortest  int64                // that a step takes at least
	delay     int64                // per request
	async     bool                 // a step is planned when the one before it begins
	desk      *queue.Desk[passing] // nil where the front end takes no time
	seqs      int
	budget    int
	maxLen    int
	blocks    int
	chunks    bool
	promptsUp bool // each step is prompts or generation, prompts first

	stepping   bool
	began      int64 // the step under way, or the last one
	launched   int64 // when its last kernel was
	end        int64
	beat       int64 // steps in which the generating sequences were advanced
	beating    bool
	work       catalog.Work
	planned    int64 // the step
	budgetLeft int   // of its budget
	free       int   // blocks

	generating int
	context    int64          // Σ tokens of generating sequences in the next beat
	crossing   [BlockSize]int // generating sequences by the beat at which they need a block
	ends       queue.Heap[ending]
	partial    *sequence   // its prompt is computed in part; always the last admitted
	fresh      []*sequence // prompts that this step completes
	order      []*sequence // those running, in the order of admission, and some that have ended
	waiting    queue.Line[*sequence]
	spare      []*sequence // ended, and nowhere else

	passing int         // requests and last tokens in the front end
	ended   []*sequence // in the step that ends, where there is a front end
	ready   []passing   // tokens of that step, by process

	done        func(Answer)
	Steps       int64
	Busy        int64 // nanoseconds in steps
	Preemptions int64 // preemptions
	Refusals    int64
}

// NewInstance makes the engine that the spec describes, which must have a law.
// done gets each answer.
func NewInstance(spec sim.Spec, done func(Answer)) (*Instance, error) {
	blank, err := newBlank(spec)
	if err != nil {
		return nil, err
	}
	return blank.instance(done), nil
}

// blank is what equal instances have in common.
type blank struct {
	spec  sim.Spec // with every default filled in
	times *catalog.StepTimes
}

func newBlank(spec sim.Spec) (*blank, error) {
	full, err := spec.Resolve()
	switch {
	case err != nil:
		return nil, err
	case full.Law == nil:
		return nil, errNoLaw
	case full.PrefillFirst && *full.EnableChunkedPrefill:
		return nil, fmt.Errorf("prefill_first together with chunked prefill is not simulated at speed: set enable_chunked_prefill: false")
	}
	return &blank{full, full.Law.Times()}, nil
}

func (b *blank) instance(done func(Answer)) *Instance {
	full := &b.spec
	e := &Instance{
		law: full.Law, times: b.times, clocks: catalog.Clocks{Drop: full.Law.ClockDrop}, overhead: int64(full.StepOverhead), delay: int64(full.RequestOverhead), async: full.AsyncScheduling,
		seqs: full.MaxNumSeqs, budget: full.MaxNumBatchedTokens, maxLen: full.MaxModelLen,
		blocks: full.NumGPUBlocksOverride, free: full.NumGPUBlocksOverride,
		chunks: *full.EnableChunkedPrefill, promptsUp: full.PrefillFirst, done: done,
	}
	e.shortest = nanoseconds(b.times.Seconds(catalog.Work{Tokens: 1, Sequences: 1})) + e.overhead
	if !full.FrontEnd.Idle() {
		e.desk = queue.NewDesk[passing](full.FrontEnd)
	}
	return e
}

var errNoLaw = errors.New("the engine has no law: fit one with redline calibrate RUN -o engine.yaml")

func blocksFor(tokens int) int { return (tokens + BlockSize - 1) / BlockSize }

// Submit queues a request at now, which must not be before anything that was
// simulated. It reports whether the request can run at all.
func (e *Instance) Submit(now int64, r Request, tag int64) bool {
	if !fits(r, e.maxLen, e.blocks) {
		e.Refusals++
		return false
	}
	r.Cached = min(max(r.Cached, 0), r.Prompt-1)
	s := e.blankSequence()
	*s = sequence{Request: r, tag: tag, arrived: now + e.delay, total: r.Prompt, epoch: s.epoch + 1}
	if e.desk == nil {
		e.waiting.Push(s)
	} else {
		e.passing++
		s.process = e.desk.Request(now, r.Prompt, passing{request: s})
	}
	return true
}

// blankSequence is one that has ended, or a new one: a day has millions.
func (e *Instance) blankSequence() (s *sequence) {
	n := len(e.spare)
	if n == 0 {
		return new(sequence)
	}
	s, e.spare = e.spare[n-1], e.spare[:n-1]
	return s
}

// fits reports whether a request can run alone.
func fits(r Request, maxLen, blocks int) bool {
	length := r.Prompt + r.Output
	return r.Prompt >= 1 && r.Output >= 1 && length <= maxLen && blocksFor(length-1) <= blocks
}

// Outstanding is the number of requests inside.
func (e *Instance) Outstanding() int { return e.running() + e.waiting.Len() + e.passing }

// Held is the tokens that the cache has room taken for.
func (e *Instance) Held() int { return (e.blocks - e.free) * BlockSize }

// Counts are steps and preemptions.
func (e *Instance) Counts() (steps, preemptions int64) { return e.Steps, e.Preemptions }

func (e *Instance) running() int {
	n := e.generating + len(e.fresh)
	if e.partial != nil {
		n++
	}
	return n
}

// Next is when the instance has something to do, or Idle.
func (e *Instance) Next() int64 {
	next := e.end
	if !e.stepping {
		next = e.nextStart()
	}
	if e.desk != nil {
		next = min(next, e.desk.Next())
	}
	return next
}

// Advance does everything that is due by now.
func (e *Instance) Advance(now int64) {
	for next := e.Next(); next <= now; next = e.Next() {
		if e.desk != nil && e.desk.Next() == next {
			e.desk.Advance(next, e.pass)
			continue
		}
		if e.stepping {
			e.finish()
		}
		e.coast(now)
		start := e.nextStart()
		if !e.async || start > e.end {
			e.handOut(e.end)
		}
		if start <= now && (e.desk == nil || start <= e.desk.Next()) {
			e.begin(start)
		}
	}
}

func (e *Instance) answer(s *sequence, last int64) {
	if e.done != nil {
		e.done(Answer{s.Request, s.tag, s.first, last})
	}
}

func (e *Instance) nextStart() int64 {
	if e.running() > 0 {
		return e.end
	}
	if s := e.waiting.Front(); s != nil {
		return max(e.end, s.arrived)
	}
	return Idle
}

// begin schedules a step.
func (e *Instance) begin(start int64) {
	e.work, e.budgetLeft, e.beating, e.planned = catalog.Work{}, e.budget, false, start
	if e.async && e.running() > 0 { // while the step before it ran
		e.planned = max(e.began, e.launched)
	}
	e.fill()
	took := e.takes(start)
	if e.async {
		e.handOut(max(start, e.launched)) // of the step before, once this one is launched
	}
	e.stepping = true
	e.began = start
	e.end = start + took
	e.Busy += took
	e.Steps++
}

func (e *Instance) fill() {
	if e.promptsUp {
		if e.admit(); e.work.Tokens > 0 {
			return
		}
	}
	if preempted := e.generate(); !preempted && !e.promptsUp {
		e.admit()
	}
}

// generate gives every generating sequence its token and continues the
// prompt begun, as far as the cache has room.
func (e *Instance) generate() (preempted bool) {
	e.beat++
	crossing := &e.crossing[e.beat&(BlockSize-1)]
	for *crossing > e.free {
		e.preempt()
		preempted = true
	}
	if e.generating > 0 {
		e.beating = true
		e.free -= *crossing
		e.work.Tokens, e.work.Sequences, e.work.Context = e.generating, e.generating, e.context
		e.budgetLeft -= e.generating
	}
	if s := e.partial; s != nil && e.budgetLeft > 0 {
		n := min(s.total-s.computed, e.budgetLeft)
		if blocksFor(s.computed+n)-blocksFor(s.computed) > e.free {
			e.preempt()
			return true
		}
		e.free -= blocksFor(s.computed+n) - blocksFor(s.computed)
		e.compute(s, n)
	}
	return preempted
}

// compute schedules n tokens of a sequence that has not all computed.
func (e *Instance) compute(s *sequence, n int) {
	e.budgetLeft -= n
	e.work.Tokens += n
	e.work.Sequences++
	if s.total > s.Prompt && n == 1 {
		e.work.Context += int64(s.computed + 1)
	} else {
		e.work.Pairs += float64(n) * (float64(s.computed) + float64(n)/2)
	}
	s.computed += n
	if s.computed == s.total {
		e.fresh = append(e.fresh, s)
		e.partial = nil
	} else {
		e.partial = s
	}
}

// admit starts waiting sequences while tokens, places and blocks last.
func (e *Instance) admit() {
	for e.budgetLeft > 0 && e.running() < e.seqs && e.partial == nil {
		s := e.waiting.Front()
		if s == nil || s.arrived > e.planned {
			return
		}
		n := s.total - s.Cached
		if n > e.budgetLeft && !e.chunks {
			return
		}
		n = min(n, e.budgetLeft)
		need := blocksFor(s.Cached + n)
		if need > e.free {
			return
		}
		e.free -= need
		s.computed = s.Cached
		e.waiting.Pop()
		e.order = append(e.order, s)
		e.compute(s, n)
	}
}

// preempt sends the sequence admitted last back to the head of the queue, to
// start over.
func (e *Instance) preempt() {
	for e.order[len(e.order)-1].ended {
		e.order = e.order[:len(e.order)-1]
	}
	s := e.order[len(e.order)-1]
	e.order = e.order[:len(e.order)-1]
	e.Preemptions++
	if s == e.partial {
		e.free += blocksFor(s.computed)
		e.partial = nil
	} else {
		// It has not had its token of this beat.
		now := s.tokens(e.beat)
		e.free += blocksFor(now - 1)
		e.generating--
		e.context -= int64(now)
		e.crossing[s.crosses()]--
		s.sampled += now - s.total
		s.total = now
		s.epoch++
	}
	e.waiting.PushFront(s)
}

// finish ends the step.
func (e *Instance) finish() {
	e.stepping = false
	sampled := len(e.fresh)
	if e.beating {
		sampled += e.generating
		e.endGenerating()
		e.context += int64(e.generating)
	}
	for _, s := range e.fresh {
		e.join(s)
	}
	if e.desk != nil {
		e.send(sampled)
	}
	clear(e.fresh)
	e.fresh = e.fresh[:0]
	if len(e.order) > 2*e.running()+64 {
		e.tidy()
	}
}

// endGenerating lets those go whose last token this beat was.
func (e *Instance) endGenerating() {
	for e.ends.Len() > 0 && e.ends.Top().beat <= e.beat {
		last := e.ends.Pop()
		s := last.s
		if s.epoch != last.epoch || s.ended {
			continue
		}
		now := s.tokens(e.beat)
		e.generating--
		e.context -= int64(now)
		e.crossing[s.crosses()]--
		e.free += blocksFor(now)
		e.leave(s)
	}
}

// join makes a sequence whose tokens are all computed a generating one.
func (e *Instance) join(s *sequence) {
	s.total++
	s.sampled++
	if s.first == 0 {
		s.first = e.end
	}
	if s.sampled == s.Output {
		e.free += blocksFor(s.computed)
		e.leave(s)
		return
	}
	s.joined = e.beat
	e.generating++
	e.context += int64(s.total)
	e.crossing[s.crosses()]++
	e.ends.Push(ending{e.beat + int64(s.Output-s.sampled), s.epoch, s})
}

func (e *Instance) leave(s *sequence) {
	s.ended = true
	if e.desk != nil {
		e.ended = append(e.ended, s)
		return
	}
	e.answer(s, e.end)
}

// tidy forgets those that have ended.
func (e *Instance) tidy() {
	kept := e.order[:0]
	for _, s := range e.order {
		if !s.ended {
			kept = append(kept, s)
		} else if e.desk == nil { // the front end may still have it
			e.spare = append(e.spare, s)
		}
	}
	clear(e.order[len(kept):])
	e.order = kept
}
