package search

import "math"

// belief is the posterior of one limit: the chance of each ln rate of the
// grid, which adds up to 1.
type belief struct {
	grid   []float64
	chance []float64
	slope  float64 // the curve is as likely steeper as flatter
	// erratic is the chance that the server is so.
	erratic float64
}

func axis(lo, hi float64, points int) []float64 {
	grid := make([]float64, points)
	for i := range grid {
		grid[i] = lo + (hi-lo)*float64(i)/float64(points-1)
	}
	return grid
}

// closerGrid is the grid on which nearly all of a belief lies.
func (b *belief) closerGrid() []float64 {
	step := b.grid[1] - b.grid[0]
	margin := max(step, 4*lateMisfit)
	return axis(math.Log(b.quantile(1e-4))-margin, math.Log(b.quantile(1-1e-4))+margin, gridPoints)
}

// minOf is the belief about the smallest of several limits on one grid.
func minOf(list []*belief) *belief {
	var all *belief
	for _, b := range list {
		switch {
		case b == nil:
		case all == nil:
			all = b
		default:
			all = all.below(b)
		}
	}
	return all
}

// below is the belief about the smaller of two limits. Both come from the same
// levels, so that what moves one moves the other.
func (b *belief) below(other *belief) *belief {
	smaller := &belief{grid: b.grid, chance: make([]float64, len(b.grid)), slope: b.slope}
	beyond, otherBeyond, before := 1.0, 1.0, 1.0
	for i := range b.grid {
		beyond -= b.chance[i]
		otherBeyond -= other.chance[i]
		after := max(min(beyond, otherBeyond), 0)
		smaller.chance[i] = before - after
		before = after
	}
	return smaller
}

func (b *belief) widen(by float64) *belief {
	out := &belief{grid: b.grid, chance: make([]float64, len(b.grid)), slope: b.slope, erratic: b.erratic}
	total := 0.0
	for i, from := range b.grid {
		if b.chance[i] == 0 {
			continue
		}
		for j, to := range b.grid {
			z := (to - from) / by
			w := b.chance[i] * math.Exp(-z*z/2)
			out.chance[j] += w
			total += w
		}
	}
	for j := range out.chance {
		out.chance[j] /= total
	}
	return out
}

// quantile is the rate below which the limit lies with chance p.
func (b *belief) quantile(p float64) float64 {
	sum := 0.0
	for i, c := range b.chance {
		if sum+c >= p && c > 0 {
			step := 0.0
			if i > 0 {
				step = b.grid[i] - b.grid[i-1]
			}
			return math.Exp(b.grid[i] - step*(1-(p-sum)/c) + step/2)
		}
		sum += c
	}
	return math.Exp(b.grid[len(b.grid)-1])
}

// sure is how much of a belief an interval holds.
const sure = 0.9

func (b *belief) interval() (lo, hi float64) {
	return b.quantile((1 - sure) / 2), b.quantile((1 + sure) / 2)
}

// halfWidth is half of the interval's length over the point.
func (b *belief) halfWidth() float64 {
	lo, hi := b.interval()
	return (hi - lo) / 2 / b.quantile(0.5)
}

// nearShare of the limit is how far a rate may be from it that is near it.
const nearShare = 0.15

// hold is the rate to run next, so that the highest rate that was met is most
// likely near the limit, and how much likelier than now. The rate that a run just
// meets differs by spread.
func (b *belief) hold(spread float64, held *Held) (rate, gain float64) {
	near := func(x, limit float64) bool { return math.Abs(math.Exp(x-limit)-1) <= nearShare }
	now, best := 0.0, -1.0
	last := math.Inf(-1)
	if held != nil {
		last = math.Log(held.Rate)
		for i, c := range b.chance {
			if near(last, b.grid[i]) {
				now += c
			}
		}
	}
	for _, x := range b.grid {
		if x <= last {
			continue
		}
		chance := 0.0
		for i, c := range b.chance {
			met := 0.5 * math.Erfc((x-b.grid[i])/spread/math.Sqrt2)
			if near(x, b.grid[i]) {
				chance += c * met
			}
			if near(last, b.grid[i]) {
				chance += c * (1 - met)
			}
		}
		if chance > best {
			best, rate = chance, math.Exp(x)
		}
	}
	return rate, best - now
}
