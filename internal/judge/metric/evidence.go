package metric

import (
	"fmt"
	"math"

	"redline/internal/judge/slo"
	"redline/internal/stats"
	"redline/internal/text"
)

// How objectives are judged. docs/METRICS.md has the rule in words and, by
// `make verdicts`, how often it is wrong and how often it decides. The constants
// were chosen on other seeds than those that judge it.
const (
	// stretchCount cuts the window into stretches whose differences show how
	// values of one moment depend on one another. More would be shorter than
	// what a queue remembers, fewer too few to compare.
	stretchCount = 12
	// wideTail and widest choose the share of values beyond which dependence is
	// looked for: ten times the tail that is judged, where there is enough to
	// see.
	wideTail, widest = 10, 0.3
	// slopeTail is the part of the tail, in units of the share allowed, by which
	// its steepness is fitted.
	slopeTail = 3
	// upBy and downBy widen the margins of met and missed beyond their standard
	// error. A run that sees fewer independent clusters of violations than
	// fewClusters may have been a quiet one, which shows less variation than
	// there is: quietBy widens the margin of met there, and less where there
	// are more.
	upBy, quietBy, downBy = 1.3, 0.7, 1.3
	fewClusters           = 4
	// mostUp and mostDown bound a margin, in standard normal units on the log
	// scale, where the window is long enough for the queue: percentiles of such
	// windows do not scatter more.
	mostUp, mostDown = 0.26, 0.33
	// briefBy widens every margin where it is not.
	briefBy = 1.5
	// farFactor is how far from the limit, as a factor, values are beyond the reach
	// of any dependence between them.
	farFactor = 3
	// risesBy is the factor between the first and the last third of the window
	// from which a figure grows with the queue.
	risesBy = 1.5
	// fewestMissed is how many requests a miss takes at least.
	fewestMissed = 20
	// atLimit is the distance, as a share of the limit, within which no length
	// of a run is likely to decide a mean.
	atLimit = 0.02
)

// stretches cut the window evenly.
func (j judge) stretches() batches { return evenly(j.o.Start, j.o.End, stretchCount) }

// evidence is what a window's values say about a bound on their percentile.
type evidence struct {
	p float64
	n float64 // requests, or what stands for them
	// fewest and most bound the share of values beyond the limit: what this
	// machine held up, and requests that were cut off, may or may not be.
	fewest, most float64
	// clustering is by how much the variance of the count of violations exceeds
	// that of independent requests; 1 where that may be chance.
	clustering float64
	// doubt says in words why fewest and most differ.
	doubt string
	whose string // which requests n counts, where not all
}

// fewBeyond reports whether a server that just misses the objective would show
// so few violations with a chance of at most alpha.
func (e evidence) fewBeyond(share, alpha float64) bool {
	return stats.BinomialAtMost(share*e.n, e.n, 1-e.p) <= alpha
}

// manyBeyond reports whether a server that just meets the objective would show
// so many violations with a chance of at most alpha, clustered as they are.
func (e evidence) manyBeyond(share, alpha float64) bool {
	n := e.n / e.clustering
	return stats.BinomialAtLeast(share*n, n, 1-e.p) <= alpha
}

// blatant reports whether so many are beyond that dependence cannot matter: by
// Markov's inequality a server that meets the objective shows a share of s in
// at most (1 − p)/s of all runs.
func (e evidence) blatant(share, alpha float64) bool {
	return e.n >= fewestMissed && share*alpha >= (1-e.p)*(1-1e-9)
}

// plain reports whether the count alone leaves no doubt, with violations twice
// as clustered as they look and a chance of error that is a fifth: a kind of
// slow requests that lies just beyond the limit has no distance from it.
func (e evidence) plain(share, clustering, alpha float64) bool {
	n := e.n / (2 * max(e.clustering, clustering))
	return stats.BinomialAtLeast(share*n, n, 1-e.p) <= alpha/5
}

// spread is how far the percentile of one run lies from that of all runs like
// it, on the log scale: the margins to either side.
type spread struct{ up, down float64 }

