package report_test

import (
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/show/report"
)

// TestProtocol: the stopping rule is answered before anything else of the
// protocol is shown, in the terminal and on the page.
func TestProtocol(t *testing.T) {
	t.Parallel()
	beside, without := 812.0, 240.0
	r := &result.Result{Schema: result.Schema, ID: "x", Verdict: result.Verdict{Valid: "yes", SLO: "met"},
		Protocol: &result.Protocol{
			Acceptance: result.Acceptance{Standing: slo.NotMet, Conditions: []result.Condition{
				{Text: "limit>20", Standing: slo.NotMet, Outcome: "18.4 requests/s"}}},
			Neighbour: &result.Neighbour{Hot: "acme", Tenant: "small", HotRate: 8, Rate: 2, Beside: &beside, Without: &without},
			Fields:    []result.Field{{Name: "precision", Value: result.NotStated, Field: "model.precision"}, {Name: "tokenizer and chat template", Value: "o200k_base"}},
			Preflight: []result.PreflightFinding{{Check: "clock sync", About: "machine", Figure: "no", Cure: "start chrony"}, {Check: "cores", About: "machine", Figure: "2 busy"}},
			Variants:  []result.Variant{{Name: "fp8", Valid: "yes", SLO: "met", Acceptance: result.Acceptance{Standing: slo.Met}}},
			Scale:     0.05,
		}}
	var terminal, page strings.Builder
	must.Do(t, report.Terminal(&terminal, r, report.TerminalOptions{}))
	must.Do(t, report.HTML(&page, r))
	for _, want := range []string{"tokenizer and chat template  o200k_base", "preflight   machine clock sync · no · start chrony",
		"\n            machine cores · 2 busy"} {
		if !strings.Contains(terminal.String(), want) {
			t.Errorf("the terminal lacks %q:\n%s", want, terminal.String())
		}
	}
	for _, unstated := range []string{"precision", "not stated"} {
		if strings.Contains(terminal.String(), unstated) || strings.Contains(page.String(), unstated) {
			t.Errorf("a fact that nobody stated has a row: %q", unstated)
		}
	}
	for _, want := range []string{"not met", "limit>20", "18.4 requests/s", "acme", "812", "240", "fp8", "5%"} {
		if !strings.Contains(strings.ReplaceAll(terminal.String(), "\u00a0", " "), want) {
			t.Errorf("the terminal lacks %q:\n%s", want, terminal.String())
		}
		if !strings.Contains(strings.ReplaceAll(page.String(), "\u00a0", " "), strings.ReplaceAll(want, ">", "&gt;")) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
