package evidence

import (
	"math"
	"slices"

	"redline/internal/stats"
)

const (
	// maxTail is the share of values whose tail is fitted first; each further level
	// has half as many, down to minMaxima clusters.
	maxTail, minMaxima = 0.2, 8
	// manyMaxima is the number of clusters from which a level must be as sure as the
	// answer; with fewer it is asked for less: it only shows that the tail does not
	// bend.
	manyMaxima = 30
	// maxOddChance is the chance of so large a maximum below which it is not one of its
	// tail.
	maxOddChance = 0.01
	// apartBy is how far above the largest value a limit lies at least which has
	// nothing near.
	apartBy = 1.25
	// farthest is how far beyond the largest value a tail may say something.
	farthest = 1e3
)

// tail is what the largest values show at one level: the maxima of clusters fall
// like a power of their distance from it.
type tail struct {
	share, level float64
	steepness    float64 // the mean logarithm of the maxima over the level
	clusters     float64 // independent ones
	variance     float64 // of the logarithm of the share
	sole         bool    // one of the maxima is not of the others' kind
}

// tails are those of the levels with enough clusters; not ok where the values have
// none.
func (s *Sample) tails() (list []tail, ok bool) {
	if !s.fitted {
		s.tailList, s.fitted = s.fitTails(), true
	}
	return s.tailList, len(s.tailList) > 0
}

func (s *Sample) fitTails() (list []tail) {
	for share := maxTail; share*s.total >= minMaxima; share /= 2 {
		level := s.Level(share)
		if !(level > 0) {
			return nil
		}
		c := s.clusteringOf(share)
		maxima := s.maxima(level)
		clusters := min(float64(len(maxima)), 2*c.clusters)
		if clusters < minMaxima {
			break
		}
		mean, most := 0.0, 0.0
		for _, m := range maxima {
			over := math.Log(m / level)
			mean += over / float64(len(maxima))
			most = max(most, over)
		}
		if math.IsInf(mean, 1) {
			return nil
		}
		list = append(list, tail{share, level, mean, clusters, c.ratio * (1 - share) / (share * s.total),
			float64(len(maxima))*math.Exp(-most/mean) < maxOddChance})
	}
	return list
}

// below reports whether the tail leaves at most a share of q beyond a limit, and as
// many as were seen there: more would be of another kind.
func (t tail) below(limit, seen, q, alpha float64) bool {
	switch {
	case t.level >= limit || t.sole:
		return false
	case t.steepness == 0:
		return seen == 0
	}
	fall := math.Log(limit/t.level) / t.steepness
	if math.Log(t.share)-fall < math.Log(seen) {
		return false
	}
	sure := stats.NormalQuantile(1-alpha) * min(1, math.Sqrt(t.clusters/manyMaxima))
	off := math.Sqrt(student(alpha, t.clusters-1) * (t.variance + fall*fall/t.clusters))
	return math.Log(t.share)-fall+sure*off <= math.Log(q)
}

// tailBelow reports whether every level's tail leaves too little beyond the limit,
// or nothing comes near it. Where values wander, the tail is that of this window
// alone. So many requests must have come that one kind of slow
// ones that come independently would have shown, and so many clusters that few
// beyond are no mere chance.
func (s *Sample) tailBelow(q Question) bool {
	return s.tailSpeaks(q) && s.tailAllows(q, q.Limit) || !s.binary && s.enough(q) && q.Limit >= s.nothingNear()
}

// tailSpeaks reports whether the tail may decide at all.
func (s *Sample) tailSpeaks(q Question) bool { return !s.binary && s.enough(q) && !s.wanders() }

// Far reports whether no value lies near a limit.
func (s *Sample) Far(limit float64) bool { return !s.binary && s.total > 0 && limit >= s.nothingNear() }

// nothingNear is the limit from which no value lies near: further above the largest
// than that lies above the median, and than twice the largest.
func (s *Sample) nothingNear() float64 {
	most, median := float64(s.sorted[len(s.sorted)-1].value), s.Level(0.5)
	return most * max(apartBy, most/max(median, math.SmallestNonzeroFloat64))
}

// enough reports whether so many requests came that a kind of slow ones which come
// independently would have shown.
func (s *Sample) enough(q Question) bool {
	return stats.BinomialAtMost(0, s.requests, q.share()) <= q.Alpha*(1+1e-9)
}

func (s *Sample) tailAllows(q Question, limit float64) bool {
	beyond := s.Beyond(limit)
	if s.clusteringAt(s.Level(q.share())).atMost(beyond, s.total, q.share()) > seldom {
		return false
	}
	list, ok := s.tails()
	return ok && !slices.ContainsFunc(list, func(t tail) bool { return !t.below(limit, beyond/s.total, q.share(), q.alpha()) })
}

// upperByTail is the smallest limit from which on the tail allows every one, infinite
// where there is none.
func (s *Sample) upperByTail(q Question) float64 {
	last := len(s.sorted) - 1
	low := float64(s.sorted[last].value)
	high := low * farthest
	if math.IsInf(high, 1) || !(low > 0) || !s.tailSpeaks(q) || !s.tailAllows(q, high) {
		return math.Inf(1)
	}
	if s.tailAllows(q, low) {
		return s.downByTail(q, last)
	}
	for high/low > 1.001 {
		if mid := math.Sqrt(low * high); s.tailAllows(q, mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// downByTail goes down from a value that does as a limit, while the tail allows the
// next: among the values it may not allow one and allow a smaller one again.
func (s *Sample) downByTail(q Question, from int) float64 {
	if s.tailSpeaks(q) {
		for from > 0 && s.tailAllows(q, float64(s.sorted[from-1].value)) {
			from--
		}
	}
	return float64(s.sorted[from].value)
}

// maxima are the largest values of the clusters above a level, of which there are
// as many as the extremal index says: the widest spacings separate them.
func (s *Sample) maxima(level float64) []float64 {
	values, gaps := s.spacings(level)
	if len(gaps) == 0 {
		return values
	}
	sorted := slices.Sorted(slices.Values(gaps))
	widest := sorted[min(int((1-extremalIndex(gaps))*float64(len(gaps))), len(gaps)-1)]
	list := []float64{values[0]}
	for i, v := range values[1:] {
		if gaps[i] >= widest {
			list = append(list, v)
		}
		list[len(list)-1] = max(list[len(list)-1], v)
	}
	return list
}
