package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// above gives the lines of a report before its first empty one.
func above(t *testing.T, r *result.Result) []string {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, Terminal(&out, r, TerminalOptions{}))
	head, _, _ := strings.Cut(out.String(), "\n\n")
	return strings.Split(strings.TrimSuffix(head, "\n"), "\n")
}

func TestVerdictLeads(t *testing.T) {
	t.Parallel()
	objective := func(text string, standing slo.Standing, value, limit float64, unit, note string) *result.Result {
		return withObjectives(baseSample(), standing,
			slo.Verdict{Objective: text, Standing: standing, Value: &value, Limit: limit, Unit: unit, Note: note})
	}
	for _, tt := range []struct {
		name   string
		result *result.Result
		want   []string
	}{
		{"one objective met", objective("ttft:p99<500ms", slo.Met, 163, 500, "ms", ""),
			[]string{"MET  ttft p99 163 ms, limit 500 ms"}},
		{"a hair too slow", objective("ttft:p99<500ms", slo.Missed, 500.4, 500, "ms", ""),
			[]string{"MISSED  ttft p99 500.4 ms, limit 500 ms (0.08% over)"}},
		{"minutes too slow", objective("e2e:p95<30s", slo.Missed, 92_400, 30_000, "ms", ""),
			[]string{"MISSED  e2e p95 92.4 s, limit 30 s (3.1 times the limit)"}},
		{"too little throughput", objective("throughput:min>5000", slo.Missed, 3748, 5000, "tokens/s", ""),
			[]string{"MISSED  output 3,750 tokens/s, at least 5,000 tokens/s wanted (25% under)"}},
		{"a percentile with a fraction", objective("tpot:p999<50ms", slo.Missed, 61, 50, "ms", ""),
			[]string{"MISSED  tpot p99.9 61.0 ms, limit 50 ms (22% over)"}},
		{"at the limit", objective("itl:p99<30ms", slo.Undecided, 29.6, 30, "ms", "at the limit"),
			[]string{"TOO CLOSE TO CALL  itl p99 29.6 ms, limit 30 ms: at the limit"}},
		{"nothing judged", withObjectives(baseSample(), "undecided", slo.Verdict{Objective: "kv:max<2048MB", Standing: slo.NotJudged, Limit: 2048, Unit: "MB"}),
			[]string{"NOT JUDGED  kv max"}},
		{"no window", &result.Result{},
			[]string{"NOTHING MEASURED: the run ended before its window began"}},
		{"nothing due", &result.Result{Points: []result.Point{{}}},
			[]string{"NOTHING MEASURED: no request was due in the window"}},
		{"invalid without a check", &result.Result{Verdict: result.Verdict{Valid: "no", Reasons: []string{"two runs shared one port"}}},
			[]string{"INVALID  the figures below are unproven", "  two runs shared one port"}},
	} {
		expect.NoDiff(t, cmp.Diff(tt.want, above(t, tt.result)), "%s (-want +got)", tt.name)
	}
}

// TestReasonsAreSaidOnce: what an objective or a failed check already shows is
// no second line.
func TestReasonsAreSaidOnce(t *testing.T) {
	t.Parallel()
	r := missedSample()
	r.Diagnosis = nil
	r.Verdict.Reasons = []string{"ttft:p99<500ms missed: 812 ms", "the server restarted once"}
	want := []string{"MISSED  ttft p99 812 ms, limit 500 ms (62% over; 95% sure above 742 ms; 187 of 4,092 over it) · good",
		"        fraction 95.4%, at least 99% wanted (187 of 4,092 fell short)", "  the server restarted once"}
	expect.Same(t, want, above(t, r))
	r = invalidSample()
	r.Verdict.Reasons = []string{"lag: p99 41 ms"}
	if got := strings.Join(above(t, r), "\n"); strings.Contains(got, "lag: p99 41 ms") {
		t.Errorf("the failed check is said twice:\n%s", got)
	}
}

func TestFates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		requests metric.Requests
		want     string
	}{
		{metric.Requests{}, "0"},
		{metric.Requests{OK: 1200}, "1,200 ok"},
		{metric.Requests{OK: 1200, Rejected: 3, Failed: 1, Faults: map[string]int{"rejected": 3, "reset": 1}},
			"1,200 ok + 3 rejected + 1 failed (reset 1)"},
		{metric.Requests{OK: 1, Failed: 9, Cancelled: 2, Censored: 3, Unsent: 4, Faults: map[string]int{"http": 2, "dns": 2, "empty": 5}},
			"1 ok + 9 failed (empty 5, dns 2, http 2) + 2 cancelled + 3 unfinished + 4 unsent"},
	} {
		if got := strings.ReplaceAll(fates(tt.requests), hard, " "); got != tt.want {
			t.Errorf("fates(%+v) = %q, want %q", tt.requests, got, tt.want)
		}
	}
}

// A run that was cut short has not been found valid, whatever its checks say.
func TestAKilledRunIsNotCalledValid(t *testing.T) {
	t.Parallel()
	r := baseSample()
	r.Interrupted = result.Killed
	var out strings.Builder
	must.Do(t, Terminal(&out, r, TerminalOptions{}))
	if strings.Contains(out.String(), "VALID") || !strings.HasPrefix(out.String(), "KILLED") || !strings.Contains(out.String(), "\nSO FAR") {
		t.Errorf("the report begins with\n%.200s", out.String())
	}
}
