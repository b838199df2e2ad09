package config

import (
	"os"
	"slices"
	"strings"

	"redline/internal/traffic/hub"
)

// idleFlag is a flag that the other settings leave without effect. Whoever gives
// it expects one, so it is refused and not passed over. Only flags are: a plan
// and an environment serve several commands, and only what contradicts itself
// within a plan is refused there.
type idleFlag struct {
	// commands are those that the rule is about; nil: all of them.
	commands []string
	flags    []string
	when     func(*Config) bool
	// why says what makes it idle, and the cure.
	why string
}

// idleFlags is every rule, the more telling first.
var idleFlags = []idleFlag{
	{flags: []string{"speedup"}, when: func(c *Config) bool { return readable(c.Workload.File) && !c.Workload.Timed() },
		why: "is for a trace with times of its own, which the workload has not: leave it out"},
	{commands: []string{"sweep", "bench"}, flags: []string{"speedup"}, when: always,
		why: "is for a trace that comes as it was recorded, but every level has a rate of its own: leave it out, or use redline run"},
	{flags: []string{"speedup"}, when: func(c *Config) bool { return readable(c.Workload.File) && !c.Recorded() },
		why: "is for a trace that comes as it was recorded, but a rate or a concurrency is given: leave out one of the two"},
	{commands: []string{"sweep"}, flags: []string{"rates", "concurrencies", "duration", "requests"},
		when: func(c *Config) bool { return c.Experiment.FindLimit },
		why:  "is for levels that are given, but --find-limit chooses its own: leave out one of the two"},
	{commands: []string{"sweep"}, flags: []string{"sustained", "thorough", "budget"},
		when: func(c *Config) bool { return !c.Experiment.FindLimit },
		why:  "is for the search for a limit: add --find-limit, or leave it out"},
	{commands: []string{"sweep"}, flags: []string{"start"},
		when: func(c *Config) bool { return c.Experiment.Rates != nil || c.Experiment.Concurrencies != nil },
		why:  "is the first of levels that are found on the way, but all are given: leave out one of the two"},
	{commands: []string{"sweep"}, flags: []string{"arrival"},
		when: func(c *Config) bool { return c.Experiment.Concurrencies != nil },
		why:  "is for levels that are rates, but --concurrencies makes closed loops, which have no arrivals: leave it out"},
	{flags: []string{"thorough"}, when: func(c *Config) bool { return c.Experiment.Sustained > 0 },
		why: "makes the sustained run half an hour long, but its length is given: leave out one of the two"},
	{commands: []string{"run"}, flags: []string{"anyway"},
		when: func(c *Config) bool { return c.Experiment.Anyway && c.Experiment.Repeat <= 1 },
		why:  "counts what is invalid among several runs, but there is one: add --repeat, or leave it out"},
	{flags: []string{"plain"}, when: (*Config).UntilDecided,
		why: "sends a given number of requests: add --requests or --duration, or leave it out"},
	{commands: []string{"run"}, flags: []string{"limit"},
		when: func(c *Config) bool { return !strings.Contains(strings.ToLower(c.Load.Profile), "overload") },
		why:  "is what --profile overload is measured by: add that, or leave it out"},
	{commands: []string{"run"}, flags: []string{"max-duration"},
		when: func(c *Config) bool { return c.isSet(durationKey) || c.isSet(requestsKey) },
		why:  "is for a run without a length, but one is given (--duration or --requests): leave out one of the two"},
	{commands: []string{"run"}, flags: []string{"max-duration"}, when: func(c *Config) bool { return len(c.Objectives) == 0 },
		why: "is for a run that ends once its objectives are decided, but there are none: add --slo, or give --duration"},
	{commands: []string{"run"}, flags: []string{"max-duration"}, when: (*Config).Recorded,
		why: "is for a run without a length, but the workload's file has one: leave it out, or give --duration"},
	{commands: []string{"run"}, flags: []string{"max-duration"}, when: func(c *Config) bool { return !c.UntilDecided() },
		why: "is for a single run, but there are several, which have the same length each: give --duration"},
	{commands: []string{"matrix"}, flags: []string{"requests", "duration", "rounds", "tolerance", "on-url", "off-url"},
		when: func(c *Config) bool { return len(c.Experiment.Toggles) == 0 },
		why:  "is for optimizations that are measured with and without, but the rows have their own: add --toggle, or leave it out"},
	{commands: []string{"matrix"}, flags: []string{"url"},
		when: func(c *Config) bool { return c.Experiment.OnURL != "" },
		why:  "is for one server, but --on-url and --off-url name two: leave out one of the two ways"},
	{flags: []string{"anyway"}, when: func(c *Config) bool { return c.Strict && c.Experiment.Anyway },
		why: "counts what is invalid, but --strict makes every check final: leave out one of the two"},
	{flags: []string{"nats", "nats-listen", "workers-wait"}, when: func(c *Config) bool { return c.Workers.Count == 0 },
		why: "is for a load that several workers send: add --workers, or leave it out"},
	{flags: []string{"token-times"}, when: func(c *Config) bool { return !c.Streaming() || c.Pools() },
		why: "is for replies that are streamed, but these come whole: leave it out"},
	{flags: []string{"insecure", "ca-cert", "client-cert"},
		when: func(c *Config) bool {
			return !slices.ContainsFunc(c.Provider.URLs, func(u string) bool { return strings.HasPrefix(strings.ToLower(u), "https:") })
		},
		why: "is for a server that speaks https, but no https URL is given: leave it out, or mend --url"},
}

// readable reports whether a file is there; one that is not is refused by
// whoever opens it, in better words.
func readable(path string) bool {
	path, err := hub.Dataset(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	return err == nil
}

func always(*Config) bool { return true }

// idle refuses the first flag that would do nothing for a command.
func (c *Config) idle(command string) error {
	for _, rule := range idleFlags {
		if rule.commands != nil && !slices.Contains(rule.commands, command) {
			continue
		}
		for _, flag := range rule.flags {
			if c.byFlag(flag) && rule.when(c) {
				return fault("--"+flag, "%s", rule.why)
			}
		}
	}
	if command == "sweep" {
		return c.contradiction()
	}
	return nil
}

// contradiction refuses a plan that asks for a search and for levels at once.
// Levels that stand elsewhere than the wish to search are overruled by it.
func (c *Config) contradiction() error {
	if !c.Experiment.FindLimit || !c.places["experiment.find_limit"].plan {
		return nil
	}
	for _, key := range []string{"experiment.rates", "experiment.concurrencies"} {
		if c.places[key].plan {
			return c.wrong(key, "is for levels that are given, but find_limit chooses its own rates: leave out one of the two")
		}
	}
	return nil
}

// byFlag reports whether an option was given by its flag.
func (c *Config) byFlag(flag string) bool {
	i := slices.IndexFunc(Options, func(o Option) bool { return o.Flag == flag })
	return i >= 0 && c.places[Options[i].Key].text == "--"+flag
}

// Only refuses flags that a mode of a command does not know, of those that were
// given: mode says which it is and what would take them.
func Only(given map[string][]string, mode string, known ...string) error {
	for _, flag := range sortedKeys(given) {
		if !slices.Contains(known, flag) {
			return fault("--"+flag, "%s: leave it out", mode)
		}
	}
	return nil
}
