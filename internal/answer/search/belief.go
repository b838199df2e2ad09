package search

import (
	"cmp"
	"math"
	"time"
)

// How evidence is weighed. The share of requests that break an objective is
// taken to follow a logistic curve in the logarithm of the rate,
//
//	logit share = logit allowed + slope · (ln rate − ln limit),
//
// and the belief is the posterior of limit and slope on a grid, both unknown:
// limits as the ramp leaves them, slopes from gentle to a cliff. A run without
// luck is one that half of the runs are worse than, so that the limit is where
// its share is what is allowed. Four things make the belief honest.
//
// Violations crowd: a level counts with its effective number of requests.
//
// Levels differ by the luck of their draw: a window of n requests offers a
// little more or less work than its rate says, by luckPerRequest/√n. Each
// level has such an unseen shift of its rate, over which its likelihood is
// averaged; where the work that came is known it moves the level's rate, and
// only unseenLuck is left.
//
// A short level flatters: queues and batches that take minutes to fill have
// not filled. What a level kept up with is its rate less the share of its
// requests by which those in flight grew, so a level that is shorter than the
// sustained run counts as one at some lower rate, down to about that. Where a
// queue only has to grow to break an objective (late), every short level counts
// a little lower, and the belief stays wider while there is no long one; less so
// where the pace foretells that queue (pace.go).
//
// The curve is logistic only near the limit: shares that rise gently below it
// leap where the server overloads. So a level with more than clipFactor times
// the allowed share only says that the share is at least that; told in full, it
// would bend the slope at the limit and, from levels below, point too low.
//
// Three things say more than shares. An overload: the limit is below what was
// offered, by up to what stayed in flight; of several only the strongest counts,
// and a share that a growing queue has not yet reached counts for nothing. The
// percentile itself, where it is near its limit. And the pace between tokens,
// which tells at every load where a queue would collapse.
//
// Lucks, shifts, spreads and misfits, by which the curve itself may be wrong,
// were set so that intervals cover the limits of the engines in docs/LIMIT.md.
const (
	luckPerRequest = 1.8
	unseenLuck     = 1.0
	clipFactor     = 3
	briefShift     = 0.02
	briefSpread    = 0.015
	lateShift      = 0.03
	lateSpread     = 0.06
	pacedSpread    = 0.12
	overloadSpread = 0.6
	pacedOverload  = 1.0 // overloadSpread, where the pace says it better
	gridPoints     = 151
	widePoints     = 91
	misfit         = 0.028
	briefMisfit    = 0.06
	lateMisfit     = 0.048
	replyMisfit    = 0.047
)

// slopes is the grid of logits per unit of ln rate.
var slopes = []float64{5, 7, 10, 15, 22, 33, 50, 75, 110, 160, 240}

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
func axis(lo, hi float64, points int) []float64 {
	grid := make([]float64, points)
	for i := range grid {
		grid[i] = lo + (hi-lo)*float64(i)/float64(points-1)
	}
	return grid
}

// wide is the grid around everything that was offered, within what may be.
func (s *Search) wide() []float64 {
	within := func(v float64) float64 { return min(max(v, math.Log(s.spec.Floor)), math.Log(s.spec.Ceiling)) }
	lo := within(math.Log(cmp.Or(s.ramped, s.spec.Start)))
	hi := lo
	for _, l := range s.seen {
		lo, hi = min(lo, within(math.Log(l.Rate))), max(hi, within(math.Log(l.Rate)))
	}
	return axis(within(lo-3), within(hi+2), widePoints)
}

// What a ramp that met a queue says of the limit before any level: it is
// probably rampOver times too high, by a factor of rampSpread or so, and the
// limit of an objective that is strict may lie far below.
const (
	rampOver   = 5
	rampSpread = 0.35
)

// prior is the log of how likely a limit is before any level.
func (s *Search) prior(limit float64) float64 {
	if s.ramped == 0 {
		return 0
	}
	z := (limit - math.Log(s.ramped/rampOver)) / rampSpread
	if !s.queued {
		return math.Log(0.5 * math.Erfc(-z/math.Sqrt2))
	}
	return -2 * math.Log1p(z*z/3) // Student's t, which leaves room for surprises
}

// closer is the grid on which nearly all of a belief lies.
func (b *belief) closer() []float64 {
	step := b.grid[1] - b.grid[0]
	margin := max(step, 4*lateMisfit)
	return axis(math.Log(b.quantile(1e-4))-margin, math.Log(b.quantile(1-1e-4))+margin, gridPoints)
}

