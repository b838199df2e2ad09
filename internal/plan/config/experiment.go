package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/answer/search"
	"redline/internal/drive/load"
	"redline/internal/yaml"
)

// Experiment is what to do beyond offering one load: the levels of a sweep, the
// search for the limit, repeats. It is the plan's experiment block.
type Experiment struct {
	// Rates and Concurrencies are the levels of a sweep, ascending. Without
	// either it doubles the rate until the server is saturated.
	Rates         []float64 `yaml:"rates,omitempty"`
	Concurrencies []int     `yaml:"concurrencies,omitempty"`
	// WorkingSet is the range of live sessions, "8..512", in which a sweep looks for
	// the number that the server's prefix cache no longer holds.
	WorkingSet string `yaml:"working_set,omitempty"`
	// FindLimit searches for the highest rate that keeps the objectives.
	FindLimit bool `yaml:"find_limit,omitempty"`
	// Thorough makes the sustained run half an hour long.
	Thorough    bool `yaml:"thorough,omitempty"`
	search.Spec `yaml:",inline"`
	// Repeat runs a load so many times, with seeds and salts of its own each.
	Repeat int `yaml:"repeat,omitempty"`
	// Rounds is how often each side of a live comparison is measured.
	Rounds int `yaml:"rounds,omitempty"`
	// Cooldown is how long nothing is sent between its runs.
	Cooldown time.Duration `yaml:"cooldown,omitempty"`
	// Tolerance is the relative difference that does not matter.
	Tolerance float64 `yaml:"tolerance,omitempty"`
	// Anyway counts what is invalid or not comparable; the answer is then
	// marked invalid.
	Anyway bool `yaml:"anyway,omitempty"`
	// Toggles are optimizations to measure with and without. OnURL and OffURL
	// are two servers that differ in the one that is named; without them the
	// embedded engine is switched.
	Toggles []string `yaml:"toggles,omitempty"`
	OnURL   string   `yaml:"on_url,omitempty"`
	OffURL  string   `yaml:"off_url,omitempty"`
	// Isolation measures each class or tenant alone, and all together.
	Isolation bool `yaml:"isolation,omitempty"`
	Protocol  `yaml:",inline"`
}

// thoroughly is the length of a sustained run that is to show drift.
const thoroughly = 30 * time.Minute

// SearchSpec is the search that the plan asks for, whose levels have the plan's
// own warm-up and drain where it has any.
func (c *Config) SearchSpec() search.Spec {
	s := c.Experiment.Spec
	if c.Experiment.Thorough && s.Sustained == 0 {
		s.Sustained = thoroughly
	}
	s.Warmup = c.Load.Bounds.Warmup
	// The plan that is kept names its default, so the value has to tell.
	if d := c.Load.Bounds.Drain; d != nil && *d != load.DefaultDrain && *d != c.usualDrain() {
		s.Drain = d
	}
	return s
}

const (
	maxLevels  = 200
	maxRepeats = 1000
)

func (c *Config) experiment() error {
	const block = "experiment"
	e := &c.Experiment
	if e.Rates != nil && e.Concurrencies != nil {
		return c.errorAt(block+".concurrencies", "rates are given too; give only one of the two")
	}
	if e.WorkingSet != "" && (e.Rates != nil || e.Concurrencies != nil || e.FindLimit || e.Agents) {
		return c.errorAt(workingSetKey, "varies the sessions under one load: leave out --rates, --concurrencies, --agents and --find-limit, or this one")
	}
	if len(e.Rates) > maxLevels || len(e.Concurrencies) > maxLevels {
		return c.errorAt(block, "at most %d levels are possible", maxLevels)
	}
	for _, r := range e.Rates {
		if !(r > 0 && r <= 1e6) {
			return c.errorAt(block+".rates", "expected rates above 0 requests/s, got %v", r)
		}
	}
	for _, n := range e.Concurrencies {
		if n < 1 || n > maxConcurrency {
			return c.errorAt(block+".concurrencies", "must be 1 to %d in flight, got %d", maxConcurrency, n)
		}
	}
	slices.Sort(e.Rates)
	slices.Sort(e.Concurrencies)
	e.Rates, e.Concurrencies = slices.Compact(e.Rates), slices.Compact(e.Concurrencies)
	for _, bound := range []struct {
		key     string
		n, most int
	}{{"repeat", e.Repeat, maxRepeats}, {"rounds", e.Rounds, maxRepeats}} {
		if c.isSet(block+"."+bound.key) && (bound.n < 1 || bound.n > bound.most) {
			return c.errorAt(block+"."+bound.key, "must be 1 to %d, got %d", bound.most, bound.n)
		}
	}
	if e.Cooldown < 0 || e.Cooldown > maxCooldown {
		return c.errorAt(block+".cooldown", "expected a time up to 10m such as 10s, got %v", e.Cooldown)
	}
	if e.Tolerance < 0 || e.Tolerance >= 1 {
		return c.errorAt(block+".tolerance", "expected a share below 1 such as 0.05 or 5%%, got %v", e.Tolerance)
	}
	for key, length := range map[string]time.Duration{"budget": e.Budget, "sustained": e.Sustained} {
		if c.isSet(block+"."+key) && (length <= 0 || length > maxSearch) {
			return c.errorAt(block+"."+key, "expected a time above 0 and up to %v such as 10m, got %v", maxSearch, length)
		}
	}
	if err := e.Spec.Validate(); err != nil {
		return c.errorIn(block, err)
	}
	if e.Agents && c.isSet(block+".agents") && !forJobs.when(c) {
		return c.errorAt(block+".agents", "%s", forJobs.cure)
	}
	if err := c.toggles(); err != nil {
		return err
	}
	return c.protocol()
}

