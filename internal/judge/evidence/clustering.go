package evidence

import (
	"math"

	"redline/internal/stats"
)

const (
	// byBody is the clusters seen beyond a level that weigh as much as what the order
	// of all values shows of their dependence, which weighs minBody at least;
	// slightly is the clustering of that order which chance may show. Where the window
	// holds fewer independent stretches than wandering, that order alone counts.
	byBody, minBody, chanceClustering, minStretches = 6, 0.3, 2, 100
	// conversationShare is the share of variance, added by requests of one conversation that lie far
	// apart, from which conversations differ.
	conversationShare = 0.3
	// manyClusters is the number of clusters from which their sizes no longer matter,
	// only how they vary.
	manyClusters = 60
)

// clustering is how values beyond a level come together.
type clustering struct {
	// ratio is the variance of their number over that of independent ones.
	ratio float64
	// size is the mean size of a cluster, at most ratio.
	size float64
	// memory is the share of the window over which they depend on one another.
	memory float64
	// clusters is how many independent ones were seen.
	clusters float64
	// differ says that conversations do, over longer than what lies near shows.
	differ bool
}

// clusteringOf is that of the largest share of the values: what they show
// themselves and, as far as few clusters show little, what the order of all values
// shows.
func (s *Sample) clusteringOf(share float64) clustering {
	c := s.clusteringAt(s.Level(share))
	c.clusters = share * s.total / c.ratio
	body := s.body()
	if s.parts || body.ratio < chanceClustering || body.ratio <= c.ratio {
		return c
	}
	weight := max(byBody/(byBody+c.clusters), minBody)
	if s.total/body.ratio < minStretches {
		weight = 1
	}
	c.ratio += weight * (body.ratio - c.ratio)
	c.memory += weight * max(body.memory-c.memory, 0)
	return c
}

// clusteringAt is that of the values beyond x.
func (s *Sample) clusteringAt(x float64) clustering {
	below := s.notBeyond(x)
	if c, ok := s.known[below]; ok {
		return c
	}
	c := s.clusteringAbove(x, s.from(below)/s.total)
	s.known[below] = c
	return c
}

// minClustering is the clustering of values that depend on nothing but the request they are
// of.
func (s *Sample) minClustering() clustering {
	values := s.total / s.requests
	return clustering{ratio: values, size: values}
}

func (s *Sample) clusteringAbove(x, share float64) clustering {
	c := clustering{ratio: 1, size: 1}
	if share <= 0 || share >= 1 {
		return c
	}
	limit := float32Above(x)
	off := func(o *Observation) float64 {
		if o.Value >= limit {
			return float64(o.Weight) * (1 - share)
		}
		return -float64(o.Weight) * share
	}
	independent := s.total * share * (1 - share)
	parts := make([]float64, s.points)
	for i := range s.list {
		parts[s.point(s.list[i])] += off(&s.list[i])
	}
	variance, lags := s.variance(parts)
	for way := range s.kinds {
		if own, longer := s.varianceByKind(way, limit); own > variance {
			variance, lags = own, max(lags, longer)
		}
	}
	c.ratio = max(1, variance/independent)
	c.memory = s.memoryOf(lags)
	if far := s.farTurns(off, lags) / independent; far > 0 {
		c.ratio += far
		if far > conversationShare {
			c.differ = true
			c.memory = max(c.memory, 2*s.span)
		}
	}
	c.size = min(s.meanSize(x), c.ratio)
	return c
}

// varianceByKind is that of the number of values from a limit on where each kind of
// request has a share, and clusters, of its own: 0 where all are of one kind.
func (s *Sample) varianceByKind(way int, limit float32) (total float64, lags int) {
	count := s.kinds[way]
	if count == 0 {
		return 0, 0
	}
	all, beyond := make([]float64, count*s.points), make([]float64, count*s.points)
	for i := range s.list {
		o := &s.list[i]
		at := int(o.Kinds[way])*s.points + s.point(*o)
		all[at] += float64(o.Weight)
		if o.Value >= limit {
			beyond[at] += float64(o.Weight)
		}
	}
	for kind := range count {
		from, to := kind*s.points, (kind+1)*s.points
		share := sum(beyond[from:to]) / max(sum(all[from:to]), 1)
		if share == 0 || share == 1 {
			continue
		}
		for at := from; at < to; at++ {
			beyond[at] -= share * all[at]
		}
		variance, own := s.variance(beyond[from:to])
		total, lags = total+variance, max(lags, own)
	}
	return total, lags
}

func sum(list []float64) (total float64) {
	for _, v := range list {
		total += v
	}
	return total
}

func float32Above(x float64) float32 {
	v := float32(x)
	if float64(v) > x {
		return v
	}
	return math.Nextafter32(v, float32(math.Inf(1)))
}

