package diagnose

import (
	"fmt"
	"slices"
	"strconv"

	"redline/internal/catalog"
	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
)

// minAnswered is the number of answered requests below which nothing is said, but of
// what agents do to a server: they send few requests of very many tokens, so that
// minTurns of them say that.
const minAnswered = 30

// scene is one point of a result with what is needed to judge it.
type scene struct {
	res    *result.Result
	index  int
	point  *result.Point
	server telemetry.ServerUse // of nothing known where there is none
	// alone is the point of least load, where it is another one of the same
	// workload; nil otherwise.
	alone      *result.Point
	aloneIndex int
	missed     phase // of what the objectives that were missed are about
	paced      bool  // one of them is on the tokens' pace alone
	judged     bool  // some objective was set
}

// phase is the part of a request's life that a figure is about.
type phase = figure.Phase

const first, stream, either = figure.First, figure.Stream, figure.Whole

// sceneOf chooses the point to explain: the lowest load at which something is
// wrong, else the highest that was offered. It is nil where there is nothing
// to explain, or nothing to explain it with.
func sceneOf(res *result.Result) *scene {
	if res == nil || res.Verdict.Valid == result.Invalid || res.Comparison != nil || len(res.Toggles) > 0 {
		return nil
	}
	order := loads(res)
	if len(order) == 0 {
		return nil
	}
	chosen := order[len(order)-1]
	for _, i := range order {
		if isFailure(&res.Points[i]) {
			chosen = i
			break
		}
	}
	if res.Isolation != nil {
		chosen = slices.Max(order) // all together, which is what it is about
	}
	s := &scene{res: res, index: chosen, point: &res.Points[chosen]}
	if s.point.IsWatched() && s.point.Server.Samples > 1 {
		s.server = *s.point.Server
	}
	s.objectives()
	if s.judged && s.missed == 0 && !isFailure(s.point) && !slices.ContainsFunc(s.point.Objectives, func(v slo.Verdict) bool { return v.Standing == slo.Undecided }) {
		return nil // every objective is met: the boring configuration stays
	}
	for _, i := range order {
		if i != chosen && sameWork(&res.Points[i], s.point) && (s.alone == nil || inFlight(&res.Points[i]) < inFlight(s.alone)) {
			s.alone, s.aloneIndex = &res.Points[i], i
		}
	}
	if s.alone != nil && inFlight(s.alone) > inFlight(s.point)/2 {
		s.alone = nil
	}
	return s
}

// loads lists the points with enough requests, by what was in flight; where there are
// none, those that are enough for what agents do, or in which enough ended that were
// due before.
func loads(res *result.Result) []int {
	list := func(enough func(*result.Point) bool) (order []int) {
		for i := range res.Points {
			if enough(&res.Points[i]) && !isUnused(res, i) {
				order = append(order, i)
			}
		}
		return order
	}
	order := list(func(p *result.Point) bool { return answered(p) >= minAnswered })
	if len(order) == 0 {
		order = list(func(p *result.Point) bool {
			return p.Jobs != nil && answered(p) >= minTurns || p.Rates.Ended*p.Window.Seconds() >= minAnswered
		})
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return compareFloats(inFlight(&res.Points[a]), inFlight(&res.Points[b]))
	})
	return order
}

func answered(p *result.Point) int { return p.Requests.OK + p.Requests.Rejected }

// isBrief reports whether the point has too few requests for all but what agents do.
func (s *scene) isBrief() bool { return answered(s.point) < minAnswered }

// isUnused reports whether a point belongs to a stage whose figures nobody uses.
func isUnused(res *result.Result, i int) bool {
	return slices.ContainsFunc(res.Stages, func(s result.Stage) bool {
		return s.Point != nil && *s.Point == i && (s.Purpose == "smoke" || s.Purpose == "warm-up" || s.LeftOut != "")
	})
}

func inFlight(p *result.Point) float64 { return p.Concurrency.Mean }

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// isFailure reports whether a point shows what its user would call a failure.
func isFailure(p *result.Point) bool {
	if p.Window.Overload != nil && *p.Window.Overload || rejectShare(p) > rejectsSeen {
		return true
	}
	return slices.ContainsFunc(p.Objectives, func(v slo.Verdict) bool { return isMissed(v) })
}

// isMissed reports whether an objective that a regime can explain is missed. The
// price of a token is no latency: it falls as the load grows.
func isMissed(v slo.Verdict) bool {
	if o, err := slo.Parse(v.Objective); err == nil && o.Metric == "cost" {
		return false
	}
	return v.Standing == "missed" || leans(v)
}

// objectives notes which objectives were missed. One on whole replies is about
// the phase that takes most of them, and about both where the queue grows.
func (s *scene) objectives() {
	for _, v := range s.point.Objectives {
		s.judged = true
		if !isMissed(v) {
			continue
		}
		o, err := slo.Parse(v.Objective)
		about, known := figure.Find(o.Metric)
		switch {
		case err != nil || !known:
			s.missed |= either
		case about.Spread() && about.Phase == either && !s.isOverloaded():
			s.missed |= s.heavierPhase(o.Stat)
		default:
			s.missed |= about.Phase
			s.paced = s.paced || about.Phase == stream
		}
	}
}

// heavierBy is how many times as long as the other a phase takes for an objective on
// whole replies to be about it alone.
const heavierBy = 1.5

