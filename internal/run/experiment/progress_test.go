package experiment_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
)

// An estimate counts every stage with its warm-up as load, and by the clock also
// five seconds for the last replies of each.
func TestForesee(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		flags         map[string][]string
		want          string
	}{
		{"levels", "sweep", map[string][]string{"rates": {"10,20"}, "duration": {"1m"}}, // warm-up 5+5 s, then 5 s
			"2 levels: 2 min of load, about 2 min by the clock"},
		{"short levels", "sweep", map[string][]string{"rates": {"10,20"}, "duration": {"20s"}, "warmup": {"5s"}},
			"2 levels: 50 s of load, about 60 s by the clock"},
		{"levels without an end", "sweep", nil, "levels until the server is saturated, how many is not known"},
		{"repeats", "run", map[string][]string{"repeat": {"3"}, "duration": {"20s"}, "warmup": {"0s"}},
			"3 runs: 60 s of load, about 75 s by the clock"},
		{"rounds", "compare", map[string][]string{"rounds": {"2"}, "duration": {"10s"}, "warmup": {"5s"}},
			"4 turns: 60 s of load, about 80 s by the clock"},
		{"rows", "matrix", nil, // eight of 10 + 60 s
			"8 rows: 9 min of load, about 10 min by the clock"},
		{"rows at a tenth", "matrix", map[string][]string{"scale": {"0.1"}}, // eight of 1 + 6 s
			"8 rows: 56 s of load, about 96 s by the clock"},
		{"fresh servers", "tune", map[string][]string{"server-command": {"serve --port {port} -n {n}"}, "knob": {"n=1,16"}, "rate": {"4"}, "duration": {"10s"}, "rounds": {"2"}}, // seven of 5 + 50/4 + 10 s, 5 s and 3 s
			"about 7 runs: 3 min of load, about 4 min by the clock"},
	} {
		c := must.Get(config.Resolve(config.Input{Command: tt.command, Flags: tt.flags}))(t)
		if got, err := experiment.Foresee(tt.command, c); err != nil || got.String() != tt.want {
			t.Errorf("%s: %v, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

// The scale shortens every part of the protocol, so that a tenth is not much
// more than a tenth (the first levels of a search need a number of requests, not a
// time); a budget bounds what a search is said to take.
func TestForeseeByScaleAndBudget(t *testing.T) {
	t.Parallel()
	bench := func(scale string) experiment.Estimate {
		c := must.Get(config.Resolve(config.Input{Flags: map[string][]string{"scale": {scale}}}))(t)
		e := must.Get(experiment.Foresee("bench", resolveDefaults(t, c)))(t)
		return e
	}
	whole, tenth := bench("1"), bench("0.1")
	if share := float64(tenth.Load) / float64(whole.Load); share > 0.2 || share < 0.07 {
		t.Errorf("a tenth of %v is said to be %v", whole.Load, tenth.Load)
	}
	c := must.Get(config.Resolve(config.Input{Flags: map[string][]string{"find-limit": {"true"}, "slo": {"chat"}, "budget": {"3m"}}}))(t)
	e, err := experiment.Foresee("sweep", c)
	if err != nil || e.Load > 3*time.Minute || e.Exact {
		t.Errorf("with a budget of three minutes: %v, %v", e, err)
	}
}

// Every stage was announced as the next by the one before it; behind the last
// there is none.
func TestNextStages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command string
		flags   map[string][]string
		run     func(context.Context, experiment.Options) (*result.Result, string, error)
		stages  int
	}{
		{"sweep", map[string][]string{"rates": {"20,10,30"}}, experiment.Sweep, 3},
		{"sweep", map[string][]string{"concurrencies": {"1,3"}}, experiment.Sweep, 2},
		{"run", map[string][]string{"rate": {"20"}, "repeat": {"2"}}, experiment.Repeat, 2},
		{"compare", map[string][]string{"rate": {"20"}, "rounds": {"2"}}, func(ctx context.Context, o experiment.Options) (*result.Result, string, error) {
			return experiment.Compare(ctx, o, o.Config)
		}, 4},
		{"bench", nil, experiment.Bench, 8},
	} {
		t.Run(tt.command, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "experiment")
				c := resolvePlan(t, quick, out)
				if tt.flags != nil {
					tt.flags["out"] = []string{out}
					c = plan(t, tt.flags)
				}
				foreseen := must.Get(experiment.Foresee(tt.command, c))(t)
				stages, next := 0, []string(nil)
				begin := func(s experiment.Stage, at experiment.Progress) {
					if announced := len(next) > 0 && (s.Name == next[0] || strings.HasPrefix(s.Name, next[0]+" ")); stages > 0 && !announced && !s.Searches() && s.Measures() {
						t.Errorf("%s begins, but what follows was %q", s.Name, next)
					}
					stages, next = stages+1, at.Next
				}
				must.Get2(tt.run(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}, Foreseen: foreseen, Begin: begin}))(t)
				if stages < tt.stages || len(next) > 0 {
					t.Errorf("%d stages, and after the last come %q", stages, next)
				}
			})
		})
	}
}
