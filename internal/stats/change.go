package stats

import (
	"math"
	"slices"
)

// Change is where a short series of runs seems to change its level.
type Change struct {
	// At is the index of the first value of the new level, 0 where the series
	// is too short to tell.
	At int
	// P is the chance of so clear a change in a series without one, NaN where
	// the series is too short.
	P float64
	// Before and After are the medians of the values before At and from At on.
	Before, After float64
}

// Monitor watches a series of runs as it grows, and gives a change of level
// a P that is at most alpha with a chance of alpha for a false alarm anywhere in its first Runs
// values; where Runs is 0, in the one series it is asked about. It compares the
// last two and the last three values with all before by the t test with pooled
// variance, provided that every one of them lies outside of the middle half of
// those before: one run gone astray is not a new level. P is adjusted evenly
// among the runs, and at each run among the two comparisons (Bonferroni).
//
// It assumes values that spread normally about their level; give it logarithms
// of latencies. Ranks could not answer so early: the last two of twenty values
// are the two largest once in 190 orders by chance alone, and a year has twelve
// such looks. A slow drift, which never stands out within three runs, is found
// by MannKendall.
//
// At an alpha of 0.04, a step of 10 % that the last two of 22 runs show is
// called in more than nine of ten series where the noise between runs is 3 % and
// this is the only look, or 2 % and every run of two years is looked at. With
// 3 % and so many looks even the third run brings it to 0.896 only: two or three
// such runs do not hold enough to be both so sure and so quick.
type Monitor struct {
	Runs int
	// Spread holds earlier levels, which lend the present one their spread
	// but not their height: soon after a change there is little else to know
	// it from.
	Spread [][]float64
	// Creep compares the last three values with the first ones too, so that a
	// level that moves a little with every run is seen as well.
	Creep bool
	// Trials says of how many yes-or-no outcomes each value that is judged is
	// the share; nil where values are no such shares. Runs of rare events
	// often show none and so no spread, against which a single one would stand
	// out without end; so a change of shares has to be one of the counts too.
	Trials []float64
	// Alike is the correlation of a run with the next one, 0 where each is a new
	// draw: runs that resemble their neighbors say less about the level, and
	// their spread less about how far it wanders.
	Alike float64
}

// MinWatched is the shortest series in which a Monitor may call a change.
const MinWatched = learning + 2

// learning is how many values a Monitor takes as given before it judges: it has
// to learn the level and the spread from them.
const learning = 8

// latest are the numbers of last values that may be the new level.
var latest = [...]int{2, 3}

// Judge says whether the series changed within its last three values. P is
// adjusted for all comparisons over the Monitor's runs, so that a change is
// called where it is at most alpha. Values from before a change that was called
// are the caller's to cut off.
func (m Monitor) Judge(series []float64) Change {
	best := Change{P: math.NaN(), Before: math.NaN(), After: math.NaN()}
	for _, c := range m.contrasts(len(series)) {
		p := 1.0
		before, after := series[:c.reference], series[c.at:]
		if isSeparate(before, after) {
			p = min(max(m.pooledT(series, c), m.byCount(series, c))*m.Judgements(), 1)
			if c.reference < c.at && m.Alike > 0 {
				p = max(p, min(slopeP(series)*m.Judgements(), 1))
			}
		}
		if !(p >= best.P) {
			best = Change{At: c.at, P: p, Before: Median(series[:c.at]), After: Median(series[c.at:])}
			best.Before = Median(before)
		}
	}
	return best
}

// contrast is a comparison of the values from at on with the first ones up to
// reference.
type contrast struct{ reference, at int }

// contrasts are the comparisons that a series of n values allows.
func (m Monitor) contrasts(n int) []contrast {
	lent := 0
	for _, level := range m.Spread {
		lent += max(len(level)-1, 0)
	}
	var found []contrast
	for _, last := range latest {
		at := n - last
		if at < 1 || at+lent < learning {
			continue
		}
		found = append(found, contrast{at, at})
		if m.Creep && last == latest[len(latest)-1] && at > learning {
			found = append(found, contrast{learning, at})
		}
	}
	return found
}

// comparisons is how many there are at each run.
func (m Monitor) comparisons() int {
	if m.Creep {
		return len(latest) + 1
	}
	return len(latest)
}

// isSeparate says whether all later values lie above, or all below, the middle
// half of the earlier ones.
func isSeparate(earlier, later []float64) bool {
	sorted := slices.Sorted(slices.Values(earlier))
	return slices.Min(later) > Quantile(sorted, 0.75) || slices.Max(later) < Quantile(sorted, 0.25)
}

