package report

import (
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// TestAReasonOfAllMetricsIsSaidOnce: one run of each side shows no spread. The
// headline says so and what to do; the table does not repeat it.
func TestAReasonOfAllMetricsIsSaidOnce(t *testing.T) {
	t.Parallel()
	const reason = "a single run does not show how far it could be off; repeat it"
	res := copied(t, comparisonSample())
	res.Comparison.Standing, res.Comparison.Verdict = slo.Undecided, "no difference shown; too close to call: ttft:p50, ttft:p99, throughput"
	res.Comparison.Metrics = []result.Change{
		{Name: "ttft:p50", A: new(58.4), B: new(81.1), Ratio: new(1.39), Standing: slo.Undecided, Verdict: "no difference shown: " + reason},
		{Name: "ttft:p99", A: new(155.0), B: new(224.0), Ratio: new(1.44), Standing: slo.Undecided, Verdict: "no difference shown: " + reason},
		{Name: "throughput", A: new(5310.0), B: new(5620.0), Ratio: new(1.06), Standing: slo.Undecided, Verdict: "too close to call: higher by 5.8%"},
	}
	page := string(written(t, Formats[1], res))
	if want := "CANNOT TELL " + reason + " (ttft:p50, ttft:p99); too close to call: throughput"; !strings.Contains(strings.ReplaceAll(page, "**", ""), want) {
		t.Errorf("want %q in\n%s", want, page)
	}
	if n := strings.Count(page, reason); n != 1 {
		t.Errorf("the reason is said %d times in\n%s", n, page)
	}
	// A comparison with an answer keeps the reason beside its metric.
	res.Comparison.Standing, res.Comparison.Verdict = slo.Worse, "B is worse: throughput"
	res.Comparison.Metrics[2].Standing = slo.Worse
	if n := strings.Count(string(written(t, Formats[1], res)), reason); n != 2 {
		t.Errorf("beside an answer the reason is said %d times, want 2", n)
	}
}

// One stored run of each side that decides nothing is followed by what would.
func TestAnOpenComparisonSaysWhatDecides(t *testing.T) {
	t.Parallel()
	for way, want := range map[string]bool{"stored": true, "live": false} {
		r := comparisonSample()
		r.Comparison.Way, r.Comparison.Standing, r.Comparison.A.Runs = way, slo.Undecided, nil
		if text := page100(t, r, TerminalOptions{}); strings.Contains(text, "several runs of each side decide more") != want {
			t.Errorf("%s: want %v in\n%s", way, want, text)
		}
	}
}

// A figure that would count by itself stands in front, also where others have no test.
func TestASuspectStandsInFront(t *testing.T) {
	t.Parallel()
	c := &result.Comparison{Standing: slo.Undecided, Verdict: "not proven: tpot:p50 slower by 40% (runs of about 63 s would decide it); too close to call: e2e:p50",
		Metrics: []result.Change{{Name: "a", Verdict: notTested + "x"}, {Name: "b", Verdict: notTested + "x"}}}
	h := comparisonHeadline(c)
	if got, want := h.word+h.why, "NOT PROVEN: tpot:p50 slower by 40% (runs of about 63 s would decide it); too close to call: e2e:p50"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
