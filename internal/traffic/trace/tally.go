package trace

import (
	"cmp"
	"fmt"
	"slices"

	"redline/internal/stats"
)

// tally is what one pass over the rows remembers: eight bytes a row for the
// lengths, eight for the times, eight for the session, and counts.
type tally struct {
	prompts, outputs []int32
	times            []int64
	// sessions has a hash of each row's session, 0 where it names none; it ends
	// with the last row that names one.
	sessions         []uint64
	sharing          *sharing
	tenants, classes map[string]int
	salt             uint64
}

func newTally() (*tally, error) {
	salt, err := Options{}.salt()
	if err != nil {
		return nil, fmt.Errorf("no random salt for the names in the log: %w", err)
	}
	return &tally{salt: salt, sharing: newSharing(salt), tenants: map[string]int{}, classes: map[string]int{}}, nil
}

// read takes up all rows of a file.
func (t *tally) read(f *File) error {
	t.prompts = slices.Grow(t.prompts, f.Len())
	t.outputs = slices.Grow(t.outputs, f.Len())
	for row, err := range f.rows() {
		if err != nil {
			return err
		}
		t.add(row)
	}
	for _, at := range f.times {
		t.times = append(t.times, f.origin+at)
	}
	return nil
}

func (t *tally) add(row Row) {
	t.prompts = append(t.prompts, int32(row.Prompt))
	t.outputs = append(t.outputs, int32(row.Output))
	t.sharing.add(row)
	if row.Tenant != "" {
		t.tenants[row.Tenant]++
	}
	if row.Class != "" {
		t.classes[row.Class]++
	}
	if row.Session != "" {
		t.sessions = append(t.sessions, make([]uint64, len(t.prompts)-len(t.sessions))...)
		t.sessions[len(t.sessions)-1] = newBlockHash(t.salt).add([]byte(row.Session)) | 1
	}
}

// timeline puts times in order and counts them from the first.
func timeline(times []int64) []int64 {
	slices.Sort(times)
	for i := len(times) - 1; i >= 0; i-- {
		times[i] -= times[0]
	}
	return times
}

// sortedLengths gives lengths in order, as numbers that quantiles take.
func sortedLengths(lengths []int32) []float64 {
	sorted := make([]float64, len(lengths))
	for i, n := range lengths {
		sorted[i] = float64(n)
	}
	slices.Sort(sorted)
	return sorted
}

// Percentiles are those of one length, by Hyndman and Fan's type 7.
type Percentiles struct {
	P50  float64 `yaml:"p50" json:"p50"`
	P90  float64 `yaml:"p90" json:"p90"`
	P95  float64 `yaml:"p95" json:"p95"`
	P99  float64 `yaml:"p99" json:"p99"`
	Max  float64 `yaml:"max" json:"max"`
	Mean float64 `yaml:"mean" json:"mean"`
}

func percentiles(sorted []float64) Percentiles {
	q := func(p float64) float64 { return round(stats.Quantile(sorted, p), 3) }
	return Percentiles{P50: q(0.5), P90: q(0.9), P95: q(0.95), P99: q(0.99), Max: q(1), Mean: round(stats.Mean(sorted), 3)}
}

// Bucket is the share of requests with a length from From up to, not
// including, To tokens; a To of 0 is no bound.
type Bucket struct {
	From  int     `yaml:"from" json:"from"`
	To    int     `yaml:"to,omitempty" json:"to,omitempty"`
	Share float64 `yaml:"share" json:"share"`
}

// bucketEdges are those by which reports group prompts.
var bucketEdges = []int{0, 1024, 4096, 16384, 32768}

// buckets counts ascending lengths between edges; the last has no bound.
func buckets(sorted []float64, edges []int) []Bucket {
	list := make([]Bucket, len(edges))
	for i, from := range edges {
		low, _ := slices.BinarySearch(sorted, float64(from))
		high, to := len(sorted), 0
		if i+1 < len(edges) {
			to = edges[i+1]
			high, _ = slices.BinarySearch(sorted, float64(to))
		}
		list[i] = Bucket{from, to, round(float64(high-low)/float64(len(sorted)), 6)}
	}
	return list
}

// Share is one name's part of the requests.
type Share struct {
	Name  string  `yaml:"name" json:"name"`
	Share float64 `yaml:"share" json:"share"`
}

// maxShares is how many names are listed; the rest are joined into one.
const maxShares = 100

// shares lists names by their part of n requests, the largest first, as
// prefix_1, prefix_2, … unless their names are kept.
func shares(counts map[string]int, n int, prefix string, keep bool) []Share {
	type count struct {
		name string
		n    int
	}
	var list []count
	for name, n := range counts {
		list = append(list, count{name, n})
	}
	slices.SortFunc(list, func(a, b count) int { return cmp.Or(b.n-a.n, cmp.Compare(a.name, b.name)) })
	var all []Share
	rest := 0
	for i, c := range list {
		if i >= maxShares {
			rest += c.n
			continue
		}
		if !keep {
			c.name = fmt.Sprintf("%s_%d", prefix, i+1)
		}
		all = append(all, Share{c.name, round(float64(c.n)/float64(n), 6)})
	}
	if rest > 0 {
		all = append(all, Share{prefix + "_rest", round(float64(rest)/float64(n), 6)})
	}
	return all
}
