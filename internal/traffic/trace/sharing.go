package trace

import (
	"math"
	"slices"

	"redline/internal/stats"
)

// Bounds on what the estimate of sharing remembers. Beyond them it keeps a
// sample of the blocks, by their ids: all uses of a block are in it or none.
const (
	maxBlocks = 1 << 20
	maxFirsts = 1 << 18
)

// sharing estimates how much of the prompts an endless prefix cache would
// have held, and in which groups.
type sharing struct {
	salt uint64
	// seen has the blocks so far whose salted hash ends in level zero bits.
	seen  map[uint64]struct{}
	level uint
	// firsts counts prompts by their first block.
	firsts         map[uint64]uint32
	firstLevel     uint
	hits, total    float64 // tokens
	repeatedFirsts float64 // prompts whose first block was seen before
	prompts        int     // with or without blocks
	known          bool
}

func newSharing(salt uint64) *sharing {
	return &sharing{salt: salt, seen: map[uint64]struct{}{}, firsts: map[uint64]uint32{}}
}

func (s *sharing) add(row Row) {
	s.prompts++
	s.total += float64(row.Prompt)
	if row.BlockTokens > 0 {
		s.known = true
	}
	if len(row.Blocks) == 0 {
		return
	}
	each := float64(row.Prompt) / float64(len(row.Blocks))
	for _, id := range row.Blocks {
		key := stats.Scramble(id ^ s.salt)
		if key&(1<<s.level-1) != 0 {
			continue
		}
		if _, ok := s.seen[key]; ok {
			s.hits += each * float64(uint64(1)<<s.level)
		} else {
			s.seen[key] = struct{}{}
		}
	}
	s.addFirst(stats.Scramble(row.Blocks[0] ^ s.salt))
	for len(s.seen) > maxBlocks {
		s.level++
		for key := range s.seen {
			if key&(1<<s.level-1) != 0 {
				delete(s.seen, key)
			}
		}
	}
}

func (s *sharing) addFirst(key uint64) {
	if key&(1<<s.firstLevel-1) != 0 {
		return
	}
	if s.firsts[key] > 0 {
		s.repeatedFirsts += float64(uint64(1) << s.firstLevel)
	}
	s.firsts[key]++
	for len(s.firsts) > maxFirsts {
		s.firstLevel++
		for key := range s.firsts {
			if key&(1<<s.firstLevel-1) != 0 {
				delete(s.firsts, key)
			}
		}
	}
}

// Sharing says how prompts begin alike. Share is that of all prompt tokens
// which a request before had already begun with; Requests the share of requests
// of which that is true at all; they fall into Groups by their beginning, the
// k-th most popular with a weight of k^-Zipf.
type Sharing struct {
	Share    float64 `yaml:"share" json:"share"`
	Requests float64 `yaml:"requests" json:"requests"`
	Groups   int     `yaml:"groups" json:"groups"`
	Zipf     float64 `yaml:"zipf" json:"zipf"`
}

// estimate is nil where the trace does not tell.
func (s *sharing) estimate() *Sharing {
	if !s.known || s.total == 0 {
		return nil
	}
	var counts []float64
	for _, n := range s.firsts {
		if n > 1 {
			counts = append(counts, float64(n))
		}
	}
	return &Sharing{
		Share:    round(min(s.hits/s.total, 1), 4),
		Requests: round(min(s.repeatedFirsts/float64(s.prompts), 1), 4),
		Groups:   len(counts) << s.firstLevel,
		Zipf:     round(zipfExponent(counts), 3),
	}
}

// zipfExponent is the slope of popularity over rank, both in logarithms, of
// the most popular.
func zipfExponent(counts []float64) float64 {
	const limit = 100
	slices.SortFunc(counts, func(a, b float64) int { return int(b - a) })
	counts = counts[:min(len(counts), limit)]
	var n, sx, sy, sxx, sxy float64
	for i, c := range counts {
		x, y := math.Log(float64(i+1)), math.Log(c)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	spread := n*sxx - sx*sx
	if n < 3 || spread <= 0 {
		return 0
	}
	return max(0, -(n*sxy-sx*sy)/spread)
}

func round(x float64, digits int) float64 {
	scale := math.Pow(10, float64(digits))
	return math.Round(x*scale) / scale
}
