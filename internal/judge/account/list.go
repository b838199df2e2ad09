package account

// list keeps what is added where it was put: it grows by blocks, so that a long
// one is never copied and never held twice.
type list[T any] struct {
	blocks [][]T
	n      int
}

// The first block is small, for short windows; the largest is small against
// the many that a long one has.
const minBlock, maxBlock = 16, 4096

func (l *list[T]) add(v T) {
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last]) == cap(l.blocks[last]) {
		l.blocks = append(l.blocks, make([]T, 0, min(max(l.n, minBlock), maxBlock)))
		last++
	}
	l.blocks[last] = append(l.blocks[last], v)
	l.n++
}

// all walks over what was added, in its order.
func (l *list[T]) all(yield func(*T) bool) {
	for _, block := range l.blocks {
		for i := range block {
			if !yield(&block[i]) {
				return
			}
		}
	}
}
