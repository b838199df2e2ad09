package search

import (
	"math"
)

// normalNodes and normalWeights average over a standard normal (Gauss and
// Hermite's five points).
var (
	normalNodes   = [5]float64{-2.856970013872806, -1.355626179974266, 0, 1.355626179974266, 2.856970013872806}
	normalWeights = [5]float64{0.011257411327721, 0.222075922005613, 0.533333333333333, 0.222075922005613, 0.011257411327721}
)

// point is a level as evidence on one objective.
type point struct {
	evidence
	rate  float64 // ln, of what the level offered
	luck  float64 // how far chance may have moved it
	fill  float64 // how far below it a sustained run at the same share may lie, on average
	upper float64 // ln of the rate that no limit exceeds, where it was overloaded
	loose float64 // how sure that is
	leaps bool    // a share far beyond what is allowed may be any such share
}

func (s *Search) points(objective int) []point {
	var points []point
	for _, l := range s.levels {
		if l.evidence[objective].n > 0 {
			points = append(points, s.point(l, objective))
		}
	}
	return points
}

// point is what a level says about an objective.
func (s *Search) point(l levelResult, objective int) point {
	o, e := s.objectives[objective], l.evidence[objective]
	brief := s.brief(l.Duration)
	rate, luck := l.workRate()
	shift := briefShift
	if late(o) && s.standstill().spread == 0 {
		shift += lateShift
	}
	p := point{evidence: e, rate: math.Log(rate), fill: s.flattery(l, objective) + shift*brief, upper: math.Inf(1)}
	p.luck = math.Hypot(s.luckOf(l, luck), briefSpread*brief)
	if s.fills(l) && p.value < 1 {
		p.value = 0 // what has not come yet is no value
	}
	if s.overruns(l, objective) && e.low <= allowedShare(o) {
		p.effective = 0 // nor is it a share
	}
	p.upper, p.loose = s.overload(l, objective)
	return p
}

// How much a level flatters that is shorter than a sustained run.
const (
	flatteryPart = 0.75
	unfilledPart = 0.8
	// A percentile that is farFrom of its limit or nearer tells by itself how far
	// the limit is; one that is farSpan further off may leap when memory is full.
	farFrom = 1.0
	farSpan = 0.5
)

// flattery is how far below the rate of a level a sustained run at the same
// share may lie, on average: by how much the requests in flight grew, and by how
// much is missing in memory.
func (s *Search) flattery(l levelResult, objective int) float64 {
	growth := min(max(l.Growth/max(float64(l.Requests), 1), 0), 0.9)
	by, far := -math.Log1p(-growth), 1.0
	if s.slowing(l.Observation) > 1 {
		by = max(by, unfilledPart*s.fillCorrection(l))
		if late(s.objectives[objective]) {
			far = min(max((farFrom-l.evidence[objective].value)/farSpan, 0), 1)
		}
	}
	return flatteryPart * far * by * s.brief(l.Duration)
}

// What a level with many violations says.
const (
	// manyBroken is the share of requests that only a rate beyond the limit has.
	manyBroken   = 0.25
	beyondSpread = 0.05
	// Where the pace is below memorySlowing times that of a lone reply, far from a
	// standstill, only memory makes so many wait.
	memorySlowing = 3.5
	memorySpread  = 0.15
)

// overload is the ln of the rate that no limit exceeds by a level, and how sure
// that is: the rate less half of what stayed in flight where the server did not
// keep up, the rate itself where many requests broke the objective, or the rate
// that keeps as much in memory where that is what they waited for.
func (s *Search) overload(l levelResult, objective int) (most, loose float64) {
	o, e := s.objectives[objective], l.evidence[objective]
	rate, luck := l.workRate()
	noise := s.luckOf(l, luck)
	most = math.Inf(1)
	if e.low-s.noiseOf(e) > manyBroken && kindOf(o) == counted {
		most, loose = math.Log(rate), math.Hypot(noise, beyondSpread)
		if slowing := s.slowing(l.Observation); late(o) && slowing > 1 && slowing < memorySlowing {
			most, loose = most-s.fillCorrection(l), memorySpread
		}
	}
	if s.fills(l) && (e.low > clipFactor*allowedShare(o) || s.overruns(l, objective)) {
		half := -math.Log1p(-min(max((l.Growth-s.startupGrowth(l))/max(float64(l.Requests), 1), 0), 0.9)) / 2
		spread := overloadSpread
		if s.standstill().spread > 0 {
			spread = pacedOverload
		}
		if at := math.Log(rate) - half; at < most {
			most, loose = at, math.Hypot(noise, spread*half)
		}
	}
	return most, loose
}

// noiseOf is by how much the share of a level may be too high by chance, where that
// is much: agents send few requests, of which one in three says nothing.
func (s *Search) noiseOf(e evidence) float64 {
	if !s.spec.Agents || e.effective <= 0 {
		return 0
	}
	return 2 * math.Sqrt(e.low*(1-e.low)/e.effective)
}

