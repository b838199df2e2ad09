package experiment_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"redline/internal/clock"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
)

// A sweep over working sets that was stopped in its third level measures that one again
// and those that are missing, and comes to the answer of one that was not.
func TestWorkingSetResumes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "set")
		stop, begun := make(chan struct{}), 0
		o := experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: smallCache(t, out), Stop: stop},
			Begin: func(experiment.Stage, experiment.Progress) {
				if begun++; begun == 3 {
					close(stop)
				}
			}}
		res, _ := must.Get2(experiment.Sweep(t.Context(), o))(t)
		if res.Interrupted == "" {
			t.Fatal("it was not interrupted")
		}
		var kept []bool
		res, _ = must.Get2(experiment.Sweep(t.Context(), experiment.Options{Resume: out, Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: keptPlan(t, out)},
			End: func(_ experiment.Stage, _ *result.Result, was bool) { kept = append(kept, was) }}))(t)
		if len(kept) < 4 || !kept[0] || !kept[1] || kept[2] || kept[3] {
			t.Errorf("levels kept: %v; want the first two", kept)
		}
		checkSmallCliff(t, res)
	})
}

// A sweep over working sets fills the cache before each level, empties it before the
// next, and finds the number of sessions that the cache's blocks hold.
func TestWorkingSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := smallCache(t, filepath.Join(t.TempDir(), "set"))
		res, _ := must.Get2(experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}))(t)
		checkSmallCliff(t, res)
		w := res.WorkingSet
		if w.Eviction != result.EvictsLRU || w.RoomTokens == nil || *w.RoomTokens != 165*16 {
			t.Errorf("eviction %q, room %v", w.Eviction, w.RoomTokens)
		}
		for _, warning := range res.Warnings {
			t.Errorf("%s: %s", warning.Figure, warning.Text)
		}
	})
}

// smallCache plans a sweep in which a session of 320 + 16 + 4 tokens takes 22 blocks of
// 16, of which the cache has room for seven and a half.
func smallCache(t *testing.T, out string) *config.Config {
	t.Helper()
	return must.Get(config.Resolve(config.Input{Seed: 7, Flags: map[string][]string{"working-set": {"2..16"}, "workload": {"in=16 out=4"}, "prefix": {"320"}, "concurrency": {"2"},
		"requests": {"20"}, "num-gpu-blocks-override": {"165"}, "max-model-len": {"1024"}, "out": {out}}}))(t)
}

func checkSmallCliff(t *testing.T, res *result.Result) {
	t.Helper()
	if w := res.WorkingSet; w == nil || w.Cliff == nil || w.Cliff.Held < 6 || w.Cliff.Held > 7 || w.Cliff.Fallen < 8 || w.Cliff.Fallen > 9 {
		t.Fatalf("got %+v", w)
	}
}
