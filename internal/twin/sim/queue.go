package sim

// queue is the waiting line: a ring that grows at both ends, since preempted
// sequences go to its head. Cancelled ones stay in place until they reach the
// head.
type queue struct {
	ring        []*sequence
	first, size int
	cancelled   int
}

func (q *queue) len() int { return q.size - q.cancelled }

// forget counts one sequence inside as cancelled.
func (q *queue) forget() { q.cancelled++ }

// front is the first sequence that is not cancelled, or nil.
func (q *queue) front() *sequence {
	for q.size > 0 {
		s := q.ring[q.first]
		if !s.gone {
			return s
		}
		q.popFront()
		q.cancelled--
	}
	return nil
}

func (q *queue) popFront() {
	q.ring[q.first] = nil
	q.first = (q.first + 1) % len(q.ring)
	q.size--
}

// pushBack keeps the order of arrival, which several processes of a front end
// may upset.
func (q *queue) pushBack(s *sequence) {
	q.reserve()
	i := q.first + q.size
	for ; i > q.first; i-- {
		before := q.ring[(i-1)%len(q.ring)]
		if before.job.Arrived <= s.job.Arrived {
			break
		}
		q.ring[i%len(q.ring)] = before
	}
	q.ring[i%len(q.ring)] = s
	q.size++
}

func (q *queue) pushFront(s *sequence) {
	q.reserve()
	q.first = (q.first - 1 + len(q.ring)) % len(q.ring)
	q.ring[q.first] = s
	q.size++
}

func (q *queue) reserve() {
	if q.size < len(q.ring) {
		return
	}
	bigger := make([]*sequence, max(16, 2*len(q.ring)))
	for i := range q.size {
		bigger[i] = q.ring[(q.first+i)%len(q.ring)]
	}
	q.ring, q.first = bigger, 0
}
