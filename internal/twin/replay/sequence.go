package replay

// sequence is a request inside an instance.
type sequence struct {
	Request
	tag      int64
	arrived  int64
	first    int64
	process  int // of the front end
	sampled  int // output tokens sampled before it joined the generating ones
	total    int // tokens when it joined, or prompt and output where it waits
	computed int
	joined   int64 // beat
	epoch    int   // of its membership among the generating; never again, of whatever request
	ended    bool
}

// Before orders those that wait by when they arrived.
func (s *sequence) Before(o *sequence) bool { return s.arrived < o.arrived }

// ending is the beat in which a generating sequence gets its last token.
type ending struct {
	beat  int64
	epoch int
	s     *sequence
}

// Before reports which of two is first.
func (e ending) Before(o ending) bool { return e.beat < o.beat }

// tokens is how many a generating sequence has, with that of the beat.
func (s *sequence) tokens(beat int64) int { return s.total + int(beat-s.joined-1) }

// crosses is the beat, of BlockSize ones, in which it needs another block: the
// one that gives it a token more than whole blocks hold.
func (s *sequence) crosses() int {
	return int((s.joined + 1 + int64(BlockSize) + 1 - int64(s.total%BlockSize)) & (BlockSize - 1))
}
