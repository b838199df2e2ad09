package report

import (
	"strings"
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
)

// What is odd about a fleet is said: who was seen once, who has no name, who fails; and that
// no reply has a name where the metrics show several engines.
func TestFleetIsSaid(t *testing.T) {
	t.Parallel()
	res := copied(t, metSample())
	p := &res.Points[0]
	p.Requests.Mended = []metric.Refusal{{Reason: "HTTP 429", Count: 14}}
	p.Fleet = &metric.Fleet{Named: 2400, Unnamed: 9, Once: []string{"sim-7"}, Busiest: "sim-0", Share: 0.26, Chance: 0.4,
		Failing: []metric.FailingReplica{{Name: "sim-2", Errors: 60, Requests: 600, Rate: 0.1, Others: 0.001, Chance: 1e-9}}}
	hasAll := func(words ...string) {
		t.Helper()
		text := strings.ReplaceAll(strings.Join(strings.Fields(page100(t, res, TerminalOptions{})), " "), hard, " ")
		for _, want := range words {
			if !strings.Contains(text, want) {
				t.Errorf("want %q in\n%s", want, text)
			}
		}
	}
	hasAll("9 requests without a name", "seen once sim-7", "failing sim-2 fails more often than the others: 10% of its 600 requests, ",
		"sent again 14 × HTTP 429 before an answer")
	p.Fleet, p.Server = nil, &telemetry.ServerUse{Replicas: 4}
	hasAll("4 by the metrics; no reply names the one that served it")
}

// What B adds stands in units: within the same requests, and on average.
func TestWhatBAdds(t *testing.T) {
	t.Parallel()
	res := copied(t, comparisonSample())
	res.Comparison.Differences = []result.Difference{
		{Name: "ttft", Unit: "ms", A: 29.1, B: 31.5, Step: new(2.7), Paired: true, Interval: &[2]float64{2.3, 3.2}},
		{Name: "outside", Unit: "ms", Part: true, A: 1.44, B: 4.36, Step: new(2.9), Paired: true, Interval: &[2]float64{2.6, 3.2}},
		{Name: "ttft_due", Unit: "ms", A: 33.3, B: 36.1, Interval: &[2]float64{-1.1, 6.7}},
		{Name: "gateway", Unit: "ms", Part: true, B: 3, Interval: &[2]float64{3, 3}},
		{Name: "queue", Unit: "ms", Part: true, A: 3, B: 3, ScrapedB: true, Interval: &[2]float64{-1, 1}},
	}
	text := strings.Join(strings.Fields(page100(t, res, TerminalOptions{})), " ")
	for _, want := range []string{"what B adds, medians A B B − A 95% interval ttft, ms 29.1 31.5 +2.7 +2.3 to +3.2 · outside the engine 1.44 4.36 +2.9", "what B adds, means A B B − A 95% interval ttft from due, ms 33.3 36.1 +2.8", "· gateway 0 3.00 +3.0", "queue of B by the means of its server's metrics"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "queue of A") || strings.Contains(text, "outside the engine: not known") {
		t.Errorf("what both sides' replies state is said to be unknown in\n%s", text)
	}
	res.Comparison.Differences = res.Comparison.Differences[:1]
	if text := page100(t, res, TerminalOptions{}); !strings.Contains(text, "outside the engine: not known") {
		t.Errorf("nothing says why the row is missing in\n%s", text)
	}
}
