package search

import (
	"time"

	"redline/internal/result"
	"redline/internal/slo"
)

// Observation is what came of a level.
type Observation struct {
	// Objectives are the verdicts on the level's window, one for each
	// objective of the search; those of others are ignored.
	Objectives []slo.Verdict
	// Requests is how many were due in the window.
	Requests int
	// Censored is how many of them were still running when the drain ended.
	Censored int
	// Growth is by how many the requests in flight grew over the window. A
	// level that fills up has not yet shown what it will come to.
	Growth float64
	// Work is the work that the window's requests brought over what the rate
	// and the workload's means promise: the luck of the draw as far as it is
	// known. 0 is not known.
	Work float64
	// Overload says that the growth is beyond chance.
	Overload bool
	// Latency is the figure in which the knee is looked for, in ms; 0 is not
	// known.
	Latency float64
	// Goodput and Completed are requests per second.
	Goodput, Completed float64
	// Spent is the load time with warm-up and cool-down; 0 is the level's
	// length.
	Spent time.Duration
}

// FromPoint reads an observation from a measured point. The knee is looked for
// in the p99 of ttft, or of e2e where nothing was streamed.
func FromPoint(p result.Point) Observation {
	o := Observation{Objectives: p.Objectives, Requests: p.Requests.Due, Censored: p.Requests.Censored, Completed: p.Rates.Completed}
	if p.Window.Growth != nil {
		o.Growth = *p.Window.Growth
	}
	if p.Rates.Asked != nil && *p.Rates.Asked > 0 {
		o.Work = p.Rates.Offered / *p.Rates.Asked
	}
	o.Overload = p.Window.Overload != nil && *p.Window.Overload
	if p.Goodput != nil {
		o.Goodput = p.Goodput.Requests
	}
	for _, d := range []interface {
		Get(string) (float64, bool)
	}{p.Latency.E2EDue, p.Latency.TTFTDue} {
		if v, ok := d.Get("p99"); ok {
			o.Latency = v
		}
	}
	return o
}

// kind is how an objective answers to load.
type kind int

const (
	counted kind = iota // requests break it one by one
	whole               // the window as a whole keeps or breaks it
	rising              // more load serves it: a throughput
)

func kindOf(o slo.Objective) kind {
	switch {
	case o.Metric == "throughput":
		return rising
	case o.P > 0, o.Stat == "rate", o.Stat == "fraction":
		return counted
	}
	return whole
}

// allowed is the share of requests that may break an objective. One on the
// window as a whole may be broken in every other run.
func allowed(o slo.Objective) float64 {
	share := 0.5
	switch {
	case kindOf(o) != counted:
	case o.P > 0:
		share = 1 - o.P
	case o.Above:
		share = 1 - o.Limit
	default:
		share = o.Limit
	}
	return min(max(share, 1e-6), 0.999)
}

// evidence is what one level says about one objective: of n requests a share
// broke it, which are worth effective independent ones. Nothing is known where
// n is 0.
type evidence struct {
	n, share, effective float64
	standing            slo.Standing
}

// Weights of evidence.
const (
	// wholeWorth is how many independent requests a verdict on a whole window
	// is worth.
	wholeWorth = 8
	// mostCrowded bounds how much less than its number a level's requests are
	// worth. A short window shows no spread between batches, so its verdict
	// counts one sample for each; how much one level differs from another by
	// chance is in the belief itself.
	mostCrowded = 20
	// unselected undoes the caution of a verdict, whose effective number is
	// the least of several estimates of it.
	unselected = 2
)

// evidence reads what the level says about an objective. Requests that the
// drain cut off break every promise, and belong to the end of the window: a
// sustained run has as many of them among more requests, so of theirs only the
// share counts that the level's length is of its.
func (o Observation) evidence(about slo.Objective, length float64) evidence {
	for _, v := range o.Objectives {
		if v.Objective != about.Text || v.Scope != about.Scope || v.Standing == slo.NotJudged {
			continue
		}
		if kindOf(about) == counted && v.N > 0 {
			n := float64(v.N)
			broken := float64(v.Violations)
			if about.Scope == (slo.Scope{}) && length < 1 {
				broken -= min(broken, float64(o.Censored)) * (1 - length)
			}
			e := evidence{n: n, share: broken / n, effective: n, standing: v.Standing}
			if v.NEff != nil {
				e.effective = min(n, max(unselected**v.NEff, n/mostCrowded))
			}
			return e
		}
		share := map[slo.Standing]float64{slo.Met: 0, slo.Undecided: 0.5, slo.Missed: 1}[v.Standing]
		return evidence{n: wholeWorth, share: share, effective: wholeWorth, standing: v.Standing}
	}
	return evidence{}
}
