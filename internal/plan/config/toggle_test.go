package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// A toggled plan differs from the plan in the engine's one switch; read again from
// what it leaves behind, it makes the same two engines.
func TestToggledEngines(t *testing.T) {
	t.Parallel()
	type knobs struct {
		Guesses                  int
		Prefix, Chunks, Together bool
		StepTokens               int
	}
	of := func(s sim.Spec) knobs {
		return knobs{s.Speculation.Tokens, *s.EnablePrefixCaching, *s.EnableChunkedPrefill, !s.StaticBatching, s.MaxNumBatchedTokens}
	}
	for _, row := range []struct {
		name    string
		flags   []string
		on, off knobs
	}{
		{"speculative_decoding", nil, knobs{4, true, true, true, 8192}, knobs{0, true, true, true, 8192}},
		{"speculative_decoding", []string{"--speculative-tokens=2"}, knobs{2, true, true, true, 8192}, knobs{0, true, true, true, 8192}},
		{"prefix_caching", nil, knobs{0, true, true, true, 8192}, knobs{0, false, true, true, 8192}},
		{"prefix_caching", []string{"--enable-prefix-caching=false"}, knobs{0, true, true, true, 8192}, knobs{0, false, true, true, 8192}},
		{"chunked_prefill", nil, knobs{0, true, true, true, 8192}, knobs{0, true, false, true, 131072}},
		{"chunked_prefill", []string{"--enable-chunked-prefill=false"}, knobs{0, true, true, true, 8192}, knobs{0, true, false, true, 131072}},
		{"dynamic_batching", nil, knobs{0, true, true, true, 8192}, knobs{0, true, true, false, 8192}},
	} {
		c := mustResolve(t, Input{Flags: flags(append(row.flags, "--toggle="+row.name)...)})
		kept := must.Get(c.YAML())(t)
		for _, c := range []*Config{c, mustResolve(t, Input{PlanPath: writePlan(t, string(kept))})} {
			for on, want := range map[bool]knobs{true: row.on, false: row.off} {
				got, err := c.WithOptimization(row.name, on)
				if err != nil {
					t.Errorf("%s %v %v: %v", row.name, row.flags, on, err)
					continue
				}
				expect.NoDiff(t, cmp.Diff(want, of(got.Server.Sim)), "%s %v %v (-want +got)", row.name, row.flags, on)
			}
		}
	}
}

func TestToggledServers(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{Flags: flags("--toggle=prefix_caching", "--on-url=http://a:1", "--off-url=http://b:1")})
	for on, want := range map[bool]string{true: "http://a:1", false: "http://b:1"} {
		got := must.Get(c.WithOptimization("prefix_caching", on))(t)
		if diff := cmp.Diff([]string{want}, got.Provider.URLs); diff != "" || *got.Optimizations.PrefixCaching != on {
			t.Errorf("on %v: declared %v, servers %s", on, *got.Optimizations.PrefixCaching, diff)
		}
	}
}

func TestBadTogglesSayWhatToWrite(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--toggle=prefix_cache"}, `--toggle: expected speculative_decoding, prefix_caching, chunked_prefill, dynamic_batching or all, got "prefix_cache"; did you mean prefix_caching?`},
		{[]string{"--toggle=prefix_caching", "--toggle=prefix_caching"}, "--toggle: prefix_caching is given twice"},
		{[]string{"--toggle=prefix_caching", "--on-url=http://a:1"}, "--on-url: wants the other server too: experiment.off_url"},
		{[]string{"--toggle=prefix_caching", "--off-url=http://a:1"}, "--off-url: wants the other server too: experiment.on_url"},
		{[]string{"--toggle=prefix_caching", "--on-url=http://a:1", "--off-url=nowhere"}, `--off-url: expected a URL that begins with http:// or https://, got "nowhere"`},
		{[]string{"--toggle=all", "--on-url=http://a:1", "--off-url=http://b:1"}, "--toggle: two servers differ in one optimization, got 4: name the one"},
		{[]string{"--rounds=3"}, "--rounds: is for optimizations that are measured with and without, but the rows have their own: add --toggle, or leave it out"},
		{[]string{"--on-url=http://a:1", "--off-url=http://b:1"}, "--on-url: is for optimizations that are measured with and without, but the rows have their own: add --toggle, or leave it out"},
		{[]string{"--toggle=prefix_caching", "--url=http://c:1", "--on-url=http://a:1", "--off-url=http://b:1"}, "--url: is for one server, but --on-url and --off-url name two: leave out one of the two ways"},
	} {
		_, err := Resolve(Input{Command: "matrix", Flags: flags(row.flags...)})
		if err == nil || err.Error() != row.want {
			t.Errorf("%v:\n got %v\nwant %s", row.flags, err, row.want)
		}
	}
}

// Whoever names no workload sees prompts of all lengths.
func TestTogglesSeeAllLengths(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{Command: "matrix", Flags: flags("--toggle=all")})
	if c.Workload.Prefix == nil || c.Workload.Prefix.Tokens == 0 || len(c.Experiment.Toggles) != len(optimizations) {
		t.Errorf("workload %s for %v, want a shared beginning and all of them", c.Workload, c.Experiment.Toggles)
	}
	named := mustResolve(t, Input{Command: "matrix", Flags: flags("--toggle=all", "--workload=fixed(50,5)")})
	if named.Workload.Prefix != nil {
		t.Errorf("workload %s, want the one that was named", named.Workload)
	}
}
