// Package pareto weighs two figures against each other: it takes the points of
// several runs and gives those that no other point beats in both figures, and
// of every other one which point does. It measures nothing, rounds nothing and
// knows no page.
package pareto

import (
	"cmp"
	"math"
	"slices"
)

// Place is where a point lies in two figures, of each of which more is better.
type Place struct{ X, Y float64 }

// frontier gives for every place the index of one that dominates it: at least
// as good in both figures and better in one. On the frontier that is -1. Of
// several that dominate it is the one on the frontier that gives the most Y.
// Places that are not numbers are dominated by nothing and dominate nothing.
func frontier(places []Place) []int {
	by := make([]int, len(places))
	order := make([]int, 0, len(places))
	for i, p := range places {
		by[i] = -1
		if !math.IsNaN(p.X) && !math.IsNaN(p.Y) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(places[j].X, places[i].X), cmp.Compare(places[j].Y, places[i].Y))
	})
	best := -1 // the place of most Y among those of at least this X
	for _, i := range order {
		switch {
		case best < 0 || places[i].Y > places[best].Y:
			best = i
		case places[i] != places[best]:
			by[i] = best
		}
	}
	return by
}
