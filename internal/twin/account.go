package twin

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// parts is into how many stretches the time is cut: of a day, hours.
const parts = 24

// account counts what became of a fleet's requests as they end.
type account struct {
	out        result.FleetRehearsal
	objectives []judgedObjective
	losses     slo.Objective // how many requests may be lost
	violating  int64
	histograms [metrics]*hdrhistogram.Histogram // microseconds
	settle     int64
	part       int64
	// cached are the prompt tokens of all that were asked for that were in the cache.
	cached, asked int64
	counts        [parts]struct {
		n, violating int64
		inside       float64 // nanoseconds
	}
}

// judgedObjective is an objective and how many requests it was asked of.
type judgedObjective struct {
	slo.Objective
	figure         int // its place in accounted
	missed, judged int64
}

// accounted are the figures of which a fleet's objectives are: those of every twin first.
var accounted = [...]string{"ttft", "tpot", "e2e", "decode"}

func newAccount(t Traffic, objectives []slo.Objective) *account {
	a := &account{settle: int64(t.Settle), part: max(1, int64(t.Span)/parts)}
	a.out.Objectives = []result.RehearsedObjective{}
	a.losses = slo.Objective{Text: "error:rate<1%", Limit: 0.01} // as runs have it
	for _, o := range objectives {
		if o.Metric == "error" && o.Scope == (slo.Scope{}) {
			a.losses = o
		}
		if figure := slices.Index(accounted[:], o.Metric); figure >= 0 && o.PerRequest() && o.Scope == (slo.Scope{}) {
			a.objectives = append(a.objectives, judgedObjective{Objective: o, figure: figure})
		}
	}
	for m := range a.histograms {
		a.histograms[m] = hdrhistogram.New(1, int64(48*time.Hour/time.Microsecond), 3)
	}
	return a
}

// add takes one answer of so many tokens.
func (a *account) add(asked, first, last int64, output int) {
	figures := [len(accounted)]float64{float64(first - asked), -1, float64(last - asked), float64(last - first)}
	if output > 1 { // one token has no time between
		figures[1] = float64(last-first) / float64(output-1)
	}
	bad := slices.ContainsFunc(a.objectives, func(o judgedObjective) bool { return figures[o.figure] > o.Limit })
	if !a.note(asked, bad, figures[2]) {
		return
	}
	for m, h := range a.histograms {
		if v := figures[m]; v >= 0 {
			// Two days bound everything that is simulated.
			_ = h.RecordValue(int64(v / 1e3))
		}
	}
	for i := range a.objectives {
		o := &a.objectives[i]
		switch v := figures[o.figure]; {
		case v > o.Limit:
			o.missed++
			fallthrough
		case v >= 0:
			o.judged++
		}
	}
}

// fail counts a request that no instance takes, or whose instance failed: it breaks every
// objective.
func (a *account) fail(at int64, as *int64) {
	if !a.note(at, true, 0) {
		return
	}
	*as++
	for i := range a.objectives {
		a.objectives[i].judged++
		a.objectives[i].missed++
	}
}

// note counts a request in its stretch of time, and reports whether it counts in the
// whole: those of the beginning do not.
func (a *account) note(at int64, bad bool, inside float64) bool {
	c := &a.counts[min(at/a.part, parts-1)]
	c.n++
	c.inside += inside
	if bad {
		c.violating++
	}
	if at < a.settle {
		return false
	}
	a.out.Requests++
	if bad {
		a.violating++
	}
	return true
}

// close turns counts into shares.
func (a *account) close() *result.FleetRehearsal {
	out := &a.out
	share := func(n, of int64) float64 { return float64(n) / float64(max(1, of)) }
	out.Violating = share(a.violating, out.Requests)
	for _, o := range a.objectives {
		j := result.RehearsedObjective{Objective: o.Text, Share: share(o.missed, o.judged)}
		if o.P > 0 { // a maximum allows none beyond it
			j.Allowed = 1 - o.P
		}
		j.Met = j.Share <= j.Allowed
		out.Objectives = append(out.Objectives, j)
	}
	if out.Lost > 0 {
		lost := result.RehearsedObjective{Objective: a.losses.Text, Share: share(out.Lost, out.Requests), Allowed: a.losses.Limit}
		lost.Met = lost.Share <= lost.Allowed
		out.Objectives = append(out.Objectives, lost)
	}
	out.Latency = map[string]result.Percentile{}
	for m, name := range Figures {
		h := a.histograms[m]
		at := func(p float64) float64 { return float64(h.ValueAtQuantile(p)) / 1e3 }
		out.Latency[name] = result.Percentile{P50: at(50), P95: at(95), P99: at(99)}
	}
	for i, c := range a.counts {
		seconds := float64(a.part) / 1e9
		out.Parts = append(out.Parts, result.RehearsedPart{StartS: float64(i) * seconds, Rate: float64(c.n) / seconds,
			InFlight: c.inside / 1e9 / seconds, Violating: share(c.violating, c.n)})
	}
	return out
}
