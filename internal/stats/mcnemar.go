package stats

import "math"

// McNemar is the exact two-sided chance that of paired yes-or-no answers the
// discordant ones fall so unevenly, onlyFirst one way and onlySecond the
// other, where neither way is likelier. Pairs that agree say nothing about it.
func McNemar(onlyFirst, onlySecond int) float64 {
	if onlyFirst < 0 || onlySecond < 0 {
		return math.NaN()
	}
	fewer, all := float64(min(onlyFirst, onlySecond)), float64(onlyFirst+onlySecond)
	return min(2*BinomialAtMost(fewer, all, 0.5), 1)
}

// PairedShares is the interval of the difference of two shares over the same n
// items, first less second, where onlyFirst items count for the first alone
// and onlySecond for the second alone. It is Tango's score interval (1998),
// which holds its level at small n and without any discordant item. Counts
// that cannot be give (-1, 1), every difference there is.
func PairedShares(n, onlyFirst, onlySecond int, level float64) (lo, hi float64) {
	if n <= 0 || onlyFirst < 0 || onlySecond < 0 || onlyFirst+onlySecond > n || !(level > 0 && level < 1) {
		return -1, 1
	}
	z := NormalQuantile((1 + level) / 2)
	return -upperShare(n, onlySecond, onlyFirst, z), upperShare(n, onlyFirst, onlySecond, z)
}

// upperShare is the largest difference whose score lies within z of the one
// seen. The score falls as the difference assumed grows, so halving finds it.
func upperShare(n, onlyFirst, onlySecond int, z float64) float64 {
	low, high := float64(onlyFirst-onlySecond)/float64(n), 1.0
	for range 100 {
		if mid := (low + high) / 2; tangoScore(n, onlyFirst, onlySecond, mid) > -z {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// tangoScore is how many standard errors the difference seen lies above the
// one assumed. The error is taken at the likeliest shares that have exactly
// the difference assumed; discordant is their share of onlySecond.
func tangoScore(n, onlyFirst, onlySecond int, assumed float64) float64 {
	all, b, c := float64(n), float64(onlyFirst), float64(onlySecond)
	linear := (2*all-b+c)*assumed - b - c
	constant := -c * assumed * (1 - assumed)
	discordant := (math.Sqrt(linear*linear-8*all*constant) - linear) / (4 * all)
	variance := all * (2*discordant + assumed*(1-assumed))
	if !(variance > 0) {
		return math.Inf(int(math.Copysign(1, b-c-all*assumed)))
	}
	return (b - c - all*assumed) / math.Sqrt(variance)
}
