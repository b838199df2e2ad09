package workload

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/cancel"
	"redline/internal/traffic/dist"
)

// Class is one of several kinds of traffic that a server gets at once.
type Class struct {
	Name string `yaml:"name"`
	// Weight is its share of the sessions in proportion to the others'; 0
	// counts as 1.
	Weight float64 `yaml:"weight,omitempty"`
	// Workload is a preset, a terse form, a file, or a block.
	Workload Part `yaml:"workload"`
	// SLO lists the objectives of this class alone.
	SLO []string `yaml:"slo,omitempty"`
	// Generation takes the place of the plan's own knobs.
	Generation *Generation `yaml:"generation,omitempty"`
	// Additions are what its requests have of their own.
	llm.Additions `yaml:",inline"`
}

func (c Class) weight() float64 {
	return cmp.Or(c.Weight, 1)
}

// mix is a named set of classes.
type mix struct {
	Name, About string
	Classes     []Class
}

// Mixes is the table of mixes known by name.
var Mixes = []mix{
	{"mix", "short chat, long RAG, summaries, agents and a batch side by side", []Class{
		{Name: "chat", Weight: 0.55, Workload: Part{Preset: "chat"}},
		{Name: "rag", Weight: 0.2, Workload: Part{Preset: "shared_rag"}},
		{Name: "summarization", Weight: 0.1, Workload: Part{Preset: "summarization"}},
		{Name: "agent", Weight: 0.1, Workload: Part{Preset: "agent_loop"}},
		{Name: "batch", Weight: 0.05, Workload: Part{Prompt: &Dist{Median: 1000, Sigma: 0.6, Min: 100, Max: 8000},
			Output: &Dist{Fixed: 512}}},
	}},
	{"chat_mix", "single questions and long conversations", []Class{
		{Name: "chat", Weight: 0.7, Workload: Part{Preset: "chat"}},
		{Name: "conversation", Weight: 0.3, Workload: Part{Preset: "multi_turn_chat"}},
	}},
}

func findMix(name string) *mix {
	for i := range Mixes {
		if Mixes[i].Name == canonicalName(name) {
			return &Mixes[i]
		}
	}
	return nil
}

// classes are those of the plan, or of the mix that it names.
func (s Spec) classes() []Class {
	if mix := findMix(s.Preset); mix != nil {
		return mix.Classes
	}
	return s.Classes
}

// ClassNames lists the workload's classes. They are all there are unless a file
// may name them.
func (s Spec) ClassNames() (names []string, all bool) {
	names = text.Each(s.classes(), func(c Class) string { return c.Name })
	return names, len(names) > 0 || s.File == ""
}

// Mix says what the traffic is made of: the workload, and each class with its
// share and its own, where there are several.
func (s Spec) Mix() string {
	total := 0.0
	for _, c := range s.classes() {
		total += c.weight()
	}
	parts := text.Each(s.classes(), func(c Class) string {
		part := c.Name + " " + text.Percent(c.weight()/total)
		if own := Traffic(c.Workload).String(); own != c.Name {
			part += " (" + own + ")"
		}
		return part
	})
	return text.Join(": ", s.String(), strings.Join(parts, ", "))
}

func validateClasses(classes []Class) error {
	if len(classes) == 0 {
		return errors.New("classes: is an empty list, expected at least one class")
	}
	seen := map[string]bool{}
	weights := make([]float64, len(classes))
	for i, c := range classes {
		if err := c.validate(); err != nil {
			return fmt.Errorf("classes[%d].%w", i, err)
		}
		if seen[c.Name] {
			return fmt.Errorf("classes[%d].name: %q is taken; choose another", i, text.Brief(c.Name))
		}
		seen[c.Name] = true
		weights[i] = c.weight()
	}
	return dist.CheckWeights("classes: weight", weights)
}

func (c Class) validate() error {
	if strings.TrimSpace(c.Name) == "" {
		return errors.New("name: is missing, expected one such as chat")
	}
	if findMix(c.Workload.Preset) != nil {
		return fmt.Errorf("workload: %s is a mix itself, expected one kind of traffic", c.Workload.Preset)
	}
	if err := Traffic(c.Workload).validate(); err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	if c.Generation != nil {
		if err := c.Generation.Validate(); err != nil {
			return fmt.Errorf("generation: %w", err)
		}
	}
	return cancel.Validate(c.Additions)
}

// seconds is a log-normal pause between a second and two minutes.
func seconds(median, sigma float64) dist.Delay {
	return dist.Delay{Form: "lognormal", Center: time.Duration(median * float64(time.Second)), Sigma: sigma,
		Min: 100 * time.Millisecond, Max: 2 * time.Minute}
}