// clusteringOf is the variance of the counts by stretch over that of
// independent ones, at least 1. Only what chance would seldom show counts,
// where significant is asked for.
func clusteringOf(above, sizes []int, significant bool) float64 {
	n := sum(sizes)
	k := 0
	for _, size := range sizes {
		if size > 0 {
			k++
		}
	}
	if k < 2 || n == 0 {
		return 1
	}
	ratio := float64(n) / stats.EffectiveN(n, above, sizes)
	if significant && ratio*float64(k-1) < stats.ChiSquareQuantile(0.95, float64(k-1)) {
		return 1
	}
	return max(ratio, 1)
}

// spreadOf estimates the spread of the p-quantile from the steepness of the
// tail and the clustering of what lies beyond a wider one:
// var log x = clustering / (steepness² · n · (1 − p)).
//
// Runs whose percentile differs make the share beyond a limit, over all of
// them, larger than the typical run's: by half the variance times the
// steepness, which moves the percentile of all runs up.
func (j judge) spreadOf(all sample, p float64) (s spread, clustering float64) {
	q, n := 1-p, float64(all.count())
	sizes, above := all.beyond(j.stretches(), []float64{all.quantile(1 - min(wideTail*q, max(q, widest)))})
	clustering = clusteringOf(above[0], sizes, false)
	scale := all.meanLogExcess(min(slopeTail*q, 0.5))
	variance := clustering * scale * scale / (n * q)
	common := variance * (1 - 1/clustering)
	shift := 0.0
	if scale > 0 {
		shift = common / scale / 2
	}
	z := stats.StudentQuantile(1-j.o.alpha(), stretchCount-1)
	quiet := min(1, fewClusters*clustering/(n*q))
	s = spread{up: shift + (upBy+quiet*quietBy)*z*math.Sqrt(variance), down: max(downBy*z*math.Sqrt(variance)-shift, 0)}
	if j.window.Brief {
		return spread{briefBy * s.up, briefBy * s.down}, clustering
	}
	return spread{min(s.up, mostUp*z), min(s.down, mostDown*z)}, clustering
}

// decide judges a percentile by counts and by magnitude: met needs few enough
// beyond the limit, and a percentile that lies below it by more than runs
// scatter, or nothing at all near it; missed likewise. Met is judged by the high
// ends of the values and missed by the low ones.
func (j judge) decide(verdict slo.Verdict, e evidence, lows, highs sample, limit float64) slo.Verdict {
	alpha := j.o.alpha()
	s, clustering := j.spreadOf(highs, e.p)
	down := s
	if &lows.sorted[0] != &highs.sorted[0] {
		down, _ = j.spreadOf(lows, e.p)
	}
	verdict.NEff = new(round(float64(highs.count()) / clustering))
	verdict.Confidence = j.o.confidence()
	cutOff := float64(verdict.CutOff) / float64(max(verdict.N, 1))
	above, below := highs.quantile(e.p)*math.Exp(s.up), lows.quantile(e.p-cutOff)*math.Exp(-down.down)
	far := e.most == 0 && highs.quantile(1)*farFactor <= limit
	switch {
	case e.blatant(e.fewest, alpha), e.plain(e.fewest, clustering, alpha), e.manyBeyond(e.fewest, alpha) && below > limit:
		verdict.Standing = slo.Missed
		if !math.IsInf(below, 1) && below > limit {
			verdict.Bound = new(round(below))
		}
	case e.fewBeyond(e.most, alpha) && (far || above <= limit):
		verdict.Standing, verdict.Bound = slo.Met, new(round(min(above, limit)))
		if j.growing(highs.from) {
			verdict.Standing, verdict.Bound, verdict.Note = slo.Undecided, nil, growingQueue
		}
	default:
		verdict.Note = j.open(e, below, above, limit)
	}
	return verdict
}

// open says why an objective is too close to call, and what would decide it. A
// queue that grows is a reason only where the rest speaks for a met.
func (j judge) open(e evidence, below, above, limit float64) string {
	alpha := j.o.alpha()
	switch {
	case j.window.overloaded() && e.most <= 1-e.p:
		return growingQueue
	case e.doubt != "" && (e.fewBeyond(e.fewest, alpha) || e.manyBeyond(e.most, alpha)):
		return e.doubt
	case !e.fewBeyond(e.most, alpha) && !e.manyBeyond(e.fewest, alpha):
		effective := e.n
		if e.fewest > 1-e.p {
			effective /= e.clustering // as manyBeyond counts
		}
		return e.needs(effective, alpha)
	case j.window.Brief:
		return "the queue moves slowly: the window holds too few independent stretches; run longer"
	case math.IsInf(above, 1):
		return "violations come in clusters: run longer"
	}
	return between(below, above, "ms", j.o.confidence())
}

