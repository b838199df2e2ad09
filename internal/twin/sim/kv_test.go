package sim

import (
	"slices"
	"testing"

	"redline/internal/catalog"
)

func TestPoolTakesOldestFreeFirst(t *testing.T) {
	t.Parallel()
	p := newPool(4)
	a := []int32{p.take(), p.take(), p.take()}
	p.name(a[0], 10)
	p.name(a[1], 11)
	p.release(a)
	// The block never used comes first, then the released ones from the end.
	order := []int32{p.take(), p.take(), p.take(), p.take()}
	if want := []int32{3, 2, 1, 0}; !slices.Equal(order, want) {
		t.Errorf("blocks came as %v, want %v", order, want)
	}
	if len(p.index) != 0 {
		t.Errorf("the index still knows blocks that were taken: %v", p.index)
	}
}

func TestPoolShares(t *testing.T) {
	t.Parallel()
	p := newPool(2)
	b := p.take()
	p.name(b, 7)
	p.share(b)
	p.release([]int32{b})
	if p.free != 1 || p.usage() != 0.5 {
		t.Errorf("a block in use twice and released once: %d free, usage %v", p.free, p.usage())
	}
	p.release([]int32{b})
	p.share(b) // out of the free queue again, with its content
	if p.free != 1 || p.index[7] != b {
		t.Errorf("a cached block was not taken back: %d free, index %v", p.free, p.index)
	}
	// A second block with the same content stays out of the index.
	other := p.take()
	p.name(other, 7)
	if p.index[7] != b || p.hashes[other] != 0 {
		t.Errorf("the second block replaced the first: %v", p.index)
	}
}

func TestWindowCost(t *testing.T) {
	t.Parallel()
	gemma := windowOf(catalog.Model{Layers: 62, WindowLayers: 52, Window: 1024})
	for _, row := range []struct {
		cost         windowCost
		tokens, want int
	}{
		{windowOf(catalog.Model{Layers: 32}), 5000, 0},
		{gemma, 16, 6},      // 52 layers beside 10: 5.2 blocks
		{gemma, 1024, 333},  // 64 · 5.2 = 332.8
		{gemma, 99999, 333}, // and no more
	} {
		if got := row.cost.blocks(row.tokens); got != row.want {
			t.Errorf("%d tokens take %d blocks, want %d", row.tokens, got, row.want)
		}
	}
}
