package account

import (
	"cmp"
	"fmt"
	"math"

	"redline/internal/judge/evidence"
	fig "redline/internal/judge/figure"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
)

// How objectives are judged. Percentiles and shares are judged by package evidence,
// means by how they differ between stretches of the window. docs/design/STATISTICS.md has the
// rules in words and, by `make verdicts`, how often they are wrong and how often
// they decide.
const (
	// stretchCount cuts the window into stretches whose differences show how well
	// a mean is known. More would be shorter than what a queue remembers, fewer too
	// few to compare.
	stretchCount = 12
	// meanBy widens the margin of a mean beyond its standard error, briefBy again
	// where the window is short for the queue.
	meanBy, briefBy = 1.3, 1.5
	// risesBy is the factor between the first and the last third of the window
	// from which a figure grows with the queue.
	risesBy = 1.5
	// minRequests is how many say something at all.
	minRequests = 20
	// atLimit is the distance, as a share of the limit, within which no length
	// of a run is likely to decide a mean.
	atLimit = 0.02
	// wellAbove is how many times a percentile a limit must be for values to be
	// judged as they were measured.
	wellAbove = 2
)

// stretches cut the window evenly.
func (j judge) stretches() batches { return evenBatches(j.o.Start, j.o.End, stretchCount) }

// brokenFrom parts the values of a share: 1 for a request that breaks it, else 0.
const brokenFrom = 0.5

// question is what a bound on a percentile asks of the window.
func (j judge) question(p, limit float64) evidence.Question {
	return evidence.Question{P: p, Limit: limit, Alpha: 1 - j.o.confidence(), Spent: j.o.spentShare()}
}

// samples are the values that objectives on one figure of the same requests are
// judged by, at each of their ends: the same ones where the ends are.
type samples [endCount]*evidence.Sample

// judgedSamples keeps those of the last figure, since several objectives often
// bound one.
type judgedSamples struct {
	metric string
	scope  slo.Scope
	samples
}

func (j judge) evidenceOf(o slo.Objective) samples {
	if j.last.metric == o.Metric && j.last.scope == o.Scope && !isGap(o.Metric) {
		return j.last.samples
	}
	own := j.evidenceAt(o, asMeasured)
	all := samples{own, own, own}
	if j.bounded {
		all[low], all[high] = j.evidenceAt(o, low), j.evidenceAt(o, high)
	}
	*j.last = judgedSamples{o.Metric, o.Scope, all}
	return all
}

// evidenceAt are those values at one of their ends.
func (j judge) evidenceAt(o slo.Objective, e end) *evidence.Sample {
	if isGap(o.Metric) {
		return j.observedGaps(j.latenciesOf(o.Metric, e), j.requests.Due, o.Limit/1e6)
	}
	return j.sampleOf(j.part, func(q *request) float64 { return q.judgedBy(o.Metric, e) })
}

// sampleOf are the values of some requests with their times and conversations;
// those that are NaN are left out.
func (v view) sampleOf(p part, value func(*request) float64) *evidence.Sample {
	list := make([]evidence.Observation, 0, v.requests.n)
	single := v.isUnused(byTurn)
	for q := range v.requestsOf(p) {
		x := value(q)
		if math.IsNaN(x) {
			continue
		}
		o := evidence.Observation{At: float32(float64(q.due-v.o.Start) / second), Value: float32(x), Weight: 1, Group: q.session}
		for way, kind := range [...]int32{evidence.ByClass: q.keys[byClass], evidence.ByTenant: q.keys[byTenant],
			evidence.ByPromptLength: q.keys[byBucket], evidence.ByReplica: q.keys[byReplica] + 1} {
			o.Kinds[way] = uint8(min(kind, math.MaxUint8))
		}
		if single {
			o.Group = evidence.Alone
		}
		list = append(list, o)
	}
	return evidence.New(list, evidence.Window{Length: v.seconds()})
}

// observedGaps are gaps of so many requests, at the times of the batches they were
// counted in. Those that differ by less than a thousandth, on one side of a limit,
// count as the largest of them: there may be millions.
func (v view) observedGaps(gaps source, requests int, limit float64) *evidence.Sample {
	const coarse = 13 // of the 23 bits of a fraction
	var list []evidence.Observation
	length, last := v.seconds(), -1
	gaps.visit(evenBatches(v.o.Start, v.o.End, maxBatches), func(batch int, ms float32, n int) {
		at := len(list) - 1
		if batch == last && math.Float32bits(list[at].Value)>>coarse == math.Float32bits(ms)>>coarse && (float64(list[at].Value) > limit) == (float64(ms) > limit) {
			list[at].Value = max(list[at].Value, ms)
			list[at].Weight += float32(n)
			return
		}
		last = batch
		list = append(list, evidence.Observation{At: float32((float64(batch) + 0.5) / maxBatches * length), Value: ms, Weight: float32(n), Group: evidence.Alone})
	})
	return evidence.New(list, evidence.Window{Length: length, Requests: requests, Parts: maxBatches})
}

