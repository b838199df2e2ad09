package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"redline/internal/regular"
	"redline/internal/yaml"
)

// Input is where settings come from. Nothing else is read, so that a test can
// say all of it.
type Input struct {
	// PlanPath names the plan file, "" for none.
	PlanPath string
	// Flags holds the values of the flags that were given, by name.
	Flags map[string][]string
	// LookupEnv is os.LookupEnv in a program; nil is an empty environment.
	LookupEnv func(string) (string, bool)
	// Command is the one that will carry it out, "" for one that runs nothing:
	// flags that it would pass over are refused.
	Command string
	// Seed is the seed of a run for which none is given; 0 is the default's.
	Seed uint64
}

type place struct {
	text    string // "plan.yaml:12", "--rate", "REDLINE_RATE"
	plan    bool
	spelled string // the key, where the plan has it under its flag's name
}

// Resolve gives the complete configuration: flags before REDLINE_…
// variables, these before the plan, this before defaults. Its errors are of
// type *Error and free of secrets.
func Resolve(in Input) (*Config, error) {
	if in.LookupEnv == nil {
		in.LookupEnv = noEnv
	}
	c := newConfig()
	if err := c.resolve(in); err != nil {
		return nil, hideSecrets(err, c.Mask())
	}
	return c, nil
}

func (c *Config) resolve(in Input) error {
	if path := planPath(in); path != "" {
		data, err := planForm.ReadFile(path)
		if err != nil {
			return err
		}
		if err := c.load(path, data, in.LookupEnv); err != nil {
			return err
		}
	}
	if err := c.override(in); err != nil {
		return err
	}
	if err := c.complete(in); err != nil {
		return err
	}
	if err := c.checkMasks(); err != nil {
		return err
	}
	if err := c.checkNeeds(in.Command); err != nil || in.Command == "" {
		return err
	}
	if err := c.measurable(); err != nil {
		return err
	}
	if err := c.launchable(in.Command); err != nil {
		return err
	}
	if err := c.Provider.TLS.Check(); err != nil {
		return c.errorIn("provider", err)
	}
	return c.goldenSet()
}

// rowSchema marks a file of one measured row, which holds its plan.
const rowSchema = "redline/row/1"

// Reopen reads the plan that a finished run left behind. Variables keep their
// names, so that a report needs no key.
func Reopen(path string) (*Config, error) {
	data, err := regular.Read(path)
	if err != nil {
		return nil, err
	}
	return reopen(path, data)
}

// Whole gives the configuration as a plan with its secrets: for a worker, never
// for a file.
func (c *Config) Whole() ([]byte, error) { return yaml.Marshal(yaml.Encode(*c)) }

// FromWhole reads what Whole gave.
func FromWhole(data []byte) (*Config, error) { return reopen("the plan", data) }

func reopen(path string, data []byte) (*Config, error) {
	c := newConfig()
	if err := c.load(path, data, func(name string) (string, bool) { return "${" + name + "}", true }); err != nil {
		return nil, err
	}
	if err := c.complete(Input{LookupEnv: noEnv}); err != nil {
		return nil, err
	}
	return c, nil
}

func newConfig() *Config {
	return &Config{places: map[string]place{}, templates: map[string]yaml.Template{}}
}

func noEnv(string) (string, bool) { return "", false }

func planPath(in Input) string {
	if in.PlanPath != "" {
		return in.PlanPath
	}
	if given := in.Flags["plan"]; len(given) > 0 {
		return given[len(given)-1]
	}
	if path, ok := in.LookupEnv("REDLINE_PLAN"); ok {
		return path
	}
	return ""
}

// load puts the plan's settings in place.
func (c *Config) load(path string, data []byte, lookup func(string) (string, bool)) error {
	root, err := planForm.Parse(path, data)
	if err != nil {
		return err
	}
	if root.Find("schema").Text == rowSchema {
		root = root.Find("plan")
	}
	if err := expandAll(planForm, path, root, collectSecrets(lookup, &c.variables)); err != nil {
		return err
	}
	spelled, err := rename(path, root)
	if err != nil {
		return err
	}
	d := yaml.Decoder{File: path, Templates: c.templates, Homes: homes, Spelled: spelled, Top: topKeys()}
	if err := d.Decode(root, c, ""); err != nil {
		return err
	}
	for key, line := range d.Lines {
		c.places[key] = place{yaml.At(path, line), true, spelled[key]}
	}
	return nil
}

