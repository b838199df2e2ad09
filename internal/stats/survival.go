package stats

import "slices"

// ProductLimit gives each of some lives its share of all, by Kaplan and Meier's
// estimate, where some went on when they were last seen: a life that ended stands
// for itself and for its part of those that were last seen before. What the ends
// leave belongs to the lives that were last seen behind the last of them.
func ProductLimit(ages []float64, ended func(i int) bool) []float64 {
	order := make([]int, len(ages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ages[a] < ages[b] || ages[a] == ages[b] && ended(a) && !ended(b):
			return -1
		case ages[a] > ages[b] || ages[a] == ages[b] && ended(b) && !ended(a):
			return 1
		}
		return 0
	})
	shares, left, last := make([]float64, len(ages)), 1.0, 0
	for rank, i := range order {
		if ended(i) {
			shares[i] = left / float64(len(order)-rank)
			left -= shares[i]
			last = rank + 1
		}
	}
	for _, i := range order[last:] {
		shares[i] = left / float64(len(order)-last)
	}
	return shares
}
