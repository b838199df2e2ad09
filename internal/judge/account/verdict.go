package account

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
)

// judge compares objectives with a part of the requests, with batches as long
// as those requests ask for.
type judge struct {
	view
	part     part
	own      *gapTally // gaps; nil where no objective is about them
	spaces   *[endCount]*workspace
	requests metric.Requests // of gaps those whose token times are kept
	thinned  bool            // they are not all
	noun     string          // what is judged, where it is no request
	window   metric.Window
}

func (v view) verdicts(s metric.Summary) []slo.Verdict {
	var list []slo.Verdict
	for _, o := range v.o.Objectives {
		list = append(list, v.judge(o, s).verdict(o))
	}
	return list
}

func (v view) judge(o slo.Objective, s metric.Summary) judge {
	scope := o.Scope
	j := judge{view: v, part: v.naming.part(scope), own: v.gaps.everything, spaces: &[endCount]*workspace{}, window: s.Window}
	if scope != (slo.Scope{}) {
		j.restrict(j.part, v.gaps.ofScope(scope))
	} else {
		j.requests = countAll(j.requestsOf(j.part))
	}
	j.keepTimed(o)
	return j
}

// requestsOf are those of a part that objectives are about.
func (j judge) requestsOf(p part) iter.Seq[*request] {
	return func(yield func(*request) bool) {
		for q := range j.view.requestsOf(p) {
			if !q.outside() && !yield(q) {
				return
			}
		}
	}
}

// outside reports whether no objective is about a request.
func (q *request) outside() bool { return q.outcome.Count().Judged == llm.Outside }

func (j *judge) restrict(p part, gaps *gapTally) {
	j.part, j.own = p, gaps
	j.requests = countAll(j.requestsOf(p))
	j.batches = j.batchesOf(p)
}

// keepTimed leaves the requests whose token times are kept, for an objective on gaps.
func (j *judge) keepTimed(o slo.Objective) {
	if isGap(o.Metric) {
		kept := countAll(withTimes(j.requestsOf(j.part)))
		j.thinned, j.requests = kept.Due < j.requests.Due, kept
	}
}

// judgeBuckets judges each objective on the requests of each bucket alone, where
// there are several: what it says of all does not depend on that. Throughput,
// jobs and cost are of the whole server.
func (v view) judgeBuckets(s *metric.Summary) {
	if len(s.Buckets) < 2 {
		return
	}
	for i := range s.Buckets {
		b := &s.Buckets[i]
		key := v.naming.numbers[byBucket][b.Name]
		v.last = &judgedSamples{} // those of the bucket
		all := judge{view: v, window: s.Window}
		all.restrict(func(k keys) bool { return k[byBucket] == key }, v.gaps.group(byBucket, int(key)))
		for _, o := range v.o.Objectives {
			if o.Metric == "throughput" || o.Metric == "cost" || o.AboutJobs() || o.Scope != (slo.Scope{}) {
				continue
			}
			j := all
			j.spaces = &[endCount]*workspace{}
			j.keepTimed(o)
			b.Objectives = append(b.Objectives, j.verdict(o))
		}
	}
}

