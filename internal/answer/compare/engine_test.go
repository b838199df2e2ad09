package compare

import (
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// engine is a simulated server and a Poisson load on it.
type engine struct {
	name string
	spec sim.Spec
	// output is the median of the replies' lengths.
	output float64
	// limit is the rate at which 1 % of the requests of runs of 300 s wait
	// longer than 500 ms for their first token: ttft:p99<500ms.
	limit float64
	// lead is how long the load runs before the window and after it.
	lead, window time.Duration
}

type trip struct {
	due, first, last int64
	output           int
}

func (one *trip) within(from, to int64) bool { return one.due >= from && one.due < to }

// play drives the engine in virtual time. The requests and the moments at
// which they come are those of their seed, whatever the engine's own. The load
// goes on after the window, so that its last requests do not end on an
// emptying server. Every token is told, before its trip knows of it.
func (e engine) play(t testing.TB, requests, own uint64, rate float64, told func(*trip, sim.Token)) []*trip {
	off := false
	spec := e.spec
	spec.Seed, spec.EnablePrefixCaching = own, &off
	core := must.Get(sim.NewBatching(spec))(t)
	var trips []*trip
	sim.RunOpen(core, e.arrivals(requests, rate, &trips), sim.Watch{Token: func(k sim.Token) {
		one := trips[k.Job.ID]
		told(one, k)
		if k.Index == 0 {
			one.first = k.At
		}
		one.last = k.At
	}})
	return trips
}

// arrivals are the jobs of the load with log-normal lengths, each with its
// trip.
func (e engine) arrivals(seed uint64, rate float64, trips *[]*trip) iter.Seq2[int64, *sim.Job] {
	prompt := make([]int32, 4000)
	draw := func(median float64, least, most int, z float64) int {
		return min(max(int(median*math.Exp(0.8*z)), least), most)
	}
	return func(yield func(int64, *sim.Job) bool) {
		r := stats.Rand(seed, "requests", 0)
		for at := 0.0; ; {
			at += stats.Exponential(r) / rate * 1e9
			if at >= float64(2*e.lead+e.window) {
				return
			}
			j := &sim.Job{ID: uint64(len(*trips)), Prompt: prompt[:draw(500, 50, len(prompt), r.NormFloat64())],
				Output: draw(e.output, 2, 2000, r.NormFloat64())}
			*trips = append(*trips, &trip{due: int64(at), output: j.Output})
			if !yield(int64(at), j) {
				return
			}
		}
	}
}

// values are what METRICS.md says that the figures of the window are. They are
// computed here, without intervals, because a trial needs thousands of them.
func (e engine) values(t testing.TB, requests, own uint64, rate float64) Values {
	from, to := int64(e.lead), int64(e.lead+e.window)
	var gaps []float64
	tokens := 0
	trips := e.play(t, requests, own, rate, func(one *trip, k sim.Token) {
		if k.At < from || k.At >= to {
			return
		}
		tokens++
		if k.Index > 0 {
			gaps = append(gaps, float64(k.At-one.last)/1e6)
		}
	})
	var ttft, tpot, e2e []float64
	good := 0
	for _, one := range trips {
		if !one.within(from, to) {
			continue
		}
		ttft = append(ttft, float64(one.first-one.due)/1e6)
		e2e = append(e2e, float64(one.last-one.due)/1e6)
		tpot = append(tpot, float64(one.last-one.first)/1e6/float64(one.output-1))
		if ttft[len(ttft)-1] <= 500 {
			good++
		}
	}
	for _, list := range [][]float64{ttft, tpot, e2e, gaps} {
		slices.Sort(list)
	}
	return Values{
		"ttft:p50": stats.Quantile(ttft, 0.5), "ttft:p99": stats.Quantile(ttft, 0.99),
		"tpot:p50": stats.Quantile(tpot, 0.5), "tpot:p99": stats.Quantile(tpot, 0.99),
		"itl:p99": stats.Quantile(gaps, 0.99),
		"e2e:p50": stats.Quantile(e2e, 0.5), "e2e:p99": stats.Quantile(e2e, 0.99),
		"throughput":    float64(tokens) / e.window.Seconds(),
		"good:fraction": float64(good) / float64(len(ttft)),
		"error:rate":    0, "reject:rate": 0,
	}
}
