package config

import (
	"fmt"
	"strings"
	"time"

	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// jobRules are those of a published benchmark of agents.
type jobRules struct {
	name, title string
	// jobs and header are the settings that it gives; a Duration of 0 leaves that
	// open. minimum is the shortest window that it takes.
	jobs              workload.Jobs
	header            string
	duration, minimum time.Duration
	// format is that of its files.
	format string
	// differs says what redline does otherwise.
	differs []string
}

// rulesOfJobs are the benchmarks whose rules are known.
var rulesOfJobs = []jobRules{
	{name: "agentx", title: "AgentX", format: "weka", duration: 30 * time.Minute, minimum: 15 * time.Minute,
		jobs: workload.Jobs{IdleCap: 10 * time.Second, AgentsFrom: "anywhere", History: "recorded"},
		differs: []string{"pauses are capped one by one, not the idle time of all agents together", "a job is met as often as it is long, not each trace alike",
			"text of their own keeps agents apart, not a marker in the first turn"}},
	{name: "mlperf-agentic", title: "MLPerf agentic", format: "mlperf_agentic", header: "X-Session-ID",
		jobs: workload.Jobs{AgentsFrom: "start", History: "recorded"},
		differs: []string{"the window ends by its length, not when the first user has ended their last conversation", "prompts have the recorded lengths, not the recorded text",
			"accuracy and the band of output lengths are not part of the result: add --golden", "it is one load, not the mean over four regions of a frontier"}},
}

// ruleOfJobs is what the plan names, nil for none.
func (c *Config) ruleOfJobs() *jobRules {
	for i := range rulesOfJobs {
		if j := c.Workload.Jobs; j != nil && j.Rules == rulesOfJobs[i].name {
			return &rulesOfJobs[i]
		}
	}
	return nil
}

// followRules gives the settings of a benchmark of agents where the plan has none.
func (c *Config) followRules() error {
	rules := c.ruleOfJobs()
	if rules == nil {
		return nil
	}
	j, b := c.Workload.Jobs, &c.Load.Bounds
	for _, set := range []struct {
		key  string
		give func()
	}{
		{"workload.jobs.idle_cap", func() { j.IdleCap = rules.jobs.IdleCap }},
		{"workload.jobs.agents_from", func() { j.AgentsFrom = rules.jobs.AgentsFrom }},
		{"workload.jobs.history", func() { j.History = rules.jobs.History }},
		{"workload.session.header", func() {
			if rules.header != "" {
				c.Workload.Session = &workload.Session{Header: rules.header}
			}
		}},
		{"load_profile.warmup", func() { b.Warmup = new(time.Duration) }},
		{durationKey, func() {
			if !c.isSet(requestsKey) {
				b.Duration = rules.duration
			}
		}},
	} {
		if !c.isSet(set.key) {
			set.give()
		}
	}
	return nil
}

// RuleNotes say in which settings the plan leaves the rules that it names, and what
// differs from them in any case.
func (c *Config) RuleNotes() (notes []string) {
	rules := c.ruleOfJobs()
	if rules == nil {
		return nil
	}
	j, b := c.Workload.Jobs, c.Load.Bounds
	var left []string
	for _, off := range []struct {
		is   bool
		what string
	}{
		{c.Load.Open(), "jobs come at a rate"},
		{!c.Streaming(), "replies are not streamed"},
		{c.Workload.EndsNaturally(), "the model ends its replies"},
		{rules.minimum > 0 && b.Duration < rules.minimum, fmt.Sprintf("the window is shorter than %s", text.Length(rules.minimum))},
		{j.IdleCap != rules.jobs.IdleCap, fmt.Sprintf("pauses are capped at %s", text.Length(j.IdleCap))},
		{j.TimeScale != nil && *j.TimeScale != 1, "pauses are scaled"},
		{j.AgentsFrom != rules.jobs.AgentsFrom, "agents begin from " + j.AgentsFrom},
		{j.History != rules.jobs.History, "the history is " + j.History},
		{j.Overflow == "skip" || j.Overflow == "truncate", "requests that are too long are not sent as they are"},
		{!c.Workload.HoldsFormat(rules.format), "the jobs are not of its format " + rules.format},
	} {
		if off.is {
			left = append(left, off.what)
		}
	}
	if left != nil {
		notes = append(notes, fmt.Sprintf("these are not the rules of %s: %s", rules.title, strings.Join(left, "; ")))
	}
	return append(notes, fmt.Sprintf("other than with the rules of %s: %s", rules.title, strings.Join(rules.differs, "; ")))
}
