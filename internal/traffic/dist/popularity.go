package dist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"

	"redline/internal/text"
)

// Popularity is how often each of several things is chosen: the k-th most
// popular in proportion to k^-Zipf. The zero value chooses all alike.
type Popularity struct {
	Zipf float64
}

const (
	maxExponent     = 20
	popularityForms = "expected uniform or zipf(s) such as zipf(1.1)"
)

// parsePopularity reads uniform or zipf(s).
func parsePopularity(given string) (Popularity, error) {
	if given == "uniform" {
		return Popularity{}, nil
	}
	name, arguments, ok := call(given)
	if ok && name == "zipf" && len(arguments) == 1 {
		if s, err := strconv.ParseFloat(arguments[0], 64); err == nil {
			p := Popularity{s}
			return p, p.Validate()
		}
	}
	return Popularity{}, fmt.Errorf("%s, got %q", popularityForms, text.Brief(given))
}

// Validate says what is wrong with the exponent.
func (p Popularity) Validate() error {
	if !(p.Zipf >= 0 && p.Zipf <= maxExponent) {
		return fmt.Errorf("zipf: expected an exponent of 0 to %d, got %v", maxExponent, text.Plain(p.Zipf))
	}
	return nil
}

// String is the form that parsePopularity reads.
func (p Popularity) String() string {
	if p.Zipf == 0 {
		return "uniform"
	}
	return "zipf(" + text.Plain(p.Zipf) + ")"
}

// MarshalYAML writes the terse form.
func (p Popularity) MarshalYAML() (any, error) { return p.String(), nil }

// UnmarshalYAML reads the terse form.
func (p *Popularity) UnmarshalYAML(unmarshal func(any) error) error {
	return readText(unmarshal, popularityForms, parsePopularity, p)
}

// Shares gives the share of each of n things.
func (p Popularity) Shares(n int) []float64 {
	weights := make([]float64, n)
	for k := range weights {
		weights[k] = math.Pow(float64(k+1), -p.Zipf)
	}
	return weights
}

// Urn draws an index in proportion to its weight, in the logarithm of their
// number.
type Urn []float64

// NewUrn adds the weights up.
func NewUrn(weights []float64) Urn {
	sums := make(Urn, len(weights))
	total := 0.0
	for i, w := range weights {
		total += w
		sums[i] = total
	}
	return sums
}

// Draw takes one out and puts it back.
func (u Urn) Draw(r *rand.Rand) int {
	x := r.Float64() * u[len(u)-1]
	i := sort.Search(len(u), func(i int) bool { return u[i] > x })
	return min(i, len(u)-1)
}
