package config

import (
	"os"
	"slices"
	"strings"

	"redline/internal/traffic/hub"
)

// need is a condition without which a flag does nothing. Whoever gives it expects
// something, so it is refused and not passed over. Only flags are: a plan and an
// environment serve several commands, and only what contradicts itself within a
// plan is refused there.
type need struct {
	in   string // the commands that have it, "" for all
	when func(*Config) bool
	cure string // why the flag does nothing, and the cure
}

// Needs that several options share.
var (
	forLevels  = need{"sweep", func(c *Config) bool { return !c.Experiment.FindLimit }, "is for levels that are given, but --find-limit chooses its own: leave out one of the two"}
	forGuesses = need{"", func(c *Config) bool { return c.Server.Sim.Speculation.Tokens > 0 || len(c.Experiment.Toggles) > 0 },
		"is for guessed tokens, of which there are none: add --speculative-tokens, or leave it out"}
	foundLevels = need{"sweep", func(c *Config) bool { return c.Experiment.Rates == nil && c.Experiment.Concurrencies == nil },
		"is for levels that are found on the way, but all are given: leave out one of the two"}
	forWorkingSet = need{"sweep", func(c *Config) bool { return c.Experiment.WorkingSet != "" },
		"is the load under which --working-set varies the sessions; the levels of another sweep are its load: --rates or --concurrencies"}
	forSearch  = need{"sweep", func(c *Config) bool { return c.Experiment.FindLimit }, "is for the search for a limit: add --find-limit, or leave it out"}
	forToggles = need{"matrix", func(c *Config) bool { return len(c.Experiment.Toggles) > 0 },
		"is for optimizations that are measured with and without, but the rows have their own: add --toggle, or leave it out"}
	forJobs = need{"", func(c *Config) bool {
		return c.Workload.File != "" && !readable(c.Workload.File) || c.Workload.HoldsJobs()
	},
		"is for a file of agents' jobs, which the workload is not: leave it out, or name one by --workload"}
	forTools    = need{"", func(c *Config) bool { return c.isSet("workload.tools.count") || c.isSet("workload.tools.file") }, "is for requests with tools: add --tools or --tools-file, or leave it out"}
	forSchemas  = need{"", func(c *Config) bool { return c.isSet("workload.schemas.count") || c.isSet("workload.schemas.file") }, "is for replies with a schema: add --schemas or --schemas-file, or leave it out"}
	forAdapters = need{"", func(c *Config) bool { return c.isSet("workload.adapters.names") }, "is for a set of adapters: add --adapters, or leave it out"}
	forWorkers  = need{"", func(c *Config) bool { return c.Workers.Count > 0 }, "is for a load that several workers send: add --workers, or leave it out"}
	forGateway  = need{"", func(c *Config) bool { return c.Server.Sim.IsGateway() }, "is for engines behind a gateway: add --replicas, or --prefill and --decode, or leave it out"}
	forPools    = need{"", func(c *Config) bool { return c.Server.Sim.HasPools() }, "is for a pool that prefills and one that decodes, of at least 1 engine each: give --prefill and --decode, or leave it out"}
	forHTTPS    = need{"", func(c *Config) bool {
		return slices.ContainsFunc(c.Provider.URLs, func(u string) bool { return strings.HasPrefix(strings.ToLower(u), "https:") })
	}, "is for a server that speaks https, but no https URL is given: leave it out, or mend --url"}
)

// isOf reports whether a list of commands, or none for all, has one.
func isOf(commands, command string) bool {
	return commands == "" || slices.Contains(strings.Fields(commands), command)
}

// checkNeeds refuses the first flag that would do nothing for a command.
func (c *Config) checkNeeds(command string) error {
	for i := range Options {
		o := &Options[i]
		if c.places[o.Key].text != "--"+o.Flag {
			continue
		}
		if o.Group == EngineGroup && !c.Embedded() {
			return fault("--"+o.Flag, "is for the embedded engine, but a URL is given")
		}
		for _, n := range o.needs {
			if isOf(n.in, command) && !n.when(c) {
				return fault("--"+o.Flag, "%s", n.cure)
			}
		}
	}
	switch {
	case command == "sweep":
		return c.contradiction()
	case command != "" && c.Load.Rate == defaultRate && !c.isSet("load_profile.rate") && c.Workload.HoldsJobs():
		// The default is for requests; a job is tens of them.
		return fault("--agents", "expected the number of live agents, such as --agents 8, or --rate 0.2 for a job every 5 s: the workload holds jobs of agents")
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
			return c.errorAt(key, "is for levels that are given, but find_limit chooses its own rates: leave out one of the two")
		}
	}
	return nil
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
