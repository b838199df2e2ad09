package compare

import (
	"iter"
	"math"

	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/stats"
)

// Requests are the times of one side's measured requests that ended ok, by their place in
// the plan: both sides of a round have the same ones.
type Requests map[requestKey]requestTimes

type requestKey struct{ session, turn int }

// requestTimes are in ms, in the order of pairedTimes; NaN for what is not known.
type requestTimes [3]float64

var pairedTimes = [len(requestTimes{})]result.Difference{
	{Name: "ttft", Unit: "ms"}, {Name: "outside", Unit: "ms", Part: true}, {Name: "tpot", Unit: "ms"}}

// ReadRequests reads them from the records of a stage.
func ReadRequests(records iter.Seq2[*record.Record, error]) (Requests, error) {
	list := Requests{}
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		if first, outside, pace := account.Parts(r); r.Phase == record.Measure && !math.IsNaN(first) {
			list[requestKey{r.Session, r.Turn}] = requestTimes{first, outside, pace}
		}
	}
	return list, nil
}

// minPairs is how many requests show a typical difference.
const minPairs = 5

// Pair gives the median of each time on A and on B, and of its difference within the same
// request. Medians, since what holds a few requests up on one side alone says nothing of the servers.
func Pair(a, b Requests) (pairs [len(pairedTimes)]*[3]float64) {
	for i := range pairs {
		var onA, onB, steps []float64
		for key, x := range a {
			if y, both := b[key]; both && !math.IsNaN(x[i]) && !math.IsNaN(y[i]) {
				onA, onB, steps = append(onA, x[i]), append(onB, y[i]), append(steps, y[i]-x[i])
			}
		}
		if len(steps) >= minPairs {
			pairs[i] = &[3]float64{stats.Median(onA), stats.Median(onB), stats.Median(steps)}
		}
	}
	return pairs
}

// pairedDifferences are the means of what rounds have; each round is one value.
func pairedDifferences(rounds []Round) (list []result.Difference) {
	for i, d := range pairedTimes {
		var sums [3]float64
		var steps []float64
		for _, r := range rounds {
			if p := r.Pairs[i]; p != nil && len(r.Spoilt) == 0 {
				for k := range sums {
					sums[k] += p[k]
				}
				steps = append(steps, p[2])
			}
		}
		if n := float64(len(steps)); n > 0 {
			d.Paired, d.A, d.B, d.Step = true, sums[0]/n, sums[1]/n, new(sums[2]/n)
			if t := stats.OneSampleT(steps, Level); n > 1 {
				d.Interval = interval(t.Lo, t.Hi)
			}
			list = append(list, d)
		}
	}
	return list
}