// judgedBy is the figure of a request that objectives on a metric are judged by, in
// ms, or of a share whether it breaks it; NaN where it has none.
func (q *request) judgedBy(metric string, e end) float64 {
	if q.outside() || !q.counts(metric) {
		return math.NaN()
	}
	if _, share := shareOf[metric]; share {
		if q.breaks(metric, e) {
			return 1
		}
		return 0
	}
	if q.outcome != llm.OK {
		return float64(q.cut.latencyBound(metric))
	}
	return q.at(judgedFigure[metric], e) / 1e6
}

// decide judges a bound on a percentile: met by the high ends of the values, missed
// by the low ones. What keeps it open is in its note; grows reports whether the
// values do.
func (j judge) decide(verdict slo.Verdict, all samples, q evidence.Question, grows func() bool) slo.Verdict {
	lows, highs := all[low], all[high]
	verdict.NEff = new(round(float64(verdict.N) * highs.Worth(q.P)))
	verdict.Confidence = j.o.confidence()
	verdict.Sees = new(round(evidence.Sees(j.seconds())))
	sign := highs.Sign(q.P)
	// A bound is chosen by the values, a limit is not: it must be surer.
	bound := q
	bound.Alpha /= 2
	switch {
	case lows.Missed(q):
		verdict.Standing = slo.Missed
		if lower := lows.Lower(bound); !math.IsInf(lower, 1) && lower > q.Limit {
			verdict.Bound = new(round(lower))
		}
	case !all.isMet(q):
		verdict.Note = j.open(&verdict, all, q)
	case grows():
		verdict.Note = growingQueue
	case j.o.goesOn() && sign != evidence.NoSign && !highs.Far(q.Limit):
		verdict.Note = signs[sign]
	default:
		verdict.Standing = slo.Met
		if sign == evidence.NoSign {
			verdict.Bound = new(round(min(highs.Upper(bound), q.Limit)))
		}
	}
	return verdict
}

// onSameSide reports whether no value lies on another side of a limit at its low end
// than at its high one.
func (all samples) onSameSide(limit float64) bool {
	return all[low].Beyond(limit) == all[high].Beyond(limit)
}

// isMet reports whether a bound is met: by the high ends; or, where the machine moved
// no value over a limit that lies wellAbove the percentile, by how few lie beyond.
// These depend on one another as they were measured: the delays that an end allows
// for come together too, but are not the server's.
func (all samples) isMet(q evidence.Question) bool {
	return all[high].Met(q) || all[asMeasured].MetByCount(q) && all.onSameSide(q.Limit) &&
		wellAbove*all[high].Level(1-q.P) <= q.Limit && all[low].Met(q)
}

// signs say in words what hints at something rarer than the window can speak of.
// A look at a run that may go on calls nothing met beside one, but what lies far
// from its limit.
var signs = map[evidence.Sign]string{
	evidence.Wanders: "latencies rise and fall slowly, which leaves too few independent samples: run longer",
	evidence.Talks:   "conversations differ and last for much of the window: run longer",
	evidence.Replica: "one replica is slower than the others: run longer to see what it does to all requests",
	evidence.Episode: "one slow episode stands out: run longer to see how often it comes",
}

