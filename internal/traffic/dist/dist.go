// Package dist holds the distributions that a user writes tersely, such as
// lognormal(500,0.8,50..4000): of lengths in tokens, of pauses, and of how
// popular each of several things is. It takes text or YAML and gives checked
// values and draws from them. It knows nothing of what is drawn for.
package dist

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"redline/internal/stats"
	"redline/internal/text"
)

// maxTokens bounds every length: larger ones are slips of the keyboard.
const maxTokens = 10_000_000

// maxSigma bounds the spread of a log-normal: beyond it the clip would decide
// nearly every draw.
const maxSigma = 5

// Tokens is a distribution of lengths in tokens. Which fields are set says which
// kind it is:
//
//	fixed(n)                       Fixed
//	uniform(lo,hi)                 Min, Max, both included
//	normal(mean,sd,lo..hi)         Average, SD
//	lognormal(median,sigma,lo..hi) Median, Sigma
//	gamma(mean,shape,lo..hi)       Average, Shape
//	zipf(s,lo..hi)                 Zipf; a length n has the weight n^-s
//	choice(n:weight,…)             TokenCounts with their Weights
//	choice(lo..hi:weight,…)        Buckets with their Weights
//
// Min and Max clip the middle four; they may be left out.
type Tokens struct {
	Fixed       int       `yaml:"fixed,omitempty"`
	Median      float64   `yaml:"median,omitempty"`
	Sigma       float64   `yaml:"sigma,omitempty"`
	Average     float64   `yaml:"mean,omitempty"`
	SD          float64   `yaml:"sd,omitempty"`
	Shape       float64   `yaml:"shape,omitempty"`
	Zipf        float64   `yaml:"zipf,omitempty"`
	Min         int       `yaml:"min,omitempty"`
	Max         int       `yaml:"max,omitempty"`
	Weights     []float64 `yaml:"weights,omitempty"`
	TokenCounts []int     `yaml:"token_counts,omitempty"`
	Buckets     []Bucket  `yaml:"buckets,omitempty"`
}

// kind tells distributions apart.
type kind uint8

const (
	unset kind = iota
	fixed
	uniform
	normal
	lognormal
	gamma
	zipf
	choice
)

var kindNames = map[kind]string{fixed: "fixed", uniform: "uniform", normal: "normal", lognormal: "lognormal",
	gamma: "gamma", zipf: "zipf", choice: "choice"}

func (d Tokens) kind() kind {
	switch {
	case d.Weights != nil || d.TokenCounts != nil || d.Buckets != nil:
		return choice
	case d.Zipf != 0:
		return zipf
	case d.Shape != 0:
		return gamma
	case d.Average != 0 || d.SD != 0:
		return normal
	case d.Median != 0 || d.Sigma != 0:
		return lognormal
	case d.Fixed != 0:
		return fixed
	case d.Min != 0 || d.Max != 0:
		return uniform
	}
	return unset
}

// clip gives the bounds of a distribution that may leave them out.
func (d Tokens) clip() (lo, hi int) {
	return cmp.Or(d.Min, 1), cmp.Or(d.Max, maxTokens)
}

// Validate says what is wrong with a distribution and what to write instead.
func (d Tokens) Validate() error {
	if d.mixes() {
		return errors.New("describes two distributions at once, expected one such as fixed(128) or lognormal(512,0.6)")
	}
	switch d.kind() {
	case fixed:
		return CheckTokens("fixed", d.Fixed)
	case uniform:
		return checkRange("uniform", d.Min, d.Max)
	case normal, lognormal, gamma, zipf:
		return d.validateShape(d.kind())
	case choice:
		return d.validateChoice()
	}
	return errors.New("no length given, expected a distribution such as fixed(128) or lognormal(512,0.6)")
}

