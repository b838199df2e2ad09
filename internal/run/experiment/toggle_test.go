package experiment_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// accounted says how a toggle's rounds went.
type accounted struct {
	Name   string
	Rounds int
	Known  bool // something is said of the requests
}

func account(list []result.Toggle) []accounted {
	var out []accounted
	for _, t := range list {
		out = append(out, accounted{t.Name, t.Rounds, t.Requests > 0})
	}
	return out
}

// TestToggles: each optimization is run with and without, the sides first in
// turn, under the same requests.
func TestToggles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plan(t, map[string][]string{"toggle": {"speculative_decoding", "dynamic_batching"}, "rounds": {"2"}, "rate": {"30"}, "duration": {"400ms"},
			"out": {filepath.Join(t.TempDir(), "toggles")}})
		plans := map[string]*config.Config{}
		res, _ := must.Get2(experiment.Matrix(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c},
			End: func(s experiment.Stage, _ *result.Result, _ bool) { plans[s.Name] = s.Config }}))(t)
		want := []string{"off 1 speculative decoding", "on 1 speculative decoding", "on 2 speculative decoding", "off 2 speculative decoding",
			"off 1 dynamic batching", "on 1 dynamic batching", "on 2 dynamic batching", "off 2 dynamic batching"}
		expect.NoDiff(t, cmp.Diff(want, names(res)), "stages (-want +got)")
		expect.NoDiff(t, cmp.Diff([]accounted{{"speculative_decoding", 2, true}, {"dynamic_batching", 2, true}}, account(res.Toggles)), "toggles (-want +got)")
		if len(res.Engine.Declared) > 0 {
			t.Errorf("the whole declares %v, which holds for half of it", res.Engine.Declared)
		}
		on, off := plans["on 1 speculative decoding"], plans["off 1 speculative decoding"]
		if on.Server.Sim.Speculation.Tokens != sim.DefaultSpeculativeTokens || off.Server.Sim.Speculation.Tokens != 0 ||
			on.Server.Sim.StaticBatching || !plans["off 2 dynamic batching"].Server.Sim.StaticBatching {
			t.Error("the engine was not switched as the stages say")
		}
		if on.Seed != off.Seed || on.Workload.Salt != off.Workload.Salt || on.Seed == plans["on 2 speculative decoding"].Seed {
			t.Errorf("seeds %d and %d, salts %q and %q: want the same in a round, others in the next", on.Seed, off.Seed, on.Workload.Salt, off.Workload.Salt)
		}
	})
}

// TestToggleOfTwoServers: any two servers are a pair; one is none.
func TestToggleOfTwoServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		serve := func(s sim.Spec) string {
			running := must.Get(simserver.Start(t.Context(), s, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open, Listen: "127.0.0.1:0"}))(t)
			t.Cleanup(func() { _ = running.Close() })
			return running.URL()
		}
		on, off := serve(sim.Spec{Speculation: sim.Speculation{Tokens: 4}}), serve(sim.Spec{})
		flags := func(off string) map[string][]string {
			return map[string][]string{"toggle": {"speculative_decoding"}, "on-url": {on}, "off-url": {off}, "rounds": {"1"}, "rate": {"30"},
				"duration": {"400ms"}, "out": {filepath.Join(t.TempDir(), "pair")}}
		}
		res, _ := must.Get2(experiment.Matrix(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plan(t, flags(off))}}))(t)
		expect.NoDiff(t, cmp.Diff([]accounted{{"speculative_decoding", 1, true}}, account(res.Toggles)), "toggles (-want +got)")
		if got := res.Toggles[0]; !strings.HasPrefix(got.With.URL, on) || !strings.HasPrefix(got.Without.URL, off) {
			t.Errorf("with %s and without %s, want %s and %s", got.With.URL, got.Without.URL, on, off)
		}
		_, _, err := experiment.Matrix(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plan(t, flags(on))}})
		if err == nil || !strings.Contains(err.Error(), "are one server") {
			t.Errorf("one server twice: %v", err)
		}
		one := plan(t, map[string][]string{"toggle": {"prefix_caching"}, "url": {on}})
		_, err = experiment.Foresee("matrix", one)
		if err == nil || !strings.Contains(err.Error(), "give --on-url and --off-url") {
			t.Errorf("a server that runs: %v", err)
		}
	})
}

// Rounds that are too short to tell anything are said to be before the load.
func TestTogglesTooShortAreForeseen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags map[string][]string
		short bool
	}{
		{map[string][]string{"duration": {"10s"}, "rounds": {"2"}}, true},
		{map[string][]string{"requests": {"40"}, "rounds": {"2"}}, true},
		{map[string][]string{"duration": {"10s"}, "rounds": {"10"}}, false},
		{map[string][]string{"requests": {"40"}, "concurrency": {"4"}}, false}, // the server decides how long that is
		{nil, false},
	} {
		given := map[string][]string{"toggle": {"prefix_caching"}}
		maps.Copy(given, tt.flags)
		if given["concurrency"] == nil {
			given["rate"] = []string{"4"}
		}
		c := must.Get(config.Resolve(config.Input{Command: "matrix", Flags: given}))(t)
		if e := must.Get(experiment.Foresee("matrix", c))(t); (len(e.Warnings) > 0) != tt.short {
			t.Errorf("%v: warnings %q", tt.flags, e.Warnings)
		}
	}
}

func TestTogglesAreForeseen(t *testing.T) {
	t.Parallel()
	c := must.Get(config.Resolve(config.Input{Command: "matrix", Flags: map[string][]string{"toggle": {"all"}}}))(t)
	got, err := experiment.Foresee("matrix", c)
	if want := "up to 32 runs: 21 min of load, about 24 min by the clock"; err != nil || got.String() != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
}
