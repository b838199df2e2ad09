package sim

import (
	"redline/internal/catalog"
	"redline/internal/stats"
)

// The orders of eviction.
const (
	LRU = "lru"
	MRU = "mru"
)

// none ends the chains of a pool.
const none = int32(-1)

// pool is the KV cache: blocks with reference counts, a queue of free ones,
// and an index of the full ones by the hash of all tokens up to their end. A
// free block keeps its content until it is taken, oldest first, so that the
// queue is at once the cache's eviction order.
type pool struct {
	refs       []int32
	hashes     []uint64 // 0: not in the index
	prev, next []int32  // the free queue
	head, tail int32
	free       int
	index      map[uint64]int32
	evicted    int64             // blocks whose cached content made room for another
	evict      func(hash uint64) // hears of them; nil where nobody does
	newest     bool              // what was used last is evicted first
}

func newPool(blocks int) *pool {
	p := &pool{
		refs: make([]int32, blocks), hashes: make([]uint64, blocks),
		prev: make([]int32, blocks), next: make([]int32, blocks),
		head: none, tail: none, index: map[uint64]int32{},
	}
	for b := range int32(blocks) {
		p.push(b)
	}
	return p
}

// push puts a block at the end of the free queue.
func (p *pool) push(b int32) {
	p.prev[b], p.next[b] = p.tail, none
	if p.tail == none {
		p.head = b
	} else {
		p.next[p.tail] = b
	}
	p.tail = b
	p.free++
}

// unlink takes a block out of the free queue, wherever it stands.
func (p *pool) unlink(b int32) {
	before, after := p.prev[b], p.next[b]
	if before == none {
		p.head = after
	} else {
		p.next[before] = after
	}
	if after == none {
		p.tail = before
	} else {
		p.prev[after] = before
	}
	p.free--
}

// take gives the block that has been free for longest, or for shortest by the other
// policy unless one is empty, and forgets what it held. The caller has checked that
// one is free.
func (p *pool) take() int32 {
	b := p.head
	if p.newest && p.hashes[b] != 0 {
		b = p.tail
	}
	p.unlink(b)
	if h := p.hashes[b]; h != 0 {
		delete(p.index, h)
		p.hashes[b] = 0
		p.evicted++
		if p.evict != nil {
			p.evict(h)
		}
	}
	p.refs[b] = 1
	return b
}

// share takes a cached block for one more sequence.
func (p *pool) share(b int32) {
	if p.refs[b] == 0 {
		p.unlink(b)
	}
	p.refs[b]++
}

// release gives a sequence's blocks back so that its last one is taken first: the end
// of a sequence is the least likely to be asked for again.
func (p *pool) release(blocks []int32) {
	for i := range blocks {
		b := blocks[len(blocks)-1-i]
		if p.newest {
			b = blocks[i]
		}
		if p.refs[b]--; p.refs[b] == 0 {
			p.push(b)
		}
	}
}

// name enters a full block into the index. Of two blocks with one content the
// first stays.
func (p *pool) name(b int32, hash uint64) {
	if _, taken := p.index[hash]; !taken && p.hashes[b] == 0 {
		p.index[hash] = b
		p.hashes[b] = hash
	}
}

// usage is the share of blocks in use.
func (p *pool) usage() float64 { return 1 - float64(p.free)/float64(max(1, len(p.refs))) }

// blocksFor is the number of blocks that hold that many tokens.
func blocksFor(tokens int) int { return (tokens + BlockSize - 1) / BlockSize }

// windowCost is what a model's sliding-window layers take from the pool: they
// hold at most a window of tokens, however long the sequence is.
type windowCost struct {
	window int
	ratio  float64 // windowed layers per layer that grows
}

func windowOf(m catalog.Model) windowCost {
	if m.WindowLayers == 0 {
		return windowCost{}
	}
	return windowCost{m.Window, float64(m.WindowLayers) / float64(m.GrowingLayers())}
}

// blocks is the windowed layers' part of a sequence, in blocks of the pool.
func (w windowCost) blocks(tokens int) int {
	if w.window == 0 {
		return 0
	}
	return int(float64(blocksFor(min(tokens, w.window)))*w.ratio + 0.999)
}

// hashToken chains one token id into a hash. It is the mixing step of
// splitmix64, which spreads every bit of its input over the output.
func hashToken(h uint64, id int32) uint64 {
	return stats.Scramble(h + uint64(uint32(id)) + 0x9e3779b97f4a7c15)
}

// forget empties the index, unless a block is in use.
func (p *pool) forget() bool {
	if p.free < len(p.refs) {
		return false
	}
	clear(p.index)
	clear(p.hashes)
	return true
}
