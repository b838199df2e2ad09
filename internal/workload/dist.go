package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"redline/internal/stats"
)

// MaxTokens bounds every length: larger ones are slips of the keyboard.
const MaxTokens = 10_000_000

// maxSigma bounds the spread of a log-normal: beyond it the clip would decide
// nearly every draw.
const maxSigma = 5

// Dist is a distribution of lengths in tokens. Which fields are set says which
// kind it is:
//
//	fixed(n)                     Fixed
//	uniform(lo,hi)               Min, Max, both included
//	lognormal(median,sigma,lo..hi) Median, Sigma, and Min and Max as its clip
//	choice(n:weight,…)           TokenCounts with their Weights
type Dist struct {
	Fixed       int       `yaml:"fixed,omitempty"`
	Median      float64   `yaml:"median,omitempty"`
	Sigma       float64   `yaml:"sigma,omitempty"`
	Min         int       `yaml:"min,omitempty"`
	Max         int       `yaml:"max,omitempty"`
	Weights     []float64 `yaml:"weights,omitempty"`
	TokenCounts []int     `yaml:"token_counts,omitempty"`
}

// kind tells distributions apart.
type kind uint8

const (
	unset kind = iota
	fixed
	uniform
	lognormal
	choice
)

func (d Dist) kind() kind {
	switch {
	case d.Weights != nil || d.TokenCounts != nil:
		return choice
	case d.Median != 0 || d.Sigma != 0:
		return lognormal
	case d.Fixed != 0:
		return fixed
	case d.Min != 0 || d.Max != 0:
		return uniform
	}
	return unset
}

// clip gives the bounds of a log-normal, which may be left out.
func (d Dist) clip() (lo, hi int) {
	lo, hi = d.Min, d.Max
	if lo == 0 {
		lo = 1
	}
	if hi == 0 {
		hi = MaxTokens
	}
	return lo, hi
}

// Validate says what is wrong with a distribution and what to write instead.
func (d Dist) Validate() error {
	if d.mixes() {
		return errors.New("describes two distributions at once, want one such as fixed(128) or lognormal(512,0.6)")
	}
	switch d.kind() {
	case fixed:
		return checkTokens("fixed", d.Fixed)
	case uniform:
		return checkRange("uniform", d.Min, d.Max)
	case lognormal:
		return d.validateLogNormal()
	case choice:
		return d.validateChoice()
	}
	return errors.New("no length given, want a distribution such as fixed(128) or lognormal(512,0.6)")
}

// mixes says that fields of more than one kind are set.
func (d Dist) mixes() bool {
	bounds := d.Min != 0 || d.Max != 0
	shape := d.Median != 0 || d.Sigma != 0
	switch d.kind() {
	case choice:
		return d.Fixed != 0 || shape || bounds
	case lognormal:
		return d.Fixed != 0
	case fixed:
		return bounds
	}
	return false
}

func (d Dist) validateLogNormal() error {
	switch {
	case !(d.Median >= 1 && d.Median <= MaxTokens):
		return fmt.Errorf("lognormal: want a median of 1 to %d tokens, got %v", MaxTokens, number(d.Median))
	case !(d.Sigma > 0 && d.Sigma <= maxSigma):
		return fmt.Errorf("lognormal: want a sigma above 0 and up to %d, got %v", maxSigma, number(d.Sigma))
	}
	lo, hi := d.clip()
	return checkRange("lognormal", lo, hi)
}

func (d Dist) validateChoice() error {
	switch {
	case len(d.TokenCounts) == 0:
		return errors.New("token_counts: none given, want a list such as [512, 2048]")
	case len(d.Weights) != len(d.TokenCounts):
		return fmt.Errorf("weights: want one for each of the %d token_counts, got %d", len(d.TokenCounts), len(d.Weights))
	}
	for _, n := range d.TokenCounts {
		if err := checkTokens("token_counts", n); err != nil {
			return err
		}
	}
	sum := 0.0
	for _, w := range d.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("weights: want numbers of at least 0, got %v", number(w))
		}
		sum += w
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return fmt.Errorf("weights: want a finite sum above 0, got %v", number(sum))
	}
	return nil
}

