package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"redline/internal/answer/tune"
	"redline/internal/text"
	"redline/internal/yaml"
)

// readBack gives what options hold whose key alone does not say it, by flag.
var readBack = map[string]func(c *Config) []string{
	"api-key-env":       func(c *Config) []string { return nonEmpty(c.keyEnv) },
	"header":            func(c *Config) []string { return pairs(c.Provider.Headers) },
	"column":            func(c *Config) []string { return pairs(c.Workload.Columns) },
	"no-stream":         func(c *Config) []string { return yes(c.Provider.Stream != nil && !*c.Provider.Stream) },
	"no-telemetry":      func(c *Config) []string { return yes(c.Telemetry.Scrape != nil && !*c.Telemetry.Scrape) },
	"limit":             func(c *Config) []string { return textsOf([]float64{c.Load.Limit}) },
	"rates":             func(c *Config) []string { return textsOf(c.Experiment.Rates) },
	"concurrencies":     func(c *Config) []string { return textsOf(c.Experiment.Concurrencies) },
	"percentiles":       func(c *Config) []string { return textsOf(c.Metrics.Percentiles) },
	"quality-threshold": func(c *Config) []string { return c.Quality.Thresholds.Texts() },
	"label":             func(c *Config) []string { return nonEmpty(c.Metadata["label"]) },
	"note":              func(c *Config) []string { return nonEmpty(c.Metadata["note"]) },
	"out":               func(c *Config) []string { return nonEmpty(c.Output.Dir) },
	"force":             func(c *Config) []string { return yes(c.Output.Force) },
	"json":              func(c *Config) []string { return yes(c.Output.JSON) },
	"progress":          func(c *Config) []string { return nonEmpty(c.Output.Progress) },
	"dry-run":           func(c *Config) []string { return yes(c.Output.DryRun) },
	"fail-on": func(c *Config) []string {
		if len(c.Output.FailOn) == 0 {
			return nil
		}
		return []string{strings.Join(c.Output.FailOn, ",")}
	},
	"quiet":   func(c *Config) []string { return yes(c.Output.Quiet) },
	"verbose": func(c *Config) []string { return yes(c.Output.Verbose) },
	"explain": func(c *Config) []string { return yes(c.Output.Explain) },
	"knob": func(c *Config) []string {
		return text.Each(c.Tune.Knobs, func(k tune.Knob) string {
			return k.Name + "=" + strings.Join(append([]string{k.Baseline}, k.Values...), ",")
		})
	},
	"extra-body": func(c *Config) []string {
		if len(c.Provider.ExtraBody) == 0 {
			return nil
		}
		body, _ := json.Marshal(c.Provider.ExtraBody)
		return []string{string(body)}
	},
}

// values gives an option's present values as text, nil where it is not set.
func (o *Option) values(c *Config) []string {
	if read := readBack[o.Flag]; read != nil {
		return read(c)
	}
	v := lookUp(c, o.Key, false)
	if v.IsZero() {
		return nil
	}
	if list, ok := yaml.Encode(v.Interface()).([]any); ok {
		return text.Each(list, func(item any) string { return fmt.Sprint(item) })
	}
	return []string{fmt.Sprint(yaml.Encode(v.Interface()))}
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func yes(set bool) []string {
	if set {
		return []string{"true"}
	}
	return nil
}

func pairs(m map[string]string) []string {
	return text.Each(sortedKeys(m), func(name string) string { return name + "=" + m[name] })
}

func textsOf[T int | float64](list []T) []string {
	if len(list) == 0 || list[0] == 0 {
		return nil
	}
	words := text.Each(list, func(x T) string { return strconv.FormatFloat(float64(x), 'g', -1, 64) })
	return []string{strings.Join(words, ",")}
}
