package sim

import (
	"fmt"
)

// admissible says why a job can never run.
func (b *batching) admissible(j *Job) error {
	length := len(j.Prompt) + j.Output
	switch {
	case len(j.Prompt) == 0:
		return fmt.Errorf("the prompt is empty: send at least one token")
	case j.Output < 1:
		return fmt.Errorf("%d output tokens asked for: ask for at least one", j.Output)
	case length > b.spec.MaxModelLen:
		return fmt.Errorf("%d prompt tokens + %d output tokens exceed max_model_len %d: shorten one of them",
			len(j.Prompt), j.Output, b.spec.MaxModelLen)
	case b.byID[j.ID] != nil:
		return errTaken(j.ID)
	}
	// The last token is never read back, so it needs no room.
	if need := blocksFor(length-1) + b.window.blocks(length-1); need > b.blocks {
		return fmt.Errorf("%d prompt tokens + %d output tokens need %d KV blocks and the cache has %d: shorten one of them",
			len(j.Prompt), j.Output, need, b.blocks)
	}
	return nil
}

// admitWaiting starts waiting sequences that had arrived when the step was planned, while
// tokens, places and blocks last.
func (b *batching) admitWaiting(start int64) {
	before := len(b.running)
	defer func() {
		// A step that took nobody up, although it had tokens to spare, closes the batch.
		if len(b.running) == before && b.budgetLeft > 0 {
			b.forming.open = false
		}
	}()
	for b.budgetLeft > 0 && len(b.running) < b.spec.MaxNumSeqs {
		s := b.nextWaiting(b.planned)
		if s == nil || !b.forming.allows(start, s.job.Arrived, len(b.running), b.spec.MaxNumSeqs) || !b.admit(s) {
			return
		}
		b.forming.members++
		b.waiting.Remove(s)
		b.adapters.use(s.job.Adapter)
		b.running = append(b.running, s)
		if !s.started {
			s.started = true
			s.job.Scheduled = start
		}
	}
}

// admit gives a waiting sequence its first tokens, those found in the prefix
// cache apart. It changes nothing where the sequence has to wait.
func (b *batching) admit(s *sequence) bool {
	hits := b.hits(s)
	loaded := 0 // blocks that come back from the host
	if limit := (s.total - 1) / BlockSize; b.host.size > 0 && hits < limit {
		loaded = b.host.hits(s.hashes[hits:limit])
	}
	cached := (hits + loaded) * BlockSize
	computed := cached
	if !s.started { // one that was preempted has lost what came with it
		computed = max(cached, s.job.Transferred)
	}
	n := s.total - computed
	if n > b.budgetLeft && !b.chunks {
		return false
	}
	n = min(n, b.budgetLeft)
	if b.shortOf(s, hits, computed+n) {
		return false
	}
	for _, h := range s.hashes[:hits] {
		block := b.pool.index[h]
		b.pool.share(block)
		s.blocks = append(s.blocks, block)
	}
	s.computed, s.named = computed, hits
	if !s.started && b.prefix {
		s.job.Cached = cached
		b.stats.PrefixQueries += int64(s.total)
		b.stats.PrefixHits += int64(hits * BlockSize)
		b.stats.HostHits += int64(loaded * BlockSize)
	}
	b.loading += float64(loaded) * b.host.seconds
	b.grow(s, computed+n)
	b.schedule(s, n)
	return true
}

// hits is the number of leading blocks of a sequence in the prefix cache. One
// token at least is left to compute, since a step must have something to
// sample from.
func (b *batching) hits(s *sequence) int {
	if !b.prefix {
		return 0
	}
	s.hash(s.total / BlockSize)
	n := 0
	for limit := (s.total - 1) / BlockSize; n < limit; n++ {
		if _, ok := b.pool.index[s.hashes[n]]; !ok {
			break
		}
	}
	return n
}

// shortOf says whether the pool lacks the blocks that a waiting sequence needs
// for its first tokens. Cached blocks that nobody uses count as free until
// they are shared.
func (b *batching) shortOf(s *sequence, hits, tokens int) bool {
	need := blocksFor(tokens) - hits + b.window.blocks(tokens)
	for _, h := range s.hashes[:hits] {
		if b.pool.refs[b.pool.index[h]] == 0 {
			need++
		}
	}
	return need > b.pool.free
}

// grow makes room for the first tokens of a sequence, or changes nothing and
// says that it cannot.
func (b *batching) grow(s *sequence, tokens int) bool {
	if tokens <= len(s.blocks)*BlockSize {
		return true
	}
	more := blocksFor(tokens) - len(s.blocks)
	windowed := b.window.blocks(tokens) - len(s.windowed)
	if more+windowed > b.pool.free {
		return false
	}
	for range more {
		s.blocks = append(s.blocks, b.pool.take())
	}
	for range windowed {
		s.windowed = append(s.windowed, b.pool.take())
	}
	return true
}