func checkTokens(what string, n int) error {
	if n < 1 || n > MaxTokens {
		return fmt.Errorf("%s: want 1 to %d tokens, got %d", what, MaxTokens, n)
	}
	return nil
}

func checkRange(what string, lo, hi int) error {
	if err := checkTokens(what, lo); err != nil {
		return err
	}
	if err := checkTokens(what, hi); err != nil {
		return err
	}
	if lo > hi {
		return fmt.Errorf("%s: want the smaller bound first, got %d and %d", what, lo, hi)
	}
	return nil
}

// Sample draws one length.
func (d Dist) Sample(r *rand.Rand) int {
	switch d.kind() {
	case fixed:
		return d.Fixed
	case uniform:
		return d.Min + r.IntN(d.Max-d.Min+1)
	case lognormal:
		lo, hi := d.clip()
		// Clipping first keeps a huge draw within what an int can hold.
		x := stats.LogNormal(r, math.Log(d.Median), d.Sigma)
		return max(lo, int(min(x, float64(hi))))
	case choice:
		return d.TokenCounts[stats.Choose(r, d.Weights)]
	}
	return 0
}

// Mean is the expected length.
func (d Dist) Mean() float64 {
	switch d.kind() {
	case fixed:
		return float64(d.Fixed)
	case uniform:
		return float64(d.Min+d.Max) / 2
	case lognormal:
		return d.logNormalMean()
	case choice:
		total, sum := 0.0, 0.0
		for i, w := range d.Weights {
			total += w
			sum += w * float64(d.TokenCounts[i])
		}
		return sum / total
	}
	return 0
}

// logNormalMean adds what the lower clip, the middle and the upper clip
// contribute; truncation to whole tokens takes half a token from the middle.
func (d Dist) logNormalMean() float64 {
	lo, hi := d.clip()
	z := func(x int) float64 { return (math.Log(float64(x)) - math.Log(d.Median)) / d.Sigma }
	below, above := normalCDF(z(lo)), 1-normalCDF(z(hi))
	middle := d.Median * math.Exp(d.Sigma*d.Sigma/2) * (normalCDF(z(hi)-d.Sigma) - normalCDF(z(lo)-d.Sigma))
	return float64(lo)*below + middle - 0.5*(1-below-above) + float64(hi)*above
}

func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// String is the terse form, which ParseDist reads.
func (d Dist) String() string {
	switch d.kind() {
	case fixed:
		return fmt.Sprintf("fixed(%d)", d.Fixed)
	case uniform:
		return fmt.Sprintf("uniform(%d,%d)", d.Min, d.Max)
	case lognormal:
		shape := number(d.Median) + "," + number(d.Sigma)
		if lo, hi := d.clip(); lo != 1 || hi != MaxTokens {
			shape += fmt.Sprintf(",%d..%d", lo, hi)
		}
		return "lognormal(" + shape + ")"
	case choice:
		var pairs []string
		for i, n := range d.TokenCounts {
			if i < len(d.Weights) {
				pairs = append(pairs, strconv.Itoa(n)+":"+number(d.Weights[i]))
			}
		}
		return "choice(" + strings.Join(pairs, ",") + ")"
	}
	return ""
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// MarshalYAML writes the terse form.
func (d Dist) MarshalYAML() (any, error) { return d.String(), nil }

// UnmarshalYAML reads the terse form, a plain number, or a mapping. A mapping is
// validated by whoever knows which length it describes.
func (d *Dist) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if unmarshal(&text) == nil {
		parsed, err := ParseDist(text)
		*d = parsed
		return err
	}
	type mapping Dist
	return unmarshal((*mapping)(d))
}