// between says that a figure is not known well enough.
func between(low, high float64, unit string, confidence float64) string {
	return fmt.Sprintf("between %s and %s %s with %s confidence: run longer", threeDigits(low), threeDigits(high), unit, text.Percent(confidence))
}

// needs says how many more requests like these would decide, when they are worth
// effective independent ones.
func (e evidence) needs(effective, alpha float64) string {
	if e.n < fewestMissed {
		return fmt.Sprintf("too few requests%s: %s, %d needed at least", e.whose, text.Count(int(math.Round(e.n))), stats.FewestToMeet(e.p, alpha))
	}
	more, ok := stats.More(int(math.Round(e.n)), effective, int(math.Round(e.most*e.n)), e.p, alpha)
	switch {
	case !ok:
		return "at the limit"
	case more <= 1:
		return "about 1 more request" + e.whose + " would decide"
	}
	return "about " + text.Count(more) + " more requests" + e.whose + " would decide"
}

// decideShare judges a share of all requests, which has no magnitude.
func (j judge) decideShare(verdict slo.Verdict, broken [endCount][]int, sizes []int, p float64) slo.Verdict {
	n := sum(sizes)
	verdict.N, verdict.Violations = n, sum(broken[asMeasured])
	if n == 0 {
		return verdict
	}
	if p >= 1 || p <= 0 {
		return j.certain(verdict, sum(broken[low]) > 0, sum(broken[high]) > 0)
	}
	share := func(e end) float64 { return float64(sum(broken[e])) / float64(n) }
	e := evidence{p: p, n: float64(n), fewest: share(low), most: share(high), clustering: clusteringOf(broken[high], sizes, true)}
	verdict.NEff = new(round(e.n / e.clustering))
	verdict.Confidence = j.o.confidence()
	clustered := e
	clustered.n /= e.clustering
	switch alpha := j.o.alpha(); {
	case e.blatant(e.fewest, alpha), e.manyBeyond(e.fewest, alpha):
		verdict.Standing = slo.Missed
	case clustered.fewBeyond(e.most, alpha):
		verdict.Standing = slo.Met
	case e.manyBeyond(share(asMeasured), alpha) || clustered.fewBeyond(share(asMeasured), alpha):
		verdict.Note = j.heldUp(verdict)
	default:
		verdict.Note = e.needs(clustered.n, alpha)
	}
	return verdict
}

// growing reports whether the queue grows and the values with it. Where only
// long replies still gather, or a scheduler keeps the pace of what it has
// begun, they do not.
func (j judge) growing(values source) bool {
	if !j.window.overloaded() {
		return false
	}
	var logs, counts [3]float64
	values.visit(evenly(j.o.Start, j.o.End, len(logs)), func(third int, ms float32, n int) {
		if v := float64(ms); v > 0 && !math.IsInf(v, 1) {
			logs[third] += float64(n) * math.Log(v)
			counts[third] += float64(n)
		}
	})
	return !(logs[2]/counts[2]-logs[0]/counts[0] < math.Log(risesBy))
}

const growingQueue = "the queue grows: a longer window would be slower"

// certain judges a bound that allows no violation at all, by whether there is
// one at the low and at the high ends.
func (c *collector) certain(verdict slo.Verdict, lowBeyond, highBeyond bool) slo.Verdict {
	switch {
	case lowBeyond:
		verdict.Standing = slo.Missed
	case highBeyond:
		verdict.Note = c.heldUp(verdict)
	default:
		verdict.Standing = slo.Met
	}
	return verdict
}

// threeDigits writes a figure without false precision.
func threeDigits(v float64) string {
	if math.IsInf(v, 0) {
		return "∞"
	}
	return text.Number(v)
}

func sum[T int | float64](counts []T) T {
	var total T
	for _, n := range counts {
		total += n
	}
	return total
}
