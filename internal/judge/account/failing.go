package account

import (
	"cmp"
	"slices"

	"redline/internal/judge/metric"
	"redline/internal/stats"
)

const (
	failChance  = 0.01 // of naming a healthy replica, for all of them together
	minErrorGap = 0.01 // more errors than those of the others
)

// servedBy is a request, by the numbers of its replica and of its prefiller, -1 for none.
type servedBy struct {
	session int32
	by      [2]int
	failed  bool
}

// failingReplicas are those that answer more of their requests with an error than the
// others do: first the one with the strongest evidence, then, without its requests, the next. Else
// those would be accused that often serve the same requests as it. Who serves only
// such cannot be told from it, and is named beside it.
func (v view) failingReplicas(replicas, prefillers replicaShares) (list []metric.FailingReplica) {
	both := [2]replicaShares{replicas, prefillers}
	var requests []servedBy
	for q := range v.requests.all {
		if q.sent == 0 {
			continue
		}
		one := servedBy{session: q.session, by: [2]int{-1, -1}, failed: q.outcome.Count().Fault}
		for d, key := range [2]int32{q.keys[byReplica], q.keys[byPrefiller]} {
			if at, known := both[d].index[key]; known {
				one.by[d] = at
			}
		}
		requests = append(requests, one)
	}
	slices.SortStableFunc(requests, func(a, b servedBy) int { return cmp.Compare(a.session, b.session) })
	chance := failChance / float64(len(replicas.names)+len(prefillers.names))
	for {
		var found []accused
		for d, shares := range both {
			found = append(found, accuse(requests, d, shares.names, chance)...)
		}
		if len(found) == 0 {
			return list
		}
		first := slices.MinFunc(found, func(a, b accused) int { return cmp.Compare(a.Chance, b.Chance) })
		requests = slices.DeleteFunc(requests, first.serves)
		for _, one := range found {
			left := 0
			for _, q := range requests {
				if one.serves(q) {
					left++
				}
			}
			if left < minTested {
				list = append(list, one.FailingReplica)
				requests = slices.DeleteFunc(requests, one.serves)
			}
		}
	}
}

// accused is a replica with too many errors.
type accused struct {
	metric.FailingReplica
	dimension, number int
}

func (a accused) serves(q servedBy) bool { return q.by[a.dimension] == a.number }

// accuse tests the replicas of a dimension. What a session sent to one replica is one
// draw: its requests may fail for what it asks, again and again. Given how many draws failed, those of
// one replica are as many as its share of all draws, by chance.
func accuse(requests []servedBy, dimension int, names []string, chance float64) (list []accused) {
	type tally struct{ requests, errors, draws, failedDraws int }
	var all tally
	own := make([]tally, len(names))
	drawn, failed := make([]int32, len(names)), make([]int32, len(names)) // the last session that was counted, from 1
	for _, q := range requests {
		i := q.by[dimension]
		if i < 0 {
			continue
		}
		for _, sum := range []*tally{&own[i], &all} {
			sum.requests++
			if drawn[i] != q.session+1 {
				sum.draws++
			}
			if q.failed {
				sum.errors++
			}
			if q.failed && failed[i] != q.session+1 {
				sum.failedDraws++
			}
		}
		if drawn[i] = q.session + 1; q.failed {
			failed[i] = q.session + 1
		}
	}
	for i, t := range own {
		if t.requests < minTested || t.requests == all.requests {
			continue
		}
		p := stats.BinomialAtLeast(float64(t.failedDraws), float64(all.failedDraws), float64(t.draws)/float64(all.draws))
		rate, others := float64(t.errors)/float64(t.requests), float64(all.errors-t.errors)/float64(all.requests-t.requests)
		if p < chance && rate >= others+minErrorGap {
			list = append(list, accused{metric.FailingReplica{Name: names[i], Errors: t.errors, Requests: t.requests, Rate: round(rate), Others: round(others), Chance: p}, dimension, i})
		}
	}
	return list
}
