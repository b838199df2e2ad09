// Package evidence says what a window shows about a bound on a percentile or a
// rate. It takes the values of one figure with their times, and whose they are,
// and gives whether the bound is met or missed, with a chance of error; what
// bounds the figure; and what the window cannot see. Requests of one run depend
// on one another: they wait in one queue, share a stall, belong to one
// conversation. So it counts independent chances, not requests. It knows nothing
// of records, objectives or reports.
package evidence

import (
	"math"

	"redline/internal/stats"
)

// The constants were chosen on the processes of twin/process that are not held
// out, with seeds below a million; docs/measured/RATES.md has how often verdicts are
// wrong on others.
const (
	// minMissed is how many requests a miss takes at least.
	minMissed = 20
	// farOver is how many times the limit every value is where no slow phase of a server
	// that meets it explains them.
	farOver = 10
	// freedomByClusters is the degrees of freedom, for each cluster seen beyond the
	// percentile, with which their sizes are known; fewer where nothing but
	// violations is known, as of a rate. freedomByMemory is those for each stretch as
	// long as the window remembers.
	freedomByClusters, freedomOfRates, freedomByMemory = 1, 0.6, 1.3
	// lucky is by how much more values come together than a window shows which happens
	// to hold few of the largest.
	lucky = 1.2
	// seldom is the chance of no cluster beyond a limit up to which the tail of the
	// values may stand for them.
	seldom = 0.35
	// periods is how often something must happen in a window to be seen with a
	// chance of 95%: e⁻³ is 5%.
	periods = 3
)

// Question is a bound, and how sure an answer must be.
type Question struct {
	// P of the values are to be at most Limit.
	P, Limit float64
	// Alpha is the chance of a wrong answer that each of met and missed may have.
	Alpha float64
	// Spent is the share of Alpha for this answer, where a run is judged several
	// times; 0 means all.
	Spent float64
	// Fewer is the share of values that may not lie beyond the limit though they
	// count as beyond.
	Fewer float64
}

func (q Question) share() float64 { return 1 - q.P }

// alpha is the chance of error of this answer; a hair above it, so that a chance
// that equals it in exact arithmetic does not exceed it in floating point.
func (q Question) alpha() float64 {
	alpha := q.Alpha * (1 + 1e-9)
	if q.Spent > 0 {
		alpha *= q.Spent
	}
	return alpha
}

// SpentShare is the share of the chance of error for a look at a run that goes on until
// it is decided, by the part of its longest window that has passed. Looks see
// mostly the same requests, so that the shares of five may add up to more than 1.
func SpentShare(passed float64) float64 { return 0.2 + 0.3*min(max(passed, 0), 1) }

// Sees is the longest mean time between events, in seconds, that a window of a
// length can speak of: it holds one that happens at random and as often as that
// with a chance of 95%.
func Sees(length float64) float64 { return length / periods }

// Needs is how long a window must be to speak of what happens so often.
func Needs(every float64) float64 { return every * periods }

// Met reports whether a server that just misses the bound would look like this
// with a chance of at most alpha: by the number of values beyond the limit, in
// clusters as they come; or, where none is, by how fast the tail falls below it.
func (s *Sample) Met(q Question) bool {
	return s.MetByCount(q) || s.total > 0 && s.tailBelow(q)
}

// MetByCount asks it of the number of values beyond the limit alone.
func (s *Sample) MetByCount(q Question) bool {
	return s.total > 0 && s.fewBeyond(s.Beyond(q.Limit), q)
}

// fewBeyond asks the same of a number of values beyond. Where values are of one kind
// and none is beyond, nothing shows how those of the other kind would come: they
// count as independent. Parts of requests never count as more than their requests.
func (s *Sample) fewBeyond(count float64, q Question) bool {
	few := func(c clustering) bool { return c.atMost(count, s.total, q.share()) <= q.alpha() }
	if s.binary && count == 0 {
		return few(s.minClustering())
	}
	return few(s.doubtful(q)) && (!s.parts || few(s.minClustering()))
}

// doubtful is the clustering beyond the percentile as far as it can be excluded
// that it is larger.
func (s *Sample) doubtful(q Question) clustering {
	c := s.clusteringOf(q.share())
	byClusters := freedomByClusters * c.clusters
	if s.binary {
		byClusters = freedomOfRates * c.clusters
	}
	wider := lucky * student(q.alpha(), 1/(c.memory/freedomByMemory+1/byClusters))
	c.ratio *= wider
	c.size *= wider
	return c
}

// Missed reports whether a server that just meets the bound would look like this
// with a chance of at most alpha, or even the smallest value is farOver the limit.
func (s *Sample) Missed(q Question) bool {
	return s.manyBeyond(s.Beyond(q.Limit), q) ||
		!s.binary && s.requests >= minMissed && q.Fewer == 0 && float64(s.sorted[0].value) >= farOver*q.Limit
}

func (s *Sample) manyBeyond(count float64, q Question) bool {
	if s.total == 0 {
		return false
	}
	count -= q.Fewer * s.total
	if s.blatant(count, q) {
		return true
	}
	c := s.clusteringOf(q.share())
	c.ratio *= student(q.alpha(), freedomByMemory/max(c.memory, 1e-3))
	c.size = 1
	return 1-c.atMost(count-1, s.total, q.share()) <= q.alpha()
}

// blatant reports whether so many are beyond that dependence cannot matter: by
// Markov's inequality a server that meets the bound shows a share of s in at
// most (1 − p)/s of all runs.
func (s *Sample) blatant(count float64, q Question) bool {
	return s.requests >= minMissed && count*q.alpha() >= q.share()*s.total*(1-1e-9)
}

// Worth is the share of the values that is independent, for a bound on a
// percentile.
func (s *Sample) Worth(p float64) float64 {
	if s.total == 0 {
		return 1
	}
	return 1 / s.clusteringOf(1-p).ratio
}

// Requests is how many the values are of.
func (s *Sample) Requests() float64 { return s.requests }

// student is by how much a variance must be widened that is known with so many
// degrees of freedom.
func student(alpha, freedom float64) float64 {
	t := stats.StudentQuantile(1-alpha, max(freedom, 1)) / stats.NormalQuantile(1-alpha)
	return t * t
}

// Upper is the smallest limit from which on every one would be met, infinite where
// there is none: what the percentile lies below, with a chance of error of alpha.
func (s *Sample) Upper(q Question) float64 {
	n := len(s.sorted)
	if n == 0 {
		return math.Inf(1)
	}
	low, high := -1, n // the largest that does not do by counts, the smallest that does
	for high-low > 1 {
		if mid := (low + high) / 2; s.fewBeyond(s.from(s.notBeyond(float64(s.sorted[mid].value))), q) {
			high = mid
		} else {
			low = mid
		}
	}
	if high == n {
		return s.upperByTail(q)
	}
	return s.downByTail(q, high)
}

// Lower is the largest limit below which every one would be missed, 0 where none
// would: what the percentile lies above.
func (s *Sample) Lower(q Question) float64 {
	many := func(i int) bool { return s.manyBeyond(s.from(i), q) }
	if len(s.sorted) == 0 || !many(0) {
		return 0
	}
	low, high := 0, len(s.sorted)
	for high-low > 1 {
		if mid := (low + high) / 2; many(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return float64(s.sorted[low].value)
}
