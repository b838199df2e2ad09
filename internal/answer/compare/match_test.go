package compare

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// withStages gives a run points of these names and ttft, all at one load, each of a
// stage of that purpose.
func withStages(purpose string, names []string, ttft ...float64) func(*result.Result) {
	return func(r *result.Result) {
		load := r.Points[0].Load
		r.Points = nil
		for i, name := range names {
			p := result.Point{Name: name, Load: load}
			p.Latency.TTFTDue = p99Of(ttft[i])
			r.Points = append(r.Points, p)
			r.Stages = append(r.Stages, result.Stage{Name: name, Purpose: purpose, Point: new(i)})
		}
	}
}

func warningTexts(c *Comparison) []string {
	var lines []string
	for _, m := range c.Metrics {
		lines = append(lines, fmt.Sprintf("%s at %q: %.0f against %.0f", m.Name, m.Load, *m.A, *m.B))
	}
	return lines
}

func TestPointsAreComparedWithTheirLike(t *testing.T) {
	t.Parallel()
	rows := []string{"A short chat", "B long prefill"}
	turned := []string{"B long prefill", "A short chat"}
	for _, tc := range []struct {
		name string
		a, b func(*result.Result)
		want []string
	}{
		{"rows of one load, by name", withStages("row", rows, 100, 200), withStages("row", turned, 250, 150),
			[]string{`ttft:p99 at "A short chat": 100 against 150`, `ttft:p99 at "B long prefill": 200 against 250`}},
		{"a row that the other has not", withStages("row", rows, 100, 200), withStages("row", []string{"C", "B long prefill"}, 300, 250),
			[]string{`ttft:p99 at "B long prefill": 200 against 250`}},
		{"levels, by load, each once", withStages("narrow", []string{"narrow 10 requests/s", "narrow 10.01 requests/s"}, 100, 200),
			withStages("level", []string{"10 requests/s", "10.02 requests/s"}, 150, 250),
			[]string{`ttft:p99 at "10/s": 100 against 150`, `ttft:p99 at "10/s": 200 against 250`}},
	} {
		got, err := Runs(one(run("a", 1, tc.a)), one(run("b", 1, tc.b)), Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(tc.want, warningTexts(got)), "%s (-want +got)", tc.name)
	}
}

// TestARepeatedRunIsASet: its runs are compared, not the point of all of them
// together, and each metric once.
func TestARepeatedRunIsASet(t *testing.T) {
	t.Parallel()
	repeated := func(id string, ttft ...float64) *result.Result {
		return run(id, 1, withStages("repeat", []string{"run 1", "run 2", "run 3"}, ttft...), func(r *result.Result) {
			all := r.Points[0]
			all.Name = "3 runs together"
			r.Points = append(r.Points, all)
			r.Repeats = &result.Repeats{Runs: 3, Point: new(3)}
		})
	}
	a, b := repeated("a", 100, 101, 99), repeated("b", 120, 121, 119)
	self := must.Get(Runs(one(a), one(a), Options{}))(t)
	expect.NoDiff(t, cmp.Diff([]string{`ttft:p99 at "": 100 against 100`}, warningTexts(self)), "against itself (-want +got)")
	got := must.Get(Runs(one(a), one(b), Options{}))(t)
	if got.Standing != slo.Worse || got.Test != "Welch's t-test on logarithms of runs, Holm over metrics" || len(got.Metrics) != 1 || len(got.Warnings) != 0 {
		t.Errorf("%s by %s over %d metrics, warnings %v; want worse by two sets", got.Standing, got.Test, len(got.Metrics), got.Warnings)
	}
	expect.NoDiff(t, cmp.Diff(Side{Name: "b", Runs: []string{"b run 1", "b run 2", "b run 3"}, Model: "llama-3.1-8b", Engine: "vLLM 0.11"}, got.B), "side (-want +got)")
}
