package queue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// item is ordered by its rank alone, so that equal ones can be told apart.
type item struct{ rank, id int }

func (a item) Before(b item) bool { return a.rank < b.rank }

// A heap gives back what was put in, in order, also where its top was changed.
func TestHeapGivesTheEarliestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[item]
		var want []int
		for i, rank := range rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "ranks") {
			h.Push(item{rank, i})
			want = append(want, rank)
		}
		if len(want) > 0 {
			slices.Sort(want)
			want[0] += 7
			h.Top().rank += 7
			h.Sink()
		}
		slices.Sort(want)
		for _, rank := range want {
			if got := h.Pop().rank; got != rank {
				t.Fatalf("got %d, want %d", got, rank)
			}
		}
		if h.Len() != 0 {
			t.Fatalf("%d left", h.Len())
		}
	})
}

// A line does what a plain slice would.
func TestLineIsASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Line[item]
		var want []item
		for id := range rapid.IntRange(0, 200).Draw(t, "operations") {
			switch v := (item{rapid.IntRange(0, 9).Draw(t, "rank"), id}); rapid.IntRange(0, 5).Draw(t, "operation") {
			case 0:
				q.PushFront(v)
				want = slices.Insert(want, 0, v)
			case 1:
				if len(want) > 0 {
					q.Pop()
					want = want[1:]
				}
			case 2:
				if len(want) > 0 {
					i := rapid.IntRange(0, len(want)-1).Draw(t, "place")
					q.Remove(want[i])
					want = slices.Delete(slices.Clone(want), i, i+1)
				}
			default:
				i := len(want)
				for i > 0 && v.Before(want[i-1]) {
					i--
				}
				q.Push(v)
				want = slices.Insert(slices.Clone(want), i, v)
			}
			if q.Len() != len(want) || len(want) > 0 && q.Front() != want[0] || len(want) == 0 && q.Front() != (item{}) {
				t.Fatalf("%d with %v in front, want %v", q.Len(), q.Front(), want)
			}
		}
	})
}
