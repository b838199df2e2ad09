package experiment

import (
	"testing"

	"redline/internal/result"
)

// One run of several that is not sound is left out, as a round is; a level or a
// row that is not makes the whole unsound.
func TestUnsoundStage(t *testing.T) {
	t.Parallel()
	bad := &result.Result{Verdict: result.Verdict{Valid: "no", Checks: []result.Check{{Name: "lag", Figure: "p99 9 ms", Threshold: "1 ms"}}}}
	for purpose, want := range map[string]result.Validity{repeatPurpose: "yes", roundPurpose: "yes", "level": "no", "row": "no"} {
		x := &conductor{res: &result.Result{Verdict: result.Verdict{Valid: "yes"}}}
		x.judge(Stage{Name: "run 2", Purpose: purpose}, bad)
		if x.res.Verdict.Valid != want {
			t.Errorf("a %s that is not valid makes the whole %q, want %q", purpose, x.res.Verdict.Valid, want)
		}
		if counts := len(x.res.Verdict.Checks) > 0; counts != (want == "no") {
			t.Errorf("its checks of a %s: %+v", purpose, x.res.Verdict.Checks)
		}
	}
}

func TestChecklistIsForClaims(t *testing.T) {
	t.Parallel()
	if list := Checklist(&result.Result{Comparison: &result.Comparison{}}); list != nil {
		t.Errorf("a comparison is asked %+v", list)
	}
	if list := Checklist(&result.Result{Repeats: &result.Repeats{}}); list != nil {
		t.Errorf("repeats are asked %+v", list)
	}
	if list := Checklist(&result.Result{}); len(list) == 0 {
		t.Error("a single run is asked nothing")
	}
}