// heavierPhase is the phase that takes most of whole replies: both where neither takes
// much more than the other, or it is not known.
func (s *scene) heavierPhase(stat string) phase {
	switch before, after, known := s.phases(stat); {
	case known && after > heavierBy*before:
		return stream
	case known && before > heavierBy*after:
		return first
	}
	return either
}

// phases are the times to the first token and from it on at a statistic, on
// average where that is not known, in milliseconds.
func (s *scene) phases(stat string) (before, after float64, known bool) {
	l := s.point.Latency
	before, some := l.TTFTDue.Statistic(stat)
	after, all := l.Decode.Statistic(stat)
	switch {
	case some && all:
		return before, after, true
	case l.TTFT == nil || l.E2E == nil:
		return 0, 0, false
	}
	return l.TTFT.Mean, l.E2E.Mean - l.TTFT.Mean, true
}

// single reports whether one request at a time was in flight, and the server shows
// no others.
func (s *scene) single() bool {
	limit := s.point.Load.Concurrency
	if s.point.Concurrency.Max > 1 || s.point.Concurrency.Max == 0 && (limit == nil || *limit > 1) {
		return false
	}
	return (s.server.Running == nil || s.server.Running.Max <= 1) && (s.server.Waiting == nil || s.server.Waiting.Mean < fewWaiting)
}

// leaning is how far beyond its limit a figure has to lie for an undecided
// objective to count as one that is being missed.
const leaning = 1.25

func leans(v slo.Verdict) bool {
	if v.Standing != "undecided" || v.Value == nil {
		return false
	}
	if o, err := slo.Parse(v.Objective); err == nil && o.Above {
		return leaning**v.Value < v.Limit
	}
	return *v.Value > leaning*v.Limit
}

// concerns reports whether a rule is about what was missed; where nothing was,
// every rule looks for its symptom.
func (s *scene) concerns(r *rule) bool { return s.missed == 0 || s.missed&r.about != 0 }

// missedFirst and missedStream report whether an objective on that phase was
// missed.
func (s *scene) missedFirst() bool  { return s.missed&first != 0 }
func (s *scene) missedStream() bool { return s.missed&stream != 0 }

// sameWork reports whether two points were asked the same kind of questions.
func sameWork(a, b *result.Point) bool {
	return near(p50(a.Tokens.PromptLengths), p50(b.Tokens.PromptLengths)) && near(p50(a.Tokens.OutputLengths), p50(b.Tokens.OutputLengths))
}

// near allows a median to differ by a fifth.
func near(a, b float64) bool { return a > 0 && b > 0 && a < 1.25*b && b < 1.25*a }

func p50(d *metric.Dist) float64                   { return at(d, "p50") }
func at(d *metric.Dist, percentile string) float64 { v, _ := d.Get(percentile); return v }

// rejectShare is the share of requests that the server would not take.
func rejectShare(p *result.Point) float64 {
	return float64(p.Requests.Rejected) / float64(max(1, p.Requests.Due))
}

// see makes a piece of evidence of the point.
func (s *scene) see(field, format string, args ...any) result.Evidence {
	return result.Evidence{Field: fmt.Sprintf("points[%d].%s", s.index, field), Text: fmt.Sprintf(format, args...)}
}

// loneEvidence makes one of the point of least load.
func (s *scene) loneEvidence(field, format string, args ...any) result.Evidence {
	return result.Evidence{Field: fmt.Sprintf("points[%d].%s", s.aloneIndex, field), Text: fmt.Sprintf(format, args...)}
}

// fresh is the prompt tokens of a request that no cache served, the mean.
func (s *scene) fresh() float64 {
	t := s.point.Tokens
	if t.PromptLengths == nil {
		return 0
	}
	cached := 0.0
	if t.Prompt > 0 {
		cached = float64(t.Cached) / float64(t.Prompt)
	}
	return t.PromptLengths.Mean * (1 - cached)
}

// maxSeqs is the largest batch that the server is set up for, 0 if unknown.
func (s *scene) maxSeqs() float64 {
	for _, settings := range []map[string]string{s.server.Config, s.res.Engine.Flags} {
		for _, key := range []string{"max_num_seqs", "max-num-seqs", "max_running_requests", "max-running-requests"} {
			if n, err := strconv.ParseFloat(settings[key], 64); err == nil && n > 0 {
				return n
			}
		}
	}
	if s.res.Engine.Embedded {
		return planNumber(s.res.Plan, "server", "sim", "max_num_seqs")
	}
	return 0
}

func planNumber(plan map[string]any, path ...string) float64 {
	var v any = plan
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return 0
		}
		v = m[key]
	}
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		return 0
	}
	return n
}

// lonePace is the time per token that arithmetic gives a request of the
// point's mean length that has the accelerators to itself, in milliseconds.
func (s *scene) lonePace() (float64, bool) {
	p, t := s.point.Prediction, s.point.Tokens
	if p == nil || t.PromptLengths == nil || t.OutputLengths == nil {
		return 0, false
	}
	model, err := catalog.FindModel(p.Model)
	if err != nil {
		return 0, false
	}
	accelerator, err := catalog.FindAccelerator(p.Accelerator)
	if err != nil {
		return 0, false
	}
	d := catalog.Deploy(model, accelerator, p.Count)
	if precision, err := catalog.ParsePrecision(p.Precision); err == nil {
		d.Weights = precision
	}
	f := d.Forecast(catalog.Traffic{Prompt: t.PromptLengths.Mean, Output: t.OutputLengths.Mean, Concurrency: 1})
	return 1e3 * f.TPOT, f.TPOT > 0
}
