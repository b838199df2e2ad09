package report

import (
	"bytes"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/must"
)

// TestWeakMediansOfGroupsAreFootnoted: a bucket of two requests has a median
// that nobody may rely on, beside one of high confidence.
func TestWeakMediansOfGroupsAreFootnoted(t *testing.T) {
	t.Parallel()
	r := baseSample()
	group := func(name string, n int, firm []string) metric.Group {
		return metric.Group{Name: name, Requests: metric.Requests{Due: n, OK: n},
			Latency: metric.Latency{TTFTDue: &metric.Dist{N: n, P: map[string]float64{"p50": 52.5}, Firm: firm}}}
	}
	r.Points[0].Buckets = []metric.Group{group("<1k", 900, []string{"p50"}), group("1k-4k", 2, nil)}
	var out bytes.Buffer
	must.Do(t, Terminal(&out, r, TerminalOptions{Explain: true}))
	_, table, _ := strings.Cut(out.String(), "by prompt, ms")
	table, _, _ = strings.Cut(table, "\n\n")
	var medians []string
	for line := range strings.Lines(table) {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "52.5") || strings.HasPrefix(word, "1k-4k") {
				medians = append(medians, word)
			}
		}
	}
	marked := strings.Join(medians, " ")
	if strings.HasPrefix(marked, "52.5 1k-4k") && strings.ContainsAny(marked, "¹²³⁴⁵") {
		return
	}
	t.Errorf("shown: %q; want the first median bare and the second marked in\n%s", marked, table)
}

// TestWarningsOfLevelsAreSaidOnce: every level of a sweep has the same to say,
// and what weakens figures that the page does not show is left out.
func TestWarningsOfLevelsAreSaidOnce(t *testing.T) {
	t.Parallel()
	r := curveSample()
	for range 3 {
		r.Warnings = append(r.Warnings, result.Warning{Figure: "latency", Text: "low confidence in every percentile"},
			result.Warning{Figure: "window.steady", Text: "not known"}, result.Warning{Figure: "requests", Text: "some were short"})
	}
	want := []result.Warning{{Figure: "requests", Text: "some were short"}}
	expect.Same(t, want, newPage(r, glance).notes.rest())
}

// TestViolators: an unfinished request whose first token came in time is not said
// to violate every limit.
func TestViolators(t *testing.T) {
	t.Parallel()
	const (
		of         = "violations count all requests due: "
		failed     = "a failed request violates every limit"
		unfinished = "an unfinished one violates limits on e2e, tpot and stall, and on ttft unless its first token was in time"
	)
	for _, tt := range []struct {
		n    metric.Requests
		want string
	}{
		{metric.Requests{Due: 254, OK: 254}, ""},
		{metric.Requests{Due: 254, OK: 245, Failed: 9}, of + failed},
		{metric.Requests{Due: 254, OK: 245, Unsent: 9}, of + failed},
		{metric.Requests{Due: 254, OK: 245, Censored: 9}, of + unfinished},
		{metric.Requests{Due: 254, OK: 245, Cancelled: 9}, of + unfinished},
		{metric.Requests{Due: 254, OK: 240, Censored: 9, Rejected: 5}, of + failed + "; " + unfinished},
	} {
		if got := violators(tt.n); got != tt.want {
			t.Errorf("violators(%+v) = %q, want %q", tt.n, got, tt.want)
		}
	}
}

// TestFindingsLineUp: what the window shows stands in one column with the
// checks that failed.
func TestFindingsLineUp(t *testing.T) {
	t.Parallel()
	r := baseSample()
	r.Verdict.Valid = "no"
	r.Verdict.Checks = []result.Check{{Name: "engine schedule", Figure: "p99 3 ms", Threshold: "≤ 1 ms"}}
	r.Points[0].Window.Overload, r.Points[0].Window.Growth = new(true), new(361.0)
	lines := above(t, r)
	want := []string{
		"INVALID  engine schedule: the figures below are unproven",
		"  engine schedule  p99 3 ms, allowed ≤ 1 ms",
		"  unproven         OVERLOAD: ttft p50 54.1 ms, p99 164 ms · tpot p50 11.7 ms, p99 16.8 ms ·",
		"                   3,750 output tokens/s · 2,409 of 2,413 requests answered at 20 requests/s",
		"  queue            grew by 361 requests over the window: this is more load than the server sustains",
	}
	expect.Same(t, want, lines)
}
