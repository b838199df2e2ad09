package config

import (
	"redline/internal/twin/sim"
	"redline/internal/yaml"
)

// engineFile lays the settings of the plan over those of the engine's file, and
// drops its name: the kept plan holds what was read, so that it can be run
// again without the file.
func (c *Config) engineFile() error {
	const key = "server.engine"
	path := c.Server.Engine
	if path == "" {
		if c.isSet(key) {
			return c.errorAt(key, "has no value: leave it out for an engine of the catalog")
		}
		return nil
	}
	spec, err := ReadEngine(path)
	if err != nil {
		return c.errorAt(key, "%v", err)
	}
	overlay(&spec, c.Server.Sim)
	c.Server.Sim, c.Server.Engine = spec, ""
	return nil
}

var engineForm = yaml.Form{Name: "an engine's file", Want: "an engine that redline calibrate wrote", MaxBytes: maxPlanBytes}

// ReadEngine reads the file of an engine, as redline calibrate writes it.
func ReadEngine(path string) (sim.Spec, error) {
	data, err := engineForm.ReadFile(path)
	if err != nil {
		return sim.Spec{}, err
	}
	return parseEngine(path, data)
}

// parseEngine decodes and checks an engine's file; file names it in errors.
func parseEngine(file string, data []byte) (sim.Spec, error) {
	root, err := parse(engineForm, file, data, noEnv)
	if err != nil {
		return sim.Spec{}, err
	}
	d := yaml.Decoder{File: file}
	var f sim.EngineFile
	if err := d.Decode(root, &f, ""); err != nil {
		return sim.Spec{}, err
	}
	if f.Schema != sim.EngineSchema {
		return sim.Spec{}, fault(file, "schema: expected %s, got %s; redline calibrate RUN -o engine.yaml writes such a file", sim.EngineSchema, quote(f.Schema))
	}
	if err := f.Spec.Validate(); err != nil {
		return sim.Spec{}, fault(file, "%v", err)
	}
	return f.Spec, nil
}
