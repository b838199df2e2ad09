package toggle

import (
	"math"
	"slices"

	"redline/internal/stats"
	"redline/internal/text"
)

// sample is one request in the terms of the fit: the logarithms of its prompt
// length and of its time with the optimization over that without, and by how much the
// second may be lower or higher without what the machine did.
type sample struct{ x, y, down, up float64 }

// fit is the expected y over x: straight between knots, whose places follow the
// lengths that there are. It is fitted once to all batches and once more
// without each of them: how far those lie apart is how sure the curve is.
type fit struct {
	knots   []float64
	whole   []float64   // coefficients
	without [][]float64 // the same, one batch left out
}

// knotsFor places the bends. Few different lengths get a bend each; of many
// every stretch between two bends has enough requests to tell its slope.
func knotsFor(samples []sample) []float64 {
	xs := text.Each(samples, func(s sample) float64 { return s.x })
	slices.Sort(xs)
	distinct := slices.Compact(slices.Clone(xs))
	const few = 6
	if len(distinct) <= few {
		if len(distinct) < 2 {
			return nil
		}
		return distinct[1 : len(distinct)-1]
	}
	const perBend, maxBends = 80, 8
	n := min(len(samples)/perBend, maxBends)
	var knots []float64
	for i := range n {
		k := stats.Quantile(xs, float64(i+1)/float64(n+1))
		if k > xs[0] && k < xs[len(xs)-1] && !slices.Contains(knots, k) {
			knots = append(knots, k)
		}
	}
	return knots
}

// basis is what the coefficients are multiplied with at x; flat has only a
// level.
func basis(x float64, knots []float64, flat bool) []float64 {
	if flat {
		return []float64{1}
	}
	b := []float64{1, x}
	for _, k := range knots {
		b = append(b, max(0, x-k))
	}
	return b
}

// sums are the normal equations of a set of samples, the right side last in each
// row.
type sums [][]float64

func newSums(n int) sums {
	s := make(sums, n)
	for i := range s {
		s[i] = make([]float64, n+1)
	}
	return s
}

func (s sums) add(row []float64, y float64) {
	for i, u := range row {
		for j, v := range row {
			s[i][j] += u * v
		}
		s[i][len(row)] += u * y
	}
}

// less is s without another.
func (s sums) less(o sums) sums {
	d := newSums(len(s))
	for i := range d {
		for j := range d[i] {
			d[i][j] = s[i][j] - o[i][j]
		}
	}
	return d
}

// solve gives the coefficients, and false where the samples do not determine
// them.
func (s sums) solve() ([]float64, bool) {
	n := len(s)
	a := s.less(newSums(n)) // a copy
	for i := range a {
		pivot := i
		for r := i + 1; r < n; r++ {
			if math.Abs(a[r][i]) > math.Abs(a[pivot][i]) {
				pivot = r
			}
		}
		a[i], a[pivot] = a[pivot], a[i]
		if !(math.Abs(a[i][i]) > 1e-9*(1+s[i][i])) {
			return nil, false
		}
		for r := range a {
			for c, f := n, a[r][i]/a[i][i]; r != i && c >= i; c-- {
				a[r][c] -= f * a[i][c]
			}
		}
	}
	b := make([]float64, n)
	for i := range b {
		b[i] = a[i][n] / a[i][i]
	}
	return b, true
}

// fitTo fits a curve with these knots; flat fits a level alone. It is false where
// the batches do not determine it, all or all but one.
func fitTo(batches [][]sample, knots []float64, flat bool) (*fit, bool) {
	n := len(basis(0, knots, flat))
	all, parts := newSums(n), make([]sums, len(batches))
	for g, batch := range batches {
		parts[g] = newSums(n)
		for _, s := range batch {
			row := basis(s.x, knots, flat)
			parts[g].add(row, s.y)
			all.add(row, s.y)
		}
	}
	f := &fit{knots: knots}
	for _, part := range append(parts, newSums(n)) { // the last leaves nothing out
		rest, ok := all.less(part).solve()
		if !ok {
			return nil, false
		}
		f.without = append(f.without, rest)
	}
	f.whole, f.without = f.without[len(parts)], f.without[:len(parts)]
	return f, true
}

// bestFit takes the finest curve that the batches determine.
func bestFit(batches [][]sample) (*fit, bool) {
	knots := knotsFor(slices.Concat(batches...))
	for ; ; knots = knots[:len(knots)-1] {
		if f, ok := fitTo(batches, knots, false); ok {
			return f, true
		}
		if len(knots) == 0 {
			return fitTo(batches, nil, true)
		}
	}
}

// at is the curve at x and its standard error by leaving one batch out at a
// time, which errs on the side of doubt.
func (f *fit) at(x float64) (y, doubt float64) {
	row := basis(x, f.knots, len(f.whole) == 1)
	dot := func(c []float64) (sum float64) {
		for i, u := range row {
			sum += u * c[i]
		}
		return sum
	}
	y = dot(f.whole)
	g := float64(len(f.without))
	return y, math.Sqrt(stats.Variance(text.Each(f.without, dot)) * (g - 1) * (g - 1) / g)
}

// refit is the same curve for other values of y.
func (f *fit) refit(batches [][]sample, y func(sample) float64) *fit {
	moved := make([][]sample, len(batches))
	for i, batch := range batches {
		moved[i] = text.Each(batch, func(s sample) sample { return sample{x: s.x, y: y(s)} })
	}
	again, _ := fitTo(moved, f.knots, len(f.whole) == 1) // the same lengths determine it
	return again
}
