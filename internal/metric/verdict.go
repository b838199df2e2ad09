package metric

import (
	"fmt"
	"math"
	"slices"

	"redline/internal/llm"
	"redline/internal/slo"
)

// judge holds objectives against a part of the requests, with batches as long
// as those requests ask for.
type judge struct {
	view
	part     part
	own      *tallied // gaps; nil where no objective is about them
	requests Requests
	window   Window
}

func (v view) verdicts(s Summary) []slo.Verdict {
	var list []slo.Verdict
	for _, o := range v.o.Objectives {
		list = append(list, v.judge(o.Scope, s).verdict(o))
	}
	return list
}

func (v view) judge(scope slo.Scope, s Summary) judge {
	j := judge{view: v, part: v.naming.part(scope), own: v.gaps.everything, requests: s.Requests, window: s.Window}
	if scope != (slo.Scope{}) {
		j.own = v.gaps.scoped(scope)
		j.requests = countAll(v.requestsOf(j.part))
		j.batches = v.batchesOf(scope)
	}
	return j
}

func (j judge) verdict(o slo.Objective) slo.Verdict {
	if j.requests.Due == 0 {
		return notJudged(o, "no request"+whose(o.Scope)+" was due in the window")
	}
	switch o.Metric {
	case "throughput":
		return j.throughputVerdict(o)
	case "kv":
		return j.kvVerdict(o)
	case "good", "error", "reject", "retry":
		return j.shareVerdict(o)
	case "cost":
		return notJudged(o, "no price is given (--price-per-gpu-hour, or cost in a plan)")
	}
	if o.Stat == "mean" {
		return j.meanVerdict(o)
	}
	return j.percentileVerdict(o)
}

// whose names the requests of a scope, or nothing for all.
func whose(s slo.Scope) string {
	if s == (slo.Scope{}) {
		return ""
	}
	return " of " + s.String()
}

// blank is a verdict that says nothing yet, in the unit of its objective.
func blank(o slo.Objective) slo.Verdict {
	v := slo.Verdict{Objective: o.Text, Scope: o.Scope, Standing: slo.Undecided, Limit: o.Limit}
	switch o.Metric {
	case "throughput":
		v.Unit = "tokens/s"
	case "kv":
		v.Unit = "MB"
	case "cost":
		v.Unit = costUnits[o.Stat]
	case "good", "error", "reject", "retry":
		v.Unit = "fraction"
	default:
		v.Unit, v.Limit = "ms", o.Limit/1e6
	}
	return v
}

var costUnits = map[string]string{slo.CostPer1mOutput: "$/1M tokens", slo.CostPerRequest: "$/request",
	slo.CostPer1kTokens: "$/1k tokens", slo.CostPer1mAccepted: "$/1M accepted"}

func notJudged(o slo.Objective, why string) slo.Verdict {
	v := blank(o)
	v.Standing, v.Note = slo.NotJudged, "not measured: "+why
	return v
}

// judged are the values that a latency objective is held against, over all
// due: a request that is not ok is infinitely late. In a figure of gaps it
// stands for as many gaps as a whole ok request has on average.
func (j judge) judged(metric string) source {
	late := func(yield func(int64, float32) bool) {
		for q := range j.requestsOf(j.part) {
			if q.outcome != llm.OK && !yield(q.due, float32(math.Inf(1))) {
				return
			}
		}
	}
	switch metric {
	case "itl":
		return counted{j.own.itl, late, j.meanGaps(metric)}
	case "icl":
		return counted{j.own.icl, late, j.meanGaps(metric)}
	}
	return joinedValues(j.of(judgedFigure[metric], j.part), late)
}

func joinedValues(lists ...values) values {
	return func(yield func(int64, float32) bool) {
		for _, list := range lists {
			for at, ms := range list {
				if !yield(at, ms) {
					return
				}
			}
		}
	}
}

// meanGaps is how many gaps an ok request has, at least 1.
func (j judge) meanGaps(metric string) int {
	gaps, streams := 0, 0
	for q := range j.requestsOf(j.part) {
		n := q.icl
		if metric == "itl" {
			n = q.itl
		}
		if n > 0 {
			gaps += int(n)
			streams++
		}
	}
	if streams == 0 {
		return 1
	}
	return int(math.Round(float64(gaps) / float64(streams)))
}

// measuredAny reports whether any ok request has the figure.
func (j judge) measuredAny(judged source) bool {
	some := false
	judged.visit(j.batches, func(_ int, ms float32, _ int) {
		some = some || !math.IsInf(float64(ms), 1)
	})
	return some
}

