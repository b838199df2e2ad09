package config

import (
	"strings"
	"testing"
)

func flagsOf(values ...string) map[string][]string {
	flags := map[string][]string{}
	for i := 0; i < len(values); i += 2 {
		flags[values[i]] = []string{values[i+1]}
	}
	return flags
}

// A rate without end is a closed loop whose users start together: as many as may
// be in flight, or one for each request, of which the first is measured.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{Command: "run", Flags: flagsOf("rate", "inf", "requests", "64")})
	if b := c.Load.Bounds; c.Mode() != Closed || b.MaxConcurrency != 64 || !b.AtOnce || b.Warmup == nil || *b.Warmup != 0 {
		t.Errorf("64 at once: %s, %+v", c.Mode(), b)
	}
	c = mustResolve(t, Input{Command: "run", Flags: flagsOf("rate", "inf", "requests", "64", "concurrency", "8")})
	if b := c.Load.Bounds; c.Mode() != Closed || b.MaxConcurrency != 8 || !b.AtOnce || b.Warmup != nil {
		t.Errorf("8 at a time: %s, %+v", c.Mode(), b)
	}
	for want, flags := range map[string]map[string][]string{
		"--rate: sends all requests at once: say how many with --requests, or how many at a time with --concurrency": flagsOf("rate", "inf"),
		"--at-once: requests that start at once have no rate: leave out one of the two":                              flagsOf("at-once", "true", "profile", "ramp(1..5,1m)"),
	} {
		if _, err := Resolve(Input{Command: "run", Flags: flags}); err == nil || err.Error() != want {
			t.Errorf("%v: %v; want %s", flags, err, want)
		}
	}
}

// A prefix is given by its length, and by how many there are.
func TestPrefixFlags(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{Command: "run", Flags: flagsOf("prefix", "512")})
	if p := c.Workload.Prefix; p.Tokens != 512 || p.Groups != 1 {
		t.Errorf("one prefix: %+v", p)
	}
	c = mustResolve(t, Input{Command: "run", Flags: flagsOf("prefix", "512", "prefix-groups", "8", "workload", "fixed(256,64)")})
	if p := c.Workload.Prefix; p.Tokens != 512 || p.Groups != 8 || c.Workload.Prompt.Fixed != 256 {
		t.Errorf("eight prefixes: %+v before %v", p, c.Workload.Prompt)
	}
	for want, flags := range map[string]map[string][]string{
		"--prefix-groups: is how many different prefixes there are: give their length with --prefix": flagsOf("prefix-groups", "8"),
		"--prefix: must be 1 to":                         flagsOf("prefix", "-1"),
		"mix is a mix of classes; give it alone, or its": flagsOf("prefix", "9", "workload", "mix"),
	} {
		if _, err := Resolve(Input{Command: "run", Flags: flags}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %s", flags, err, want)
		}
	}
}
