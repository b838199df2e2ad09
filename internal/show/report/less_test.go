package report

import (
	"bytes"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// page100 is a report as a terminal of 100 columns shows it.
func page100(t *testing.T, r *result.Result, o TerminalOptions) string {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, Terminal(&out, r, o))
	return out.String()
}

// A plain run is read at a glance, an experiment on a screen of 48 lines.
func TestAReportIsShort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		maxLines int
		of       []*result.Result
	}{
		{28, []*result.Result{baseSample(), metSample(), undecidedSample(), closedLoopSample(), embeddedSample(), heldUpSample(), comparisonSample()}},
		{35, []*result.Result{missedSample(), invalidSample(), jobsSample()}},
		{44, []*result.Result{curveSample(), limitSample()}},
	} {
		for _, r := range c.of {
			if text := page100(t, r, TerminalOptions{}); strings.Count(text, "\n") > c.maxLines {
				t.Errorf("%d lines, at most %d:\n%s", strings.Count(text, "\n"), c.maxLines, text)
			}
		}
	}
}

// What a first look does without is there for whoever asks, and in files.
func TestTheRestIsForWhoeverAsks(t *testing.T) {
	t.Parallel()
	r := limitSample()
	r.Unknown = []string{"chat template"}
	short, whole := page100(t, r, TerminalOptions{}), page100(t, r, TerminalOptions{Explain: true})
	page := string(written(t, Format{"html", HTML}, r))
	for _, text := range []string{"cache contamination", "chat template", "10 s before every level"} {
		if strings.Contains(short, text) || !strings.Contains(whole, text) || !strings.Contains(page, text) {
			t.Errorf("%q: by default %v, with --explain %v, in a file %v; want no, yes, yes", text,
				strings.Contains(short, text), strings.Contains(whole, text), strings.Contains(page, text))
		}
	}
}

// The document has a word of its own for what people read as too close to call.
func TestNobodyReadsUndecided(t *testing.T) {
	t.Parallel()
	for _, s := range append(samples(), sample{"undecided", undecidedSample()}) {
		for _, format := range Formats {
			if text := strings.ToLower(string(written(t, format, s.result))); strings.Contains(text, "undecided") {
				at := strings.Index(text, "undecided")
				t.Errorf("%s as %s: …%s…", s.name, format.Name, text[max(0, at-60):min(len(text), at+60)])
			}
		}
	}
}

func TestPercentilesShown(t *testing.T) {
	t.Parallel()
	heads := func(r *result.Result) string {
		_, text, _ := strings.Cut(page100(t, r, TerminalOptions{}), "latency, ms")
		text, _, _ = strings.Cut(text, "\n")
		return strings.Join(strings.Fields(text), " ")
	}
	planned := baseSample()
	planned.Plan = map[string]any{"metrics": map[string]any{"percentiles": []any{99.9, uint64(50)}}}
	for _, tt := range []struct {
		name  string
		r     *result.Result
		asked []float64
		want  string
	}{
		{"by default", baseSample(), nil, "n mean p50 p90 p95 p99 max p99/p50"},
		{"as the plan asks", planned, nil, "n mean p50 p99.9 max"},
		{"as the flag asks", planned, []float64{99}, "n mean p99 max"},
		{"and what is judged", withObjectives(baseSample(), slo.Met, slo.Verdict{Objective: "tpot:p95<50ms", Standing: slo.Met, Value: ptr(14.2), Limit: 50, Unit: "ms"}),
			[]float64{50}, "n mean p50 p95 max"},
	} {
		shown, err := WithPercentiles(tt.r, tt.asked)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := heads(shown); got != tt.want {
			t.Errorf("%s: columns %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, err := WithPercentiles(baseSample(), []float64{99.99}); err == nil || !strings.Contains(err.Error(), "this result has no p99.99, only p50, p75, p90, p95, p99, p99.9") {
		t.Errorf("a percentile that nobody measured: %v", err)
	}
	if percentilesOf(planned)[0] != "p50" {
		t.Error("the result that was to be shown otherwise was changed")
	}
}

// Several objectives of an invalid run are shown, and none as a finding.
func TestAnInvalidRunShowsItsFiguresMarked(t *testing.T) {
	t.Parallel()
	text := page100(t, invalidSample(), TerminalOptions{Explain: true})
	if !strings.HasPrefix(text, "INVALID  lag, own CPU: the figures below are unproven\n") {
		t.Errorf("it leads with\n%.200s", text)
	}
	for _, want := range []string{"unproven    MET: ttft p99 164 ms, limit 500 ms", "  (met)     ttft p99 from due   164 ms", "in brackets: unproven"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
