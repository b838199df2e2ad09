package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"redline/internal/plan/yaml"
	"redline/internal/text"
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
	Also  string
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

	access
}

// access writes and reads an option where its key alone does not say it all.
type access struct {
	set func(c *Config, values []string) error
	get func(c *Config) []string
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
		return fmt.Errorf("want one value, got %d", len(values))
	}
	if o.Kind == Bool {
		values = []string{truth(values[0])}
	}
	if o.set != nil {
		return o.set(c, values)
	}
	if share, ok := strings.CutSuffix(values[0], "%"); ok && o.Value == "SHARE" {
		if f, err := yaml.ParseFloat(share); err == nil {
			values = []string{text.Plain(f / 100)}
		}
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

// Get gives the option's present values as text, nil where it is not set.
func (o *Option) Get(c *Config) []string {
	if o.get != nil {
		return o.get(c)
	}
	v := lookUp(c, o.Key, false)
	if v.IsZero() {
		return nil
	}
	switch e := yaml.Encode(v.Interface()).(type) {
	case []any:
		return text.Each(e, func(item any) string { return fmt.Sprint(item) })
	default:
		return []string{fmt.Sprint(e)}
	}
}

// lookUp finds the field of a dotted key. Keys come from the table of options,
// whose test looks up each of them. A block on the way that is not there is made
// where the field is to be set, and is an empty one otherwise.
func lookUp(c *Config, key string, set bool) reflect.Value {
	v := reflect.ValueOf(c).Elem()
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

// toggle is the access to an option that is kept in one field outside the
// plan.
func toggle(field func(*Config) *bool) access {
	return access{
		func(c *Config, values []string) (err error) {
			*field(c), err = yaml.ParseBool(values[0])
			return err
		},
		func(c *Config) []string {
			if *field(c) {
				return []string{"true"}
			}
			return nil
		}}
}

// opposite is the access to a flag that says no where the plan's key says
// yes, which is its default.
func opposite(field func(*Config) **bool) access {
	set := func(c *Config, values []string) error {
		off, err := yaml.ParseBool(values[0])
		*field(c) = new(!off)
		return err
	}
	get := func(c *Config) []string {
		if on := *field(c); on == nil || *on {
			return nil
		}
		return []string{"true"}
	}
	return access{set, get}
}

func setKeyEnv(c *Config, values []string) error {
	if !variableName(values[0]) {
		return fmt.Errorf("want the name of an environment variable, not the key itself")
	}
	c.keyEnv, c.Provider.APIKey = values[0], ""
	return nil
}

func getKeyEnv(c *Config) []string { return nonEmpty(c.keyEnv) }

// setHeaders adds to the headers of the plan: one by one they are overridden.
func setHeaders(c *Config, values []string) error {
	headers := map[string]string{}
	maps.Copy(headers, c.Provider.Headers)
	for _, text := range values {
		name, value, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(name) == "" {
			// What was given may hold a secret.
			return errors.New("want a header as Name=value, such as X-Team=search")
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	c.Provider.Headers = headers
	return nil
}

func getHeaders(c *Config) []string {
	return text.Each(sortedKeys(c.Provider.Headers), func(name string) string { return name + "=" + c.Provider.Headers[name] })
}

// setColumns takes the place of the plan's columns.
func setColumns(c *Config, values []string) error {
	columns := map[string]string{}
	for _, text := range values {
		role, name, ok := strings.Cut(text, "=")
		if !ok || role == "" || name == "" {
			return fmt.Errorf("want a column as role=name, such as prompt=input_tokens, got %s", shown(text))
		}
		columns[strings.TrimSpace(role)] = strings.TrimSpace(name)
	}
	c.Workload.Columns = columns
	return nil
}

func getColumns(c *Config) []string {
	return text.Each(sortedKeys(c.Workload.Columns), func(role string) string { return role + "=" + c.Workload.Columns[role] })
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
		return fmt.Errorf(`want a JSON object such as {"top_k": 20}, got %s`, shown(values[0]))
	}
	c.Provider.ExtraBody = body
	return nil
}

func getExtraBody(c *Config) []string {
	if len(c.Provider.ExtraBody) == 0 {
		return nil
	}
	body, err := json.Marshal(c.Provider.ExtraBody)
	if err != nil {
		return nil
	}
	return []string{string(body)}
}

// metadata is the access to an option that is one entry of the metadata
// block.
func metadata(name string) access {
	set := func(c *Config, values []string) error {
		if c.Metadata == nil {
			c.Metadata = Metadata{}
		}
		c.Metadata[name] = values[0]
		return nil
	}
	return access{set, func(c *Config) []string { return nonEmpty(c.Metadata[name]) }}
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
