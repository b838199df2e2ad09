package experiment

import (
	"testing"
	"time"

	"redline/internal/answer/search"
	"redline/internal/judge/result"
)

// TestAResumedRampIsTheOneThatWasMade: what is known before any load differs
// from one attempt to the next, and another ramp would make other levels.
func TestAResumedRampIsTheOneThatWasMade(t *testing.T) {
	t.Parallel()
	profiles := []string{"ramp(1..4096,45s,exp)", "steps(1:1s)"}
	was := &result.Result{Points: []result.Point{{Load: result.Load{Profile: profiles[0]}}, {Load: result.Load{Profile: profiles[1]}}}, Stages: []result.Stage{
		{Dir: "stages/03-ramp", Purpose: result.PurposeRamp, Point: new(0)}, {Dir: "stages/07-ramp", Purpose: result.PurposeRamp, Point: new(1)}}}
	x := &conductor{number: 2, was: was}
	f := finder{conductor: x}
	l, ok := f.rampBefore()
	if want := (search.Level{From: 1, Rate: 4096, Duration: 45 * time.Second, Purpose: search.Ramp}); !ok || l != want {
		t.Errorf("%+v, %v; want %+v", l, ok, want)
	}
	for _, number := range []int{3, 6} {
		x.number = number
		if l, ok := f.rampBefore(); ok {
			t.Errorf("stage %d: %+v", number+1, l)
		}
	}
}
