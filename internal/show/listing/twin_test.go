package listing

import (
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/show/document"
	"redline/internal/traffic/workload"
	"redline/internal/twin"
)

// A level that was held out is marked, one without a figure has a dash, and what
// was left out is said below.
func TestCalibration(t *testing.T) {
	t.Parallel()
	c := &twin.Calibration{Good: true, Holds: 1, HeldOut: map[string]float64{"tpot": 0.031}, Evidence: &twin.Evidence{Skipped: []string{"40 requests/s: not valid"}},
		Rows: []twin.Row{
			{Level: "4 requests/s", Requests: 1200, HeldOut: true, P50: map[string]twin.Comparison{"tpot": {MeasuredMS: 20, TwinMS: 20.4, Error: 0.02}}},
		},
		Limit: &twin.LimitCheck{Measured: 20, Twin: 21, Error: 0.05}}
	var out strings.Builder
	must.Do(t, document.Terminal(&out, Calibration(c), document.TerminalOptions{}))
	want := `GOOD TWIN: median error on held-out levels: tpot 3.1% (goal 10%)

level             requests  ttft p50  twin  error  tpot p50  twin  error  e2e p50  twin  error
  4 requests/s *     1,200         –     –      –      20.0  20.4   2.0%        –     –      –
  times in ms; * predicted by a fit to the other levels alone
  holds at 4 requests/s: no figure is off by more than 2%
  limit: 20 requests/s measured, 21 by the twin (5.0% off)

warning     left out: 40 requests/s: not valid
`
	expect.Same(t, want, out.String())
}

// Lengths are counted by powers of two; where all are alike there is nothing to
// draw.
func TestHistogram(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := &document.Builder{}
	b.Add(histogram("tokens", []float64{3, 4, 5, 7, 900}))
	b.Add(histogram("alike", []float64{5, 5}))
	must.Do(t, document.Terminal(&out, &b.Document, document.TerminalOptions{}))
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(rows) != 10 || rows[0] != "tokens" {
		t.Fatalf("%d rows, want a title and the nine powers from 2 to 512:\n%s", len(rows), out.String())
	}
	for i, want := range map[int]string{1: "2–3 20.0% " + strings.Repeat("█", 13), 2: "4–7 60.0% " + strings.Repeat("█", 40), 9: "512–1,023 20.0% " + strings.Repeat("█", 13)} {
		if got := strings.Join(strings.Fields(rows[i]), " "); got != want {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
	}
}

// A workload's tenants beyond the tenth are counted.
func TestWorkloadCountsTheRest(t *testing.T) {
	t.Parallel()
	s := &workload.Summary{Name: "mix", Requests: 1}
	for range 12 {
		s.Tenants = append(s.Tenants, workload.Share{Name: "t", Requests: 1, Share: 1.0 / 12})
	}
	var out strings.Builder
	must.Do(t, document.Terminal(&out, Workload(s), document.TerminalOptions{}))
	if got := strings.Count(out.String(), "8.3%"); got != 10 || !strings.Contains(out.String(), "and 2 more") || !strings.Contains(out.String(), "1 request\n") {
		t.Errorf("%d tenants shown, want 10 and a count of the rest:\n%s", got, out.String())
	}
}
