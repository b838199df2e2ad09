package metric

import (
	"fmt"
	"math"
	"slices"

	"redline/internal/llm"
	"redline/internal/slo"
)

func (v view) verdicts(s Summary) []slo.Verdict {
	var list []slo.Verdict
	for _, o := range v.o.Objectives {
		list = append(list, v.verdict(o, s))
	}
	return list
}

func (v view) verdict(o slo.Objective, s Summary) slo.Verdict {
	if s.Requests.Due == 0 {
		return notJudged(o, "no request was due in the window")
	}
	switch o.Metric {
	case "throughput":
		return v.throughputVerdict(o, s)
	case "kv":
		return v.kvVerdict(o)
	case "good", "error", "reject", "retry":
		return v.shareVerdict(o, s)
	case "cost":
		return notJudged(o, "the price is not known here")
	}
	if o.Stat == "mean" {
		return v.meanVerdict(o, s)
	}
	return v.percentileVerdict(o, s)
}

// blank is a verdict that says nothing yet, in the unit of its objective.
func blank(o slo.Objective) slo.Verdict {
	v := slo.Verdict{Objective: o.Text, Standing: slo.Undecided, Limit: o.Limit}
	switch o.Metric {
	case "throughput":
		v.Unit = "tokens/s"
	case "kv":
		v.Unit = "MB"
	case "cost":
		v.Unit = "$/1M tokens"
	case "good", "error", "reject", "retry":
		v.Unit = "fraction"
	default:
		v.Unit, v.Limit = "ms", o.Limit/1e6
	}
	return v
}

func notJudged(o slo.Objective, why string) slo.Verdict {
	v := blank(o)
	v.Standing, v.Note = slo.NotJudged, "not measured: "+why
	return v
}

// judged are the values that a latency objective is held against, over all
// due: a request that is not ok is infinitely late. In a figure of gaps it
// stands for as many gaps as a whole ok request has on average.
func (v view) judged(metric string) values {
	var ok values
	times := v.ownGaps.mean(metric)
	switch metric {
	case "itl":
		ok = v.gaps.itl(anyStream)
	case "icl":
		ok = v.gaps.icl(anyStream)
	default:
		ok = v.of(judgedFigure[metric], everything)
	}
	return func(yield func(int64, float32) bool) {
		more := true
		ok(func(at int64, ms float32) bool {
			more = yield(at, ms)
			return more
		})
		for i := 0; more && i < len(v.requests); i++ {
			if v.requests[i].outcome == llm.OK {
				continue
			}
			for n := 0; more && n < times; n++ {
				more = yield(v.requests[i].due, float32(math.Inf(1)))
			}
		}
	}
}

// measuredAny reports whether any ok request has the figure.
func (v view) measuredAny(metric string) bool {
	for _, ms := range v.judged(metric) {
		if !math.IsInf(float64(ms), 1) {
			return true
		}
	}
	return false
}

// percentileVerdict holds a latency percentile, or the maximum, against its
// limit.
func (v view) percentileVerdict(o slo.Objective, s Summary) slo.Verdict {
	if s.Requests.OK > 0 && !v.measuredAny(o.Metric) {
		return notJudged(o, whyUnmeasured(o.Metric))
	}
	all := v.space.sample(v.judged(o.Metric))
	p, limit := o.P, o.Limit/1e6
	if o.Stat == "max" {
		p = 1
	}
	own := all.quantile(p)
	// A run that breaks its limit less often than the truth by luck shows
	// little crowding there too. So the dependence is looked for at the
	// percentile itself and further in, where there is more to see.
	limits := []float64{limit, min(limit, own), min(limit, all.quantile(wider(p)))}
	slices.Sort(limits)
	sizes, above := all.beyond(v.batches, limits)
	e := evidence{sizes: sizes, broken: above[2], crowding: above, p: p, requests: s.Requests.Due}
	verdict := v.decide(blank(o), e, s.Window)
	if !math.IsInf(own, 1) {
		value := round(own)
		verdict.Value = &value
	}
	return verdict
}

// wider is the percentile beyond which three times as many values lie, but no
// more than half of them.
func wider(p float64) float64 { return min(p, max(1-3*(1-p), 0.5)) }

func whyUnmeasured(metric string) string {
	switch metric {
	case "itl":
		return "the tokens of each event are not known; icl is"
	case "tpot", "icl", "stall":
		return "no reply was streamed in more than one piece"
	}
	return "no reply was streamed"
}

