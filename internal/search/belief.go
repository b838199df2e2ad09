package search

import (
	"math"

	"redline/internal/slo"
)

// How evidence is weighed. The share of requests that break an objective is
// taken to follow a logistic curve in the logarithm of the rate,
//
//	logit share = logit allowed + slope · (ln rate − ln limit),
//
// and the belief is the posterior of limit and slope on a grid, both unknown:
// limits flat on a logarithmic scale, slopes from gentle to a cliff. Four
// things make it honest.
//
// Violations crowd: a level counts with its effective number of requests.
//
// Levels differ by the luck of their draw: a window of n requests offers a
// little more or less work than its rate says, by luckPerRequest/√n. Each
// level has such an unseen shift of its rate, over which its likelihood is
// averaged; where the work that came is known it moves the level's rate, and
// only unseenLuck is left. The limit itself is about the expected share over that luck in
// runs of the sustained length.
//
// A short level flatters: queues and batches that take minutes to fill have
// not filled. What a level kept up with is its rate less the share of its
// requests by which those in flight grew, so a level that is shorter than the
// sustained run counts as one at about that lower rate, and with less
// certainty.
//
// The curve is logistic only near the limit: shares that rise gently below it
// leap where the server overloads. So a level with more than clipFactor times
// the allowed share only says that the share is at least that; told in full, it
// would bend the slope at the limit and, from levels below, point too low.
//
// An overload says one more thing: the limit is below what was offered, by up to
// what stayed in flight. How much of that is a queue, and how much a server that
// has only begun to fill, nobody knows.
//
// Both lucks and misfit, by which the logistic curve itself may be wrong, were
// set so that intervals cover the limits of the engines in docs/LIMIT.md.
const (
	luckPerRequest = 1.8
	unseenLuck     = 1.0
	clipFactor     = 3
	gridPoints     = 151
	misfit         = 0.013
)

// slopes is the grid of logits per unit of ln rate.
var slopes = []float64{3, 4.5, 7, 10, 15, 22, 33, 50, 75, 110, 160, 240}

// normalNodes and normalWeights average over a standard normal (Gauss and
// Hermite's five points).
var (
	normalNodes   = [5]float64{-2.856970013872806, -1.355626179974266, 0, 1.355626179974266, 2.856970013872806}
	normalWeights = [5]float64{0.011257411327721, 0.222075922005613, 0.533333333333333, 0.222075922005613, 0.011257411327721}
)

// belief is the posterior of one limit: the chance of each ln rate of the
// grid, which adds up to 1.
type belief struct {
	grid   []float64
	chance []float64
	slope  float64 // the curve is as likely steeper as flatter
}

// axis is a grid of ln rates from lo to hi.
func axis(lo, hi float64) []float64 {
	grid := make([]float64, gridPoints)
	for i := range grid {
		grid[i] = lo + (hi-lo)*float64(i)/(gridPoints-1)
	}
	return grid
}

// wide is the grid around everything that was offered, within what may be.
func (s *Search) wide() []float64 {
	lo, hi := math.Log(s.spec.Start), math.Log(s.spec.Start)
	for _, l := range s.seen {
		lo, hi = min(lo, math.Log(l.Rate)), max(hi, math.Log(l.Rate))
	}
	return axis(max(lo-2, math.Log(s.spec.Floor)), min(hi+2, math.Log(s.spec.Ceiling)))
}

// closer is the grid on which nearly all of a belief lies.
func (b *belief) closer() []float64 {
	step := b.grid[1] - b.grid[0]
	margin := max(step, 3*misfit)
	return axis(math.Log(b.quantile(1e-4))-margin, math.Log(b.quantile(1-1e-4))+margin)
}

// believed is the posterior of the limit by each objective, nil where load
// only helps.
func (s *Search) believed() []*belief {
	list := s.on(s.wide())
	for i, b := range list {
		if b != nil {
			list[i] = s.believe(b.closer(), i).blurred()
		}
	}
	return list
}

// belief is the posterior of the limit by all objectives.
func (s *Search) belief() *belief {
	return lowest(s.on(lowest(s.on(s.wide())).closer())).blurred()
}

// on gives the posteriors on one grid.
func (s *Search) on(grid []float64) []*belief {
	list := make([]*belief, len(s.objectives))
	for i, o := range s.objectives {
		if kindOf(o) != rising {
			list[i] = s.believe(grid, i)
		}
	}
	return list
}

