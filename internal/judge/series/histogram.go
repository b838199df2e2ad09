package series

import (
	"math"
	"slices"

	"redline/internal/text"
)

// The bits of a float32 that bins leave out of account. Positive values have the
// order of their bits, so that what remains numbers bins: 128 to a doubling for
// percentiles, each within 0.8% of its values, and 4 for rows that are shown.
const (
	fine   = 16
	coarse = 21
)

func bin(v float32, bits int) int { return int(math.Float32bits(max(v, 0)) >> bits) }

func edge(number, bits int) float64 {
	return float64(math.Float32frombits(uint32(number) << bits))
}

// histogram counts values in fine bins, in memory that grows with how far they
// lie apart and not with how many they are.
type histogram struct {
	low    int // number of the first bin
	counts []uint32
	n      int

	min, max float32
}

func (h *histogram) add(v float32) {
	if h.n == 0 {
		h.min, h.max = v, v
	}
	h.min, h.max = min(h.min, v), max(h.max, v)
	h.count(bin(v, fine), 1)
}

func (h *histogram) count(at int, n uint32) {
	if len(h.counts) == 0 {
		h.low = at
	}
	if at < h.low {
		h.counts = slices.Insert(h.counts, 0, make([]uint32, h.low-at)...)
		h.low = at
	}
	for at-h.low >= len(h.counts) {
		h.counts = append(h.counts, 0)
	}
	h.counts[at-h.low] += n
	h.n += int(n)
}

func (h *histogram) join(other *histogram) {
	if other.n == 0 {
		return
	}
	if h.n == 0 {
		h.min, h.max = other.min, other.max
	}
	h.min, h.max = min(h.min, other.min), max(h.max, other.max)
	for i, n := range other.counts {
		if n > 0 {
			h.count(other.low+i, n)
		}
	}
}

// quantile is the middle of the bin in which a share of the values ends, to four
// digits.
func (h *histogram) quantile(share float64) float64 {
	rank, seen := int(math.Round(share*float64(h.n-1))), 0
	v := float64(h.max)
	for i, n := range h.counts {
		if seen += int(n); seen > rank {
			v = (edge(h.low+i, fine) + edge(h.low+i+1, fine)) / 2
			break
		}
	}
	switch rank {
	case 0:
		v = float64(h.min)
	case h.n - 1:
		v = float64(h.max)
	}
	return round(min(max(v, float64(h.min)), float64(h.max)))
}

func round(v float64) float64 { return text.Round(v, 4) }
