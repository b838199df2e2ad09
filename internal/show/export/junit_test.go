package export

import (
	"encoding/xml"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// outcomes are the cases of a suite with what came of each, and its counts.
func outcomes(t *testing.T, r *result.Result) (cases []string, counts string) {
	t.Helper()
	var suites junitSuites
	must.Do(t, xml.Unmarshal(writeResult(t, JUnit, r), &suites))
	for _, c := range suites.Suite.Cases {
		outcome := "passed"
		switch {
		case c.Error != nil:
			outcome = "error"
		case c.Failure != nil:
			outcome = "failure"
		case c.Skipped != nil:
			outcome = "skipped"
		}
		cases = append(cases, c.Name+": "+outcome)
	}
	s := suites.Suite
	return cases, fmt.Sprintf("%d tests, %d failures, %d errors, %d skipped", s.Tests, s.Failures, s.Errors, s.Skipped)
}

func TestJUnitOutcomes(t *testing.T) {
	t.Parallel()
	below := readSample(t, "limit")
	below.Sustained = nil
	below.Limit.ByObjective["ttft:p99<500ms"] = result.Bound{Standing: result.LimitBelow}
	for _, tt := range []struct {
		name   string
		result *result.Result
		cases  []string
		counts string
	}{
		{"met", readSample(t, "met"), []string{"the run is valid: passed", "ttft:p99<500ms: passed", "tpot:p99<50ms: passed", "error:rate<1%: passed"},
			"4 tests, 0 failures, 0 errors, 0 skipped"},
		{"missed", readSample(t, "missed"), []string{"the run is valid: passed", "ttft:p99<500ms: failure", "tpot:p99<50ms: passed", "good:fraction>0.99: failure", "throughput:min>5000: passed"},
			"5 tests, 2 failures, 0 errors, 0 skipped"},
		{"undecided", readSample(t, "undecided"), []string{"the run is valid: passed", "ttft:p99<200ms: skipped", "e2e:p95<6s: skipped", "kv:max<2048MB: skipped"},
			"4 tests, 0 failures, 0 errors, 3 skipped"},
		{"invalid", readSample(t, "invalid"), []string{"the run is valid: error", "ttft:p99<500ms: skipped", "tpot:p99<50ms: skipped", "error:rate<1%: skipped"},
			"4 tests, 0 failures, 1 errors, 3 skipped"},
		{"cut short", readSample(t, "interrupted"), []string{"the run is valid: skipped", "ttft:p99<500ms: skipped", "tpot:p99<50ms: skipped", "error:rate<1%: skipped"},
			"4 tests, 0 failures, 0 errors, 4 skipped"},
		{"levels beyond a confirmed limit", readSample(t, "limit"), []string{"the run is valid: passed", "ttft:p99<500ms: passed", "tpot:p99<50ms: passed"},
			"3 tests, 0 failures, 0 errors, 0 skipped"},
		{"a limit without a sustained run", readSample(t, "wide"), []string{"the run is valid: passed", "ttft:p99<500ms: skipped", "tpot:p99<50ms: passed"},
			"3 tests, 0 failures, 0 errors, 1 skipped"},
		{"broken from the start", below, []string{"the run is valid: passed", "ttft:p99<500ms: failure", "tpot:p99<50ms: passed"},
			"3 tests, 1 failures, 0 errors, 0 skipped"},
		{"a regression", readSample(t, "comparison"), []string{"the run is valid: passed", "ttft:p99, ms: skipped", "tpot:p50, ms: failure", "throughput, tokens/s: passed", "error:rate: passed"},
			"5 tests, 1 failures, 0 errors, 1 skipped"},
		{"no objectives", readSample(t, "no_objectives"), []string{"the run is valid: passed"}, "1 tests, 0 failures, 0 errors, 0 skipped"},
	} {
		cases, counts := outcomes(t, tt.result)
		if diff := cmp.Diff(tt.cases, cases); diff != "" || counts != tt.counts {
			t.Errorf("%s: %s, want %s (-want +got):\n%s", tt.name, counts, tt.counts, diff)
		}
	}
}

// Control characters are no part of XML, whoever put them into a name.
func TestJUnitIsWellFormed(t *testing.T) {
	t.Parallel()
	r := readSample(t, "hostile")
	r.Points[0].Objectives[2].Standing = slo.Missed
	cases, _ := outcomes(t, r)
	if len(cases) != 4 {
		t.Errorf("%d cases: %q", len(cases), cases)
	}
}

// What became worse for the winner of a tuning is its price.
func TestTuningCase(t *testing.T) {
	t.Parallel()
	r := readSample(t, "tuning")
	if one := junitCases(r)[1]; one.Skipped != nil || one.Failure != nil || one.Output != r.Tuning.Verdict {
		t.Errorf("%+v, want it to pass although a figure is worse", one)
	}
	r.Tuning.Standing = slo.Unconfirmed
	if one := junitCases(r)[1]; one.Skipped == nil {
		t.Errorf("%+v, want it skipped", one)
	}
}
