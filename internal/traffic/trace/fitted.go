package trace

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"redline/internal/stats"
)

// schema is the tag of the document that Write writes.
const (
	schemaFamily = "redline/workload/"
	schema       = schemaFamily + "1"
)

// FittedWorkload is a workload that behaves like the logs it was fitted to: lengths,
// their pairing, arrivals with their bursts, sharing, sessions, tenants. It
// holds no text and, unless asked, no names.
type FittedWorkload struct {
	Schema   string  `yaml:"schema"`
	Source   Source  `yaml:"source"`
	Prompt   Lengths `yaml:"prompt_tokens"`
	Output   Lengths `yaml:"output_tokens"`
	Pairs    Pairs   `yaml:"pairs"`
	Arrivals *Bursty `yaml:"arrivals,omitempty"`
	// Prefix is nil where the logs do not tell.
	Prefix   *Sharing  `yaml:"prefix,omitempty"`
	Sessions *Sessions `yaml:"sessions,omitempty"`
	Tenants  []Share   `yaml:"tenants,omitempty"`
	Classes  []Share   `yaml:"classes,omitempty"`
}

// Source says what the workload was fitted to.
type Source struct {
	Formats  []string `yaml:"formats,flow"`
	Requests int      `yaml:"requests"`
	Span     float64  `yaml:"span_s,omitempty"`
	Skipped  int      `yaml:"skipped_rows,omitempty"`
	Notes    []string `yaml:"notes,omitempty"`
}

// Lengths is the distribution of one length by itself.
type Lengths struct {
	Percentiles Percentiles `yaml:"percentiles,flow"`
	Buckets     []Bucket    `yaml:"buckets"`
	Curve       Curve       `yaml:"curve"`
}

// Pairs keeps prompts and outputs together: for each range of prompts, the
// outputs that came with them.
type Pairs struct {
	// Independent draws the two lengths apart from one another.
	Independent bool  `yaml:"independent"`
	Bins        []Bin `yaml:"bins"`
}

// Bin is a range of prompt lengths with its share of the requests.
type Bin struct {
	Share  float64 `yaml:"share"`
	Prompt Curve   `yaml:"prompt"`
	Output Curve   `yaml:"output"`
}

// Curve is a distribution by its quantiles: a share At[i] of the values is at
// most Value[i]. Between two of them it is a straight line.
type Curve struct {
	At    []float64 `yaml:"at,flow"`
	Value []float64 `yaml:"value,flow"`
}

// NewCurve describes values, which it sorts, by the means of slices of them, each
// at the middle of its slice: few values by themselves, many by slices that are
// thinner at the upper end. Its mean is theirs.
func NewCurve(values []float64) Curve {
	slices.Sort(values)
	n := len(values)
	c := Curve{At: []float64{0}, Value: []float64{0}}
	add := func(from, to int) {
		c.At = append(c.At, round(float64(from+to)/2/float64(n), 6))
		c.Value = append(c.Value, stats.Mean(values[from:to]))
	}
	from := 0
	for k := 1; k <= n && n <= len(sliceEdges); k++ {
		add(k-1, k)
	}
	for _, edge := range sliceEdges {
		if to := int(math.Round(edge * float64(n))); n > len(sliceEdges) && to > from {
			add(from, to)
			from = to
		}
	}
	if n > 0 {
		c.Value[0] = c.Value[1]
	}
	c.At, c.Value = append(c.At, 1), append(c.Value, c.Value[len(c.Value)-1])
	mean := 0.0
	for i := range c.At[1:] {
		mean += (c.At[i+1] - c.At[i]) * (c.Value[i] + c.Value[i+1]) / 2
	}
	scale := 1.0
	if n > len(sliceEdges) && mean > 0 {
		scale = stats.Mean(values) / mean // slices of unlike width
	}
	for i, v := range c.Value {
		c.Value[i] = round(v*scale, 3)
	}
	return c
}

// sliceEdges are the shares at which the slices of a curve end.
var sliceEdges = []float64{0.06, 0.12, 0.18, 0.24, 0.3, 0.36, 0.42, 0.48, 0.54, 0.6, 0.66, 0.72, 0.78, 0.84, 0.9, 0.94, 0.97, 0.985, 0.993, 1}

// Quantile gives the value that a share p of the distribution does not exceed.
func (c Curve) Quantile(p float64) float64 {
	i := sort.SearchFloat64s(c.At, p)
	switch {
	case len(c.Value) == 0:
		return 0
	case i == 0:
		return c.Value[0]
	case i >= len(c.At):
		return c.Value[len(c.Value)-1]
	}
	share := (p - c.At[i-1]) / (c.At[i] - c.At[i-1])
	return c.Value[i-1] + share*(c.Value[i]-c.Value[i-1])
}

// tokens draws a length.
func (c Curve) tokens(r *rand.Rand) int { return int(math.Round(c.Quantile(r.Float64()))) }

// Lengths draws a prompt, the first of its session, and its output. Every call
// takes the same number of draws from r.
func (f *FittedWorkload) Lengths(r *rand.Rand) (prompt, output int) {
	if f.Converses() {
		return f.draw(f.Sessions.First, r)
	}
	if len(f.Pairs.Bins) == 0 {
		return f.Prompt.Curve.tokens(r), f.Output.Curve.tokens(r)
	}
	return f.draw(f.Pairs.Bins, r)
}

// draw takes a pair of lengths from bins, each from a bin of its own where they are
// independent.
func (f *FittedWorkload) draw(bins []Bin, r *rand.Rand) (prompt, output int) {
	bin := pickBin(bins, r)
	prompt = bin.Prompt.tokens(r)
	if f.Pairs.Independent {
		bin = pickBin(bins, r)
	}
	return prompt, bin.Output.tokens(r)
}

func pickBin(bins []Bin, r *rand.Rand) Bin {
	pick := r.Float64()
	for _, b := range bins {
		if pick -= b.Share; pick < 0 {
			return b
		}
	}
	return bins[len(bins)-1]
}

// SharedPrefix draws which group a prompt belongs to and with how many of its
// tokens it begins like the others there; 0 tokens where it stands alone.
func (f *FittedWorkload) SharedPrefix(r *rand.Rand, prompt int) (group, tokens int) {
	chance, place := r.Float64(), r.Float64()
	s := f.Prefix
	if s == nil || s.Groups < 1 || chance >= s.Requests {
		return 0, 0
	}
	return s.group(place), int(math.Round(float64(prompt) * min(1, s.Share/s.Requests)))
}

// group is the one at a place in (0, 1) of a popularity k^-Zipf, taken as a
// curve over real k, whose sum has a closed form.
func (s *Sharing) group(place float64) int {
	most, e := float64(s.Groups)+1, 1-s.Zipf
	k := math.Pow(most, place)
	if math.Abs(e) > 1e-9 {
		k = math.Pow(place*(math.Pow(most, e)-1)+1, 1/e)
	}
	return min(int(k), s.Groups) - 1
}

// Tenant draws one of the tenants, "" where there are none.
func (f *FittedWorkload) Tenant(r *rand.Rand) string { return pick(f.Tenants, r) }

// Class draws one of the classes, "" where there are none.
func (f *FittedWorkload) Class(r *rand.Rand) string { return pick(f.Classes, r) }

// pick takes a name by its share; what the shares leave has none.
func pick(list []Share, r *rand.Rand) string {
	left := r.Float64()
	for _, s := range list {
		if left -= s.Share; left < 0 {
			return s.Name
		}
	}
	return ""
}
