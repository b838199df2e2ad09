package sim

// sequence is a job inside the engine.
type sequence struct {
	job       *Job
	serial    uint64
	prompt    int
	total     int // prompt and generated tokens so far
	computed  int // of total, those whose keys and values are in the cache
	scheduled int // tokens of the step in flight, but for guesses
	drafted   int // guesses in the step in flight
	blocks    []int32
	windowed  []int32  // blocks that the sliding-window layers take
	hashes    []uint64 // of the full blocks so far, in order
	named     int      // full blocks entered into the prefix index
	started   bool     // was admitted before
	images    int      // that the encoder has looked at
}

// Before orders those that wait by when they arrived.
func (s *sequence) Before(o *sequence) bool { return s.job.Arrived < o.job.Arrived }

// hash extends the sequence's chained hashes to n full blocks.
func (s *sequence) hash(n int) {
	for i := len(s.hashes); i < n; i++ {
		var h uint64
		if i > 0 {
			h = s.hashes[i-1]
		} else { // what one adapter computed is of no use to another, as in vLLM
			for _, letter := range s.job.Adapter {
				h = hashToken(h, letter)
			}
		}
		for t := i * BlockSize; t < (i+1)*BlockSize; t++ {
			h = hashToken(h, s.token(t))
		}
		// Zero means "not in the index" in the pool.
		s.hashes = append(s.hashes, max(h, 1))
	}
}

// token is the id of the i-th token. Generated tokens whose ids are not known
// get ids that no other sequence has.
func (s *sequence) token(i int) int32 {
	if i < s.prompt {
		return s.job.Prompt[i]
	}
	if i -= s.prompt; i < len(s.job.Reply) {
		return s.job.Reply[i]
	}
	return int32(hashToken(s.serial, int32(i)))
}
