package trace

import (
	"math"
	"testing"

	"redline/internal/stats"
)

func TestSharedPrefixesAreDrawnAsDesigned(t *testing.T) {
	t.Parallel()
	w := &FittedWorkload{Prefix: &Sharing{Share: 0.3, Requests: 0.6, Groups: 50, Zipf: 1.1}}
	r := stats.Rand(2, "prefix", 0)
	counts := make([]int, 50)
	const n = 50_000
	tokens := 0
	for range n {
		group, shared := w.SharedPrefix(r, 1000)
		if shared > 0 {
			counts[group]++
			tokens += shared
		}
	}
	if share := float64(tokens) / (1000 * n); math.Abs(share-0.3) > 0.01 {
		t.Errorf("%.3f of the tokens are shared, want 0.3", share)
	}
	if counts[0] < 4*counts[9] || counts[49] == 0 {
		t.Errorf("popularity %v does not fall as zipf's", counts)
	}
	if _, shared := (&FittedWorkload{}).SharedPrefix(r, 1000); shared != 0 {
		t.Error("a workload without prefixes shares some")
	}
}

func TestSharingStaysAnEstimateInBoundedMemory(t *testing.T) {
	t.Parallel()
	s := newSharing(5)
	r := stats.Rand(6, "blocks", 0)
	next := uint64(0)
	seen, total := 0, 0
	// A third of the blocks were there before, the others are new.
	for range 35_000 {
		row := Row{Prompt: 512 * 50, BlockTokens: 512}
		for range 50 {
			total++
			if next > 1000 && r.IntN(3) == 0 {
				row.Blocks = append(row.Blocks, r.Uint64N(next-100))
				seen++
			} else {
				row.Blocks = append(row.Blocks, next)
				next++
			}
		}
		s.add(row)
	}
	want := float64(seen) / float64(total)
	if got := s.estimate(); math.Abs(got.Share-want) > 0.02 || len(s.seen) > maxBlocks || s.level == 0 {
		t.Errorf("share %.4f with %d blocks held, want %.4f with at most %d", got.Share, len(s.seen), want, maxBlocks)
	}
}
