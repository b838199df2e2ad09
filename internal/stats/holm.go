package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the P values of a family of tests so that calling those at most
// alpha errs anywhere in the family with a chance of at most alpha, however
// the tests depend on one another. A NaN, a test that could not be made, stays
// NaN and does not count as one of the family.
func Holm(chances []float64) []float64 {
	adjusted := make([]float64, len(chances))
	var order []int
	for i, p := range chances {
		adjusted[i] = p
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(chances[i], chances[j]) })
	least := 0.0
	for done, i := range order {
		least = max(least, min(float64(len(order)-done)*chances[i], 1))
		adjusted[i] = least
	}
	return adjusted
}