// percentileVerdict holds a latency percentile, or the maximum, against its
// limit.
func (j judge) percentileVerdict(o slo.Objective) slo.Verdict {
	judged := j.judged(o.Metric)
	if j.requests.OK > 0 && !j.measuredAny(judged) {
		return notJudged(o, whyUnmeasured(o.Metric))
	}
	all := judged.sample(j.space)
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
	sizes, above := all.beyond(j.batches, limits)
	e := evidence{sizes: sizes, broken: above[2], crowding: above, p: p, requests: j.requests.Due}
	e.doubtful, e.hidden = j.doubts(o.Metric, p, limit)
	e.cutOff = j.unbroken(o.Metric, limit)
	verdict := j.decide(blank(o), e)
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
func (j judge) meanVerdict(o slo.Objective) slo.Verdict {
	sums, sizes := make([]float64, j.batches.count), make([]float64, j.batches.count)
	total, n := 0.0, 0
	j.judged(o.Metric).visit(j.batches, func(batch int, ms float32, count int) {
		if math.IsInf(float64(ms), 1) {
			return
		}
		sums[batch] += float64(ms) * float64(count)
		sizes[batch] += float64(count)
		total += float64(ms) * float64(count)
		n += count
	})
	if n == 0 {
		return notJudged(o, "no ok request has it")
	}
	verdict := blank(o)
	verdict.N = n
	lo, hi := j.batches.ratio(sums, sizes, j.o.alpha())
	j.decideMean(&verdict, total/float64(n), verdict.Limit-hi, lo-verdict.Limit)
	if verdict.Standing != slo.Met {
		return verdict
	}
	switch lost := j.requests.Due - j.requests.OK; {
	case lost > 0:
		verdict.Standing = slo.Undecided
		verdict.Note = fmt.Sprintf("%s of %s due not ok, above any bound", commas(lost), commas(j.requests.Due))
	case j.window.overloaded():
		verdict.Standing, verdict.Note = slo.Undecided, growingQueue
	}
	return verdict
}

// throughputVerdict holds the output token rate against its limit by the
// interval of the batches.
func (j judge) throughputVerdict(o slo.Objective) slo.Verdict {
	tokens, lengths := make([]float64, j.batches.count), make([]float64, j.batches.count)
	at := slices.IndexFunc(j.arrived.blocks, func(b scopedBlocks) bool { return b.Scope == o.Scope })
	total := 0.0
	for i, n := range j.arrived.blocks[at].tokens {
		batch := i * j.batches.count / arrivalBlocks
		tokens[batch] += float64(n)
		lengths[batch] += j.seconds() / arrivalBlocks
		total += float64(n)
	}
	verdict := blank(o)
	verdict.N = j.requests.Due
	lo, hi := j.batches.ratio(tokens, lengths, j.o.alpha())
	j.decideMean(&verdict, j.perSecond(total), lo-o.Limit, o.Limit-hi)
	return verdict
}

// decideMean judges a mean by how far the near ends of its interval lie on the
// good and on the bad side of the limit.
func (j judge) decideMean(verdict *slo.Verdict, value, good, bad float64) {
	value = round(value)
	verdict.Value = &value
	weak := j.weakness()
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
func (j judge) shareVerdict(o slo.Objective) slo.Verdict {
	if o.Metric == "good" && !j.judgesGood {
		return notJudged(o, "goodput needs objectives on latency that every reply shows")
	}
	broke := map[string]func(*request) bool{
		"good":   func(q *request) bool { return !q.good },
		"error":  func(q *request) bool { return q.outcome.Failed() },
		"reject": func(q *request) bool { return q.outcome == llm.Rejected },
		"retry":  func(q *request) bool { return q.retried },
	}[o.Metric]
	e := evidence{sizes: make([]int, j.batches.count), broken: make([]int, j.batches.count),
		p: 1 - o.Limit, requests: j.requests.Due}
	if o.Above {
		e.p = o.Limit
	}
	for q := range j.requestsOf(j.part) {
		batch := j.batches.of(q.due)
		e.sizes[batch]++
		if broke(q) {
			e.broken[batch]++
		}
	}
	e.crowding = [][]int{e.broken}
	verdict := j.decide(blank(o), e)
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
func (j judge) kvVerdict(o slo.Objective) slo.Verdict {
	if j.o.KVMB == nil {
		return notJudged(o, "the model's shape is not known")
	}
	most := 0.0
	for q := range j.requestsOf(j.part) {
		most = max(most, j.o.KVMB(int(q.kvTokens)))
	}
	value := round(most)
	verdict := blank(o)
	verdict.Standing, verdict.Value, verdict.N = slo.Met, &value, j.requests.Due
	if most > o.Limit {
		verdict.Standing = slo.Missed
	}
	return verdict
}