// meanVerdict holds the mean over ok requests against its limit by the
// interval of the batches. Requests that are not ok are above any bound and so
// have no mean: it is never met beside them, nor while the queue grows.
func (v view) meanVerdict(o slo.Objective, s Summary) slo.Verdict {
	sums, sizes := make([]float64, v.batches.count), make([]float64, v.batches.count)
	total, n := 0.0, 0
	for at, ms := range v.judged(o.Metric) {
		if math.IsInf(float64(ms), 1) {
			continue
		}
		batch := v.batches.of(at)
		sums[batch] += float64(ms)
		sizes[batch]++
		total += float64(ms)
		n++
	}
	if n == 0 {
		return notJudged(o, "no ok request has it")
	}
	verdict := blank(o)
	verdict.N = n
	lo, hi := v.batches.ratio(sums, sizes, v.o.alpha())
	v.decideMean(&verdict, s.Window, total/float64(n), verdict.Limit-hi, lo-verdict.Limit)
	if verdict.Standing != slo.Met {
		return verdict
	}
	switch lost := s.Requests.Due - s.Requests.OK; {
	case lost > 0:
		verdict.Standing = slo.Undecided
		verdict.Note = fmt.Sprintf("%s of %s due not ok, above any bound", commas(lost), commas(s.Requests.Due))
	case s.Window.overloaded():
		verdict.Standing, verdict.Note = slo.Undecided, growingQueue
	}
	return verdict
}

// throughputVerdict holds the output token rate against its limit by the
// interval of the batches.
func (v view) throughputVerdict(o slo.Objective, s Summary) slo.Verdict {
	tokens, lengths := make([]float64, v.batches.count), make([]float64, v.batches.count)
	for i, n := range v.arrived.perBlock {
		batch := i * v.batches.count / arrivalBlocks
		tokens[batch] += float64(n)
		lengths[batch] += v.seconds() / arrivalBlocks
	}
	verdict := blank(o)
	verdict.N = s.Requests.Due
	lo, hi := v.batches.ratio(tokens, lengths, v.o.alpha())
	v.decideMean(&verdict, s.Window, s.Throughput.Output, lo-o.Limit, o.Limit-hi)
	return verdict
}

// decideMean judges a mean by how far the near ends of its interval lie on the
// good and on the bad side of the limit.
func (v view) decideMean(verdict *slo.Verdict, w Window, value, good, bad float64) {
	value = round(value)
	verdict.Value = &value
	weak := v.weakness(w)
	switch {
	case weak != "":
		verdict.Note = weak
	case good >= 0:
		verdict.Standing = slo.Met
	case bad > 0:
		verdict.Standing = slo.Missed
	default:
		verdict.Note = "at the limit"
	}
}

// shareVerdict holds a share of all due against its limit.
func (v view) shareVerdict(o slo.Objective, s Summary) slo.Verdict {
	if o.Metric == "good" && s.Goodput == nil {
		return notJudged(o, "goodput needs objectives on latency that every reply shows")
	}
	broke := map[string]func(request) bool{
		"good":   func(q request) bool { return !q.good },
		"error":  func(q request) bool { return q.outcome.Failed() },
		"reject": func(q request) bool { return q.outcome == llm.Rejected },
		"retry":  func(q request) bool { return q.retried },
	}[o.Metric]
	e := evidence{sizes: make([]int, v.batches.count), broken: make([]int, v.batches.count),
		p: 1 - o.Limit, requests: s.Requests.Due}
	if o.Above {
		e.p = o.Limit
	}
	for _, q := range v.requests {
		batch := v.batches.of(q.due)
		e.sizes[batch]++
		if broke(q) {
			e.broken[batch]++
		}
	}
	e.crowding = [][]int{e.broken}
	verdict := v.decide(blank(o), e, s.Window)
	value := float64(verdict.Violations) / float64(verdict.N)
	if o.Above {
		value = 1 - value
	}
	value = round(value)
	verdict.Value = &value
	return verdict
}

// kvVerdict holds the largest request's cache against its limit: arithmetic,
// so nothing about it is uncertain.
func (v view) kvVerdict(o slo.Objective) slo.Verdict {
	if v.o.KVMB == nil {
		return notJudged(o, "the model's shape is not known")
	}
	value := round(v.kvMax)
	verdict := blank(o)
	verdict.Standing, verdict.Value, verdict.N = slo.Met, &value, len(v.requests)
	if v.kvMax > o.Limit {
		verdict.Standing = slo.Missed
	}
	return verdict
}