// isolation wants somebody to tell apart, and what to hold each to.
func (c *Config) isolation(command string) error {
	const key = "experiment.isolation"
	names, _ := c.Workload.Parties()
	switch {
	case !c.Experiment.Isolation || command != "matrix":
	case len(names) < 2:
		return c.errorAt(key, "is for two classes or tenants or more: name them in workload.classes or workload.tenants of a plan, or take --workload mix")
	case c.Load.Rate <= 0:
		return c.errorAt(key, "wants the rate of all together, of which each alone has its part: add --rate")
	case len(c.Objectives) == 0:
		return c.errorAt(key, "wants objectives that each is held to: add --slo, or slo to a class")
	case len(c.Experiment.Toggles) > 0:
		return c.errorAt(key, "and --toggle are two experiments: leave out one of them")
	}
	return nil
}

// maxCooldown bounds the rest between two runs.
const maxCooldown = 10 * time.Minute

// maxSearch bounds what a search or a tuning may be given.
const maxSearch = 72 * time.Hour

func setRates(c *Config, values []string) error {
	list, err := numbers(values[0])
	c.Experiment.Rates = list
	return err
}

func setPercentiles(c *Config, values []string) error {
	list, err := ParsePercentiles(values[0])
	c.Metrics.Percentiles = list
	return err
}

// ParsePercentiles reads a list such as 50,99.9, a leading p allowed.
func ParsePercentiles(text string) ([]float64, error) {
	list, err := numbers(strings.ReplaceAll(text, "p", ""))
	if err != nil {
		return nil, fmt.Errorf("expected percentiles such as 50,90,99.9, got %s", quote(text))
	}
	return list, nil
}

func setConcurrencies(c *Config, values []string) error {
	list, err := numbers(values[0])
	c.Experiment.Concurrencies = nil
	for _, x := range list {
		if x != float64(int(x)) {
			return fmt.Errorf("expected whole numbers such as 1,2,4,8, got %s", quote(values[0]))
		}
		c.Experiment.Concurrencies = append(c.Experiment.Concurrencies, int(x))
	}
	return err
}

// setAgents reads a number of agents, the levels of a sweep over them, or the range
// of a search.
func setAgents(c *Config, values []string) error {
	from, to, ranged := strings.Cut(values[0], "..")
	switch {
	case !ranged && strings.Contains(from, ","):
		return setConcurrencies(c, values)
	case !ranged:
		n, err := strconv.Atoi(from)
		c.Load.Bounds.MaxConcurrency = n
		if err != nil {
			return fmt.Errorf("expected a number such as 32, levels such as 1,2,4,8 or a range such as 1..500, got %s", quote(values[0]))
		}
		return nil
	}
	ends := [2]int{1, 0}
	for i, text := range []string{from, to} {
		n, err := strconv.Atoi(text)
		if ends[i] = n; text != "" && (err != nil || n < 1) || i == 1 && text != "" && n < ends[0] {
			return fmt.Errorf("expected a range of agents such as 1..500, got %s", quote(values[0]))
		}
	}
	s := &c.Experiment.Spec
	s.Agents, s.Floor, s.Ceiling = true, float64(ends[0]), float64(ends[1])
	return nil
}

// numbers reads a list such as 1,2,5.
func numbers(text string) ([]float64, error) {
	var list []float64
	for word := range strings.SplitSeq(text, ",") {
		x, err := yaml.ParseFloat(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("expected numbers such as 1,2,5, got %s", quote(text))
		}
		list = append(list, x)
	}
	return list, nil
}
