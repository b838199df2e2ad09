package compare

import (
	"math"
	"strings"
	"testing"

	"redline/internal/judge/slo"
	"redline/internal/stats"
)

// The shares of all looks are alpha, and no more.
func TestLooksSpendAlphaOnce(t *testing.T) {
	t.Parallel()
	sum := 1 - EarlyShare
	for _, share := range looks {
		sum += share
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("the looks spend %v of alpha", sum)
	}
}

// A comparison that is decided ends, so does one that cannot be, and nothing else; the
// tails of neither count.
func TestDecidedComparisonsEnd(t *testing.T) {
	t.Parallel()
	play := func(name string, factor, spread float64) []Round {
		r := stats.Rand(1, name, 0)
		rounds := make([]Round, DefaultRounds)
		for i := range rounds {
			side := func(times float64) Values {
				return Values{"tpot:p50": 20 * times * math.Exp(spread*r.NormFloat64()), "e2e:p50": 900 * math.Exp(spread*r.NormFloat64()),
					"ttft:p99": 400 * math.Exp(0.5*r.NormFloat64())}
			}
			rounds[i] = Round{First: firstOf(i), A: side(1), B: side(factor)}
		}
		return rounds
	}
	for name, c := range map[string]struct {
		factor, spread float64
		want           slo.Standing
		least, most    int
		why            string
	}{
		"slower by half":         {1.5, 0.003, slo.Worse, 3, 4, "the answer stands"},
		"faster by half":         {0.67, 0.003, slo.Better, 3, 6, "the answer stands"},
		"the same":               {1, 0.003, slo.Same, 3, 8, "the answer stands"},
		"too noisy":              {1, 0.5, slo.Undecided, 6, 8, "would hardly decide it"},
		"slower by a little":     {1.03, 0.008, slo.Worse, 4, 10, ""},
		"too noisy to bound yet": {1, 0.025, slo.Same, 8, 10, ""},
	} {
		rounds := play(name, c.factor, c.spread)
		var got *Comparison
		n := 0
		for _, n = range []int{3, 4, 5, 6, 8, DefaultRounds} {
			if got = Sequential(rounds[:n], DefaultRounds, Options{}); got.Ended != "" {
				break
			}
		}
		if got.Standing != c.want || n < c.least || n > c.most || !strings.Contains(got.Ended, c.why) {
			t.Errorf("%s: %s after %d rounds: %s (%s)", name, got.Standing, n, got.Verdict, got.Ended)
		}
	}
}
