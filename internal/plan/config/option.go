package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"redline/internal/text"
	"redline/internal/yaml"
)

// Kind is the type of an option's value, as --help shows it.
type Kind string

// The kinds of values.
const (
	Bool     Kind = "bool"
	Int      Kind = "int"
	Float    Kind = "number"
	Duration Kind = "duration"
	Text     Kind = "text"
)

// Group gathers options that belong together in --help and in the manual.
type Group string

// The groups, in the order in which they are shown.
const (
	TargetGroup   Group = "Target"
	loadGroup     Group = "Load"
	WorkloadGroup Group = "Workload"
	EngineGroup   Group = "Embedded engine"
	// ExperimentGroup holds what only the commands of several runs know.
	ExperimentGroup Group = "Experiment"
	// TuneGroup holds what is about servers that redline launches.
	TuneGroup Group = "Launched server"
	// CostGroup holds what serving costs.
	CostGroup Group = "Money"
	runGroup  Group = "Judgment and output"
)

// Groups lists the groups in the order in which they are shown.
var Groups = []Group{TargetGroup, loadGroup, WorkloadGroup, ExperimentGroup, TuneGroup, EngineGroup, CostGroup, runGroup}

// Option is one knob: its flag, its environment variable and its plan key are
// three spellings of one setting.
type Option struct {
	Flag  string // without the dashes
	Short string // one letter, or ""
	// Key is the dotted plan key, "" where the plan has none.
	Key string
	// Also is the key under the flag's own name, where Key has another.
	Also string
	// For names the commands that take it, of those that send load: run, sweep, bench,
	// matrix, compare and tune. "" leaves that to its group.
	For   string
	Group Group
	Kind  Kind
	// Value names what is to be written after the flag: "URL".
	Value string
	// Default is what holds where nothing is said, for people to read.
	Default string
	Help    string
	// Values are what a shell completes the flag with, where they can be listed.
	Values []string
	// Repeatable options take several values, in the environment one a line.
	Repeatable bool
	// FlagOnly options have no environment variable.
	FlagOnly bool

	// needs are what it does nothing without.
	needs []need
	// set writes the option where its key alone does not say it all.
	set func(c *Config, values []string) error
}

// TakenBy reports whether a command that sends load takes the option: unless its row
// says otherwise, what is about launched servers is for tune alone, what is about the
// embedded engine for all others, and the rest for all.
func (o *Option) TakenBy(command string) bool {
	switch {
	case o.For != "":
		return isOf(o.For, command)
	case o.Group == TuneGroup:
		return command == "tune"
	case o.Group == EngineGroup:
		return command != "tune"
	}
	return true
}

// Env names the option's environment variable, "" where it has none.
func (o *Option) Env() string {
	if o.FlagOnly {
		return ""
	}
	return "REDLINE_" + strings.ToUpper(strings.ReplaceAll(o.Flag, "-", "_"))
}

// Set puts values, as text, where the option keeps them. An option that is not
// repeatable takes one; a bool with an empty value is true.
func (o *Option) Set(c *Config, values []string) error {
	if !o.Repeatable && len(values) != 1 {
		return fmt.Errorf("expected one value, got %d", len(values))
	}
	if o.Kind == Bool {
		values = []string{truth(values[0])}
	}
	if o.set != nil {
		return o.set(c, values)
	}
	if o.Value == "SHARE" {
		values = []string{fromPercent(values[0])}
	}
	n := &yaml.Node{Text: values[0], Plain: true}
	if o.Repeatable {
		n = &yaml.Node{Kind: yaml.Sequence}
		for _, v := range values {
			n.Items = append(n.Items, &yaml.Node{Text: v, Plain: true})
		}
	}
	d := yaml.Decoder{}
	return d.Decode(n, lookUp(c, o.Key, true).Addr().Interface(), "")
}

// truth spells the ways to say yes and no that shells are used to.
func truth(s string) string {
	switch strings.ToLower(s) {
	case "", "1", "yes", "on":
		return "true"
	case "0", "no", "off":
		return "false"
	}
	return s
}

