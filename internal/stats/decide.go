package stats

import "math"

// isDecided applies MLPerf's rule to n independent samples of which t broke the
// bound on percentile p. It is met where a server that just misses it would show
// so few violations with a chance of at most alpha, missed where one that just
// meets it would show so many.
func isDecided(n, t, p, alpha float64) bool {
	return n > 0 && (BinomialAtMost(t, n, 1-p) <= alpha || BinomialAtLeast(t, n, 1-p) <= alpha)
}

// atLimitLow and atLimitHigh bound the violation shares, in units of the share
// allowed, that no reasonable number of samples tells from the limit itself.
const (
	atLimitLow  = 0.7
	atLimitHigh = 1.4
)

// samplesNeeded is the smallest number of independent samples that decides a bound on
// percentile p where the given share of them breaks it. It is not ok where
// that share is so close to the allowed one that the server is simply at the
// limit.
func samplesNeeded(p, share, alpha float64) (n int, ok bool) {
	allowed := 1 - p
	if !(p > 0 && p < 1 && share >= 0 && share <= 1 && alpha > 0 && alpha < 1) {
		return 0, false
	}
	if share >= atLimitLow*allowed && share <= atLimitHigh*allowed {
		return 0, false
	}
	enough := func(n int) bool { return isDecided(float64(n), share*float64(n), p, alpha) }
	high := 1
	for !enough(high) {
		if high > math.MaxInt32 {
			return 0, false
		}
		high *= 2
	}
	low := high / 2
	for high-low > 1 {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true
}

// MinToMeet is how many independent samples without a violation show that a
// bound on percentile p is met: 299 for a p99 at 5 %.
func MinToMeet(p, alpha float64) int {
	return int(math.Ceil(math.Log(alpha) / math.Log(p)))
}

// MoreNeeded is how many more requests like the n so far would decide a bound on
// percentile p, when violations of them broke it and they are worth effective
// independent samples. It is not ok at the limit, and 0 where they already
// decide.
func MoreNeeded(n int, effective float64, violations int, p, alpha float64) (more int, ok bool) {
	if n <= 0 || !(effective > 0) {
		return 0, false
	}
	share := float64(violations) / float64(n)
	if isDecided(effective, share*effective, p, alpha) {
		return 0, true
	}
	needed, ok := samplesNeeded(p, share, alpha)
	if !ok {
		return 0, false
	}
	return max(int(math.Ceil(float64(needed)*float64(n)/effective))-n, 1), true
}
