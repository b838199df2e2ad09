package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/traffic/arrival"
	"redline/internal/traffic/workload"
	"redline/internal/twin/sim"
	"redline/internal/yaml"
)

// Protocol is what a matrix and the whole protocol ask for beyond a sweep: keys
// of the plan's experiment block.
type Protocol struct {
	// Rows are those of a matrix; without any it has rows of its own.
	Rows []Row `yaml:"rows,omitempty"`
	// Variants are engines or servers over which the protocol is repeated.
	Variants []Variant `yaml:"variants,omitempty"`
	// Accept is the stopping rule: what makes the configuration good enough.
	// Objectives and presets, and limits such as "limit>20".
	Accept []string `yaml:"accept,omitempty"`
	// Scale shortens every stage, so that the way can be tried in minutes: 0.1
	// makes a minute six seconds. What comes of it are probes.
	Scale float64 `yaml:"scale,omitempty"`
}

// Row is one line of a matrix: a load, what is supposed of it and asked by it,
// and what is expected, so that the outcome can be compared with it.
type Row struct {
	Name string `yaml:"name"`
	// About says in a few words what it is.
	About    string        `yaml:"about,omitempty"`
	Workload workload.Spec `yaml:"workload,omitempty"`
	// Rate is an open loop, Concurrency a closed one, both a capped one.
	// Without either the row has the plan's load.
	Rate        float64 `yaml:"rate,omitempty"`
	Concurrency int     `yaml:"concurrency,omitempty"`
	// Pace is the minimum time between two requests of a user of a closed loop.
	Pace    time.Duration `yaml:"pace,omitempty"`
	Profile string        `yaml:"profile,omitempty"`
	// Generation is a preset of knobs; the plan's where empty.
	Generation string        `yaml:"generation,omitempty"`
	Requests   int           `yaml:"requests,omitempty"`
	Duration   time.Duration `yaml:"duration,omitempty"`
	Hypothesis string        `yaml:"hypothesis,omitempty"`
	Question   string        `yaml:"question,omitempty"`
	// Expectation lists what must hold: "ttft:p50 >= 4x A", "tpot:p50 within
	// 20% of A", "throughput > 2x D", an objective, or "objectives".
	Expectation []string `yaml:"expectation,omitempty"`
}

// Variant is an engine or server: what is left out is the plan's.
type Variant struct {
	Name  string   `yaml:"name"`
	URLs  []string `yaml:"api_endpoint,omitempty" secret:"url"`
	API   string   `yaml:"api,omitempty"`
	Model string   `yaml:"model,omitempty"`
	Sim   sim.Spec `yaml:"sim,omitempty"`
}

const (
	maxRows     = 100
	maxVariants = 20
)

func (c *Config) protocol() error {
	const block = "experiment"
	p := &c.Experiment.Protocol
	if p.Scale < 0 || p.Scale > 1 || p.Scale == 0 && c.isSet(block+".scale") {
		return c.errorAt(block+".scale", "expected a share above 0 and up to 1, such as 0.1, got %v", p.Scale)
	}
	if _, err := c.Experiment.Conditions(); err != nil {
		return c.errorAt(block+".accept", "%v", err)
	}
	if err := c.rows(); err != nil {
		return err
	}
	return c.variants()
}

func (c *Config) rows() error {
	list := c.Experiment.Rows
	if len(list) > maxRows {
		return c.errorAt("experiment.rows", "at most %d rows are possible", maxRows)
	}
	var before []string
	for i := range list {
		row, key := &list[i], fmt.Sprintf("experiment.rows[%d]", i)
		if err := cmp.Or(row.validate(before), row.arrivals(c.Load.Limit)); err != nil {
			return c.errorAt(key, "%v", err)
		}
		full, err := row.Workload.Complete()
		if text, terse := full.Terse(); err == nil && terse && !reflect.ValueOf(row.Workload).IsZero() {
			full, err = workload.Parse(text)
		}
		if err != nil {
			return c.errorAt(key, "workload: %v", err)
		}
		if slices.ContainsFunc(yaml.TextsByTag(full, secretTag), func(t yaml.Text) bool { return t.Tag == secretKey && t.Text != "" }) {
			return c.errorAt(key, "workload: keys of classes and tenants belong into the plan's own workload")
		}
		if !reflect.ValueOf(row.Workload).IsZero() {
			row.Workload = full
		}
		before = append(before, row.Name)
	}
	return nil
}

