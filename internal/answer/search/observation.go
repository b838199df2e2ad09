package search

import (
	"math"
	"time"

	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// Observation is what came of a level.
type Observation struct {
	// Objectives are the verdicts on the level's window, one for each
	// objective of the search; those of others are ignored.
	Objectives []slo.Verdict
	// Values are the percentiles that the objectives are about over their
	// limits, of the requests that have the figure; 0 is not known, and nil
	// where none is.
	Values []float64
	// Requests is how many were due in the window.
	Requests int
	// Censored is how many of them were still running when the drain ended.
	Censored int
	// Growth is by how many the requests in flight grew over the window. A
	// level that fills up has not yet shown what it will come to.
	Growth float64
	// Work is the work that the window's requests brought over what the rate
	// and the workload's means predict, as Luck has it: the random variation as
	// far as it is known. 0 is not known.
	Work float64
	// Overload says that the growth is beyond chance.
	Overload bool
	// Latency is the figure in which the knee is looked for, in ms; 0 is not
	// known.
	Latency float64
	// Goodput and Completed are requests per second.
	Goodput, Completed float64
	// E2E is the mean time of a request, and Pace that between its tokens; 0 is
	// not known. A ramp gives those of a lone request.
	E2E, Pace time.Duration
	// InFlight is how many requests were in flight: in the mean, and at the end
	// of a ramp. Queued says of a ramp that a queue formed before its end.
	InFlight float64
	Queued   bool
	// Spent is the wall-clock time that the level took, all included; 0 is its
	// warm-up and window.
	Spent time.Duration
}

// FromPoint reads an observation from a measured point. The knee is looked for
// in the p99 of ttft, or of e2e where nothing was streamed.
func FromPoint(p result.Point) Observation {
	o := Observation{Objectives: p.Objectives, Requests: p.Requests.Due, Censored: p.Requests.Censored, Completed: p.Rates.Completed,
		InFlight: p.Concurrency.Mean}
	o.Values = values(p)
	if p.Window.Growth != nil {
		o.Growth = *p.Window.Growth
	}
	if p.Rates.Asked != nil && *p.Rates.Asked > 0 {
		o.Work = p.Rates.Offered / *p.Rates.Asked
	}
	if p.Latency.E2E != nil {
		o.E2E = time.Duration(p.Latency.E2E.Mean * float64(time.Millisecond))
	}
	if p.Latency.TPOT != nil {
		o.Pace = time.Duration(p.Latency.TPOT.Mean * float64(time.Millisecond))
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

// values reads the percentiles that objectives on first tokens and on pace are
// about. That of whole replies is left out: those that a short level sees end
// are the short ones.
func values(p result.Point) []float64 {
	list := make([]float64, len(p.Objectives))
	some := false
	for i, v := range p.Objectives {
		about, err := slo.Parse(v.Objective)
		if err != nil || about.P == 0 || v.Scope != (slo.Scope{}) || v.Limit <= 0 {
			continue
		}
		dist := map[string]*metric.Dist{"ttft": p.Latency.TTFTDue, "tpot": p.Latency.TPOT}[about.Metric]
		if value, ok := dist.Get(about.Stat); ok {
			list[i], some = value/v.Limit, true
		}
	}
	if !some {
		return nil
	}
	return list
}

// lengthWeight is how much of a request more lengths count for: a tenth more
// tokens in every prompt, or in every reply, loads a server about as much as
// 8 % more requests. Regressed on 600 sustained runs of each of the engines in
// docs/LIMIT.md it was 0.74 to 1 for prompts and 0.3 to 1.2 for replies, where
// it could be told at all.
const lengthWeight = 0.8

// Luck is the work that a window's requests brought over what was expected:
// how many came, and the tokens of their prompts and replies, each over what
// the workload has in the mean. What is not known is 0 and left out.
func Luck(requests, prompt, output float64) float64 {
	work := requests
	for _, length := range []float64{prompt, output} {
		if length > 0 {
			work *= math.Pow(length, lengthWeight)
		}
	}
	return work
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

// late reports whether an objective is about when something comes, so that a
// queue breaks it in the end.
func late(o slo.Objective) bool {
	f, ok := figure.Find(o.Metric)
	return ok && f.Spread() && f.Phase != figure.Stream
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
	value               float64 // of the percentile over its limit; 0 is not known
	standing            slo.Standing
}

// Weights of evidence.
const (
	// wholeWorth is how many independent requests a verdict on a whole window
	// is worth.
	wholeWorth = 8
	// usualCrowding is by how much less than their number requests are worth
	// where nothing is known of it. What a level says of its own crowding is a
	// guess from a few stretches of it: it counts half, on a logarithmic
	// scale, and up to mostCrowded. Where it has too few stretches to tell, its
	// verdict counts each of them as one sample, and mostUnseen is the most
	// that is made of that.
	usualCrowding = 6
	mostCrowded   = 200
	mostUnseen    = 16
	fewStretches  = 20
)

// crowding is by how much less than n requests are worth, of which a verdict
// says what they are worth by themselves.
func crowding(n, effective float64) float64 {
	most := float64(mostCrowded)
	if effective < fewStretches {
		most = mostUnseen
	}
	return math.Sqrt(min(max(n/effective, 1), most) * usualCrowding)
}

// evidence reads what the level says about an objective. Requests that the
// drain cut off before they had broken it say nothing against the server: how
// many they are depends on the lengths of replies, the drain and the window. Of
// an objective on good requests it is not known which they are; they belong to
// the end of the window, and a sustained run has as many of them among more
// requests, so that of theirs only the share counts that the level's length is
// of its.
func (o Observation) evidence(about slo.Objective, length float64) evidence {
	for i, v := range o.Objectives {
		if v.Objective != about.Text || v.Scope != about.Scope || v.Standing == slo.NotJudged {
			continue
		}
		if kindOf(about) == counted && v.N > 0 {
			n := float64(v.N)
			broken := float64(v.Violations - v.CutOff)
			if about.Metric == "good" && about.Scope == (slo.Scope{}) {
				broken -= min(broken, float64(o.Censored)) * max(1-length, 0)
			}
			e := evidence{n: n, share: broken / n, effective: n, standing: v.Standing}
			if i < len(o.Values) {
				e.value = o.Values[i]
			}
			if v.NEff != nil && *v.NEff > 0 {
				e.effective = n / crowding(n, *v.NEff)
			}
			return e
		}
		share := map[slo.Standing]float64{slo.Met: 0, slo.Undecided: 0.5, slo.Missed: 1}[v.Standing]
		return evidence{n: wholeWorth, share: share, effective: wholeWorth, standing: v.Standing}
	}
	return evidence{}
}