// lookUp finds the field of a dotted key. Keys come from the table of options,
// whose test looks up each of them. A block on the way that is not there is made
// where the field is to be set, and is an empty one otherwise.
func lookUp(c *Config, key string, set bool) reflect.Value {
	return fieldOf(reflect.ValueOf(c).Elem(), key, set)
}

// fieldOf is lookUp within any block.
func fieldOf(v reflect.Value, key string, set bool) reflect.Value {
	for part := range strings.SplitSeq(key, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() && set {
				v.Set(reflect.New(v.Type().Elem()))
			}
			if v.IsNil() {
				v = reflect.New(v.Type().Elem())
			}
			v = v.Elem()
		}
		fields := yaml.FieldsOf(v.Type())
		i := slices.IndexFunc(fields, func(f yaml.Field) bool { return f.Key == part })
		v = v.FieldByIndex(fields[i].Index)
	}
	return v
}

// toggle sets an option that is kept in one field outside the plan.
func toggle(field func(*Config) *bool) func(*Config, []string) error {
	return func(c *Config, values []string) (err error) {
		*field(c), err = yaml.ParseBool(values[0])
		return err
	}
}

// opposite sets a flag that says no where the plan's key says yes, which is its
// default.
func opposite(field func(*Config) **bool) func(*Config, []string) error {
	return func(c *Config, values []string) error {
		off, err := yaml.ParseBool(values[0])
		*field(c) = new(!off)
		return err
	}
}

func setKeyEnv(c *Config, values []string) error {
	if !variableName(values[0]) {
		return fmt.Errorf("give the name of an environment variable that holds the key, not the key itself")
	}
	c.keyEnv, c.Provider.APIKey = values[0], ""
	return nil
}

// setHeaders adds to the headers of the plan: one by one they are overridden.
func setHeaders(c *Config, values []string) error {
	headers := map[string]string{}
	maps.Copy(headers, c.Provider.Headers)
	for _, text := range values {
		name, value, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(name) == "" {
			// What was given may hold a secret.
			return errors.New("expected a header as Name=value, such as X-Team=search")
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	c.Provider.Headers = headers
	return nil
}

// setColumns takes the place of the plan's columns.
func setColumns(c *Config, values []string) error {
	columns := map[string]string{}
	for _, text := range values {
		role, name, ok := strings.Cut(text, "=")
		if !ok || role == "" || name == "" {
			return fmt.Errorf("expected a column as role=name, such as prompt=input_tokens, got %s", quote(text))
		}
		columns[strings.TrimSpace(role)] = strings.TrimSpace(name)
	}
	c.Workload.Columns = columns
	return nil
}

// setRate takes a number, or inf for a closed loop that starts at once.
func setRate(c *Config, values []string) (err error) {
	c.Load.Bounds.AtOnce = slices.Contains([]string{"inf", "infinity", "unlimited"}, strings.ToLower(values[0]))
	if c.Load.Rate = 0; !c.Load.Bounds.AtOnce {
		c.Load.Rate, err = yaml.ParseFloat(values[0])
	}
	return err
}

func setExtraBody(c *Config, values []string) error {
	var body map[string]any
	if err := json.Unmarshal([]byte(values[0]), &body); err != nil || body == nil {
		return fmt.Errorf(`expected a JSON object such as {"top_k": 20}, got %s`, quote(values[0]))
	}
	c.Provider.ExtraBody = body
	return nil
}

// metadata sets an option that is one entry of the metadata block.
func metadata(name string) func(*Config, []string) error {
	return func(c *Config, values []string) error {
		if c.Metadata == nil {
			c.Metadata = Metadata{}
		}
		c.Metadata[name] = values[0]
		return nil
	}
}

// fromPercent is a share that may be written as a percentage.
func fromPercent(share string) string {
	if number, ok := strings.CutSuffix(share, "%"); ok {
		if f, err := yaml.ParseFloat(number); err == nil {
			return text.Plain(f / 100)
		}
	}
	return share
}
