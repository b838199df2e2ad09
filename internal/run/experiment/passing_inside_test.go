package experiment

import (
	"testing"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// The clock of a stage's window began before the first stage: of what has passed
// each stage is its own warm-up, window and end.
func TestPassingCountsEachStageOnce(t *testing.T) {
	t.Parallel()
	x := conductor{e2e: time.Second}
	for i := range 3 {
		start := 20*float64(i) + 2
		x.addElapsed(&result.Result{Points: []result.Point{{Summary: metric.Summary{Window: metric.Window{StartS: start, EndS: start + 15, WarmupS: new(2.0)}}}}})
	}
	if want := 3 * 18 * time.Second; x.passed != want {
		t.Errorf("%v passed, want %v", x.passed, want)
	}
}

// What the client took is said of the stage in which it took most.
func TestClientOfTheBusiestStage(t *testing.T) {
	t.Parallel()
	x := conductor{res: &result.Result{Client: result.Client{CPUShare: 0.008}}}
	for _, share := range []float64{0.04, 0.06, 0.02} {
		x.adopt("level", &result.Result{Client: result.Client{CPUShare: share}})
	}
	if x.res.Client.CPUShare != 0.06 {
		t.Errorf("CPU share %g, want 0.06", x.res.Client.CPUShare)
	}
}
