package report

import (
	"cmp"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
)

// pooledPoint is the index of the point with all repeated runs together, -1 where
// there is none.
func pooledPoint(r *result.Result) int {
	if r.Repeats == nil || r.Repeats.Point == nil || *r.Repeats.Point < 0 || *r.Repeats.Point >= len(r.Points) {
		return -1
	}
	return *r.Repeats.Point
}

// repeatsHeadline says how many of several runs met the objectives.
func repeatsHeadline(r *result.Result) headline {
	missed, undecided, runs := 0, 0, 0
	for i := range r.Points {
		if i == pooledPoint(r) {
			continue
		}
		runs++
		switch slo.Overall(r.Points[i].Objectives) {
		case slo.Missed:
			missed++
		case slo.Undecided:
			undecided++
		}
	}
	over, load := " of "+plural(runs, "run"), ""
	if len(r.Points) > 0 {
		load = " " + loadPhrase(&r.Points[0])
	}
	if out := runs - r.Repeats.Runs; out > 0 && r.Repeats.Runs > 0 {
		load += "; " + count(out) + " of them left out, see the warnings"
	}
	switch slo.Standing(r.Verdict.SLO) {
	case slo.Missed:
		return headline{missedWord + "  ", lost, "in " + count(missed) + over + load}
	case slo.Undecided:
		return headline{openWord + "  ", unset, "in " + count(undecided) + over + load}
	case slo.Met:
		return headline{metWord + "  ", met, "every objective in each" + over + load}
	}
	word, tone := validWord(r)
	return headline{word, tone, plural(runs, "run") + load}
}

// repeats writes how far runs of one plan lie apart.
func (p *page) repeats(r *result.Result) {
	s := r.Repeats
	if s == nil || len(s.Metrics) == 0 {
		return
	}
	t := document.NewTable(left("over "+plural(s.Runs, "run")), right("mean"), right("95% interval"), right("least").Optional(2), right("most").Optional(1), right("between runs"), right("within a run").Optional(3))
	for i := range s.Metrics {
		t.Rows = append(t.Rows, spreadRow(&s.Metrics[i]))
	}
	p.Add(t)
	p.Note("the interval holds what differs between runs; between and within are standard deviations, of the mean")
}

func spreadRow(s *result.Spread) []string {
	bounds := cmp.Or(ifKnown(s.Interval, func(i [2]float64) string {
		return figureOrAbsent(&i[0], s.Unit) + "–" + figureOrAbsent(&i[1], s.Unit)
	}), absent)
	share := func(v *float64) string {
		return cmp.Or(ifKnown(v, func(v float64) string { return "±" + hard + inPercent(significant(100*v, 2, 2)) }), absent)
	}
	return []string{metricName(s.Name, s.Load, s.Unit), figureOrAbsent(&s.Mean, s.Unit), bounds, figureOrAbsent(&s.Min, s.Unit), figureOrAbsent(&s.Max, s.Unit), share(s.CV), share(s.WithinCV)}
}

// metricName is a metric with its load and its unit, so that its numbers need
// none: "ttft:p99 at 20 requests/s, ms".
func metricName(name, load, unit string) string {
	if load != "" {
		name += " at " + load
	}
	if unit != "" && unit != "fraction" {
		name += ", " + unit
	}
	return strings.TrimSpace(clean(name))
}