func (j judge) verdict(o slo.Objective) slo.Verdict {
	if o.AboutJobs() {
		return j.jobVerdict(o)
	}
	if j.requests.Due == 0 && j.thinned {
		return notJudged(o, "the token times of no request"+whose(o.Scope)+" were kept: raise --token-times")
	}
	if j.requests.Due == 0 && countAll(j.view.requestsOf(j.part)).Due > 0 {
		return notJudged(o, "all requests"+whose(o.Scope)+" were closed by --cancel")
	}
	if j.requests.Due == 0 {
		return notJudged(o, "no request"+whose(o.Scope)+" was due in the window")
	}
	if o.AboutFire() {
		return notJudged(o, map[string]string{"leak": "no gauge of the KV cache was read, or no request was closed (--cancel, --metrics-url)"}[o.Metric])
	}
	switch o.Metric {
	case "throughput":
		return j.throughputVerdict(o)
	case "kv":
		return j.kvVerdict(o)
	case "good", "error", "reject", "retry", "calls_ok", "schema_ok":
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
	if s, err := fig.Parse(o.Metric+":"+o.Stat, fig.Promise); err == nil {
		v.Unit = string(s.Unit)
	}
	if v.Unit == string(fig.Milliseconds) {
		v.Limit = o.Limit / 1e6
	}
	return v
}

func notJudged(o slo.Objective, why string) slo.Verdict {
	v := blank(o)
	v.Standing, v.Note = slo.NotJudged, "not measured: "+why
	return v
}

// latenciesOf are the values that a latency objective is compared with, over all
// due: a request that is not ok is infinitely late, but for what it had shown
// before the drain cut it off. In a figure of gaps it
// stands for as many gaps as a whole ok request has on average, unless it was
// only cut off: then its gaps are not known, and none is beyond any limit. Gaps
// are those of the requests whose token times are kept, ok or not.
func (j judge) latenciesOf(metric string, e end) source {
	late := func(yield func(int64, float32) bool) {
		for q := range j.requestsOf(j.part) {
			if q.outcome == llm.OK || isGap(metric) && (q.thinned || wasStopped(q.outcome)) {
				continue
			}
			if !yield(q.due, q.cut.latencyBound(metric)) {
				return
			}
		}
	}
	switch metric {
	case "itl":
		return lateTally{j.own.itl[e], late, j.meanGaps(metric)}
	case "icl":
		return lateTally{j.own.icl[e], late, j.meanGaps(metric)}
	}
	return joinedValues(j.of(judgedFigure[metric], j.part, e), late)
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
	if judged := j.latenciesOf(o.Metric, asMeasured); j.requests.OK > 0 && !j.measuredAny(judged) {
		return notJudged(o, whyUnmeasured(o.Metric))
	}
	own := j.sampleAt(o.Metric, asMeasured)
	if own.count() == 0 {
		return notJudged(o, "every request was cut off before it ended")
	}
	p, limit := o.P, o.Limit/1e6
	if o.Stat == "max" {
		p = 1
	}
	verdict := blank(o)
	if value := own.quantile(p); !math.IsInf(value, 1) {
		verdict.Value = new(round(value))
	}
	above := own.above(limit)
	beyond := [endCount]int{above, above, above}
	verdict.N, verdict.Violations, verdict.CutOff = own.count(), above, j.countUnbroken(o.Metric, limit)
	if j.bounded {
		lows, highs := j.sampleAt(o.Metric, low), j.sampleAt(o.Metric, high)
		setEnds(&verdict, lows.quantile(p), highs.quantile(p))
		beyond[low], beyond[high] = lows.above(limit), highs.above(limit)
		verdict.ViolationsLow, verdict.ViolationsHigh = otherThan(above, beyond[low]), otherThan(above, beyond[high])
	}
	if p >= 1 || p <= 0 {
		return j.certain(verdict, beyond)
	}
	q := j.question(p, limit)
	q.Fewer = float64(verdict.CutOff) / float64(verdict.N)
	return j.decide(verdict, j.evidenceOf(o), q, func() bool { return j.isGrowing(j.latenciesOf(o.Metric, high)) })
}

// otherThan gives a count where it is not the one that was measured.
func otherThan(measured, n int) *int {
	if n == measured {
		return nil
	}
	return &n
}

// setEnds states the ends of a figure where they differ from it.
func setEnds(v *slo.Verdict, lowest, highest float64) {
	state := func(at float64) *float64 {
		if v.Value == nil || math.IsInf(at, 1) || math.Abs(at-*v.Value) <= minEndShare**v.Value {
			return nil
		}
		return new(round(at))
	}
	v.Low, v.High = state(lowest), state(highest)
}

// holdupNote says that only what this machine did leaves an objective open.
func (c *collector) holdupNote(v slo.Verdict) string {
	between := ""
	if v.Value != nil && (v.Low != nil || v.High != nil) {
		lowest, highest := *cmp.Or(v.Low, v.Value), *cmp.Or(v.High, v.Value)
		if (lowest <= v.Limit) == (highest <= v.Limit) && (v.ViolationsLow != nil || v.ViolationsHigh != nil) {
			// The figure is on one side of its limit either way; how many are over it is not known.
			between = fmt.Sprintf("%d to %d of %d are over it: ", *cmp.Or(v.ViolationsLow, &v.Violations), *cmp.Or(v.ViolationsHigh, &v.Violations), v.N)
		} else {
			between = bothEnds(lowest, highest, v.Unit) + ": "
		}
	}
	if !c.watched {
		return between + "events arrived merged with later ones, and hold-ups of this machine were not watched"
	}
	return between + "this machine delayed redline; run it on a quieter machine"
}

// sampleAt sorts the values of a metric at one of their ends, each end in memory
// of its own.
func (j judge) sampleAt(metric string, e end) sample {
	if j.spaces[e] == nil {
		j.spaces[e] = &workspace{}
	}
	return j.latenciesOf(metric, e).sample(j.spaces[e])
}

func whyUnmeasured(metric string) string {
	switch metric {
	case "itl":
		return "the tokens of each event are not known; use icl"
	case "tpot", "icl", "stall":
		return "no reply was streamed in more than one piece"
	}
	return "no reply was streamed"
}

// meanVerdict compares the mean over ok requests with its limit by how it
// differs between stretches. Requests that are not ok are above any bound and so
// have no mean: it is never met beside them, nor while the queue grows.
func (j judge) meanVerdict(o slo.Objective) slo.Verdict {
	var means [endCount]mean
	for e := range means {
		means[e] = j.meanOf(o.Metric, end(e))
	}
	n := sum(means[asMeasured].sizes)
	if n == 0 {
		return notJudged(o, "no successful request has it")
	}
	verdict := blank(o)
	verdict.N = int(n)
	j.decideMean(&verdict, means, false)
	if verdict.Standing != slo.Met {
		return verdict
	}
	switch lost := j.requests.Due - j.requests.OK; {
	case lost > 0:
		verdict.Note = fmt.Sprintf("%s of %s requests did not succeed, which is above any limit", text.Count(lost), text.Count(j.requests.Due))
	case j.isGrowing(j.latenciesOf(o.Metric, asMeasured)):
		verdict.Note = growingQueue
	default:
		return verdict
	}
	verdict.Standing, verdict.Bound = slo.Undecided, nil
	return verdict
}

// mean is a ratio of two sums by stretch of the window.
type mean struct{ sums, sizes []float64 }

// meanOf sums the finite values of a metric at one of their ends.
func (j judge) meanOf(metric string, e end) mean {
	b := j.stretches()
	m := mean{make([]float64, b.count), make([]float64, b.count)}
	j.latenciesOf(metric, e).visit(b, func(batch int, ms float32, count int) {
		if !math.IsInf(float64(ms), 1) {
			m.sums[batch] += float64(ms) * float64(count)
			m.sizes[batch] += float64(count)
		}
	})
	return m
}

// throughputVerdict compares the output token rate with its limit by how it
// differs between stretches.
func (j judge) throughputVerdict(o slo.Objective) slo.Verdict {
	b := j.stretches()
	tokens, lengths := make([]float64, b.count), make([]float64, b.count)
	at := slices.IndexFunc(j.arrived.blocks, func(b scopedBlocks) bool { return b.Scope == o.Scope })
	for i, n := range j.arrived.blocks[at].tokens {
		stretch := i * b.count / arrivalBlocks
		tokens[stretch] += float64(n)
		lengths[stretch] += j.seconds() / arrivalBlocks
	}
	verdict := blank(o)
	verdict.N = j.requests.Due
	rate := mean{tokens, lengths}
	j.decideMean(&verdict, [endCount]mean{rate, rate, rate}, true)
	return verdict
}

// decideMean judges a mean by its interval between stretches, at the end that
// could hurt the verdict; wantMore is true where the limit is one from below.
func (j judge) decideMean(verdict *slo.Verdict, means [endCount]mean, wantMore bool) {
	margins := func(m mean) (value, margin, stretches float64) {
		value, se, stretches := ratioOf(m.sums, m.sizes)
		margin = math.Inf(1)
		if stretches > 1 {
			margin = meanBy * stats.StudentQuantile(1-j.o.alpha(), stretches-1) * se
		}
		if j.window.Brief {
			margin *= briefBy
		}
		return value, margin, stretches
	}
	value, margin, stretches := margins(means[asMeasured])
	lowest, down, _ := margins(means[low])
	highest, up, _ := margins(means[high])
	verdict.Value, verdict.Confidence = new(round(value)), j.o.confidence()
	setEnds(verdict, lowest, highest)
	good, bad := highest+up <= verdict.Limit, lowest-down > verdict.Limit
	met, missed := highest+up, lowest-down
	if wantMore {
		good, bad = value-margin >= verdict.Limit, value+margin < verdict.Limit
		met, missed = missed, met
	}
	switch {
	case good:
		verdict.Standing, verdict.Bound = slo.Met, new(round(met))
	case bad:
		verdict.Standing, verdict.Bound = slo.Missed, new(round(missed))
	case !wantMore && (value+margin <= verdict.Limit || value-margin > verdict.Limit):
		verdict.Note = j.holdupNote(*verdict)
	case stretches < 2:
		verdict.Note = "too few requests, all within a twelfth of the window: run longer"
	case math.Abs(value-verdict.Limit) > atLimit*verdict.Limit:
		verdict.Note = notKnownWell(max(value-margin, 0), value+margin, verdict.Unit, verdict.Confidence)
	default:
		verdict.Note = "at the limit"
	}
}

// ratioOf is Σ above / Σ below and its standard error over the stretches that
// have any.
func ratioOf(above, below []float64) (ratio, se, stretches float64) {
	total := sum(below)
	ratio = sum(above) / total
	off := 0.0
	for i := range above {
		if below[i] > 0 {
			stretches++
			off += (above[i] - ratio*below[i]) * (above[i] - ratio*below[i])
		}
	}
	return ratio, math.Sqrt(off*stretches/max(stretches-1, 1)) / total, stretches
}

// breaks reports whether a request counts against an objective on a share: the good
// ones are those that it wants.
func (q *request) breaks(metric string, e end) bool {
	return shareOf[metric](q, e) != (metric == "good" || checkPlaces[metric] != nil)
}

func (j judge) shareVerdict(o slo.Objective) slo.Verdict {
	if o.Metric == "good" && !j.judgesGood {
		return notJudged(o, "goodput needs latency objectives that apply to every reply")
	}
	p := 1 - o.Limit
	if o.Above {
		p = o.Limit
	}
	verdict := blank(o)
	var broken [endCount]int
	for q := range j.requestsOf(j.part) {
		if !q.counts(o.Metric) {
			continue
		}
		verdict.N++
		for e := range broken {
			if q.breaks(o.Metric, end(e)) {
				broken[e]++
			}
		}
	}
	if verdict.N == 0 {
		return notJudged(o, "no reply"+whose(o.Scope)+map[string]string{"calls_ok": " calls a tool or had to (--tools)", "schema_ok": " was asked to keep a schema (--schemas)"}[o.Metric])
	}
	verdict.Violations = broken[asMeasured]
	if o.Metric == "good" {
		verdict.CutOff = j.mayBeGood()
	}
	if p >= 1 || p <= 0 {
		verdict = j.certain(verdict, broken)
	} else {
		q := j.question(p, brokenFrom)
		q.Fewer = float64(verdict.CutOff) / float64(verdict.N)
		verdict = j.decide(verdict, j.evidenceOf(o), q, func() bool { return false })
		verdict.Bound = nil
	}
	value := float64(verdict.Violations) / float64(verdict.N)
	if o.Above {
		value = 1 - value
	}
	verdict.Value = new(round(value))
	return verdict
}

// kvVerdict compares the largest request's cache with its limit: arithmetic,
// so nothing about it is uncertain.
func (j judge) kvVerdict(o slo.Objective) slo.Verdict {
	if j.o.KVMB == nil {
		verdict := notJudged(o, "the model's shape is not known (--catalog names its config.json)")
		if verdict.Skipped = j.o.Opaque; verdict.Skipped {
			verdict.Note += "; skipped, it is neither met nor missed"
		}
		return verdict
	}
	largest, n := 0.0, 0
	for q := range j.requestsOf(j.part) {
		if q.kvTokens > 0 {
			largest = max(largest, j.o.KVMB(int(q.kvTokens)))
			n++
		}
	}
	if n == 0 {
		return notJudged(o, "no request"+whose(o.Scope)+" had any output")
	}
	value := round(largest)
	verdict := blank(o)
	verdict.Standing, verdict.Value, verdict.N = o.JudgeExact(largest, o.Limit), &value, n
	return verdict
}
