package experiment

import (
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
)

// sentBy is a stage's result with these workers; one that was lost makes it
// invalid.
func sentBy(due int, workers ...result.Worker) *result.Result {
	res := &result.Result{Workers: workers, Conductor: &result.Client{CPUs: 2, CPUSeconds: 1}}
	res.Points = []result.Point{{Summary: metric.Summary{Requests: metric.Requests{Due: due}}}}
	res.Client = result.MergeClients(result.Client{OS: "linux"}, workers)
	check := result.Check{Name: "workers", OK: true}
	res.Verdict.Valid = result.Valid
	for _, w := range workers {
		if w.Lost != "" {
			check.OK, res.Verdict.Valid = false, result.Invalid
		}
	}
	res.Verdict.Checks = []result.Check{check}
	return res
}

func worker(name string, share, lag, uncertainty, cpu float64) result.Worker {
	return result.Worker{Name: name, Host: "host-" + name, Share: share, LagP99MS: &lag, Shortage: 1,
		Clock:  result.WorkerClock{UncertaintyMS: uncertainty, Reads: 8},
		Client: result.Client{CPUs: 4, CPUShare: cpu, CPUSeconds: 10, ClockStepMS: -uncertainty, Timestamps: result.Timestamps{Source: "kernel", Reads: 100}}}
}

// TestWorkersOfAllStages: the whole lists each worker once, with the worst of its
// stages, and names the stage that lost one. A stage that was repeated has no part
// in the figures, and makes a warning and no failed check.
func TestWorkersOfAllStages(t *testing.T) {
	t.Parallel()
	x := &conductor{dir: &store.Dir{}, Options: Options{Options: measure.Options{Config: &config.Config{}}}}
	x.res = x.blank(&result.Result{Client: result.Client{OS: "linux"}})
	gone := worker("b", 0.5, 80, 90, 0.9)
	gone.Lost = "nothing heard from it since 12 s into the run"
	second := Stage{Name: "4 requests/s"}
	x.add(Stage{Name: "2 requests/s"}, "", sentBy(100, worker("a", 0.5, 3, 0.1, 0.4), worker("b", 0.5, 1, 0.3, 0.2)))
	x.add(second, "", sentBy(300, worker("a", 0.5, 70, 0.1, 0.8), gone))
	if x.leftOut == "" || len(x.res.Warnings) != 0 {
		t.Fatalf("left out: %q, %v", x.leftOut, x.res.Warnings)
	}
	x.withdraw()
	again := second
	again.repeats, again.Name = second.Name, second.Name+" again"
	x.add(again, "", sentBy(300, worker("a", 1, 2, 0.2, 0.5)))

	if len(x.res.Workers) != 2 {
		t.Fatalf("%d workers", len(x.res.Workers))
	}
	a, b := x.res.Workers[0], x.res.Workers[1]
	if a.Name != "a" || a.Lost != "" || *a.LagP99MS != 3 || a.Clock.UncertaintyMS != 0.2 || a.Shortage != 2 || a.Share != 0.5*0.25+0.75 {
		t.Errorf("a: %+v", a)
	}
	if c := a.Client; c.CPUShare != 0.5 || c.CPUSeconds != 20 || c.CPUs != 4 || c.Timestamps.Reads != 200 || c.ClockStepMS != -0.2 {
		t.Errorf("a's client: %+v", c)
	}
	if b.Name != "b" || b.Lost != "in 4 requests/s: "+gone.Lost || *b.LagP99MS != 1 || b.Share != 0.5*0.25 || b.Client.CPUSeconds != 10 {
		t.Errorf("b: %+v", b)
	}
	if c := x.res.Client; c.OS != "linux" || c.CPUs != 8 || c.CPUSeconds != 30 || c.CPUShare != 0.5 {
		t.Errorf("together: %+v", c)
	}
	if c := x.res.Conductor; c == nil || c.CPUSeconds != 2 {
		t.Errorf("conductor: %+v", c)
	}
	want := "worker b was lost in 4 requests/s, which was repeated without it"
	if w := x.res.Warnings; len(w) != 1 || w[0].Text != want {
		t.Errorf("warnings %v, want %q", w, want)
	}
	if v := x.res.Verdict; v.Valid != result.Valid || len(v.FailedChecks()) != 0 {
		t.Errorf("verdict %+v", v)
	}
}

// TestAWorkerLostForGood: where the plan is strict the stage counts with the worker
// that it lost, and the check fails.
func TestAWorkerLostForGood(t *testing.T) {
	t.Parallel()
	x := &conductor{dir: &store.Dir{}, Options: Options{Options: measure.Options{Config: &config.Config{Strict: true}}}}
	x.res = x.blank(&result.Result{})
	gone := worker("b", 0.5, 8, 0.1, 0)
	gone.Lost = "it was stopped"
	x.add(Stage{Name: "level"}, "", sentBy(100, worker("a", 0.5, 3, 0.1, 0.4), gone))
	if w := x.res.Workers; len(w) != 2 || w[1].Lost != "in level: it was stopped" || *w[1].LagP99MS != 8 {
		t.Errorf("workers %+v", w)
	}
	if len(x.res.Verdict.FailedChecks()) != 1 || len(x.res.Warnings) != 0 {
		t.Errorf("failed %v, warnings %v", x.res.Verdict.FailedChecks(), x.res.Warnings)
	}
}