// open says why a bound is too close to call, and what would decide it. A queue
// that grows is a reason only where the rest speaks for a met.
func (j judge) open(v *slo.Verdict, all samples, q evidence.Question) string {
	own, highs := all[asMeasured], all[high]
	n, share, whole := own.Requests(), float64(v.Violations)/float64(v.N), q
	whole.Fewer = 0
	switch {
	case j.window.Overloaded() && share <= 1-q.P:
		return growingQueue
	case v.CutOff > 0 && (all[low].Missed(whole) || share > 1-q.P && float64(v.Violations-v.CutOff) <= (1-q.P)*float64(v.N)):
		// Those that are known to be over it do not miss it: the others do.
		cut := text.Plural(v.CutOff, "unfinished "+j.judgedNoun()+" counts", "unfinished "+j.judgedNoun()+"s count") + " as over it"
		if j.window.Overloaded() {
			return cut + ", and the queue grows"
		}
		return cut + ": let the run end, and allow a longer drain"
	case !all.onSameSide(q.Limit) && (own.Met(q) || own.Missed(q) || all[low].Met(q)): // without its delays it would be decided
		return j.holdupNote(*v)
	}
	// As many, each a chance of its own and without this machine's delays, would decide.
	if over := float64(*cmp.Or(v.ViolationsLow, &v.Violations)); stats.BinomialAtLeast(over, float64(v.N), 1-q.P) <= j.o.alpha() {
		return fmt.Sprintf("%s of %ss are over it, %s may, but they came together: run longer", text.Percent(share), j.judgedNoun(), text.Percent(1-q.P))
	}
	few, least := int(math.Round(n)), stats.MinToMeet(q.P, j.o.alpha())
	more, ok := stats.MoreNeeded(few, n*own.Worth(q.P), int(math.Round(share*n)), q.P, j.o.alpha())
	switch sign := signs[own.Sign(q.P)]; {
	case few < max(least, minRequests):
		v.Needed = max(least, minRequests, few+more)
		have := few
		if v.N < v.Needed { // else they are gaps, of which a request has many
			have = v.N
		}
		return fmt.Sprintf("too few %ss%s: %s of %s needed%s", j.judgedNoun(), j.thinnedNote(), text.Count(have), text.Count(v.Needed), v.NeededWith())
	case !ok && v.Unit == string(fig.Milliseconds) && (v.Value == nil || math.Abs(*v.Value-v.Limit) > atLimit*v.Limit):
		// The figure alone does not say why.
		return "at the limit: " + text.Percent(share) + " of " + j.judgedNoun() + "s are over it or have no full answer, " + text.Percent(1-q.P) + " may"
	case !ok:
		return "at the limit"
	case own.Sign(q.P) == evidence.Wanders && v.NEff != nil && *v.NEff < float64(least):
		cut := ""
		if v.CutOff > 0 {
			cut = " or unfinished"
		}
		return fmt.Sprintf("%s of %s over it%s, but latencies rise and fall slowly: they count as %s independent ones, %s needed; run longer",
			text.Count(v.Violations), text.Count(v.N), cut, text.Count(int(*v.NEff)), text.Count(least))
	case sign != "":
		return sign
	case more == 1:
		return "about 1 more " + j.judgedNoun() + j.thinnedNote() + " would decide"
	case more > 1:
		return "about " + text.Count(more) + " more " + j.judgedNoun() + "s" + j.thinnedNote() + " would decide"
	}
	if upper := highs.Upper(q); v.Unit == string(fig.Milliseconds) && !math.IsInf(upper, 1) {
		return notKnownWell(all[low].Lower(q), upper, v.Unit, j.o.confidence())
	}
	return "slow " + j.judgedNoun() + "s come in clusters: run longer"
}

// judgedNoun names what is judged.
func (j judge) judgedNoun() string { return cmp.Or(j.noun, "request") }

// thinnedNote names the requests that gaps are judged by, where they are not all.
func (j judge) thinnedNote() string {
	if j.thinned {
		return " whose token times are kept"
	}
	return ""
}

func notKnownWell(low, high float64, unit string, confidence float64) string {
	return fmt.Sprintf("%s with %s confidence: run longer", bothEnds(low, high, unit), text.Percent(confidence))
}

// isGrowing reports whether the queue grows and the values with it. Where only
// long replies still gather, or a scheduler keeps the pace of what it has
// begun, they do not.
func (j judge) isGrowing(values source) bool {
	if !j.window.Overloaded() {
		return false
	}
	var logs, counts [3]float64
	values.visit(evenBatches(j.o.Start, j.o.End, len(logs)), func(third int, ms float32, n int) {
		if v := float64(ms); v > 0 && !math.IsInf(v, 1) {
			logs[third] += float64(n) * math.Log(v)
			counts[third] += float64(n)
		}
	})
	return !(logs[2]/counts[2]-logs[0]/counts[0] < math.Log(risesBy))
}

const growingQueue = "the queue grows, so a longer run would be slower"

// certain judges a bound that allows no violation at all, by how many there are at
// the low and at the high ends.
func (c *collector) certain(verdict slo.Verdict, beyond [endCount]int) slo.Verdict {
	switch {
	case beyond[low] > 0:
		verdict.Standing = slo.Missed
	case beyond[high] > 0:
		verdict.Note = c.holdupNote(verdict)
	default:
		verdict.Standing = slo.Met
	}
	return verdict
}

// bothEnds words the ends of a figure, those of a time in seconds from ten of them
// on: "between 84 and 131 ms".
func bothEnds(low, high float64, unit string) string {
	if unit == string(fig.Milliseconds) && high >= 10_000 {
		low, high, unit = low/1000, high/1000, "s"
	}
	return fmt.Sprintf("between %s and %s %s", threeDigits(low), threeDigits(high), unit)
}

// threeDigits writes a figure without false precision.
func threeDigits(v float64) string {
	if math.IsInf(v, 0) {
		return "∞"
	}
	return text.Number(v)
}

func sum[T int | float64](counts []T) T {
	var total T
	for _, n := range counts {
		total += n
	}
	return total
}