// workRate is the rate that the work of a level comes to, and by how much luck per
// request it may still be off: the rate offered where the work is not known.
func (l levelResult) workRate() (rate, luck float64) {
	if l.Work <= 0 {
		return l.Rate, luckPerRequest
	}
	return l.Rate * min(max(l.Work, 0.5), 2), unseenLuck
}

// luckOf is by how much chance may have moved a level, in logarithms, with that luck
// of a request. The requests of a job are alike: of agents the jobs are drawn.
func (s *Search) luckOf(l levelResult, luck float64) float64 {
	n := float64(l.Requests)
	if s.spec.Agents {
		luck, n = luckPerJob, l.Rate+n/s.spec.Turns
	}
	return luck / math.Sqrt(max(n, 1))
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
// the allowed one, less what it is at most. Shares between the two ends are equally
// likely, and so are all beyond the clip.
func (p point) at(q, beyond float64) float64 {
	clip := 1.0
	if p.leaps {
		clip = min(clipFactor*q, (1+q)/2)
	}
	low, high := min(p.low, clip), p.high
	if high > clip {
		high = 1
	}
	expected := min(max(logistic(logit(q)+beyond), 1e-12), 1-1e-12)
	share := min(max(expected, low), high)
	return -p.effective * (excess(share, expected) + excess(1-share, 1-expected))
}

// excess is one part of the information that a share has over the expected one.
func excess(share, expected float64) float64 {
	if share <= 0 {
		return 0
	}
	return share * math.Log(share/expected)
}

// Values of a percentile say how far the limit is where no request is beyond it
// yet. Near the limit the percentile is taken to be a power of the rate, of an
// unknown exponent; only levels whose value is within nearFactor of the limit
// count, since further off curves bend. A value is uncertain by nearSpread, and
// by nearNoise over the root of the requests beyond the percentile.
const (
	nearFactor = 2.5
	nearSpread = 0.12 // of a time to a first token
	// of one of agents: prompts are in the cache or not, and few that are not move a
	// percentile from the one to the other
	agentSpread = 0.5
	paceSpread  = 0.09 // of a pace, which is smoother
	nearCommon  = 0.1  // of all of them together
	paceCommon  = 0.05
	nearNoise   = 0.45
	nearFill    = 0.3
	nearFew     = 0.12 // a percentile of few requests is too low
	paceFill    = 0.5
	// A percentile of times to a first token is lateSteep times as steep in the
	// rate as the mean pace is, one of the pace just so; by factors of e to the
	// lateAbout and paceAbout.
	lateSteep = 1.3
	lateAbout = 0.45
	paceSteep = 1.0
	paceAbout = 0.3
)

var exponents = []float64{0.5, 0.7, 1, 1.5, 2.2, 3.3, 5, 7.5, 11, 16}

// rise is how a percentile nears its limit: by what it is uncertain, and how
// steep it is beside the pace, more or less.
type rise struct{ spread, common, steep, about, fill, few float64 }

func (s *Search) rise(objective int) rise {
	if late(s.objectives[objective]) {
		if s.spec.Agents {
			return rise{agentSpread, nearCommon, lateSteep, lateAbout, nearFill, nearFew}
		}
		return rise{nearSpread, nearCommon, lateSteep, lateAbout, nearFill, nearFew}
	}
	return rise{paceSpread, paceCommon, paceSteep, paceAbout, paceFill, 0}
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
			for j, shift := range normalNodes {
				all := l + math.Log(normalWeights[j])
				for _, p := range points {
					if p.value < 1/nearFactor || p.value > nearFactor {
						continue
					}
					spread := math.Hypot(math.Hypot(r.spread, nearNoise/math.Sqrt(math.Sqrt(p.n*p.effective)*q+1)), k*math.Hypot(p.luck, p.fill/2))
					spread = math.Hypot(spread, p.blur)
					z := (math.Log(p.value) + r.few/(1+p.n*q) + shift*r.common - k*(p.rate-r.fill*p.fill-limit)) / spread
					all -= 2*math.Log1p(z*z/3) + math.Log(spread)
				}
				sum += math.Exp(all)
			}
		}
		out[i] = math.Log(max(sum/weights, 1e-300))
	}
	return out
}

// overloadLikelihood is the log of how likely a limit is beside the overload that says most
// against it: a rate beyond what a server that cannot keep up completes is no
// limit.
func overloadLikelihood(points []point, limit float64) float64 {
	least := 0.0
	for _, p := range points {
		if !math.IsInf(p.upper, 1) {
			z := (p.upper - limit) / max(p.loose, 0.01)
			least = min(least, math.Log(max(0.5*math.Erfc(-z/math.Sqrt2), 1e-9)))
		}
	}
	return least
}

func logit(p float64) float64    { return math.Log(p) - math.Log1p(-p) }
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
