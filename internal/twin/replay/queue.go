package replay

// ending is the beat in which a generating sequence gets its last token.
type ending struct {
	beat  int64
	epoch int
	s     *sequence
}

// beats is a heap of endings, the earliest on top. It is written out because
// the interface of container/heap would box every ending.
type beats struct{ list []ending }

func (b *beats) len() int    { return len(b.list) }
func (b *beats) top() ending { return b.list[0] }

func (b *beats) push(e ending) {
	b.list = append(b.list, e)
	for i := len(b.list) - 1; i > 0; {
		up := (i - 1) / 2
		if b.list[up].beat <= b.list[i].beat {
			return
		}
		b.list[up], b.list[i] = b.list[i], b.list[up]
		i = up
	}
}

func (b *beats) pop() ending {
	out, last := b.list[0], len(b.list)-1
	b.list[0] = b.list[last]
	b.list[last] = ending{}
	b.list = b.list[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < last && b.list[down+1].beat < b.list[down].beat {
			down++
		}
		if down >= last || b.list[i].beat <= b.list[down].beat {
			return out
		}
		b.list[i], b.list[down] = b.list[down], b.list[i]
		i = down
	}
}

// fifo is the waiting line: a ring that grows at both ends, since preempted
// sequences go to its head.
type fifo struct {
	ring       []*sequence
	head, size int
}

func (q *fifo) len() int { return q.size }

func (q *fifo) front() *sequence {
	if q.size == 0 {
		return nil
	}
	return q.ring[q.head]
}

func (q *fifo) pop() {
	q.ring[q.head] = nil
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.size--
}

// push keeps the order of arrival, which several processes of a front end may
// upset.
func (q *fifo) push(s *sequence) {
	q.reserve()
	i := q.head + q.size
	for ; i > q.head; i-- {
		before := q.ring[(i-1)&(len(q.ring)-1)]
		if before.arrived <= s.arrived {
			break
		}
		q.ring[i&(len(q.ring)-1)] = before
	}
	q.ring[i&(len(q.ring)-1)] = s
	q.size++
}

func (q *fifo) pushFront(s *sequence) {
	q.reserve()
	q.head = (q.head - 1) & (len(q.ring) - 1)
	q.ring[q.head] = s
	q.size++
}

// reserve keeps the ring's length a power of two.
func (q *fifo) reserve() {
	if q.size < len(q.ring) {
		return
	}
	bigger := make([]*sequence, max(16, 2*len(q.ring)))
	for i := range q.size {
		bigger[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}
	q.ring, q.head = bigger, 0
}
