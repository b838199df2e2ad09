package record

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

// thinnable are records whose tokens are known in every way there is.
func thinnable() map[string]*Record {
	continuous := &Record{Sent: 10 * ms, Streamed: true}
	for i, total := range []int{2, 5, 6} {
		continuous.Observe(llm.Event{Kind: llm.Output, At: int64(20+i) * ms, Text: []byte("xx")})
		continuous.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: total}})
	}
	list := map[string]*Record{
		"one token an event":     streamRecord(llm.Usage{OutputTokens: 4}, 20*ms, "a", "b", "c"),
		"spread":                 streamRecord(llm.Usage{OutputTokens: 8}, 20*ms, "aaaa", "bb", "bb"),
		"by events":              streamRecord(llm.Usage{}, 20*ms, "a", "b"),
		"all in one event":       streamRecord(llm.Usage{OutputTokens: 9}, 20*ms, "whole"),
		"told after every event": continuous,
		"a few without an event": streamRecord(llm.Usage{OutputTokens: 42}, 20*ms, slices.Repeat([]string{"word"}, 40)...),
		"no output":              {ID: 4, Phase: Measure, Due: 5, Begin: 6, Try: 1, Streamed: true, Outcome: llm.Rejected, End: 9},
	}
	for _, r := range list {
		r.Settle()
	}
	return list
}

// A thinned record says the same of its tokens, in a line that does not grow with
// them, and the record that it was made of stays as it was.
func TestThin(t *testing.T) {
	essence := Essence{Stall: 40 * ms, ICLTail: 39 * ms, ITLTail: 12_345_678, MergedFirst: true, MergedAnswer: true, MergedStall: true}
	for name, whole := range thinnable() {
		before := string(whole.AppendLine(nil))
		thin := whole.Thin(essence)
		text := thin.AppendLine(nil)
		if string(whole.AppendLine(nil)) != before || bytes.Contains(text, []byte("chunk")) {
			t.Errorf("%s: the record is now %s, and thinned %s", name, whole.AppendLine(nil), text)
		}
		for way, read := range readings(t, text) {
			expect.NoDiff(t, cmp.Diff(thin, read, comparers), "%s, %s (-want +got)", name, way)
			if !read.Thinned() || read.Essence() != essence {
				t.Errorf("%s, %s: %v, %+v", name, way, read.Thinned(), read.Essence())
			}
			type tokens struct {
				Events, First, Paced, Eventless, Sum int
				Known                                bool
			}
			of := func(r *Record) tokens {
				sum := 0
				for _, c := range chunksOf(r) {
					sum += c.Tokens
				}
				return tokens{r.ChunkCount(), r.firstTokens(), r.TokensAfterFirst(), r.Eventless(), sum, r.TokensKnown()}
			}
			expect.NoDiff(t, cmp.Diff(of(whole), of(read)), "%s, %s: tokens (-want +got)", name, way)
		}
	}
}

// readings reads a line in the quick way and in the other.
func readings(t *testing.T, text []byte) map[string]*Record {
	t.Helper()
	quick, slow := chatty(3), &Record{} // quick was another record before
	if !quick.scan(bytes.TrimSpace(text)) {
		t.Errorf("%s: not read the quick way", text)
	}
	must.Do(t, slow.decode(text))
	for _, r := range []*Record{quick, slow} { // memory of their own is no difference
		r.chunks.gaps, r.chunks.lengths, r.chunks.tokens = nil, nil, nil
	}
	return map[string]*Record{"quickly": quick, "as JSON": slow}
}

// Tokens of a thinned record lie evenly between its first and its last output, in
// a number of groups that does not grow with them.
func TestThinnedTokensAreSpreadEvenly(t *testing.T) {
	few := &Record{First: 100 * ms, Last: 400 * ms, thin: thin{is: true, events: 2, tokens: 4}}
	expect.Same(t, []chunk{{100 * ms, 1}, {200 * ms, 1}, {300 * ms, 1}, {400 * ms, 1}}, chunksOf(few))
	many := &Record{First: 0, Last: 999 * ms, thin: thin{is: true, events: 1000, tokens: 1000}}
	list := chunksOf(many)
	sum, mean := 0, int64(0)
	for _, c := range list {
		sum += c.Tokens
		mean += c.At * int64(c.Tokens) / 1000
	}
	if len(list) != fewSpread || sum != 1000 {
		t.Errorf("%d tokens in %d groups, want 1000 in %d", sum, len(list), fewSpread)
	}
	if middle := 999 * ms / 2; mean < middle-ms || mean > middle+ms {
		t.Errorf("the mean token came at %d, want %d", mean, middle)
	}
}

// A share is of the numbers alone, as large as it says, and part of a larger one.
func TestChosen(t *testing.T) {
	const n = 10_000
	for _, share := range []float64{0.001, 0.05, 0.3, 1} {
		chosen := 0
		for id := range n {
			if InShare(id, share) {
				chosen++
				if !InShare(id, 1.5*share) {
					t.Errorf("%d is one of %g, but not of more", id, share)
				}
			}
		}
		if off := float64(chosen) - share*n; off < -3 || off > 3 {
			t.Errorf("%d of %d chosen, want a share of %g", chosen, n, share)
		}
	}
}
