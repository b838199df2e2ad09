package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// allToggles stands for every optimization.
const allToggles = "all"

// togglePlan takes the server with the optimization for the plan's own, and
// prompts of all lengths where the plan does not say any: an optimization pays
// for some and hurts others, and one must see both.
func (c *Config) togglePlan(command string) error {
	e := &c.Experiment
	if len(e.Toggles) == 0 {
		return nil
	}
	if e.OnURL != "" && len(c.Provider.URLs) == 0 {
		c.Provider.URLs = []string{e.OnURL}
	}
	if command == "matrix" && reflect.ValueOf(c.Workload).IsZero() && c.Load.ContextDistribution == nil {
		full, err := workload.Parse("in=lognormal(1200,1.1,64..16000) out=lognormal(128,0.4,32..512)")
		if err != nil {
			return err
		}
		full.Prefix = &workload.Prefix{Groups: 4, Tokens: 512}
		c.Workload = full
	}
	return nil
}

func (c *Config) toggles() error {
	const key = "experiment.toggles"
	e, names := &c.Experiment, optimizationNames()
	if slices.Contains(e.Toggles, allToggles) {
		e.Toggles = names
	}
	for i, name := range e.Toggles {
		switch {
		case !slices.Contains(names, name):
			return c.errorAt(key, "expected %s or all, got %s", strings.Join(names, ", "), text.Join("; ", quote(name), text.Hint(name, names)))
		case slices.Contains(e.Toggles[:i], name):
			return c.errorAt(key, "%s is given twice", name)
		}
	}
	for _, pair := range [][4]string{{e.OnURL, e.OffURL, "on_url", "off_url"}, {e.OffURL, e.OnURL, "off_url", "on_url"}} {
		if pair[0] == "" {
			continue
		}
		field := "experiment." + pair[2]
		if pair[1] == "" {
			return c.errorAt(field, "wants the other server too: experiment.%s", pair[3])
		}
		if _, err := c.endpoint(field, pair[0]); err != nil {
			return err
		}
		if len(e.Toggles) > 1 {
			return c.errorAt(key, "two servers differ in one optimization, got %d: name the one", len(e.Toggles))
		}
	}
	return nil
}

// WithOptimization gives the plan with one optimization on or off and all else as it is:
// the embedded engine switched, or the one of two servers that runs so.
func (c *Config) WithOptimization(name string, on bool) (*Config, error) {
	i := slices.IndexFunc(optimizations, func(o optimization) bool { return o.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s is no optimization", name)
	}
	out := *c
	out.Experiment = Experiment{}
	*optimizations[i].declared(&out.Optimizations) = &on
	if url := c.Experiment.OffURL; url != "" {
		if !on {
			out.Provider.URLs = []string{url}
		}
		return &out, out.endpoints()
	}
	if !c.Embedded() {
		return nil, fmt.Errorf("a running server cannot be switched: start it twice, with %s and without, and give --on-url and --off-url", name)
	}
	s := &out.Server.Sim
	was := s.EnableChunkedPrefill
	optimizations[i].set(s, on)
	if name == "chunked_prefill" {
		out.sizeStep(was == nil || *was, on)
	}
	full, err := s.Resolve()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, map[bool]string{true: "on", false: "off"}[on], err)
	}
	*s = full
	return &out, nil
}

// sizeStep gives the step room for the longest prompt where prompts are no
// longer split, and the usual room where they begin to be.
func (c *Config) sizeStep(split, splits bool) {
	s := &c.Server.Sim
	switch {
	case split && !splits:
		s.MaxNumBatchedTokens = max(s.MaxNumBatchedTokens, s.MaxModelLen)
	case !split && splits:
		s.MaxNumBatchedTokens = 0
	}
}