// mixes says that fields of more than one kind are set.
func (d Tokens) mixes() bool {
	groups := 0
	for _, set := range []bool{d.Fixed != 0, d.Median != 0 || d.Sigma != 0, d.Average != 0 || d.SD != 0 || d.Shape != 0,
		d.Zipf != 0, d.Weights != nil || d.TokenCounts != nil || d.Buckets != nil} {
		if set {
			groups++
		}
	}
	bounds := d.Min != 0 || d.Max != 0
	return groups > 1 || d.SD != 0 && d.Shape != 0 || d.TokenCounts != nil && d.Buckets != nil ||
		bounds && (d.kind() == fixed || d.kind() == choice)
}

// validateShape checks the distributions that have parameters and a clip.
func (d Tokens) validateShape(k kind) error {
	inTokens := func(x float64) bool { return x >= 1 && x <= maxTokens }
	switch k {
	case lognormal:
		if !inTokens(d.Median) {
			return fmt.Errorf("lognormal: expected a median of 1 to %d, got %v", maxTokens, text.Plain(d.Median))
		}
		if !(d.Sigma > 0 && d.Sigma <= maxSigma) {
			return fmt.Errorf("lognormal: expected a sigma above 0 and up to %d, got %v", maxSigma, text.Plain(d.Sigma))
		}
	case normal:
		if !inTokens(d.Average) {
			return fmt.Errorf("normal: expected a mean of 1 to %d, got %v", maxTokens, text.Plain(d.Average))
		}
		if !(d.SD > 0 && d.SD <= maxTokens) {
			return fmt.Errorf("normal: expected a standard deviation above 0 and up to %d, got %v", maxTokens, text.Plain(d.SD))
		}
	case gamma:
		if !inTokens(d.Average) {
			return fmt.Errorf("gamma: expected a mean of 1 to %d, got %v", maxTokens, text.Plain(d.Average))
		}
		if !(d.Shape >= 0.01 && d.Shape <= 1e6) {
			return fmt.Errorf("gamma: expected a shape of 0.01 to 1000000, got %v", text.Plain(d.Shape))
		}
	case zipf:
		if !(d.Zipf > 1 && d.Zipf <= 20) {
			return fmt.Errorf("zipf: expected an exponent above 1 and up to 20, got %v", text.Plain(d.Zipf))
		}
	}
	lo, hi := d.clip()
	return checkRange(kindNames[k], lo, hi)
}

// CheckTokens wants a length that a request can have.
func CheckTokens(what string, n int) error {
	if n < 1 || n > maxTokens {
		return fmt.Errorf("%s: must be 1 to %d, got %d", what, maxTokens, n)
	}
	return nil
}

func checkRange(what string, lo, hi int) error {
	if err := CheckTokens(what, lo); err != nil {
		return err
	}
	if err := CheckTokens(what, hi); err != nil {
		return err
	}
	if lo > hi {
		return fmt.Errorf("%s: expected the smaller bound first, got %d and %d", what, lo, hi)
	}
	return nil
}

// Sample draws one length.
func (d Tokens) Sample(r *rand.Rand) int {
	lo, hi := d.clip()
	switch d.kind() {
	case fixed:
		return d.Fixed
	case uniform:
		return d.Min + r.IntN(d.Max-d.Min+1)
	case lognormal:
		// Clipping first keeps a huge draw within what an int can hold.
		x := stats.LogNormal(r, math.Log(d.Median), d.Sigma)
		return max(lo, int(min(x, float64(hi))))
	case normal:
		return clampTokens(d.Average+d.SD*r.NormFloat64(), lo, hi)
	case gamma:
		return clampTokens(stats.Gamma(r, d.Shape)*d.Average/d.Shape, lo, hi)
	case zipf:
		return lo + int(rand.NewZipf(r, d.Zipf, float64(lo), uint64(hi-lo)).Uint64())
	case choice:
		return d.sampleChoice(r)
	}
	return 0
}

// clampTokens rounds to whole tokens within bounds.
func clampTokens(x float64, lo, hi int) int {
	return int(math.Round(max(float64(lo), min(x, float64(hi)))))
}
