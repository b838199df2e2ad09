package account

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/stats"
)

const (
	// maxReplicas bounds how many are told apart: replies are not to be trusted with
	// the length of a result.
	maxReplicas = 64
	// byAddress marks a replica that no header names.
	byAddress = "@"
)

// The tests of a fleet: chances of being wrong, and what is too small to mention.
const (
	unevenChance = 0.01
	slowChance   = 0.01 // for all replicas and figures together
	minSlowness  = 1.1
	minTested    = 30 // requests of a replica
	minSlowParts = 6
	maxSlowParts = 20
)

// fleet says how the replicas shared the requests.
func (v view) fleet() *metric.Fleet {
	shares := v.replicaCounts(byReplica)
	f := &metric.Fleet{Named: shares.total, Unnamed: shares.unnamed, Chance: 1}
	switch {
	case len(shares.names) == 1 && f.Unnamed > 0 && slices.ContainsFunc(v.naming.names[byReplica], isNamed):
		return f // a gateway that strips some names
	case len(shares.names) < 2:
		return nil
	}
	k := float64(len(shares.names))
	for i, name := range shares.names {
		if shares.counts[i] == 1 {
			f.Once = append(f.Once, name)
		}
		if share := float64(shares.counts[i]) / float64(shares.total); share > f.Share {
			f.Busiest, f.Share = name, share
		}
	}
	f.Chance = shares.chance()
	f.Uneven = f.Chance < unevenChance && f.Share*k >= minSlowness
	f.Turns = shares.stickiness()
	type tested struct {
		figure figure
		d      dimension
		shares replicaShares
	}
	list := []tested{{ttft, byReplica, shares}, {tpot, byReplica, shares}}
	prefillers := v.replicaCounts(byPrefiller)
	if len(prefillers.names) > 0 {
		list[0] = tested{ttft, byPrefiller, prefillers}
	}
	f.Failing = v.failingReplicas(shares, prefillers)
	tests := len(list[0].shares.names) + len(list[1].shares.names)
	for _, p := range list {
		slow, untested := v.slowReplicas(p.d, p.figure, p.shares, slowChance/float64(tests))
		f.Slow = append(f.Slow, slow...)
		for _, name := range untested {
			if !slices.Contains(f.Untested, name) {
				f.Untested = append(f.Untested, name)
			}
		}
	}
	return f
}

// nameReplicas gives groups the names that people read.
func nameReplicas(list []metric.Group) {
	named := slices.ContainsFunc(list, func(g metric.Group) bool { return isNamed(g.Name) })
	for i := range list {
		switch name := list[i].Name; {
		case isNamed(name):
		case named || name == "":
			list[i].Name = metric.Unnamed
		default:
			list[i].Name = strings.TrimPrefix(name, byAddress)
		}
	}
}

// replicaShares is who served how much.
type replicaShares struct {
	names   []string // in the order of their numbers
	counts  []int
	index   map[int32]int // by key
	total   int
	unnamed int
	served  []turnServed
}

// turnServed is a request and the replica that served it.
type turnServed struct {
	session int32
	due     int64
	replica int
}

// replicaCounts counts the requests of each replica; those by address do not count where
// others have a name.
func (v view) replicaCounts(d dimension) replicaShares {
	s := replicaShares{index: map[int32]int{}}
	all := v.naming.names[d]
	named := slices.ContainsFunc(all, isNamed)
	for q := range v.requests.all {
		if q.sent == 0 {
			continue
		}
		key := q.keys[d]
		name := all[key]
		if name == "" || named && !isNamed(name) {
			s.unnamed++
			continue
		}
		at, known := s.index[key]
		if !known {
			at = len(s.names)
			s.index[key] = at
			s.names, s.counts = append(s.names, strings.TrimPrefix(name, byAddress)), append(s.counts, 0)
		}
		s.counts[at]++
		s.total++
		s.served = append(s.served, turnServed{q.session, q.due, at})
	}
	return s
}

// isNamed reports whether a reply names the replica.
func isNamed(name string) bool { return name != "" && !strings.HasPrefix(name, byAddress) }

// chance is that of shares so uneven where all replicas are equally likely. A
// session is one draw or many, as it moved: what its requests deviate from even shares
// together is the variance that they bring.
func (s replicaShares) chance() float64 {
	k := float64(len(s.names))
	sums, variance := make([]float64, len(s.names)), 0.0
	for _, turns := range s.sessions() {
		own := make([]float64, len(s.names))
		for _, t := range turns {
			own[t.replica]++
		}
		for i, n := range own {
			off := n - float64(len(turns))/k
			sums[i] += off
			variance += off * off
		}
	}
	statistic := 0.0
	for _, off := range sums {
		statistic += off * off
	}
	if variance == 0 {
		return 1
	}
	return stats.UpperGamma((k-1)/2, (k-1)*statistic/variance/2)
}