// Judgements is how many comparisons there are over the Monitor's runs.
func (m Monitor) Judgements() float64 {
	return float64(m.comparisons() * max(m.Runs-learning-latest[0]+1, 1))
}

// pooledT is the two-sided P of Student's t test with pooled variance of
// whether the values of a contrast have one mean; either side may be a single
// value where earlier levels show the spread.
func (m Monitor) pooledT(series []float64, c contrast) float64 {
	before, after := series[:c.reference], series[c.at:]
	if c.reference < c.at {
		m.Alike = 0 // whether it creeps is asked of the whole series
	}
	squares, expected, freedom := 0.0, 0.0, 0.0
	for _, level := range append([][]float64{before, after}, m.Spread...) {
		n := len(level)
		squares += squaresAround(level)
		expected += float64(n) * (1 - m.covariance(0, n, 0, n))
		freedom += float64(max(n-1, 0))
	}
	apart := math.Abs(Mean(before) - Mean(after))
	if squares == 0 && apart == 0 {
		return 1
	}
	n, r := len(series), m.Alike
	doubt := m.covariance(0, c.reference, 0, c.reference) + m.covariance(c.at, n, c.at, n) - 2*m.covariance(0, c.reference, c.at, n)
	return 2 * studentTail(apart/math.Sqrt(squares/expected*doubt), max(freedom*(1-r*r)/(1+r*r), min(freedom, minFreedom)))
}

// minFreedom is how many degrees of freedom a spread has at least, however alike
// its runs are: a step of many times the spread is one all the same.
const minFreedom = 4

// slopeP is the two-sided P of a slope through the whole series, whose runs are
// as alike as the series is about that line. A level that creeps is as like its
// neighbors as one that wanders, and only about its own line it is not.
func slopeP(series []float64) float64 {
	n, slope := float64(len(series)), Slope(series)
	rest := residuals(series, slope)
	squares := squaresAround(rest)
	if squares == 0 {
		return 0
	}
	r := Autocorrelation(rest, 1)
	r = min(max(r+(2+4*r)/n+alikeMargin, 0), maxAlike)
	inflated := squares / (n - 2) * (1 + r) / (1 - r)
	along := n * (n*n - 1) / 12
	return 2 * studentTail(math.Abs(slope)/math.Sqrt(inflated/along), max((n-2)*(1-r)/(1+r), minFreedom))
}

// covariance is the covariance of the means of two stretches of runs, each from one
// run up to another, in units of the variance of a run.
func (m Monitor) covariance(from, to, from2, to2 int) float64 {
	sum := 0.0
	for i := from; i < to; i++ {
		for j := from2; j < to2; j++ {
			if i == j {
				sum++
			} else if m.Alike != 0 {
				sum += math.Pow(m.Alike, math.Abs(float64(i-j)))
			}
		}
	}
	return sum / float64(max((to-from)*(to2-from2), 1))
}

// maxAlike is the largest correlation of neighbors that a short series can show,
// and alikeMargin what is added to the estimate, because so few runs may show too
// little of it.
const maxAlike, alikeMargin = 0.9, 0.15

// Alike estimates the correlation of neighbors that several series have in
// common, each of a level that is not known, and corrects it for that: short
// series look less alike than they are (Marriott and Pope's bias). Series below
// five values say nothing; 0 where none says anything.
func Alike(list [][]float64) float64 {
	sum, n := 0.0, 0.0
	for _, series := range list {
		if len(series) < minAlike || squaresAround(series) == 0 {
			continue
		}
		r := Autocorrelation(series, 1)
		sum, n = sum+r+(1+3*r)/float64(len(series)), n+1
	}
	if n == 0 {
		return 0
	}
	return min(max(sum/n+alikeMargin, 0), maxAlike)
}

// minAlike is the shortest series of which neighbors can be compared.
const minAlike = 5

// byCount is the two-sided P of the exact test of whether events are as frequent
// after as before: given how many there were in all, each fell among the later
// outcomes with the chance of their part. Without counts it leaves the answer
// to others.
func (m Monitor) byCount(series []float64, c contrast) float64 {
	if len(m.Trials) != len(series) {
		return 0
	}
	events := func(from, to int) (hits, trials float64) {
		for i := from; i < to; i++ {
			hits, trials = hits+series[i]*m.Trials[i], trials+m.Trials[i]
		}
		return math.Round(hits), trials
	}
	early, before := events(0, c.reference)
	late, after := events(c.at, len(series))
	if !(before > 0 && after > 0) {
		return 1
	}
	part := after / (before + after)
	return min(1, 2*min(BinomialAtLeast(late, early+late, part), BinomialAtMost(late, early+late, part)))
}

func squaresAround(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	return Variance(values) * float64(len(values)-1)
}
