// Package queue holds what waits inside the simulated engines: a heap of what
// is due, and a line that is served from its front.
package queue

// Ordered is what comes before another of its kind.
type Ordered[T any] interface{ Before(T) bool }

// Heap holds values of which the earliest comes out first. Unlike that of
// container/heap it boxes none of them.
type Heap[T Ordered[T]] struct{ list []T }

// Len is how many there are.
func (h *Heap[T]) Len() int { return len(h.list) }

// Top is the earliest. Whoever changes it calls Sink.
func (h *Heap[T]) Top() *T { return &h.list[0] }

// Push adds a value.
func (h *Heap[T]) Push(v T) {
	h.list = append(h.list, v)
	for i := len(h.list) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.list[i].Before(h.list[up]) {
			return
		}
		h.list[up], h.list[i] = h.list[i], h.list[up]
		i = up
	}
}

// Pop takes the earliest out.
func (h *Heap[T]) Pop() T {
	out, last := h.list[0], len(h.list)-1
	h.list[0] = h.list[last]
	clear(h.list[last:])
	h.list = h.list[:last]
	h.Sink()
	return out
}

// Sink moves the value on top to where it belongs.
func (h *Heap[T]) Sink() {
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < len(h.list) && h.list[down+1].Before(h.list[down]) {
			down++
		}
		if down >= len(h.list) || !h.list[down].Before(h.list[i]) {
			return
		}
		h.list[i], h.list[down] = h.list[down], h.list[i]
		i = down
	}
}

// Line is a waiting line: a ring that grows at both ends, since preempted
// requests go to its head.
type Line[T interface {
	comparable
	Ordered[T]
}] struct {
	ring       []T // its length is a power of two
	head, size int
}

// Len is how many wait.
func (q *Line[T]) Len() int { return q.size }

func (q *Line[T]) at(i int) *T { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

// Front is the first, or the zero value where none waits.
func (q *Line[T]) Front() (first T) {
	if q.size == 0 {
		return first
	}
	return *q.at(0)
}

// Pop takes the first out.
func (q *Line[T]) Pop() {
	clear(q.ring[q.head : q.head+1])
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.size--
}

// Push adds a value at the end, but before those that it comes before: several
// processes of a front end may upset the order of arrival.
func (q *Line[T]) Push(v T) {
	q.reserve()
	i := q.size
	for ; i > 0 && v.Before(*q.at(i - 1)); i-- {
		*q.at(i) = *q.at(i - 1)
	}
	*q.at(i) = v
	q.size++
}

// PushFront adds a value at the head.
func (q *Line[T]) PushFront(v T) {
	q.reserve()
	q.head = (q.head - 1) & (len(q.ring) - 1)
	q.ring[q.head] = v
	q.size++
}

// All walks what waits, from the front.
func (q *Line[T]) All(yield func(T) bool) {
	for i := range q.size {
		if !yield(*q.at(i)) {
			return
		}
	}
}

// Remove takes a value out, wherever it stands.
func (q *Line[T]) Remove(v T) {
	for i := range q.size {
		if *q.at(i) != v {
			continue
		}
		for ; i > 0; i-- {
			*q.at(i) = *q.at(i - 1)
		}
		q.Pop()
		return
	}
}

func (q *Line[T]) reserve() {
	if q.size < len(q.ring) {
		return
	}
	bigger := make([]T, max(16, 2*len(q.ring)))
	for i := range q.size {
		bigger[i] = *q.at(i)
	}
	q.ring, q.head = bigger, 0
}