// validate looks at one row; before are the names of those above it.
func (r Row) validate(before []string) error {
	generation := workload.Generation{Preset: r.Generation}
	switch {
	case !plainName(r.Name):
		return fmt.Errorf("name: expected a short word such as A or long-prefill, got %s", quote(r.Name))
	case slices.Contains(before, r.Name):
		return fmt.Errorf("name: %s is the name of another row", r.Name)
	case !(r.Rate >= 0 && r.Rate <= 1e6):
		return fmt.Errorf("rate: expected requests per second above 0, got %v", r.Rate)
	case r.Concurrency < 0 || r.Concurrency > maxConcurrency:
		return fmt.Errorf("concurrency: must be 1 to %d in flight, got %d", maxConcurrency, r.Concurrency)
	case r.Pace < 0 || r.Pace > maxLength || r.Pace > 0 && (r.Rate > 0 || r.Concurrency == 0):
		return fmt.Errorf("pace: expected a time of at most %s with a concurrency and no rate, got %s", maxLength, r.Pace)
	case r.Requests < 0 || r.Requests > maxRequests:
		return fmt.Errorf("requests: must be 1 to %d, got %d", maxRequests, r.Requests)
	case r.Duration < 0 || r.Duration > maxLength:
		return fmt.Errorf("duration: must be above 0 and at most %s, got %s", maxLength, r.Duration)
	}
	if err := generation.Validate(); err != nil {
		return fmt.Errorf("generation: %w", err)
	}
	for _, text := range r.Expectation {
		e, err := ParseExpectation(text)
		if err == nil && e.Row != "" && !slices.Contains(before, e.Row) {
			err = fmt.Errorf("expectation %q: no row above this one is named %s", text, e.Row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// arrivals looks at the profile of the row's rate, which may refer to the plan's
// limit. A closed loop has none.
func (r Row) arrivals(limit float64) error {
	if r.Profile == "" {
		return nil
	}
	spec := arrival.Spec{Rate: r.Rate, Profile: r.Profile, Process: "poisson", Limit: limit}
	if r.Concurrency > 0 && !spec.Open() {
		return errors.New("profile: a closed loop has no arrivals: give a rate too, or leave it out")
	}
	return spec.Validate()
}

// plainName reports whether a name can be part of a path and of an expectation.
func plainName(name string) bool {
	return name != "" && len(name) <= 40 && name[0] != '.' && !strings.ContainsAny(name, " \t\r\n/\\")
}

// variants checks each variant and writes its engine out in full, so that it
// says the same wherever the plan is read again.
func (c *Config) variants() error {
	list := c.Experiment.Variants
	if len(list) > maxVariants {
		return c.errorAt("experiment.variants", "at most %d variants are possible", maxVariants)
	}
	for i := range list {
		v, key := &list[i], fmt.Sprintf("experiment.variants[%d]", i)
		if !plainName(v.Name) {
			return c.errorAt(key, "name: expected a short word such as tp2, got %s", quote(v.Name))
		}
		if slices.ContainsFunc(list[:i], func(o Variant) bool { return o.Name == v.Name }) {
			return c.errorAt(key, "name: %s is the name of another variant", v.Name)
		}
		full, err := c.Variant(i)
		if err != nil {
			return c.errorAt(key, "%s: %v", v.Name, err)
		}
		if full.Embedded() {
			v.Sim = full.Server.Sim
		}
	}
	return nil
}

// Variant gives the plan with the i-th variant in the place of its target.
func (c *Config) Variant(i int) (*Config, error) {
	v, out := c.Experiment.Variants[i], *c
	out.Experiment.Variants = nil
	if v.URLs != nil {
		out.Provider.URLs, out.Provider.API = v.URLs, ""
	}
	if v.API != "" {
		out.Provider.API = v.API
	}
	if v.Model != "" {
		out.Provider.Model = v.Model
	}
	if err := out.endpoints(); err != nil {
		return nil, err
	}
	if !out.Embedded() {
		return &out, nil
	}
	out.Server.Sim = c.asked
	if v.Model != "" {
		out.Server.Sim.Model = v.Model
	}
	overlay(&out.Server.Sim, v.Sim)
	if err := out.engine(); err != nil {
		return nil, err
	}
	out.Provider.Model = ""
	return &out, nil
}

// overlay replaces the fields of a spec that another one sets.
func overlay(base *sim.Spec, with sim.Spec) {
	overlayFields(reflect.ValueOf(base).Elem(), reflect.ValueOf(with))
}

func overlayFields(into, from reflect.Value) {
	for i := range from.NumField() {
		switch kind := from.Type().Field(i); {
		case kind.Anonymous:
			overlayFields(into.Field(i), from.Field(i))
		case kind.IsExported() && !from.Field(i).IsZero():
			into.Field(i).Set(from.Field(i))
		}
	}
}

// Condition is one part of a stopping rule: a bound on the limit, or an
// objective at the limit.
type Condition struct {
	Text string
	// Limit is the rate that the limit must exceed, 0 for an objective.
	Limit     float64
	Objective slo.Objective
}

// Conditions reads the stopping rule.
func (p Protocol) Conditions() ([]Condition, error) {
	var out []Condition
	for _, text := range p.Accept {
		if name, bound, ok := strings.Cut(text, ">"); ok && strings.TrimSpace(name) == "limit" {
			rate, err := yaml.ParseFloat(strings.TrimSpace(strings.TrimPrefix(bound, "=")))
			if err != nil || !(rate > 0) {
				return nil, fmt.Errorf("condition %s: expected requests per second, as in limit>20", quote(text))
			}
			out = append(out, Condition{Text: text, Limit: rate})
			continue
		}
		list, err := slo.Expand(text)
		if err != nil {
			return nil, fmt.Errorf("%w; a bound on the limit is written limit>20", err)
		}
		for _, o := range list {
			out = append(out, Condition{Text: o.Text, Objective: o})
		}
	}
	return out, nil
}
