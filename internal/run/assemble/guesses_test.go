package assemble

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
)

// What a plan declares of speculative decoding is held against what the server
// counts, where it counts.
func TestDeclaredGuesses(t *testing.T) {
	t.Parallel()
	guessing, silent := &telemetry.ServerUse{Engine: "vllm", SpecAcceptance: new(0.71)}, &telemetry.ServerUse{Engine: "vllm"}
	other := &telemetry.ServerUse{Engine: "tgi"}
	for _, row := range []struct {
		name     string
		declared string
		server   *telemetry.ServerUse
		want     string
		warned   []string
	}{
		{"on, and it guesses", "on, not verified", guessing, "on, as the server says", nil},
		{"off, and it does not", "off, not verified", silent, "off, as the server says", nil},
		{"on, and it does not", "on, not verified", silent, "on, but the server says otherwise",
			[]string{"the plan declares speculative_decoding on, but the server counted no guessed token"}},
		{"off, and it guesses", "off, not verified", guessing, "off, but the server says otherwise",
			[]string{"the plan declares speculative_decoding off, but the server took 71% of the tokens that it guessed"}},
		{"an engine that does not tell", "on, not verified", other, "on, not verified", nil},
		{"no metrics", "on, not verified", nil, "on, not verified", nil},
		{"the embedded engine", "on, applied", guessing, "on, applied", nil},
	} {
		res := &result.Result{Engine: result.Engine{Declared: map[string]string{"speculative_decoding": row.declared}}}
		confirmGuesses(res, row.server)
		var warned []string
		for _, w := range res.Warnings {
			warned = append(warned, w.Text)
		}
		if diff := cmp.Diff(row.warned, warned); diff != "" || res.Engine.Declared["speculative_decoding"] != row.want {
			t.Errorf("%s: %q, want %q; warnings (-want +got):\n%s", row.name, res.Engine.Declared["speculative_decoding"], row.want, diff)
		}
	}
	res := &result.Result{}
	if confirmGuesses(res, guessing); len(res.Warnings) > 0 {
		t.Errorf("nothing was declared, and %v warned of", res.Warnings)
	}
}

// A length that was set is taken as whole guesses and a part of one; text never is.
func TestScheduledGuesses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		byPlace []float64
		want    bool
	}{
		{[]float64{1, 0.5, 0}, true}, // a length of 2.5
		{[]float64{1, 0, 0}, true},
		{[]float64{1, 1, 1}, true},
		{[]float64{0.8, 0.6, 0.4}, false},
		{[]float64{0.6, 0, 0}, false}, // or drafts of one guess
		{[]float64{1, 0.5, 0.2}, false},
		{[]float64{1}, false},
		{nil, false},
	} {
		if got := isScheduled(row.byPlace); got != row.want {
			t.Errorf("%v: %v, want %v", row.byPlace, got, row.want)
		}
	}
}