// believed is the posterior of the limit by each objective, nil where load
// only helps.
func (s *Search) believed() []*belief {
	list := s.on(s.wide())
	for i, b := range list {
		if b != nil {
			list[i] = s.believe(b.closer(), i).blurred(s.misfit(i))
		}
	}
	return list
}

// belief is the posterior of the limit by all objectives.
func (s *Search) belief() *belief {
	list := s.on(lowest(s.on(s.wide())).closer())
	for i, b := range list {
		if b != nil {
			list[i] = b.blurred(s.misfit(i))
		}
	}
	return lowest(list)
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
	stand := s.standstill()
	near := nearness(grid, points, q, s.near(objective), stand)
	logs := make([][]float64, len(slopes))
	most := math.Inf(-1)
	for k, slope := range slopes {
		logs[k] = make([]float64, len(grid))
		for i, limit := range grid {
			logs[k][i] = s.prior(limit)
			logs[k][i] += near[i] + mostly(points, limit)
			if late(s.objectives[objective]) {
				logs[k][i] += stand.allows(limit)
			}
			for _, p := range points {
				logs[k][i] += p.logLikelihood(q, slope, limit)
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
	rate  float64 // ln, of what the level offered
	luck  float64 // how far chance may have moved it
	fill  float64 // how far below it a sustained run at the same share may lie, on average
	most  float64 // ln of the rate that no limit exceeds, where it was overloaded
	loose float64 // how sure that is
}

func (s *Search) points(objective int) []point {
	var points []point
	loose, shift := overloadSpread, 0.0
	switch {
	case s.standstill().spread > 0:
		loose = pacedOverload
	case late(s.objectives[objective]):
		shift = lateShift
	}
	for _, l := range s.seen {
		e := l.evidence[objective]
		if e.n == 0 {
			continue
		}
		due := max(float64(l.Requests), 1)
		growth := min(max(l.Growth/due, 0), 0.9)
		brief := s.brief(l.Duration)
		flattered := brief * -math.Log1p(-growth)
		luck := luckPerRequest
		work := math.Log(l.Rate)
		if l.Work > 0 {
			luck = unseenLuck
			work += math.Log(min(max(l.Work, 0.5), 2))
		}
		p := point{evidence: e, rate: work, fill: 0.75*flattered + (briefShift+shift)*brief, most: math.Inf(1)}
		p.luck = math.Hypot(luck/math.Sqrt(due), briefSpread*brief)
		if l.fills() && p.value < 1 {
			p.value = 0 // what has not come yet is no value
		}
		if s.overruns(l, objective) && e.share <= allowed(s.objectives[objective]) {
			p.effective = 0 // nor is it a share
		}
		if l.fills() && (e.share > clipFactor*allowed(s.objectives[objective]) || s.overruns(l, objective)) {
			half := -math.Log1p(-min(max((l.Growth-l.begun())/due, 0), 0.9)) / 2
			p.most = work - half
			p.loose = math.Hypot(luck/math.Sqrt(due), loose*half)
		}
		points = append(points, p)
	}
	return points
}

// fillNodes average over how far a level that was filling is from one that
// lasts, in units of the mean.
var fillNodes = [3]float64{1.0 / 3, 1, 5.0 / 3}

// logLikelihood of what was seen, for a curve through the allowed share at
// limit, averaged over the level's luck and over how much it flatters.
func (p point) logLikelihood(q, slope, limit float64) float64 {
	fills := fillNodes[:]
	if p.fill < p.luck/4 {
		fills = fillNodes[1:2]
	}
	var kept [len(normalNodes) * len(fillNodes)]float64
	logs := kept[:0]
	most := math.Inf(-1)
	for _, part := range fills {
		for i, z := range normalNodes {
			l := p.at(q, slope*(p.rate-part*p.fill+z*p.luck-limit)) + math.Log(normalWeights[i]/float64(len(fills)))
			logs = append(logs, l)
			most = max(most, l)
		}
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return most + math.Log(sum)
}

// at is the log likelihood where the logit of the share is so far beyond that of
// the allowed one.
func (p point) at(q, beyond float64) float64 {
	clip := min(clipFactor*q, (1+q)/2)
	share := min(p.share, clip)
	expected := logistic(logit(q) + beyond)
	if p.share > clip {
		expected = min(expected, clip)
	}
	expected = min(max(expected, 1e-12), 1-1e-12)
	return p.effective * (share*math.Log(expected) + (1-share)*math.Log1p(-expected))
}

// Values of a percentile say how far the limit is where no request is beyond it
// yet. Near the limit the percentile is taken to be a power of the rate, of an
// unknown exponent; only levels whose value is within nearFactor of the limit
// count, since further off curves bend. A value is uncertain by nearSpread, and
// by nearNoise over the root of the requests beyond the percentile.
const (
	nearFactor = 2.5
	nearSpread = 0.19 // of a time to a first token
	paceSpread = 0.12 // of a pace, which is smoother
	nearNoise  = 0.4
	nearFill   = 0.3
	// A percentile of times to a first token is lateSteep times as steep in the
	// rate as the mean pace is, one of the pace just so; by factors of e to the
	// lateAbout and paceAbout.
	lateSteep, lateAbout = 1.3, 0.4
	paceSteep, paceAbout = 1.0, 0.4
)

var exponents = []float64{1, 1.5, 2.2, 3.3, 5, 7.5, 11, 16}

// rise is how a percentile nears its limit: by what it is uncertain, and how
// steep it is beside the pace, more or less.
type rise struct{ spread, steep, about float64 }

func (s *Search) near(objective int) rise {
	if late(s.objectives[objective]) {
		return rise{nearSpread, lateSteep, lateAbout}
	}
	return rise{paceSpread, paceSteep, paceAbout}
}

// nearness is the log likelihood of each limit by the values of the levels near
// it, averaged over exponents.
func nearness(grid []float64, points []point, q float64, r rise, stand standstill) []float64 {
	out := make([]float64, len(grid))
	for i, limit := range grid {
		sum, weights := 0.0, 0.0
		steep := stand.steep(limit)
		for _, k := range exponents {
			l := 0.0
			if steep > 0 {
				z := math.Log(k/min(max(r.steep*steep, exponents[0]), exponents[len(exponents)-1])) / r.about
				l = -z * z / 2
			}
			weights += math.Exp(l)
			for _, p := range points {
				if p.value < 1/nearFactor || p.value > nearFactor {
					continue
				}
				spread := math.Hypot(math.Hypot(r.spread, nearNoise/math.Sqrt(math.Sqrt(p.n*p.effective)*q+1)), k*math.Hypot(p.luck, p.fill/2))
				z := (math.Log(p.value) - k*(p.rate-nearFill*p.fill-limit)) / spread
				l -= 2*math.Log1p(z*z/3) + math.Log(spread)
			}
			sum += math.Exp(l)
		}
		out[i] = math.Log(max(sum/weights, 1e-300))
	}
	return out
}

// mostly is the log of how likely a limit is beside the overload that says most
// against it: a rate beyond what a server that cannot keep up completes is no
// limit.
func mostly(points []point, limit float64) float64 {
	least := 0.0
	for _, p := range points {
		if !math.IsInf(p.most, 1) {
			z := (p.most - limit) / max(p.loose, 0.01)
			least = min(least, math.Log(max(0.5*math.Erfc(-z/math.Sqrt2), 1e-9)))
		}
	}
	return least
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

// misfit is by how much the model itself may be wrong about an objective. All
// levels may be too short to show a queue that takes minutes to build up, and
// replies that last as long as a level are seen only in part.
func (s *Search) misfit(objective int) float64 {
	longest := time.Duration(0)
	for _, l := range s.seen {
		longest = max(longest, l.Duration)
	}
	if !late(s.objectives[objective]) {
		return math.Hypot(misfit, briefMisfit*math.Pow(s.brief(longest), 5))
	}
	by := lateSpread * s.brief(longest)
	if s.standstill().spread > 0 {
		by = pacedSpread * math.Pow(s.brief(longest), 5) // the pace foretells it
	}
	by = math.Hypot(lateMisfit, by)
	if s.objectives[objective].Metric == "e2e" {
		by = math.Hypot(by, replyMisfit)
	}
	return by
}

// brief is the share of a sustained run that a level lacks.
func (s *Search) brief(d time.Duration) float64 {
	return max(1-float64(d)/float64(s.spec.Sustained), 0)
}

// blurred spreads a belief.
func (b *belief) blurred(by float64) *belief {
	out := &belief{grid: b.grid, chance: make([]float64, len(b.grid)), slope: b.slope}
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
