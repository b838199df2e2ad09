package account

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
)

func collectValues(v values) (list []float32) {
	for _, x := range v {
		list = append(list, x)
	}
	slices.Sort(list)
	return list
}

func TestGapsOfGroups(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		chunks   []chunk
		usage    int
		itl, icl []float32
	}{
		{
			name:   "one token at a time",
			chunks: steadily(1100, 20, 4), usage: 4,
			itl: []float32{20, 20, 20}, icl: []float32{20, 20, 20},
		},
		{
			name:   "three events share a stamp: three gaps of a third",
			chunks: []chunk{{at: 1100}, {at: 1160}, {at: 1160}, {at: 1160}, {at: 1180}}, usage: 5,
			itl: []float32{20, 20, 20, 20}, icl: []float32{20, 60},
		},
		{
			name:   "the first group adds none",
			chunks: []chunk{{at: 1100}, {at: 1100}, {at: 1100}, {at: 1130}}, usage: 4,
			itl: []float32{30}, icl: []float32{30},
		},
		{
			name:   "events of several tokens, as continuous usage counts them",
			chunks: []chunk{{at: 1100, tokens: 4}, {at: 1140, tokens: 4}, {at: 1150, tokens: 1}},
			itl:    []float32{10, 10, 10, 10, 10}, icl: []float32{10, 40},
		},
		{
			name:   "usage at the end only: the tokens of each event are not known",
			chunks: steadily(1100, 20, 3), usage: 30,
			icl: []float32{20, 20},
		},
		{
			name:   "two tokens without an event among forty: each comes with the next",
			chunks: steadily(1100, 20, 40), usage: 42,
			itl: slices.Repeat([]float32{20}, 39), icl: slices.Repeat([]float32{20}, 39),
		},
		{
			name:   "three among forty are too many",
			chunks: steadily(1100, 20, 40), usage: 43,
			icl: slices.Repeat([]float32{20}, 39),
		},
		{
			name:   "no usage at all: events are not tokens",
			chunks: steadily(1100, 20, 3),
			icl:    []float32{20, 20},
		},
		{
			name:   "one event more than tokens counts as known",
			chunks: steadily(1100, 20, 3), usage: 2,
			itl: []float32{20, 20}, icl: []float32{20, 20},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := recordOf(life{due: 1000, sent: 1000, end: 2000, chunks: tt.chunks, usage: llm.Usage{OutputTokens: tt.usage}})
			var g gaps
			g.take(r, appendGroups(r, nil), 0, 5000*ms)
			expect.NoDiff(t, cmp.Diff([][]float32{tt.itl, tt.icl}, [][]float32{collectValues(g.itl), collectValues(g.icl)}), "itl and icl in ms, want −, got +")
		})
	}
}

func TestAnEventWithoutTokensLeavesItsGapToTheNext(t *testing.T) {
	t.Parallel()
	g := gaps{us: []uint32{10_000, 30_000, 5_000}, tokens: []uint16{1, 0, 3}, known: true}
	want := []float32{35.0 / 3, 35.0 / 3, 35.0 / 3}
	expect.Same(t, append([]float32{10}, want...), collectValues(g.itl))
}

func TestGapsBelongToTheWindowInWhichTheyEnd(t *testing.T) {
	t.Parallel()
	r := recordOf(life{due: 1000, sent: 1000, end: 2000, chunks: steadily(1100, 100, 6), usage: llm.Usage{OutputTokens: 6}})
	var g gaps
	g.take(r, appendGroups(r, nil), 1250*ms, 1500*ms)
	var ends []int64
	for at, gap := range g.icl {
		if gap != 100 {
			t.Errorf("a gap of %v ms, want 100", gap)
		}
		ends = append(ends, at/ms)
	}
	expect.NoDiff(t, cmp.Diff([]int64{1300, 1400}, ends), "ends in ms, want −, got +")
}

func TestOwnTailIsTheMaximumBelowAHundredGaps(t *testing.T) {
	t.Parallel()
	tailOf := func(gaps int) float64 {
		chunks := steadily(1100, 10, gaps) // all but the last gap
		chunks = append(chunks, chunk{at: chunks[len(chunks)-1].at + 1000})
		r := recordOf(life{due: 1000, sent: 1000, end: 90_000, chunks: chunks, usage: llm.Usage{OutputTokens: len(chunks)}})
		_, itl := new(tails).of(r, appendGroups(r, nil))
		return float64(itl) / float64(ms)
	}
	if got := tailOf(99); got != 1000 {
		t.Errorf("of 99 gaps the tail is %v ms, want the largest, 1000", got)
	}
	// Type 7 over 101 gaps: the p99 is the hundredth.
	if got := tailOf(101); got != 10 {
		t.Errorf("of 101 gaps the tail is %v ms, want 10", got)
	}
}
