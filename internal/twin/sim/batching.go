package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"redline/internal/catalog"
	"redline/internal/twin/queue"
)

// batching is the continuous-batching scheduler. Each step hands a budget of
// tokens to the running sequences in the order of their admission and then
// admits waiting ones, first come, first served. When the cache is full the
// sequence admitted last gives its blocks back and starts over later.
type batching struct {
	*instance
	time   catalog.StepModel
	clocks catalog.Clocks
	window windowCost
	pool   *pool
	host   hostTier
	noise  *rand.Rand
	cold   coldStart
	// guesses is speculative decoding, forming static batching.
	guesses guesser
	forming formation
	// grammars and adapters are what requests carry; adapted says that some have
	// an adapter.
	grammars grammars
	adapters adapterSlots
	adapted  bool

	running []*sequence
	waiting queue.Line[*sequence]
	byID    map[uint64]*sequence
	serial  uint64

	stepping   bool  // a step is in flight and ends at end
	began      int64 // that step, or the last one
	planned    int64 // the same
	launched   int64 // when its last kernel was
	end        int64
	stats      Stats
	load       catalog.StepLoad
	budgetLeft int
	encoded    encoderCache
	encoding   float64 // seconds of the encoder in the step in hand
	loading    float64 // and of blocks that come back from the host
	slowness   float64 // factor of each step's time, 0 for none
}

// slow makes the engine's steps longer by a factor.
func (b *batching) slow(by float64) { b.slowness = by }

// NewBatching gives the engine that s describes.
func NewBatching(s Spec) (Core, error) {
	e, err := s.resolve()
	if err != nil {
		return nil, err
	}
	b := &batching{
		instance: e,
		window:   windowOf(e.deploy.Model),
		pool:     newPool(e.blocks),
		noise:    rand.New(rand.NewPCG(s.Seed, 0x7265646c696e65)),
		byID:     map[uint64]*sequence{},
		cold:     coldStart{lasts: int64(s.ColdStart)},
		guesses:  guesser{Speculation: e.spec.Speculation, seed: hashToken(e.spec.Seed, 1), chances: e.spec.reach()},
		forming:  formation{on: e.spec.StaticBatching},
		grammars: grammars{took: durationOr(e.spec.GrammarCompileTime, defaultGrammarTime)},
		adapters: adapterSlots{most: cmp.Or(e.spec.MaxLoras, defaultMaxLoras), took: durationOr(e.spec.LoraLoadTime, defaultLoraTime)},
	}
	b.pool.newest = e.spec.EvictionPolicy == MRU
	if b.host = newHostTier(e.spec, e.deploy); b.host.size > 0 {
		b.pool.evict = b.host.keep
	}
	if e.spec.Law == nil {
		b.time = catalog.NewStepModel(e.deploy, e.spec.ComputeShare, e.spec.MemoryShare)
		b.clocks.Drop = b.time.ClockDrop
	} else {
		b.clocks.Drop = e.spec.Law.ClockDrop
	}
	b.encoded.size = cmp.Or(e.spec.EncoderCacheSize, e.spec.MaxNumBatchedTokens)
	if e.spec.FrontEnd.Idle() {
		return b, nil
	}
	return &frontedEngine{batching: b, desk: queue.NewDesk[passing](e.spec.FrontEnd), of: map[uint64]int{}}, nil
}

func durationOr(d *time.Duration, usual time.Duration) int64 {
	if d != nil {
		usual = *d
	}
	return int64(usual)
}

func (b *batching) Submit(now int64, j *Job) error {
	j.Received = now
	return b.submit(now, j)
}

// submit queues a job that reaches the engine at now.
func (b *batching) submit(now int64, j *Job) error {
	if err := b.admissible(j); err != nil {
		return err
	}
	b.serial++
	s := &sequence{job: j, serial: b.serial, prompt: len(j.Prompt), total: len(j.Prompt)}
	j.Arrived = b.grammars.readyAt(now+int64(b.spec.RequestOverhead), j.Grammar)
	b.adapted = b.adapted || j.Adapter != ""
	if !b.cold.started {
		b.cold.started, b.cold.ends = true, now+b.cold.lasts
	}
	b.byID[j.ID] = s
	b.waiting.Push(s)
	return nil
}

func (b *batching) Forget() bool {
	done := b.pool.forget()
	if done {
		b.host.forget()
	}
	return done
}

func (b *batching) Cancel(_ int64, id uint64) {
	s := b.byID[id]
	if s == nil {
		return
	}
	delete(b.byID, id)
	if i := slices.Index(b.running, s); i >= 0 {
		b.running = slices.Delete(b.running, i, i+1)
		if !s.job.Leaks {
			b.freeAll(s)
		}
		return
	}
	b.waiting.Remove(s)
}

func (b *batching) Step(now int64, emit func(Token)) (next int64) {
	for {
		if b.stepping {
			if b.end > now {
				return b.end
			}
			b.finish(emit)
		}
		start, ok := b.nextStart()
		if !ok || start > now {
			return start
		}
		b.begin(start)
	}
}

// nextStart is when the next step can begin: at the end of the last one, or
// when the first waiting job arrived on an idle engine.
func (b *batching) nextStart() (start int64, ok bool) {
	if len(b.running) > 0 {
		return b.end, true
	}
	if s := b.waiting.Front(); s != nil {
		return max(b.end, s.job.Arrived), true
	}
	return Idle, false
}

