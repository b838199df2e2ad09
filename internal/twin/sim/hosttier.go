package sim

import (
	"container/list"

	"redline/internal/catalog"
)

// hostBandwidth is what a block comes back from the host's memory at: PCIe 5 with
// sixteen lanes, of which transfers reach some four fifths.
const hostBandwidth = 50e9

// hostTier keeps blocks that the device has evicted, in the host's memory; those that
// were used least recently make room.
type hostTier struct {
	size    int // blocks; 0 is no tier
	seconds float64
	order   *list.List // of hashes, the latest first
	at      map[uint64]*list.Element
}

// newHostTier holds as many blocks of a deployment as fit so many GiB, or as an engine
// with a law says.
func newHostTier(s Spec, d catalog.Deployment) hostTier {
	t := hostTier{order: list.New(), at: map[uint64]*list.Element{}}
	if s.Law != nil {
		t.size, t.seconds = s.Law.HostBlocks, s.Law.HostBlockUS/1e6
		return t
	}
	gib := s.KVOffloadingSize
	if bytes := BlockSize * float64(d.Model.KVBytesPerToken(d.KV)); gib > 0 && bytes > 0 {
		t.size, t.seconds = int(gib*catalog.GiB/bytes), bytes/float64(max(1, d.TP))/hostBandwidth
	}
	return t
}

// keep takes in a block that the device evicts.
func (t *hostTier) keep(hash uint64) {
	if t.size == 0 {
		return
	}
	if known := t.at[hash]; known != nil {
		t.order.MoveToFront(known)
		return
	}
	t.at[hash] = t.order.PushFront(hash)
	if t.order.Len() > t.size {
		oldest := t.order.Back()
		t.order.Remove(oldest)
		delete(t.at, oldest.Value.(uint64))
	}
}

// hits is how many of these blocks it has, from the first on.
func (t *hostTier) hits(hashes []uint64) (n int) {
	for n < len(hashes) && t.at[hashes[n]] != nil {
		t.order.MoveToFront(t.at[hashes[n]])
		n++
	}
	return n
}

func (t *hostTier) forget() {
	t.order.Init()
	clear(t.at)
}
