package stats

import "math"

// Decision is what samples say about a bound on a percentile.
type Decision int

// The decisions. undecided is the zero value: no evidence decides nothing.
const (
	undecided Decision = iota
	met
	missed
)

func (d Decision) String() string {
	return [...]string{"undecided", "met", "missed"}[d]
}

// decide applies MLPerf's rule to n independent samples of which t broke the
// bound on percentile p: met where a server that just breaks the promise would
// show so few violations with a chance of at most alpha, missed where one that
// just keeps it would show so many.
func decide(n, t, p, alpha float64) Decision {
	switch {
	case !(n > 0):
		return undecided
	case BinomialAtMost(t, n, 1-p) <= alpha:
		return met
	case BinomialAtLeast(t, n, 1-p) <= alpha:
		return missed
	}
	return undecided
}

// atLimitLow and atLimitHigh bound the violation shares, in units of the share
// allowed, that no reasonable number of samples tells from the limit itself.
const (
	atLimitLow  = 0.7
	atLimitHigh = 1.4
)

// needed is the smallest number of independent samples that decides a bound on
// percentile p where the given share of them breaks it. It is not ok where
// that share is so close to the allowed one that the server is simply at the
// limit.
func needed(p, share, alpha float64) (n int, ok bool) {
	allowed := 1 - p
	if !(p > 0 && p < 1 && share >= 0 && share <= 1 && alpha > 0 && alpha < 1) {
		return 0, false
	}
	if share >= atLimitLow*allowed && share <= atLimitHigh*allowed {
		return 0, false
	}
	decided := func(n int) bool {
		return decide(float64(n), share*float64(n), p, alpha) != undecided
	}
	high := 1
	for !decided(high) {
		if high > math.MaxInt32 {
			return 0, false
		}
		high *= 2
	}
	low := high / 2
	for high-low > 1 {
		if mid := low + (high-low)/2; decided(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true
}

// FewestToMeet is how many independent samples without a violation show that a
// bound on percentile p is met: 299 for a p99 at 5 %.
func FewestToMeet(p, alpha float64) int {
	return int(math.Ceil(math.Log(alpha) / math.Log(p)))
}

// More is how many more requests like the n so far would decide a bound on
// percentile p, when violations of them broke it and they are worth effective
// independent samples. It is not ok at the limit, and 0 where they already
// decide.
func More(n int, effective float64, violations int, p, alpha float64) (more int, ok bool) {
	if n <= 0 || !(effective > 0) {
		return 0, false
	}
	share := float64(violations) / float64(n)
	if decide(effective, share*effective, p, alpha) != undecided {
		return 0, true
	}
	needed, ok := needed(p, share, alpha)
	if !ok {
		return 0, false
	}
	return max(int(math.Ceil(float64(needed)*float64(n)/effective))-n, 1), true
}
