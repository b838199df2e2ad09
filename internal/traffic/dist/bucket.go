package dist

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"redline/internal/stats"
	"redline/internal/text"
)

// Bucket is a range of lengths, each as likely as the next: those above Lo, up
// to Hi. Buckets that follow each other thus share no length.
type Bucket struct{ Lo, Hi int }

// String is lo..hi, or the only length there is.
func (b Bucket) String() string {
	if b.Hi-b.Lo == 1 {
		return strconv.Itoa(b.Hi)
	}
	return fmt.Sprintf("%d..%d", b.Lo, b.Hi)
}

func parseBucket(given string) (Bucket, error) {
	low, high, ranged := strings.Cut(given, "..")
	if !ranged {
		n, err := tokens("choice", given)
		return Bucket{n - 1, n}, err
	}
	lo, err := strconv.Atoi(strings.TrimSpace(low))
	if err != nil {
		return Bucket{}, fmt.Errorf("choice: expected a whole number, got %q", text.Brief(low))
	}
	hi, err := tokens("choice", high)
	if err != nil {
		return Bucket{}, err
	}
	b := Bucket{lo, hi}
	return b, b.validate()
}

func (b Bucket) validate() error {
	if b.Lo < 0 || b.Hi <= b.Lo || b.Hi > maxTokens {
		return fmt.Errorf("buckets: expected lo..hi with 0 <= lo < hi <= %d, got %d..%d", maxTokens, b.Lo, b.Hi)
	}
	return nil
}

// MarshalYAML writes lo..hi.
func (b Bucket) MarshalYAML() (any, error) { return b.String(), nil }

// UnmarshalYAML reads lo..hi or one length.
func (b *Bucket) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	parsed, err := parseBucket(text)
	*b = parsed
	return err
}

func (d Tokens) validateChoice() error {
	switch {
	case len(d.TokenCounts) == 0 && len(d.Buckets) == 0:
		return errors.New("token_counts: none given, expected a list such as [512, 2048]")
	case d.Buckets == nil && len(d.Weights) != len(d.TokenCounts):
		return fmt.Errorf("weights: expected one for each of the %d token_counts, got %d", len(d.TokenCounts), len(d.Weights))
	case d.Buckets != nil && len(d.Weights) != len(d.Buckets):
		return fmt.Errorf("weights: expected one for each of the %d buckets, got %d", len(d.Buckets), len(d.Weights))
	}
	for _, n := range d.TokenCounts {
		if err := CheckTokens("token_counts", n); err != nil {
			return err
		}
	}
	for _, b := range d.Buckets {
		if err := b.validate(); err != nil {
			return err
		}
	}
	return CheckWeights("weights", d.Weights)
}

// CheckWeights wants numbers from which a draw can be made.
func CheckWeights(what string, weights []float64) error {
	sum := 0.0
	for _, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("%s: expected numbers of at least 0, got %v", what, text.Plain(w))
		}
		sum += w
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return fmt.Errorf("%s: expected a finite sum above 0, got %v", what, text.Plain(sum))
	}
	return nil
}

func (d Tokens) sampleChoice(r *rand.Rand) int {
	i := stats.Choose(r, d.Weights)
	if d.Buckets == nil {
		return d.TokenCounts[i]
	}
	b := d.Buckets[i]
	return b.Lo + 1 + r.IntN(b.Hi-b.Lo)
}

func (d Tokens) choiceMean() float64 {
	total, sum := 0.0, 0.0
	for i, w := range d.Weights {
		middle := 0.0
		if d.Buckets == nil {
			middle = float64(d.TokenCounts[i])
		} else {
			middle = float64(d.Buckets[i].Lo+1+d.Buckets[i].Hi) / 2
		}
		total += w
		sum += w * middle
	}
	return sum / total
}
