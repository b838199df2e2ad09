package experiment_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"redline/internal/clock"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
)

// A sweep over working sets fills the cache before each level, empties it before the
// next, and finds the number of sessions that the cache's blocks hold.
func TestWorkingSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// A session of 320 + 16 + 4 tokens takes 22 blocks of 16, of which the cache has
		// room for seven and a half.
		c := plan(t, map[string][]string{"working-set": {"2..16"}, "workload": {"in=16 out=4"}, "prefix": {"320"}, "concurrency": {"2"}, "requests": {"20"},
			"num-gpu-blocks-override": {"165"}, "max-model-len": {"1024"}, "out": {filepath.Join(t.TempDir(), "set")}})
		res, _ := must.Get2(experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}))(t)
		w := res.WorkingSet
		if w == nil || w.Cliff == nil || w.Cliff.Held > 7 || w.Cliff.Fallen < 8 || w.Cliff.Fallen > 9 {
			t.Fatalf("got %+v", w)
		}
		if w.Eviction != result.EvictsLRU || w.RoomTokens == nil || *w.RoomTokens != 165*16 {
			t.Errorf("eviction %q, room %v", w.Eviction, w.RoomTokens)
		}
		for _, warning := range res.Warnings {
			t.Errorf("%s: %s", warning.Figure, warning.Text)
		}
	})
}