func (s *Sample) body() clustering {
	if s.whole != nil {
		return *s.whole
	}
	parts, independent := make([]float64, s.points), 0.0
	s.ranks(func(o *Observation, rank float64) {
		parts[s.point(*o)] += float64(o.Weight) * rank
		independent += float64(o.Weight) * rank * rank
	})
	c := clustering{ratio: 1, size: 1}
	if independent > 0 {
		variance, lags := s.variance(parts)
		c.ratio, c.memory = max(1, variance/independent), s.memoryOf(lags)
	}
	s.whole = &c
	return c
}

// ranks shows every value with its rank, from −½ for the smallest to ½; equal values
// have the same.
func (s *Sample) ranks(see func(o *Observation, rank float64)) {
	below := 0.0
	for first := 0; first < len(s.sorted); {
		next := first + 1
		for next < len(s.sorted) && s.sorted[next].value == s.sorted[first].value {
			next++
		}
		upTo := s.sorted[next-1].upTo
		rank := (below+upTo)/2/s.total - 0.5
		for _, r := range s.sorted[first:next] {
			see(&s.list[r.index], rank)
		}
		first, below = next, upTo
	}
}

// variance is that of a sum over the window, by the autocovariances of its parts
// up to where they are lost in noise: Geyer's initial monotone sequence. It also
// gives up to which lag that is.
func (s *Sample) variance(parts []float64) (total float64, lags int) {
	covariance := func(lag int) float64 {
		sum := 0.0
		for i := lag; i < len(parts); i++ {
			sum += parts[i] * parts[i-lag]
		}
		return sum
	}
	own, least := covariance(0), math.Inf(1)
	total = -own
	for lag := 0; lag+1 < len(parts)/3; lag += 2 {
		pair := min(covariance(lag)+covariance(lag+1), least)
		if pair <= 0 {
			break
		}
		least = pair
		total += 2 * pair
		lags = lag + 2
	}
	if lags == 0 {
		total = own
	}
	// The mean of the window was taken off, which takes off as much of its variance.
	return total / (1 - s.memoryOf(lags)), lags
}

// memoryOf is the share of the window that lags to both sides are.
func (s *Sample) memoryOf(lags int) float64 {
	return float64(2*max(lags, 1)-1) / float64(s.points)
}

// farTurns is the covariance of turns of one conversation that lie further apart
// than so many lags.
func (s *Sample) farTurns(off func(*Observation) float64, lags int) float64 {
	type part struct {
		point int
		sum   float64
	}
	total := 0.0
	var parts []part
	for _, of := range s.talks {
		parts = parts[:0]
		for _, i := range of {
			o := &s.list[i]
			if at := s.point(*o); len(parts) == 0 || parts[len(parts)-1].point != at {
				parts = append(parts, part{point: at})
			}
			parts[len(parts)-1].sum += off(o)
		}
		for i, a := range parts {
			for _, b := range parts[i+1:] {
				if b.point-a.point >= max(lags, 1) {
					total += 2 * a.sum * b.sum
				}
			}
		}
	}
	return total
}

// spacings are the values above x, and how many lie from each to the next.
func (s *Sample) spacings(x float64) (values, gaps []float64) {
	limit := float32Above(x)
	passed, at, here, last := 0.0, float32(math.Inf(-1)), 0.0, 0.0
	for i := range s.list {
		o := &s.list[i]
		if o.At != at {
			at, here = o.At, passed
		}
		passed += float64(o.Weight)
		if o.Value < limit {
			continue
		}
		if values != nil {
			gaps = append(gaps, here-last)
		}
		values = append(values, float64(o.Value))
		last = here
	}
	return values, gaps
}

// extremalIndex is the inverse of the mean size of clusters by the spacings of
// what lies beyond a level: Ferro and Segers' estimate.
func extremalIndex(gaps []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, g := range gaps {
		sum += g
		squares += g * g
	}
	if squares == 0 {
		return 1
	}
	return min(1, 2*sum*sum/(float64(len(gaps))*squares))
}

func (s *Sample) meanSize(x float64) float64 {
	_, gaps := s.spacings(x)
	if len(gaps) == 0 {
		return 1
	}
	return 1 / extremalIndex(gaps)
}

// atMost is the chance of at most count of n values beyond a limit that a share q
// lies beyond, when they come together so: a Poisson number of clusters of
// geometric sizes, or as many independent values as these are worth, where the
// clusters are many or there are none.
func (c clustering) atMost(count, n, q float64) float64 {
	ratio := c.ratio * (1 - q)
	if ratio <= 1.01 || n*q/c.ratio > manyClusters {
		return stats.BinomialAtMost(count/c.ratio, n/c.ratio, q)
	}
	if count < 0 {
		return 0
	}
	// Geometric sizes of mean m make a ratio of 2m − 1.
	size := max((ratio+1)/2, min(c.size, ratio))
	mean := n * q / size
	chance := math.Exp(-mean)
	for k, term := 1.0, chance; k <= count; k++ {
		term *= mean / k
		if k > mean && term < 1e-9 {
			break
		}
		chance += term * stats.BinomialAtLeast(k, count, 1/size)
	}
	return chance
}
