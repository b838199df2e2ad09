package account

import (
	"iter"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/slo"
	"redline/internal/llm"
)

// Latencies are ttft, tpot and e2e of one request in ms, ttft and e2e from due;
// NaN where it has none.
func Latencies(r *record.Record) (first, pace, whole float64) {
	f := figuresOf(r)
	return f[ttftDue] / 1e6, f[tpot] / 1e6, f[e2eDue] / 1e6
}

// Parts are ttft from sending, how much of that is outside of the engine, and tpot of one
// request in ms; NaN where it has none, or its reply does not tell how long the engine
// took. What is outside are the network, gateways, and what is left over.
func Parts(r *record.Record) (first, outside, pace float64) {
	f := figuresOf(r)
	engine := f[waiting] + f[prefill]
	for _, more := range []figure{frontEnd, transfer, firstWrite} {
		engine += orZero(f[more])
	}
	return f[ttft] / 1e6, (f[ttft] - engine) / 1e6, f[tpot] / 1e6
}

// Good reports whether a request was answered and kept every objective that is about
// single requests: as measured, and with its figures at the low and at the high end of what
// they can have been without what the machine did.
func Good(r *record.Record, objectives []slo.Objective, m Machine) (good [endCount]bool) {
	if r.Outcome != llm.OK {
		return good
	}
	q := endedRequest(r, m)
	for e := range good {
		good[e] = !slices.ContainsFunc(objectives, func(o slo.Objective) bool {
			at, known := judgedFigure[o.Metric]
			if !known || !o.Scope.Covers(r.Class, r.Tenant) {
				return false
			}
			ok, judged := o.Judge(true, q.at(at, end(e)))
			return judged && !ok
		})
	}
	return good
}

// LateFrom is when a request had waited longer for its first output than an objective on it
// allows, 0 where it had not.
func LateFrom(r *record.Record, objectives []slo.Objective) (at int64) {
	for _, o := range objectives {
		limit := r.Due + int64(o.Limit)
		if o.Metric == "ttft" && !o.Above && o.PerRequest() && o.Scope.Covers(r.Class, r.Tenant) && max(r.First, r.End) > limit && (r.First == 0 || r.First > limit) && (at == 0 || limit < at) {
			at = limit
		}
	}
	return at
}

// endedRequest has the figures of a record and their ends.
func endedRequest(r *record.Record, m Machine) *request {
	var t tails
	f, groups := t.figuresOf(r)
	var thinned record.Essence
	if r.Thinned() {
		thinned = r.Essence()
	}
	return &request{figures: f, ends: m.endsOf(r, f, groups, thinned)}
}

// Figures are the latencies of one request in ms by name, those of METRICS.md
// and percentiles of its own itl; what it does not have is absent.
func Figures(r *record.Record) map[string]float64 {
	var t tails
	found := map[string]float64{}
	f, groups := t.figuresOf(r)
	if r.Outcome == llm.OK && r.Streamed {
		t.gaps.take(r, groups, math.MinInt64, math.MaxInt64)
		if s := t.space.sample(t.gaps.itl); len(s.sorted) > 0 {
			found["itl_p50"], found["itl_p95"], found["itl_p99"], found["itl_max"] = s.quantile(0.5), s.quantile(0.95), s.quantile(0.99), s.quantile(1)
		}
	}
	for _, one := range requestFigures {
		if ns := f[one.figure]; !math.IsNaN(ns) {
			found[one.name] = ns / 1e6
		}
	}
	return found
}

// figuresOf gives all figures of a record, those of the times of its events among
// them, and the groups of these.
func (t *tails) figuresOf(r *record.Record) (figures, []group) {
	f, groups := figuresOf(r), appendGroups(r, nil)
	if r.Outcome == llm.OK && r.Streamed {
		e := t.essence(r, groups, true)
		f[stall], f[iclTail], f[itlTail] = orNaN(e.Stall), orNaN(e.ICLTail), orNaN(e.ITLTail)
	}
	return f, groups
}

// Lag is how late a request was sent in ms, NaN where it was not.
func Lag(r *record.Record) float64 {
	if r.Sent == 0 {
		return math.NaN()
	}
	return float64(late(r)) / 1e6
}

// Gaps gives those of one reply after another, in memory that it reuses.
type Gaps struct {
	gaps   gaps
	groups []group
}

// Of gives the distinct stamps of a reply with the tokens that came at each, and
// the gaps between its tokens, in ms, with their ends.
func (g *Gaps) Of(r *record.Record) (arrived iter.Seq2[int64, int], itl iter.Seq2[int64, float32]) {
	g.groups = appendGroups(r, g.groups[:0])
	g.gaps.take(r, g.groups, math.MinInt64, math.MaxInt64)
	return func(yield func(int64, int) bool) {
		for _, one := range g.groups {
			if !yield(one.at, one.tokens) {
				return
			}
		}
	}, g.gaps.itl
}
