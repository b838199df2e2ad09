package assemble

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// A run that failed a check shows its figures, marked with what failed; what its
// server missed is no part of the mark.
func TestAnInvalidRunIsMarked(t *testing.T) {
	t.Parallel()
	lag := result.Check{Name: "lag", Figure: "p99 30 ms", Threshold: "≤ 10 ms, 5% of ttft:p99<200ms", Cure: "lower the rate"}
	sent := result.Check{Name: "due against sent", OK: true, Figure: "0 of 9 unsent", Threshold: "≤ 0.1%"}
	const reason = "lag: p99 30 ms, allowed ≤ 10 ms, 5% of ttft:p99<200ms"
	for _, tt := range []struct {
		what    string
		checks  []result.Check
		valid   result.Validity
		mark    string
		reasons []string
	}{
		{"sound", []result.Check{sent}, result.Valid, "", []string{"missed tpot:p99<9ms"}},
		{"late", []result.Check{lag, sent}, result.Invalid, reason, []string{reason, "missed tpot:p99<9ms"}},
	} {
		res := &result.Result{Verdict: result.Verdict{Valid: result.Valid, Checks: tt.checks}, Points: []result.Point{{Summary: metric.Summary{
			Objectives: []slo.Verdict{{Objective: "tpot:p99<9ms", Standing: slo.Missed}, {Objective: "ttft:p99<200ms", Standing: slo.Met}}}}}}
		Run{}.conclude(res)
		if res.Verdict.Valid != tt.valid || res.Points[0].Invalid != tt.mark {
			t.Errorf("%s: %s, marked %q, want %s and %q", tt.what, res.Verdict.Valid, res.Points[0].Invalid, tt.valid, tt.mark)
		}
		expect.NoDiff(t, cmp.Diff(tt.reasons, res.Verdict.Reasons), "%s: reasons (-want +got)", tt.what)
	}
}
