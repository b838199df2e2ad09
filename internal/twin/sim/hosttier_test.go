package sim

import (
	"testing"

	"redline/internal/must"
)

// What the device has evicted comes back from the host: later than what the device
// has, sooner than what is computed, and only as far as the host has room.
func TestHostTierBringsBack(t *testing.T) {
	t.Parallel()
	play := func(blocks int, gib float64) (ttft int64, stats Stats) {
		core := must.Get(NewBatching(Spec{NumGPUBlocksOverride: blocks, MaxModelLen: 1024, KVOffloadingSize: gib, Jitter: new(0.0)}))(t)
		const sessions, visits = 10, 40
		RunClosed(core, 0, 1, func(yield func(*Job) bool) {
			for i := range visits {
				prompt := make([]int32, 800)
				for k := range prompt {
					prompt[k] = int32(i%sessions*1000 + k)
				}
				if !yield(&Job{ID: uint64(i), Prompt: prompt, Output: 2}) {
					return
				}
			}
		}, Watch{Token: func(tok Token) {
			if tok.Last && tok.Job.ID >= sessions {
				ttft += tok.Job.First - tok.Job.Received
			}
		}})
		return ttft, core.Stats()
	}
	device, all := play(1000, 0) // room for all ten sessions of 51 blocks
	host, tier := play(260, 4)   // for five of them, and 2,048 blocks of the host
	computed, none := play(260, 0)
	small, little := play(260, 0.1) // 51 blocks of the host: one session
	if all.PrefixHits == 0 || all.HostHits != 0 || tier.PrefixHits+tier.HostHits != all.PrefixHits || tier.HostHits == 0 {
		t.Errorf("hits of the device and the host: %d and %d with room, %d and %d with a tier", all.PrefixHits, all.HostHits, tier.PrefixHits, tier.HostHits)
	}
	if none.PrefixHits != 0 || little.HostHits >= tier.HostHits/2 {
		t.Errorf("%d hits without a tier, %d of a small one, %d of a large one", none.PrefixHits, little.HostHits, tier.HostHits)
	}
	if !(device < host && host < computed && host < small) {
		t.Errorf("ttft %d from the device, %d from the host, %d computed, %d with a small host", device, host, computed, small)
	}
}