// sessions gives the requests of each session in the order in which they were due.
func (s replicaShares) sessions() (list [][]turnServed) {
	slices.SortStableFunc(s.served, func(a, b turnServed) int {
		return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.due, b.due))
	})
	for from := 0; from < len(s.served); {
		to := from + 1
		for to < len(s.served) && s.served[to].session == s.served[from].session {
			to++
		}
		list = append(list, s.served[from:to])
		from = to
	}
	return list
}

// stickiness compares each turn's replica with that of the turn before it.
func (s replicaShares) stickiness() *metric.Stickiness {
	turns, stayed, chance := 0, 0, 0.0
	for _, list := range s.sessions() {
		for i := 1; i < len(list); i++ {
			turns++
			if list[i].replica == list[i-1].replica {
				stayed++
			}
		}
	}
	if turns == 0 {
		return nil
	}
	for _, n := range s.counts {
		share := float64(n) / float64(s.total)
		chance += share * share
	}
	return &metric.Stickiness{Turns: turns, Stayed: float64(stayed) / float64(turns), ByChance: chance}
}

// slowReplicas compares each replica with the mean of the others, stretch by stretch
// of the window: a queue that lasts moves the values of a stretch together, and what
// all replicas have in common cancels out. Values are logarithms, beside those of
// prompts of the same length.
func (v view) slowReplicas(d dimension, f figure, shares replicaShares, chance float64) (slow []metric.SlowReplica, untested []string) {
	values := v.residuals(f)
	counts := make([]int, len(shares.names))
	for _, q := range values {
		if at, known := shares.index[q.keys[d]]; known {
			counts[at]++
		}
	}
	fewest := math.MaxInt
	for i, n := range counts {
		if n < minTested {
			untested = append(untested, shares.names[i])
		} else {
			fewest = min(fewest, n)
		}
	}
	if len(counts)-len(untested) < 2 {
		return nil, untested
	}
	stretches := min(maxSlowParts, fewest/5)
	if long := 4 * v.meanE2E(everything); long > 0 {
		stretches = min(stretches, int(float64(v.o.End-v.o.Start)/long))
	}
	stretches = max(stretches, minSlowParts)
	sums, weights := make([][]float64, len(counts)), make([][]float64, len(counts))
	for i := range sums {
		sums[i], weights[i] = make([]float64, stretches), make([]float64, stretches)
	}
	for _, q := range values {
		if at, known := shares.index[q.keys[d]]; known && counts[at] >= minTested {
			b := min(int(float64(q.due-v.o.Start)/float64(v.o.End-v.o.Start)*float64(stretches)), stretches-1)
			sums[at][b] += q.value
			weights[at][b]++
		}
	}
	for i, n := range counts {
		if n < minTested {
			continue
		}
		t := stats.OneSampleT(aboveOthers(i, sums, weights), 0.95)
		if t.T > 0 && t.P/2 < chance && math.Exp(t.Mean) >= minSlowness {
			slow = append(slow, metric.SlowReplica{Name: shares.names[i], Figure: f.name(), Factor: round(math.Exp(t.Mean)),
				Low: round(math.Exp(t.Lo)), High: round(math.Exp(t.Hi)), Share: float64(shares.counts[i]) / float64(shares.total)})
		}
	}
	return slow, untested
}

// aboveOthers is how much a replica's values lie above those of the others, by
// stretch; stretches in which it or all others served nothing have none.
func aboveOthers(i int, sums, weights [][]float64) (list []float64) {
	for b := range sums[i] {
		others, n := 0.0, 0.0
		for k := range sums {
			if k != i && weights[k][b] > 0 {
				others += sums[k][b] / weights[k][b]
				n++
			}
		}
		if weights[i][b] > 0 && n > 0 {
			list = append(list, sums[i][b]/weights[i][b]-others/n)
		}
	}
	return list
}

// residual is a request and by how much its figure differs from those of its like.
type residual struct {
	*request
	value float64
}

// residuals are the logarithms of a figure of the ok requests, less the mean of those
// whose prompt had about as much to compute.
func (v view) residuals(f figure) (all []residual) {
	var sums, counts [33]float64
	stratum := func(q *request) int { return bits.Len32(uint32(max(q.prompt-q.cached, 0))) }
	for q := range v.requests.all {
		if x := q.figures[f]; q.outcome == llm.OK && x > 0 {
			all = append(all, residual{q, math.Log(x)})
			sums[stratum(q)] += math.Log(x)
			counts[stratum(q)]++
		}
	}
	for i := range all {
		at := stratum(all[i].request)
		all[i].value -= sums[at] / counts[at]
	}
	return all
}
