package search

import (
	"cmp"
	"math"
	"time"

	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// Observation is the outcome of a level.
type Observation struct {
	// Objectives are the verdicts on the level's window, one for each
	// objective of the search; those of others are ignored.
	Objectives []slo.Verdict
	// Values are the percentiles that the objectives are about over their
	// limits, of the requests that have the figure; 0 is not known, and nil
	// where none is. Blurs are by how much each may be off either way by what this
	// machine did, in logarithms; nil where it did nothing.
	Values, Blurs []float64
	// Requests is how many were due in the window.
	Requests int
	// Growth is by how many the requests in flight grew over the window. A
	// level that fills up has not yet shown what it will come to.
	Growth float64
	// Work is the work that the window's requests brought over what the rate
	// and the workload's means predict, as Luck has it: the random variation as
	// far as it is known. 0 is not known.
	Work float64
	// Latency is the figure in which the knee is looked for, in ms; 0 is not
	// known.
	Latency float64
	// Goodput is requests per second.
	Goodput float64
	// E2E is the mean time of a request, and Pace that between its tokens; 0 is
	// not known. A ramp gives those of a lone request. PaceBlur is by how much the
	// pace may be off, as Blurs are.
	E2E, Pace time.Duration
	PaceBlur  float64
	// InFlight is how many requests were in flight, and Resident how many tokens
	// of prompts and replies those that had output held in the server's memory, both in the mean; of a ramp,
	// over its last stretch. 0 is not known.
	InFlight, Resident float64
	// Queued says of a ramp that a queue formed or requests failed, and Slowing by how
	// much the pace of its last stretch exceeds that of a lone reply.
	Queued  bool
	Slowing float64
	// Spent is the wall-clock time that the level took, all included; 0 is its
	// warm-up and window.
	Spent time.Duration
}

// fromPoint reads an observation from a measured point, of sessions that have so
// many turns in the mean. The knee is looked for in the p99 of ttft, or of e2e where
// nothing was streamed.
func fromPoint(p result.Point, turns float64) Observation {
	o := Observation{Objectives: p.Objectives, Requests: p.Requests.Due,
		InFlight: p.Concurrency.Mean}
	o.Values, o.Blurs = values(p)
	if p.Window.Growth != nil {
		o.Growth = *p.Window.Growth
	}
	if p.Rates.Asked != nil && *p.Rates.Asked > 0 && turns <= 1 {
		// How many turns come depends on how long ago sessions began, and on replies.
		o.Work = p.Rates.Offered / *p.Rates.Asked
	}
	if p.Latency.E2E != nil {
		o.E2E = time.Duration(p.Latency.E2E.Mean * float64(time.Millisecond))
	}
	if p.Latency.TPOT != nil {
		low, high, _ := p.Latency.TPOT.Ends("mean")
		o.Pace = time.Duration(p.Latency.TPOT.Mean * float64(time.Millisecond))
		o.PaceBlur = blur(low, high)
	}
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

// Load adds up what is in flight over a stretch of time, in nanoseconds.
type Load struct {
	From, To           int64
	inFlight, resident float64
}

// add takes in a request that was sent, had its first output and its last at
// these times, with so many tokens in its prompt and in its reply at the last.
// One that had no output yet has a first of 0.
func (l *Load) add(sent, first, last int64, prompt, output int) {
	from, to := max(sent, l.From), min(last, l.To)
	if to <= from {
		return
	}
	l.inFlight += float64(to - from)
	if from = max(first, l.From); first == 0 || to <= from {
		return
	}
	// Its reply grows evenly: on average it is as long as halfway.
	grown := (float64(from+to)/2 - float64(first)) / float64(max(last-first, 1))
	l.resident += float64(to-from) * (float64(prompt) + grown*float64(output))
}

// Mean is the mean number of requests in flight and of tokens in memory.
func (l *Load) Mean() (inFlight, resident float64) {
	span := float64(max(l.To-l.From, 1))
	return l.inFlight / span, l.resident / span
}

// blur is by how much a value between two ends may be off either way, in
// logarithms.
func blur(low, high float64) float64 {
	if !(low > 0 && high > low) {
		return 0
	}
	return math.Log(high/low) / 2
}

// values reads the percentiles that objectives on first tokens and on pace are
// about, and by how much they may be off. That of whole replies is left out:
// those that a short level sees end are the short ones.
func values(p result.Point) (list, blurs []float64) {
	all, off := make([]float64, len(p.Objectives)), make([]float64, len(p.Objectives))
	for i, v := range p.Objectives {
		about, err := slo.Parse(v.Objective)
		if err != nil || about.P == 0 || v.Scope != (slo.Scope{}) || v.Limit <= 0 {
			continue
		}
		dist := map[string]*metric.Dist{"ttft": p.Latency.TTFTDue, "tpot": p.Latency.TPOT}[about.Metric]
		value, ok := dist.Get(about.Stat)
		if !ok && about.Metric != "ttft" {
			continue
		}
		low, high := value, value
		if ok {
			low, high, _ = dist.Ends(about.Stat)
		}
		if about.Metric == "ttft" && v.Value != nil {
			value, ok = *v.Value, true // those that the drain cut off have it too
			low, high = *cmp.Or(v.Low, v.Value), *cmp.Or(v.High, v.Value)
		}
		if !ok {
			continue
		}
		all[i], off[i] = value/v.Limit, blur(low, high)
		list = all
		if off[i] > 0 {
			all[i] = math.Sqrt(low*high) / v.Limit
			blurs = off
		}
	}
	return list, blurs
}

// lengthWeight is how much of a request more lengths count for: a tenth more
// tokens in every prompt, or in every reply, loads a server about as much as
// 8 % more requests. Regressed on 600 sustained runs of each of the engines in
// docs/measured/LIMIT.md it was 0.74 to 1 for prompts and 0.3 to 1.2 for replies, where
// it could be told at all.
const lengthWeight = 0.8

// luck is the work that a window's requests brought over what was expected:
// how many came, and the tokens of their prompts and replies, each over what
// the workload has in the mean. What is not known is 0 and left out.
func luck(requests, prompt, output float64) float64 {
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
	case o.Metric == "throughput", o.Metric == "jobs_per_hour":
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

// allowedShare is the share of requests that may break an objective. One on the
// window as a whole may be broken in every other run.
func allowedShare(o slo.Objective) float64 {
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

// evidence is what one level says about one objective: of n requests, which are
// worth effective independent ones, a share broke it that lies between low and
// high by what this machine may have done. Nothing is known where n is 0.
type evidence struct {
	n, effective float64
	low, high    float64
	value, blur  float64 // of the percentile over its limit; 0 is not known
	standing     slo.Standing
}

// Weights of evidence.
const (
	// wholeWorth is how many independent requests a verdict on a whole window
	// is worth.
	wholeWorth = 8
	// usualCrowding is by how much less than their number requests are worth
	// where nothing is known of it. What a level says of its own crowding is a
	// guess from a few stretches of it: it counts half, on a logarithmic
	// scale, and up to maxCrowded. Where it has too few stretches to tell, its
	// verdict counts each of them as one sample, and maxUnseen is the most
	// that is made of that.
	usualCrowding = 8
	maxCrowded    = 200
	maxUnseen     = 16
	fewStretches  = 20
)

// crowding is by how much less than n requests are worth, of which a verdict
// says what they are worth by themselves.
func crowding(n, effective float64) float64 {
	most := float64(maxCrowded)
	if effective < fewStretches {
		most = maxUnseen
	}
	return math.Sqrt(min(max(n/effective, 1), most) * usualCrowding)
}

// evidence reads what the level says about an objective. Requests that the
// drain cut off before they had broken it say nothing against the server: how
// many they are depends on the lengths of replies, the drain and the window. An
// objective on lateness they may break yet, and its share has an end for that.
func (o Observation) evidence(about slo.Objective) evidence {
	for i, v := range o.Objectives {
		if v.Objective != about.Text || v.Scope != about.Scope || v.Standing == slo.NotJudged {
			continue
		}
		if about.AboutJobs() && kindOf(about) != rising && v.N == 0 {
			break // no job began and ended
		}
		if kindOf(about) == counted && v.N > 0 {
			n, unresolved := float64(v.N), v.CutOff
			if late(about) {
				unresolved = 0 // they may break it yet
			}
			share := func(violations, cutOff int) float64 { return float64(max(violations-cutOff, 0)) / n }
			e := evidence{n: n, effective: n, standing: v.Standing}
			e.low, e.high = share(*cmp.Or(v.ViolationsLow, &v.Violations), v.CutOff), share(*cmp.Or(v.ViolationsHigh, &v.Violations), unresolved)
			if len(v.Beyond) == 2 {
				e.low, e.high = v.Beyond[0], v.Beyond[1]
			}
			if i < len(o.Values) {
				e.value = o.Values[i]
			}
			if i < len(o.Blurs) {
				e.blur = o.Blurs[i]
			}
			if v.NEff != nil && *v.NEff > 0 {
				e.effective = n / crowding(n, *v.NEff)
			}
			return e
		}
		share := map[slo.Standing]float64{slo.Met: 0, slo.Undecided: 0.5, slo.Missed: 1}[v.Standing]
		return evidence{n: wholeWorth, low: share, high: share, effective: wholeWorth, standing: v.Standing}
	}
	return evidence{}
}
