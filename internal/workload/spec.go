package workload

import (
	"errors"
	"fmt"
	"strings"

	"redline/internal/near"
)

// defaultOutput is the output length where only prompts are described.
const defaultOutput = 128

// Spec describes the requests to make: a preset, a distribution for each of
// the two lengths, or a preset of which one length is replaced. It is the
// plan's workload block. The zero value is the first preset.
type Spec struct {
	Preset string `yaml:"preset,omitempty"`
	// Prompt and Output count tokens; nil leaves the preset's, and an Output
	// of neither is 128 tokens.
	Prompt *Dist `yaml:"prompt,omitempty"`
	Output *Dist `yaml:"output,omitempty"`
}

// ContextDistribution is a histogram of prompt lengths: the plan's
// load_profile.context_distribution.
type ContextDistribution struct {
	Weights     []float64 `yaml:"weights"`
	TokenCounts []int     `yaml:"token_counts"`
}

// Validate says what is wrong with the histogram.
func (c ContextDistribution) Validate() error { return c.dist().validateChoice() }

func (c ContextDistribution) dist() Dist {
	return Dist{Weights: c.Weights, TokenCounts: c.TokenCounts}
}

// WithContext replaces the prompt lengths by a histogram. Output lengths stay
// those of s where it describes any, and are 128 tokens where it is zero.
func (s Spec) WithContext(c ContextDistribution) Spec {
	prompt := c.dist()
	s.Prompt = &prompt
	return s
}

// Validate says what is wrong with a Spec and what to write in its place.
func (s Spec) Validate() error {
	_, _, err := s.resolve()
	return err
}

// resolve gives the two distributions that s stands for.
func (s Spec) resolve() (prompt, output Dist, err error) {
	base := Preset{Output: Dist{Fixed: defaultOutput}}
	switch {
	case s.Preset != "":
		if base, err = findPreset(s.Preset); err != nil {
			return Dist{}, Dist{}, err
		}
	case s.Prompt == nil && s.Output == nil:
		base = Presets[0]
	case s.Prompt == nil:
		return Dist{}, Dist{}, errors.New("prompt: no length given, want one such as in=lognormal(500,0.8) or a preset such as chat")
	}
	prompt, output = base.Prompt, base.Output
	if s.Prompt != nil {
		prompt = *s.Prompt
	}
	if s.Output != nil {
		output = *s.Output
	}
	if err := prompt.Validate(); err != nil {
		return Dist{}, Dist{}, fmt.Errorf("prompt: %w", err)
	}
	if err := output.Validate(); err != nil {
		return Dist{}, Dist{}, fmt.Errorf("output: %w", err)
	}
	return prompt, output, nil
}

// String is the canonical terse form: Parse reads it back to the same
// workload.
func (s Spec) String() string {
	if s.Preset == "" && s.Prompt == nil && s.Output == nil {
		return Presets[0].Name
	}
	output := s.Output
	if s.Preset == "" && output == nil {
		output = &Dist{Fixed: defaultOutput}
	}
	if s.Preset == "" && s.Prompt != nil && s.Prompt.kind() == fixed && output.kind() == fixed {
		return fmt.Sprintf("fixed(%d,%d)", s.Prompt.Fixed, output.Fixed)
	}
	var parts []string
	if s.Preset != "" {
		parts = append(parts, canonicalName(s.Preset))
	}
	if s.Prompt != nil {
		parts = append(parts, "in="+s.Prompt.String())
	}
	if output != nil {
		parts = append(parts, "out="+output.String())
	}
	return strings.Join(parts, " ")
}

// MarshalYAML writes the terse form.
func (s Spec) MarshalYAML() (any, error) { return s.String(), nil }

// UnmarshalYAML reads the terse form or a mapping.
func (s *Spec) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if unmarshal(&text) == nil {
		parsed, err := Parse(text)
		*s = parsed
		return err
	}
	type mapping Spec
	if err := unmarshal((*mapping)(s)); err != nil {
		return err
	}
	return s.Validate()
}

// findPreset looks a name up in the table, whichever way it is written.
func findPreset(name string) (Preset, error) {
	wanted := canonicalName(name)
	var names []string
	for _, p := range Presets {
		if p.Name == wanted {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, unknownName("workload", name, names)
}

func canonicalName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
}

// unknownName is the error for a name that no table has, with the nearest that
// one does.
func unknownName(what, name string, known []string) error {
	hint := strings.TrimSpace(near.Hint(canonicalName(name), known) + " known: " + strings.Join(known, ", "))
	return fmt.Errorf("unknown %s %q: %s", what, abbreviate(name), hint)
}

// abbreviate keeps an error on one line whatever was typed.
func abbreviate(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return s
}
