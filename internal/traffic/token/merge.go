package token

// merger joins the bytes of one piece into tokens. It is kept between pieces
// for its memory.
type merger struct {
	parts []part
	queue mergeQueue
}

// part is a run of bytes that is a token so far. It lies in merger.parts at
// the index of its first byte; parts that were joined to their left neighbour
// leave a dead entry behind.
type part struct {
	end      int // one past the last byte: where the next part starts
	previous int // where the part before starts; -1 for the first
	id       int32
	// rank is the rank of this part joined with the next one, or unmergeable,
	// and joined the token that the two then are.
	rank, joined int32
}

const unmergeable = -1

// merge splits piece into tokens by byte pair encoding and gives their number.
// The tokens then start at 0 and at each part's end. The queue makes it
// n log n in the length of the piece, so a word of a megabyte is no trap.
func (m *merger) merge(v *Vocabulary, piece string) int {
	m.parts = m.parts[:0]
	m.queue = m.queue[:0]
	for i := range len(piece) {
		m.parts = append(m.parts, part{end: i + 1, previous: i - 1, id: v.single[piece[i]], rank: unmergeable})
	}
	for i := range len(piece) {
		m.offer(v, piece, i)
	}
	count := len(piece)
	for len(m.queue) > 0 {
		rank, start := m.queue.pop()
		left := &m.parts[start]
		if left.rank != rank {
			continue // one of its parts has since been joined elsewhere
		}
		right := &m.parts[left.end]
		right.rank = unmergeable
		left.end, left.id = right.end, left.joined
		if left.end < len(piece) {
			m.parts[left.end].previous = start
		}
		count--
		m.offer(v, piece, start)
		if left.previous >= 0 {
			m.offer(v, piece, left.previous)
		}
	}
	return count
}

// offer ranks the join of the part at start with the next one, and queues it
// where the two make a token.
func (m *merger) offer(v *Vocabulary, piece string, start int) {
	p := &m.parts[start]
	p.rank = unmergeable
	if p.end == len(piece) {
		return
	}
	right := &m.parts[p.end]
	if v.joins == nil {
		if id, ok := v.lookup(piece[start:right.end]); ok {
			p.rank, p.joined = id, id
			m.queue.push(id, start)
		}
		return
	}
	if rank, id, ok := v.joins.find(p.id, right.id); ok {
		p.rank, p.joined = rank, id
		m.queue.push(rank, start)
	}
}

// joins is an open-addressing hash table from pairs of neighbouring tokens to
// the rank of their join and the token that it makes.
type joins struct {
	slots []join
	shift int
}

// join holds what two tokens make; pair is both ids plus one in each half, so
// that an unused slot is recognised.
type join struct {
	pair     uint64
	rank, id int32
}

func newJoins(capacity int) *joins {
	j := &joins{shift: 63}
	for 1<<(64-j.shift) < capacity+capacity/2+1 {
		j.shift--
	}
	j.slots = make([]join, 1<<(64-j.shift))
	return j
}

func pairOf(left, right int32) uint64 { return uint64(left+1)<<32 | uint64(right+1) }

// slot gives the pair's slot, or the free one that it would take.
func (j *joins) slot(pair uint64) *join {
	mask := len(j.slots) - 1
	// Multiplying by the golden ratio's fraction spreads ids over the upper
	// bits.
	i := int(pair * 0x9e3779b97f4a7c15 >> j.shift)
	for j.slots[i].pair != 0 && j.slots[i].pair != pair {
		i = (i + 1) & mask
	}
	return &j.slots[i]
}

func (j *joins) find(left, right int32) (rank, id int32, ok bool) {
	found := j.slot(pairOf(left, right))
	return found.rank, found.id, found.pair != 0
}

// mergeQueue is a binary heap of joins, the lowest rank first and of equal
// ranks the leftmost: a join is its rank above its start in one number.
type mergeQueue []uint64

const (
	startBits = 40
	maxRanks  = 1 << (63 - startBits)
)

func (q *mergeQueue) push(rank int32, start int) {
	h := append(*q, uint64(rank)<<startBits|uint64(start))
	child := len(h) - 1
	for child > 0 {
		parent := (child - 1) / 2
		if h[parent] <= h[child] {
			break
		}
		h[parent], h[child] = h[child], h[parent]
		child = parent
	}
	*q = h
}

func (q *mergeQueue) pop() (rank int32, start int) {
	h := *q
	top := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for parent := 0; ; {
		child := 2*parent + 1
		if child >= last {
			break
		}
		if child+1 < last && h[child+1] < h[child] {
			child++
		}
		if h[parent] <= h[child] {
			break
		}
		h[parent], h[child] = h[child], h[parent]
		parent = child
	}
	*q = h
	return int32(top >> startBits), int(top & (1<<startBits - 1))
}