func (s *Search) believe(grid []float64, objective int) *belief {
	q := allowed(s.objectives[objective])
	points := s.points(objective)
	shift := newShifts(q)
	logs := make([][]float64, len(slopes))
	most := math.Inf(-1)
	for k, slope := range slopes {
		logs[k] = make([]float64, len(grid))
		for i, limit := range grid {
			luck := luckPerRequest / math.Sqrt(math.Exp(limit)*s.spec.Sustained.Seconds())
			centre := limit + shift.of(slope, luck)
			for _, p := range points {
				logs[k][i] += p.logLikelihood(q, slope, centre) + p.bound(limit)
			}
			most = max(most, logs[k][i])
		}
	}
	b := &belief{grid: grid, chance: make([]float64, len(grid))}
	total := 0.0
	bySlope := make([]float64, len(slopes))
	for k := range slopes {
		for i := range grid {
			w := math.Exp(logs[k][i] - most)
			b.chance[i] += w
			bySlope[k] += w
		}
		total += bySlope[k]
	}
	for i := range b.chance {
		b.chance[i] /= total
	}
	b.slope = slopes[0]
	for k, below := 0, 0.0; k < len(slopes) && below <= total/2; k++ {
		b.slope = slopes[k]
		below += bySlope[k]
	}
	return b
}

// point is a level as evidence on one objective.
type point struct {
	evidence
	rate  float64 // ln, as the sustained run would feel it
	luck  float64 // how far chance may have moved it
	most  float64 // ln of the rate that no limit exceeds, where it was overloaded
	loose float64 // how sure that is
}

func (s *Search) points(objective int) []point {
	var points []point
	for _, l := range s.seen {
		e := l.evidence[objective]
		if e.n == 0 {
			continue
		}
		due := max(float64(l.Requests), 1)
		growth := min(max(l.Growth/due, 0), 0.9)
		brief := max(1-float64(l.Duration)/float64(s.spec.Sustained), 0)
		flattered := brief * -math.Log1p(-growth)
		luck := luckPerRequest
		work := math.Log(l.Rate)
		if l.Work > 0 {
			luck = unseenLuck
			work += math.Log(min(max(l.Work, 0.5), 2))
		}
		p := point{evidence: e, rate: work - 0.75*flattered, most: math.Inf(1)}
		p.luck = math.Hypot(luck/math.Sqrt(due), flattered/2)
		if l.fills() || l.Overload && e.share > allowed(s.objectives[objective]) {
			half := -math.Log1p(-growth) / 2
			p.most = work - half
			p.loose = math.Hypot(luck/math.Sqrt(due), half)
		}
		points = append(points, p)
	}
	return points
}

// logLikelihood of what was seen, for a curve through the allowed share at
// centre, averaged over the level's luck.
func (p point) logLikelihood(q, slope, centre float64) float64 {
	clip := min(clipFactor*q, (1+q)/2)
	share := min(p.share, clip)
	var logs [len(normalNodes)]float64
	most := math.Inf(-1)
	for i, z := range normalNodes {
		expected := logistic(logit(q) + slope*(p.rate+z*p.luck-centre))
		if p.share > clip {
			expected = min(expected, clip)
		}
		expected = min(max(expected, 1e-12), 1-1e-12)
		logs[i] = p.effective * (share*math.Log(expected) + (1-share)*math.Log1p(-expected))
		most = max(most, logs[i])
	}
	sum := 0.0
	for i, w := range normalWeights {
		sum += w * math.Exp(logs[i]-most)
	}
	return most + math.Log(sum)
}

// bound is the log of how likely a limit is beside an overload that completed
// less: a rate beyond what was completed is no limit.
func (p point) bound(limit float64) float64 {
	if math.IsInf(p.most, 1) {
		return 0
	}
	z := (p.most - limit) / max(p.loose, 0.01)
	return math.Log(max(0.5*math.Erfc(-z/math.Sqrt2), 1e-9))
}

func logit(p float64) float64    { return math.Log(p) - math.Log1p(-p) }
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// lowest is the belief about the smallest of several limits on one grid.
func lowest(list []*belief) *belief {
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

// below is the belief about the smaller of two limits.
func (b *belief) below(other *belief) *belief {
	smaller := &belief{grid: b.grid, chance: make([]float64, len(b.grid)), slope: b.slope}
	beyond, otherBeyond, before := 1.0, 1.0, 1.0
	for i := range b.grid {
		beyond -= b.chance[i]
		otherBeyond -= other.chance[i]
		after := max(beyond, 0) * max(otherBeyond, 0)
		smaller.chance[i] = max(before-after, 0)
		before = after
	}
	return smaller
}

// blurred spreads a belief by what the model itself may be wrong about.
func (b *belief) blurred() *belief {
	out := &belief{grid: b.grid, chance: make([]float64, len(b.grid)), slope: b.slope}
	total := 0.0
	for i, from := range b.grid {
		if b.chance[i] == 0 {
			continue
		}
		for j, to := range b.grid {
			z := (to - from) / misfit
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

// broken reports whether a level broke any objective by more than a factor of
// what it allows. A factor above 1 is a first sight, for which one or two
// violations are not enough.
func (l seen) broken(objectives []slo.Objective, factor float64) (broken, judged bool) {
	for i, e := range l.evidence {
		if e.n == 0 || kindOf(objectives[i]) == rising {
			continue
		}
		judged = true
		bound := min(factor*allowed(objectives[i]), 0.9)
		enough := factor == 1 || e.share*e.n >= fewestBroken
		broken = broken || enough && e.share > bound
	}
	return broken, judged
}
