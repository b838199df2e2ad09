package config

import (
	"fmt"
	"slices"
	"strings"

	"redline/internal/answer/tune"
	"redline/internal/launch"
)

// checkTuning checks a launched server and the knobs that its command is to have.
func (c *Config) checkTuning() error {
	const command, knobs = "server.command", "tune.knobs"
	if err := c.Server.Spec.Validate(len(c.Provider.URLs) > 0); err != nil {
		return c.errorIn("server", err)
	}
	if err := c.Tune.Validate(); err != nil {
		return c.errorIn("tune", err)
	}
	named := c.Server.Placeholders()
	for i, k := range c.Tune.Knobs {
		key := fmt.Sprintf("%s[%d].name", knobs, i)
		switch {
		case !launch.ValidName(k.Name):
			return c.errorAt(key, "expected letters, digits and underscores, and neither port nor redline, got %s", quote(k.Name))
		case c.Server.Command == "":
			return c.errorAt(command, "is missing: knobs are settings of a server that redline starts")
		case !slices.Contains(named, k.Name):
			return c.errorAt(key, "%s does not stand in server.command: write {%s} where its value belongs", k.Name, k.Name)
		}
	}
	for _, name := range named {
		if c.Tune.Knobs != nil && !slices.ContainsFunc(c.Tune.Knobs, func(k tune.Knob) bool { return k.Name == name }) {
			return c.errorAt(command, "names {%s}, but no knob is called so", name)
		}
	}
	return nil
}

// launchable refuses a launched server where the command is none that launches,
// and one that launches where there is nothing to.
func (c *Config) launchable(command string) error {
	switch {
	case command == "startup" && c.Server.Command == "":
		return fault("--server-command", "is missing: redline startup starts the server itself, as in --server-command 'vllm serve MODEL --port {port}'")
	case command == "startup":
		return nil
	case command == "run" && c.Launched() && len(c.Server.Placeholders()) > 0:
		return c.errorAt("server.command", "names {%s}, for which only redline tune has values", c.Server.Placeholders()[0])
	case command == "run" && c.Launched() && c.Workers.Count > 0:
		return c.errorAt("server.command", "starts a server that only this machine reaches, and workers send the load: start it yourself, and give its URL")
	case command != "tune" && command != "run" && c.Launched():
		return c.errorAt("server.command", "is started by redline run, tune and startup; redline %s needs a URL", command)
	case command != "tune":
		return nil
	case c.Server.Command == "":
		return c.errorAt("server.command", "is missing: redline tune starts the server itself, as in 'vllm serve MODEL --port {port} --max-num-seqs {max_num_seqs}'")
	case len(c.Provider.URLs) > 0:
		return c.errorAt("provider.api_endpoint", "redline tune asks the server that it starts: leave it out")
	case len(c.Tune.Knobs) == 0 && len(c.Server.Placeholders()) == 0:
		return c.errorAt("server.command", "has no knob: write {max_num_seqs} or the like where a value belongs, and name it in tune.knobs")
	case len(c.Tune.Knobs) == 0:
		return c.errorAt("tune.knobs", "is missing: name the values to try of %s, as in --knob %s=8,16,32", strings.Join(c.Server.Placeholders(), ", "), c.Server.Placeholders()[0])
	}
	return nil
}

// setKnobs reads knobs without hypotheses.
func setKnobs(c *Config, values []string) error {
	var list []tune.Knob
	for _, text := range values {
		name, rest, ok := strings.Cut(text, "=")
		words := strings.Split(rest, ",")
		if !ok || name == "" || len(words) < 2 {
			return fmt.Errorf("expected a name, its present value and others, as in max_num_seqs=8,16,32, got %s", quote(text))
		}
		list = append(list, tune.Knob{Name: name, Baseline: words[0], Values: words[1:]})
	}
	c.Tune.Knobs = list
	return nil
}
