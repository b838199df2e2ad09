package listing

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/run/history"
	"redline/internal/show/document"
)

// A change is told with its figures, since when, how sure that is and what it
// likely comes from; no chance is as small as none.
func TestDriftPage(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	upgrade := result.Setting{Name: "engine version", Before: "0.11", After: "0.12", Run: "run-13", At: since}
	d := &result.Drift{Runs: 14, Left: 2, Name: "nightly", Series: "abc", Standing: slo.Worse, Verdict: "tpot:p95 is worse",
		Settings: []result.Setting{upgrade}, Changes: []result.MetricShift{
			{Metric: "tpot:p95", Unit: "ms", Before: 20, After: 23, Ratio: new(1.15), Since: "run-13", At: since, Standing: slo.Worse, Causes: []result.Setting{upgrade}},
			{Metric: "fault:rate", Unit: "fraction", Before: 0.01, After: 0.03, Difference: new(0.02), P: 0.02, Since: "run-13", At: since, Standing: slo.Worse},
		}}
	var out strings.Builder
	must.Do(t, document.Terminal(&out, Drift(d), document.TerminalOptions{Width: 120}))
	text := out.String()
	for _, part := range []string{"WORSE: tpot:p95 is worse", "14 runs, and 2 left out", "+15%", "2026-03-01", "<0.001", "+2.0 points", "0.02",
		"tpot:p95 likely from: engine version 0.11 → 0.12", "redline history pin RUN"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// Runs that are alike in everything else are told apart by their directory.
func TestRunsHaveTheirDirectory(t *testing.T) {
	t.Parallel()
	alike := history.Entry{ID: "0bdaae11-6506", Kind: "run", Model: "qwen3-14b", Load: "3/s", Label: "h200", SLO: "undecided"}
	cold, warm := alike, alike
	cold.Path, warm.Path = "prefix-cold", "prefix-warm"
	var out strings.Builder
	must.Do(t, document.Terminal(&out, Runs([]*history.Entry{&cold, &warm}), document.TerminalOptions{Width: 100}))
	if text := out.String(); !strings.Contains(text, "prefix-cold") || !strings.Contains(text, "prefix-warm") {
		t.Errorf("the directories are not in\n%s", text)
	}
}

// Every run has its figures where there is room, and what is not known is a dash; an
// imported run is unchecked, and one with objectives says both.
func TestRunsHaveTheirFigures(t *testing.T) {
	t.Parallel()
	plain := history.Entry{ID: "1", Kind: "run", Load: "3/s", Valid: result.Valid, Shown: history.KeyFigures{TTFT: new(81.4), TPOT: new(9.0), Goodput: new(2.5)}}
	several, imported, judged := plain, history.Entry{ID: "3", Kind: "run", Valid: result.Valid, Unchecked: true}, plain
	several.Kind, several.Load, several.ShownAt = "sweep", "", "8/s"
	judged.SLO, judged.Unchecked = "missed", true
	var out strings.Builder
	must.Do(t, document.Markdown(&out, Runs([]*history.Entry{&plain, &several, &imported, &judged}), 1))
	for _, want := range []string{"| run |  | 3/s | valid | 81.4 | 9 | 2.5 |", "| sweep |  | at 8/s | valid | 81.4 | 9 | 2.5 |", "| run |  |  | unchecked | – | – | – |", "**missed, unchecked**"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// An index is a file like any other: what it holds is shown, not obeyed, and no
// letter is cut in two.
func TestNothingFromAnIndexReachesTheTerminalRaw(t *testing.T) {
	t.Parallel()
	const raw = "\x1b[31m\u202e\x01dé\n"
	setting := result.Setting{Name: raw, Before: raw, After: raw, Run: raw}
	for name, d := range map[string]*document.Document{
		"runs":    Runs([]*history.Entry{{ID: raw, Kind: raw, Label: raw, Model: raw, Engine: raw, Workload: raw, Load: raw, Valid: raw, SLO: raw}}),
		"letters": Runs([]*history.Entry{{ID: "äöüäöüäöü"}}),
		"drift": Drift(&result.Drift{Series: raw, Name: raw, Baseline: raw, Verdict: raw, Standing: raw, Settings: []result.Setting{setting},
			Changes: []result.MetricShift{{Metric: raw, Unit: raw, Ratio: new(1.1), Since: raw, Standing: raw, Causes: []result.Setting{setting}}}}),
	} {
		var out strings.Builder
		must.Do(t, document.Terminal(&out, d, document.TerminalOptions{}))
		if !utf8.ValidString(out.String()) || strings.ContainsAny(out.String(), "\x1b\x01\u202e") {
			t.Errorf("%s: %q", name, out.String())
		}
		if name == "letters" && !strings.Contains(out.String(), "äöüäöüäö ") {
			t.Errorf("the first eight letters of an id are not in %q", out.String())
		}
		// The letter after \x01 would be eaten as a tone.
		if name != "letters" && !strings.Contains(out.String(), `\x01d`) {
			t.Errorf("%s obeys markup: %q", name, out.String())
		}
	}
}

// Several series are one table, a line each; what is young says how many runs it
// needs, and what cannot drift needs none.
func TestSeveralSeriesAreOneTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	must.Do(t, document.Terminal(&out, Drifts([]*result.Drift{
		{Name: "chat, 5/s, duration 20s", Runs: 1, Needs: 9, Standing: slo.Undecided, Verdict: "9 more runs are needed before a change can be told from chance"},
		{Name: "chat, 5/s, duration 60s", Runs: 12, Standing: slo.Worse, Verdict: "tpot:p95 is worse"},
		{Name: "chat, sweep", Standing: slo.NotJudged, Verdict: "a sweep has no single load"}}), document.TerminalOptions{Width: 100}))
	for i, want := range []string{"series", "duration 20s too early 1 9 more runs needed", "duration 60s worse 12 tpot:p95 is worse", "sweep not followed 0 a sweep has no single load"} {
		line := strings.Join(strings.Fields(strings.Split(out.String(), "\n")[i]), " ")
		if !strings.Contains(line, want) {
			t.Errorf("line %d is %q, want %q in it", i, line, want)
		}
	}
}
