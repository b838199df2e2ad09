package measure

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// faultyPlan is a plan whose server does so. Seed 3 spares the requests that
// come before the load.
func faultyPlan(t *testing.T, fault string) string {
	t.Helper()
	plan := must.File(t, "plan.yaml", "server: {sim: {seed: 3, faults: [\""+fault+"\"]}}\n")
	return plan
}

// A third of the requests is rejected at first; asked again, as the plan
// wants, all but a few succeed, and none of the waiting counts as lag.
func TestRetriedRun(t *testing.T) {
	t.Parallel()
	runVirtual(t, map[string][]string{"rate": {"20"}, "requests": {"200"}, "workload": {"fixed(64,8)"},
		"url": {"http://sim"}, "max-retries": {"9"}}, faultyPlan(t, "429(2s):33%"), func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
		n := res.Points[0].Requests
		if n.OK != n.Due || n.Due != 200 || n.Retried < 40 || n.Retried > 95 {
			t.Errorf("%+v, want 200 due and ok, about 66 of them retried", n)
		}
		if lag, ok := res.Points[0].Latency.Lag.Get("p99"); !ok || lag > 1 {
			t.Errorf("the p99 of lag is %v ms, want none in virtual time", lag)
		}
		for _, r := range sentRecords(t, dir) {
			if waited := r.Sent - r.Due; r.Phase == record.Measure && waited < int64(r.Try-1)*2e9 {
				t.Errorf("request %d was sent %d ns after it was due, at try %d; want 2 s for each before", r.ID, waited, r.Try)
			}
		}
	})
}

// A server that fails too often ends the run, which reports what it has and
// counts as missed.
func TestBrokenRun(t *testing.T) {
	t.Parallel()
	runVirtual(t, map[string][]string{"rate": {"20"}, "requests": {"5000"}, "warmup": {"0s"}, "workload": {"fixed(64,8)"},
		"url": {"http://sim"}, "max-error-rate": {"0.1"}}, faultyPlan(t, "reset:30%"), func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
		n := res.Points[0].Requests
		if n.Due < 50 || n.Due > 70 || n.Failed == 0 || n.OK == 0 {
			t.Errorf("%+v, want about 50 due", n)
		}
		if !strings.HasSuffix(res.Interrupted, "of the last 50 requests failed or were rejected, more than --max-error-rate 0.1") ||
			res.Verdict.SLO != "missed" || len(res.Verdict.Reasons) == 0 || res.Verdict.Reasons[len(res.Verdict.Reasons)-1] != res.Interrupted {
			t.Errorf("interrupted by %q with the verdict %+v", res.Interrupted, res.Verdict)
		}
	})
}

// So does one that fails in its warm-up, before anything is measured.
func TestBrokenInTheWarmup(t *testing.T) {
	t.Parallel()
	runVirtual(t, map[string][]string{"rate": {"20"}, "requests": {"5000"}, "warmup": {"30s"}, "workload": {"fixed(64,8)"},
		"url": {"http://sim"}, "max-error-rate": {"0.1"}}, faultyPlan(t, "reset:30%"), func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
		v := res.Verdict
		if len(res.Points) != 0 || v.Valid != result.Incomplete || v.SLO != "missed" || len(v.Reasons) != 1 || !strings.Contains(v.Reasons[0], "--max-error-rate 0.1") {
			t.Errorf("%d points and the verdict %+v, want nothing measured and the objectives missed", len(res.Points), v)
		}
	})
}

// More connections than one address has ports are refused before the run, and
// nothing is written.
func TestNoRoomForConnections(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells how many source ports it has")
	}
	out := filepath.Join(t.TempDir(), "run")
	cfg := must.Get(config.Resolve(config.Input{Flags: map[string][]string{"concurrency": {"100000"}, "requests": {"10"}, "out": {out}}}))(t)
	_, _, err := Run(t.Context(), Options{Config: cfg})
	if err == nil || !strings.HasPrefix(err.Error(), "100000 connections at a time ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("Run says %v, want in one line that there is no room for 100000 connections", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the run directory is there (%v)", err)
	}
}
