package twin

import (
	"math"
	"slices"
)

// vertex is a point and how bad it is.
type vertex struct {
	x []float64
	f float64
}

// minimise walks downhill from start by the method of Nelder and Mead, which
// needs no derivative and is not misled by the small jumps that a simulation
// makes; spread is the size of its first steps, and calls bounds how often f is
// asked. It gives the best point found.
func minimise(f func([]float64) float64, start []float64, spread float64, calls int) ([]float64, float64) {
	n := len(start)
	asked := 0
	ask := func(x []float64) vertex {
		asked++
		return vertex{x, f(x)}
	}
	simplex := []vertex{ask(slices.Clone(start))}
	for i := range n {
		x := slices.Clone(start)
		x[i] += spread
		simplex = append(simplex, ask(x))
	}
	byValue := func(a, b vertex) int {
		switch {
		case a.f < b.f:
			return -1
		case a.f > b.f:
			return 1
		}
		return 0
	}
	for {
		slices.SortStableFunc(simplex, byValue)
		best, worst := simplex[0], simplex[n]
		if asked >= calls || math.Abs(worst.f-best.f) <= 1e-4*(math.Abs(best.f)+1e-6) {
			return best.x, best.f
		}
		simplex[n] = improve(simplex, ask)
		if simplex[n].f >= worst.f {
			for i := 1; i <= n; i++ {
				simplex[i] = ask(interpolate(best.x, simplex[i].x, 0.5))
			}
		}
	}
}

// improve replaces the worst corner: mirrored, further out, or nearer in.
func improve(simplex []vertex, ask func([]float64) vertex) vertex {
	n := len(simplex) - 1
	centre := make([]float64, n)
	for _, v := range simplex[:n] {
		for i := range centre {
			centre[i] += v.x[i] / float64(n)
		}
	}
	worst := simplex[n]
	mirrored := ask(interpolate(centre, worst.x, -1))
	switch {
	case mirrored.f < simplex[0].f:
		if further := ask(interpolate(centre, worst.x, -2)); further.f < mirrored.f {
			return further
		}
		return mirrored
	case mirrored.f < simplex[n-1].f:
		return mirrored
	case mirrored.f < worst.f:
		worst = mirrored
	}
	if nearer := ask(interpolate(centre, worst.x, 0.5)); nearer.f < worst.f {
		return nearer
	}
	return worst
}

// interpolate is the point at share t of the way from a to b.
func interpolate(a, b []float64, t float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + t*(b[i]-a[i])
	}
	return out
}
