package workload

import (
	"slices"

	"redline/internal/llm"
)

// Generation says how the model is to choose its tokens: a preset, and knobs
// that override it one by one. It is the plan's generation block. The zero
// value is the deterministic preset.
type Generation struct {
	Preset      string   `yaml:"preset,omitempty"`
	Temperature *float64 `yaml:"temperature,omitempty"`
	TopP        *float64 `yaml:"top_p,omitempty"`
	Seed        *int64   `yaml:"seed,omitempty"`
	Stop        []string `yaml:"stop,omitempty" secret:"text"`
}

// generationPreset is a named set of knobs.
type generationPreset struct {
	Name        string
	About       string
	Temperature *float64
	TopP        *float64
	Seed        *int64
}

// generationPresets is the table of knob sets, the default first.
// deterministic asks for the same answer every time, so that runs compare;
// product is what an assistant in production commonly sends.
var generationPresets = []generationPreset{
	{Name: "deterministic", About: "temperature 0, seed 1", Temperature: new(0.0), Seed: new(int64(1))},
	{Name: "product", About: "temperature 0.7, top_p 0.95", Temperature: new(0.7), TopP: new(0.95)},
}

// Validate says what is wrong with a knob and what to write in its place.
func (g Generation) Validate() error {
	if _, err := g.base(); err != nil {
		return err
	}
	return g.Sampling().Validate()
}

// Sampling gives the knobs to send. A preset that does not exist gives the
// overriding ones alone; Validate names it.
func (g Generation) Sampling() llm.Sampling {
	base, _ := g.base()
	s := llm.Sampling{
		Temperature: base.Temperature,
		TopP:        base.TopP,
		Seed:        base.Seed,
		Stop:        slices.Clone(g.Stop),
	}
	if g.Temperature != nil {
		s.Temperature = g.Temperature
	}
	if g.TopP != nil {
		s.TopP = g.TopP
	}
	if g.Seed != nil {
		s.Seed = g.Seed
	}
	return s
}

// base is the preset that g starts from.
func (g Generation) base() (generationPreset, error) {
	if g.Preset == "" {
		return generationPresets[0], nil
	}
	var names []string
	for _, p := range generationPresets {
		if p.Name == canonicalName(g.Preset) {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return generationPreset{}, unknownName("generation preset", g.Preset, names)
}
