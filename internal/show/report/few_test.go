package report

import (
	"strings"
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
)

// Too few requests are said to be that, with how many it takes: in the headline, of
// a level, of a class, and of a bucket of prompt lengths.
func TestTooFewRequests(t *testing.T) {
	few := slo.Verdict{Objective: "ttft:p99<500ms", Standing: slo.Undecided, Value: new(157.0), Unit: "ms", Limit: 500, N: 73, Needed: 299, Note: "too few requests: 73 of 299 needed"}
	median := few
	median.Objective, median.N, median.Needed, median.Note = "ttft:p50<500ms", 7, 20, "too few requests: 7 of 20 needed"
	gaps := few
	gaps.Objective, gaps.N = "itl:p99<50ms", 12_000
	open := few
	open.Needed, open.Note = 0, "at the limit"
	met := few
	met.Standing, met.Needed = slo.Met, 0
	for _, c := range []struct {
		verdicts []slo.Verdict
		words    string
	}{
		{[]slo.Verdict{few}, "too few requests (73 of 299 needed)"},
		{[]slo.Verdict{met, median, few}, "too few requests (73 of 299 needed)"},
		{[]slo.Verdict{gaps}, "too few requests (299 needed)"},
		{[]slo.Verdict{few, open}, "too close to call"},
		{[]slo.Verdict{open}, "too close to call"},
	} {
		if got := openWords(c.verdicts...); got != c.words {
			t.Errorf("%v: %q, want %q", c.verdicts, got, c.words)
		}
	}
	const head = "TOO FEW REQUESTS  ttft p99 157 ms, limit 500 ms: 73 of 299 needed"
	r := missedSample()
	r.Verdict.SLO, r.Points[0].Objectives = slo.Undecided, []slo.Verdict{few}
	r.Points[0].Buckets = []metric.Group{
		{Name: "<1k", Requests: metric.Requests{Due: 400, OK: 400}, Objectives: []slo.Verdict{met}}, {Name: "1k-4k", Requests: metric.Requests{Due: 73, OK: 73}, Objectives: []slo.Verdict{few}}}
	page := strings.Join(strings.Fields(page100(t, r, TerminalOptions{Width: 100, Explain: true})), " ")
	for _, want := range []string{strings.Join(strings.Fields(head), " "), "1k-4k too few requests (73 of 299 needed)"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	curve := curveSample()
	curve.Curve.MaxQPS = nil
	for i := range curve.Points {
		curve.Points[i].Objectives, curve.Points[i].Window.Overload = []slo.Verdict{few}, nil
	}
	page = page100(t, curve, TerminalOptions{Width: 100})
	if got := strings.Count(page, "too few requests"); got != len(curvePoints(curve)) || !strings.HasPrefix(page, "TOO FEW REQUESTS: no level of") {
		t.Errorf("%d levels of too few requests:\n%s", got, page)
	}
}