// begin schedules a step that starts at start.
func (b *batching) begin(start int64) {
	b.load = catalog.StepLoad{}
	b.guesses.deepest, b.guesses.once, b.guesses.prompted = 0, catalog.StepLoad{}, catalog.StepLoad{}
	b.budgetLeft, b.encoding, b.loading = b.spec.MaxNumBatchedTokens, 0, 0
	b.adapters.loading, b.planned = 0, start
	if b.spec.AsyncScheduling && len(b.running) > 0 { // while the step before it ran
		b.planned = max(b.began, b.launched)
	}
	b.fill(start)
	b.stats.Steps++
	b.stats.StepTokens = int64(b.load.Tokens)
	b.stepping = true
	b.began = start
	took := b.duration(start) + b.adapters.loading
	if start < b.cold.ends {
		took *= coldFactor
	}
	b.end = start + took
}

// fill chooses the step's tokens.
func (b *batching) fill(start int64) {
	if b.spec.PrefillFirst {
		if b.admitWaiting(start); b.load.Tokens > 0 {
			return
		}
	}
	if preempted := b.scheduleRunning(); !preempted && !b.spec.PrefillFirst {
		b.admitWaiting(start)
	}
}

// scheduleRunning gives the running sequences their tokens. It reports
// whether any had to be preempted.
func (b *batching) scheduleRunning() (preempted bool) {
next:
	for i := 0; i < len(b.running) && b.budgetLeft > 0; i++ {
		s := b.running[i]
		n := min(s.total-s.computed, b.budgetLeft)
		if s.drafted = b.guesses.length(s, b.budgetLeft); !b.grow(s, s.computed+n+s.drafted) {
			s.drafted = 0
		}
		for !b.grow(s, s.computed+n) {
			preempted = true
			at := b.victim(i)
			last := b.running[at] // goes back to the head of the queue
			b.running = slices.Delete(b.running, at, at+1)
			b.freeAll(last)
			last.computed, last.named, last.images = 0, 0, 0
			last.job.Preempted++
			b.stats.Preemptions++
			b.waiting.PushFront(last)
			if last == s {
				i--
				continue next
			}
		}
		b.schedule(s, n)
	}
	return preempted
}

// schedule puts n tokens of a sequence into the step.
func (b *batching) schedule(s *sequence, n int) {
	s.scheduled = n
	b.budgetLeft -= n
	ctx := s.computed + n
	b.encodeImages(s, ctx)
	switch {
	case s.drafted > 0:
		b.guess(s)
	case s.total > s.prompt && n == 1:
		b.load.Decode(ctx, b.time.Window())
	default:
		b.load.Prefill(n, s.computed, b.time.Window(), ctx == s.total)
		b.guesses.prompted.Prefill(n, s.computed, b.time.Window(), ctx == s.total)
	}
	if b.prefix {
		// Blocks may be named before they are computed: whoever finds them runs in
		// this step or later.
		full := ctx / BlockSize
		for s.hash(full); s.named < full; s.named++ {
			b.pool.name(s.blocks[s.named], s.hashes[s.named])
		}
	}
}

// finish ends the step in flight: sequences whose tokens are all computed
// have sampled one more.
func (b *batching) finish(emit func(Token)) {
	b.stepping = false
	kept := b.running[:0]
	for _, s := range b.running {
		s.computed += s.scheduled
		sampled := s.scheduled > 0 && s.computed == s.total
		s.scheduled = 0
		if sampled && b.emitTokens(s, emit) {
			continue
		}
		kept = append(kept, s)
	}
	clear(b.running[len(kept):])
	b.running = kept
}

// emitTokens brings out the tokens that a sequence has of a step, and reports
// whether they were its last.
func (b *batching) emitTokens(s *sequence, emit func(Token)) (last bool) {
	for more := b.settle(s); more > 0; more-- {
		b.sample(s, true, emit)
	}
	return b.sample(s, false, emit)
}

// sample brings one token out and reports whether it was the last.
func (b *batching) sample(s *sequence, more bool, emit func(Token)) (last bool) {
	j, i := s.job, s.total-s.prompt
	s.total++
	last = i == j.Output-1
	b.stats.OutputTokens++
	if i == 0 {
		j.First, j.Prefilled = b.end, b.end
		b.stats.PromptTokens += int64(s.prompt - j.Transferred)
	}
	if last {
		j.Last = b.end
		b.stats.Finished++
		delete(b.byID, j.ID)
		b.freeAll(s)
	}
	emit(Token{Job: j, Index: i, Last: last, More: more, At: b.end})
	return last
}

func (b *batching) freeAll(s *sequence) {
	b.pool.release(s.windowed)
	b.pool.release(s.blocks)
	s.blocks, s.windowed, s.scheduled, s.drafted = s.blocks[:0], s.windowed[:0], 0, 0
}

func (b *batching) Stats() Stats {
	s := b.stats
	s.Running, s.Waiting = len(b.running), b.waiting.Len()
	s.KVBlocks = len(b.pool.refs)
	s.KVUsage = b.pool.usage()
	s.EvictedBlocks = b.pool.evicted
	// Shared blocks are full: only the end of a sequence can have room to spare.
	s.KVTokens = int64(len(b.pool.refs)-b.pool.free) * BlockSize
	for _, q := range b.running {
		s.KVTokens -= int64(len(q.blocks)*BlockSize - q.computed - q.scheduled)
	}
	return s
}
