package trace

import "redline/internal/stats"

// Blocks made of logged text are of blockBytes bytes, about blockTokens tokens
// of English.
const (
	blockBytes  = 256
	blockTokens = 64
)

// blockHash is a running FNV-1a hash. It is never reset, so that a block's id
// stands for everything up to its end: equal ids mean equal prefixes.
type blockHash uint64

func newBlockHash(salt uint64) blockHash { return blockHash(14695981039346656037 ^ salt) }

// addTo continues the hash and gives the id up to here, mixed so that every bit
// of the text moves every bit of it.
func (h *blockHash) addTo(data []byte) uint64 {
	x := uint64(*h)
	for _, b := range data {
		x = (x ^ uint64(b)) * 1099511628211
	}
	*h = blockHash(x)
	return stats.Scramble(x)
}

// add gives the id of one piece of data; the hash is not continued.
func (h blockHash) add(data []byte) uint64 { return h.addTo(data) }

// textBlocks names the whole blocks of a text; its rest is not shared.
func textBlocks(text []byte, salt uint64) []uint64 {
	if len(text) < blockBytes {
		return nil
	}
	h := newBlockHash(salt)
	ids := make([]uint64, 0, len(text)/blockBytes)
	for ; len(text) >= blockBytes; text = text[blockBytes:] {
		ids = append(ids, h.addTo(text[:blockBytes]))
	}
	return ids
}