// override puts flags and environment variables in place.
func (c *Config) override(in Input) error {
	known := map[string]bool{}
	var wrong error
	for i := range Options {
		o := &Options[i]
		known[o.Flag] = true
		values, from := in.Flags[o.Flag], "--"+o.Flag
		if len(values) == 0 {
			values, from = fromEnv(o, in.LookupEnv), o.Env()
		}
		if len(values) == 0 {
			continue
		}
		if !o.Repeatable {
			values = values[len(values)-1:]
		}
		if before := c.places[o.Key].text; o.Key != "" && strings.HasPrefix(before, "--") && len(in.Flags[o.Flag]) > 0 {
			wrong = yaml.Add(wrong, fault(from, "is the same setting as %s: keep one of the two", before))
			continue
		}
		// An empty label or note says that there is none.
		if o.Kind == Text && !strings.HasPrefix(o.Key, "metadata.") && slices.Contains(values, "") {
			wrong = yaml.Add(wrong, fault(from, "has no value: leave it out for the default"))
			continue
		}
		if err := o.Set(c, values); err != nil {
			wrong = yaml.Add(wrong, fault(from, "%v", err))
			continue
		}
		if o.Key != "" {
			c.places[o.Key] = place{text: from}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.Flags)) {
		if !known[name] {
			wrong = yaml.Add(wrong, fault("--"+name, "unknown flag"))
		}
	}
	return wrong
}

// fromEnv gives the values of an option's variable; an empty one says nothing.
func fromEnv(o *Option, lookup func(string) (string, bool)) []string {
	if o.FlagOnly {
		return nil
	}
	text, ok := lookup(o.Env())
	if !ok || text == "" {
		return nil
	}
	if !o.Repeatable {
		return []string{text}
	}
	var values []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			values = append(values, line)
		}
	}
	return values
}

// Defaulted reports whether a key was left to its default.
func (c *Config) Defaulted(key string) bool { return !c.isSet(key) }

func (c *Config) isSet(key string) bool {
	_, ok := c.places[key]
	return ok
}

// errorAt makes the error about one key, at the place where it was set.
func (c *Config) errorAt(key, format string, args ...any) error {
	where := c.places[key]
	if where.text == "" && c.hasFlagBeside(key) {
		where.text = "--" + c.flagOf(key)
	}
	up := key
	for where.text == "" && up != "" {
		up = up[:max(0, strings.LastIndexByte(up, '.'))]
		where = c.places[up]
	}
	if flag := c.flagOf(key); where.text == "" && flag != "" {
		where.text = "--" + flag
	} else if field := strings.TrimPrefix(key, up+"."); field != key && !where.plan && where.text != "" {
		format, args = "%s: "+format, append([]any{field}, args...)
	} else if where.plan || where.text == "" {
		format, args = "%s: "+format, append([]any{cmp.Or(c.places[key].spelled, key)}, args...)
	}
	return fault(where.text, format, args...)
}

// hasFlagBeside reports whether a key, which was not set, is missed by a flag that sets
// another of the same block within a block.
func (c *Config) hasFlagBeside(key string) bool {
	block := key[:max(0, strings.LastIndexByte(key, '.'))]
	if !strings.Contains(block, ".") || c.flagOf(key) == "" {
		return false
	}
	for set, where := range c.places {
		if strings.HasPrefix(set, block+".") && strings.HasPrefix(where.text, "--") {
			return true
		}
	}
	return false
}

// flagOf is the flag of a key, "" where it has none.
func (c *Config) flagOf(key string) string {
	for i := range Options {
		if Options[i].Key == key {
			return Options[i].Flag
		}
	}
	return ""
}

// errorIn makes the error that a specification's own check found. Such errors
// begin with the key that is meant; otherwise it is the one that was set and
// that they mention.
func (c *Config) errorIn(block string, err error) error {
	message := err.Error()
	known := keysOf(reflect.TypeFor[Config](), "")
	if field, rest, ok := strings.Cut(message, ": "); ok {
		key := join(block, field)
		if slices.ContainsFunc(known, func(k string) bool {
			return strings.HasPrefix(k, block+".") && (k == key || strings.HasPrefix(key, k+"."))
		}) {
			return c.errorAt(key, "%s", rest)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.places)) {
		field, inside := strings.CutPrefix(key, block+".")
		if inside && strings.Contains(message, field) {
			return c.errorAt(key, "%s", message)
		}
	}
	return c.errorAt(block, "%s", message)
}
