package sim

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// randomJobs arrive at random, a few milliseconds apart.
func randomJobs(seed uint64, n int) iter.Seq2[int64, *Job] {
	return func(yield func(int64, *Job) bool) {
		random := rand.New(rand.NewPCG(seed, 1))
		at := int64(0)
		for i := range n {
			at += int64(random.ExpFloat64() * 5e6)
			j := &Job{ID: uint64(i), Prompt: ids(random.IntN(3)*100, 1+random.IntN(300)), Output: 1 + random.IntN(60)}
			if !yield(at, j) {
				return
			}
		}
	}
}

func TestRunOpen(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	arrivals := func(yield func(int64, *Job) bool) {
		_ = yield(3*ms, &Job{ID: 1, Output: 2}) && yield(3*ms, &Job{ID: 2}) && yield(100*ms, &Job{ID: 3, Output: 1})
	}
	got := map[uint64][]int64{}
	var refused []uint64
	end := RunOpen(NewMetronome(10*time.Millisecond), arrivals, Watch{
		Token:   func(k Token) { got[k.Job.ID] = append(got[k.Job.ID], k.At) },
		Refused: func(j *Job, err error) { refused = append(refused, j.ID) },
	})
	expect.NoDiff(t, cmp.Diff(map[uint64][]int64{1: {13 * ms, 23 * ms}, 3: {110 * ms}}, got), "times (-want +got)")
	if !slices.Equal(refused, []uint64{2}) || end != 110*ms {
		t.Errorf("refused %v and ended at %d, want job 2 and %d", refused, end, 110*ms)
	}
}

// TestRunClosed: two jobs are in flight until none is left, and one that is
// refused gives its place to the next.
func TestRunClosed(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	jobs := []*Job{{ID: 1, Output: 2}, {ID: 2, Output: 3}, {ID: 3}, {ID: 4, Output: 1}, {ID: 5, Output: 1}}
	end := RunClosed(NewMetronome(10*time.Millisecond), ms, 2, slices.Values(jobs), Watch{})
	var spans [][2]int64
	for _, j := range jobs {
		spans = append(spans, [2]int64{j.Arrived / ms, j.Last / ms})
	}
	expect.NoDiff(t, cmp.Diff([][2]int64{{1, 21}, {1, 31}, {0, 0}, {21, 31}, {31, 41}}, spans), "arrival and last token in ms (-want +got)")
	if end != 41*ms {
		t.Errorf("ended at %d, want %d", end, 41*ms)
	}
}

// One seed gives the same tokens at the same times, another seed others.
func TestVirtualRunsRepeat(t *testing.T) {
	t.Parallel()
	tokens := func(seed uint64) (all []string) {
		core := must.Get(NewBatching(Spec{Seed: seed, MaxNumSeqs: 16}))(t)
		RunOpen(core, randomJobs(9, 300), Watch{Token: func(tok Token) { all = append(all, fmt.Sprint(tok.Job.ID, tok.Index, tok.At)) }})
		return all
	}
	one := tokens(5)
	if again := tokens(5); !slices.Equal(again, one) {
		t.Error("two runs of one seed differ")
	}
	if slices.Equal(tokens(6), one) {
		t.Error("two seeds give the same noise")
	}
}
