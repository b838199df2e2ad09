package sim

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	end := RunOpen(newMetronome(10*time.Millisecond), arrivals, Watch{
		Token:   func(k Token) { got[k.Job.ID] = append(got[k.Job.ID], k.At) },
		Refused: func(j *Job, err error) { refused = append(refused, j.ID) },
	})
	if diff := cmp.Diff(map[uint64][]int64{1: {13 * ms, 23 * ms}, 3: {110 * ms}}, got); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
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
	end := RunClosed(newMetronome(10*time.Millisecond), ms, 2, slices.Values(jobs), Watch{})
	var spans [][2]int64
	for _, j := range jobs {
		spans = append(spans, [2]int64{j.Arrived / ms, j.Last / ms})
	}
	if diff := cmp.Diff([][2]int64{{1, 21}, {1, 31}, {0, 0}, {21, 31}, {31, 41}}, spans); diff != "" {
		t.Errorf("arrival and last token in ms (-want +got):\n%s", diff)
	}
	if end != 41*ms {
		t.Errorf("ended at %d, want %d", end, 41*ms)
	}
}

// TestVirtualTruthRepeats: one seed, one truth, byte for byte; another seed,
// another truth.
func TestVirtualTruthRepeats(t *testing.T) {
	t.Parallel()
	truth := func(seed uint64) string {
		core, err := NewBatching(Spec{Seed: seed, MaxNumSeqs: 16})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		v := newVirtualTruth(&out)
		RunOpen(core, randomJobs(9, 300), Watch{Token: v.Token})
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	one := truth(5)
	if strings.Count(one, "\n") != 300 {
		t.Errorf("%d lines, want 300", strings.Count(one, "\n"))
	}
	if again := truth(5); again != one {
		t.Error("two runs of one seed differ")
	}
	if truth(6) == one {
		t.Error("two seeds give the same noise")
	}
}

func TestVirtualTruthLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newVirtualTruth(&out)
	RunOpen(newMetronome(7), func(yield func(int64, *Job) bool) { yield(1, &Job{ID: 12, Output: 3}) }, Watch{Token: v.Token})
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"12","conn":"virtual","arrived_ns":1,"before_ns":[8,15,22],"after_ns":[8,15,22]}` + "\n"
	if out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestVirtualTruthTellsOfFailedWrites(t *testing.T) {
	t.Parallel()
	v := newVirtualTruth(brokenWriter{})
	v.Token(Token{Job: &Job{ID: 1, Output: 1}, Last: true})
	if err := v.Close(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v, want an error that says why", err)
	}
}

// virtualTruth writes the truth of a virtual run in the form in which the HTTP
// face writes its own. There is no write in a virtual run: the times before
// and after it are both the token's.
type virtualTruth struct {
	log   *truthLog
	times map[uint64][]int64
}

// newVirtualTruth writes to w.
func newVirtualTruth(w io.Writer) *virtualTruth {
	return &virtualTruth{log: newTruthLog(w), times: map[uint64][]int64{}}
}

// Token notes one token, and writes a job's line after its last.
func (v *virtualTruth) Token(t Token) {
	id := t.Job.ID
	times := v.times[id]
	if times == nil {
		times = make([]int64, 0, t.Job.Output)
	}
	times = append(times, t.At)
	if !t.Last {
		v.times[id] = times
		return
	}
	delete(v.times, id)
	v.log.end(&trail{ID: strconv.FormatUint(id, 10), Conn: "virtual", Arrived: t.Job.Arrived, Before: times, After: times})
}

// Close tells of the first write that failed.
func (v *virtualTruth) Close() error { return v.log.fault() }
