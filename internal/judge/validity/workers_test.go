package validity

import (
	"slices"
	"strings"
	"testing"

	"redline/internal/judge/result"
)

// crewEvidence is a run with nothing wrong that three workers sent.
func crewEvidence() Evidence {
	e := sound()
	for _, name := range []string{"w1", "w2", "w3"} {
		e.Workers = append(e.Workers, result.Worker{Name: name, Share: 1.0 / 3, Client: e.Client, LagP99MS: ptr(0.08),
			Clock: result.WorkerClock{UncertaintyMS: 0.1}})
	}
	return e
}

// TestABadWorkerIsNamed: of several workers the check names the one that failed.
func TestABadWorkerIsNamed(t *testing.T) {
	t.Parallel()
	if failed := failedFigures(Judge(crewEvidence())); len(failed) > 0 {
		t.Fatalf("sound workers fail %v", failed)
	}
	for _, tc := range []struct {
		check string
		spoil func(*result.Worker)
		want  string
	}{
		{"lag", func(w *result.Worker) { w.LagP99MS = ptr(80.0) }, "worker w2: p99 80 ms"},
		{"clock steps", func(w *result.Worker) { w.Client.ClockStepMS = 30 }, "worker w2: largest 30 ms"},
		{"ports and files", func(w *result.Worker) { w.Shortage = 3 }, "worker w2: "},
		{"worker clocks", func(w *result.Worker) { w.Clock.UncertaintyMS = 2000 }, "worker w2 within 2,000 ms"},
		{"workers", func(w *result.Worker) { w.Lost = "it was stopped" }, "1 of 3 lost, with 33% of the load; w2: it was stopped"},
	} {
		e := crewEvidence()
		e.Strict = true
		tc.spoil(&e.Workers[1])
		failed := failedFigures(Judge(e))
		if !strings.HasPrefix(failed[tc.check], tc.want) || len(failed) != 1 {
			t.Errorf("%s: %q, want %q alone", tc.check, failed, tc.want)
		}
	}
}

// TestEveryWorkerLost: what cannot be asked of machines that are gone does not
// fail, and says why.
func TestEveryWorkerLost(t *testing.T) {
	t.Parallel()
	e := crewEvidence()
	e.Strict = true
	for i := range e.Workers {
		e.Workers[i].Lost, e.Workers[i].Client = "it was stopped", result.Client{}
	}
	judged := Judge(e)
	if failed := failedFigures(judged); len(failed) != 1 || !strings.HasPrefix(failed["workers"], "3 of 3 lost") {
		t.Errorf("failed: %q, want the workers alone", failed)
	}
	for _, c := range checks {
		unasked := slices.Contains(judged.Unchecked, result.SkippedCheck{Name: c.name, Why: noneLeft})
		if unasked != (c.perWorker || c.name == "worker clocks") {
			t.Errorf("%s: unchecked %v", c.name, unasked)
		}
	}
}

func failedFigures(j Judgement) map[string]string {
	failed := map[string]string{}
	for _, c := range j.Checks {
		if !c.OK {
			failed[c.Name] = c.Figure
		}
	}
	return failed
}
