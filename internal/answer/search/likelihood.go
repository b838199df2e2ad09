package search

import "math"

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
		rate, luck := l.worked()
		work := math.Log(rate)
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

// worked is the rate that the work of a level comes to, and by how much luck per
// request it may still be off: the rate offered where the work is not known.
func (l seen) worked() (rate, luck float64) {
	if l.Work <= 0 {
		return l.Rate, luckPerRequest
	}
	return l.Rate * min(max(l.Work, 0.5), 2), unseenLuck
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
