package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"redline/internal/text"
	"redline/internal/traffic/dist"
)

// Dist is a distribution of lengths in tokens.
type Dist = dist.Tokens

// Spec describes the requests to make: one kind of traffic, or a mix of
// several, and the tenants who send it. It is the plan's workload block. The
// zero value is the first preset.
type Spec struct {
	Traffic `yaml:",inline"`
	// Classes are a mix; they stand in place of lengths, preset and file.
	Classes []Class  `yaml:"classes,omitempty"`
	Tenants []Tenant `yaml:"tenants,omitempty" secret:"text"`
	HotSpot *HotSpot `yaml:"hot_spot,omitempty"`
	// Salt makes every prompt differ from those of other salts, with the same
	// lengths, so that a rerun does not find them in a server's cache. Left
	// out, every run has its own; false turns it off, and any other text makes
	// prompts that can be made again.
	Salt string `yaml:"salt,omitempty"`
	// ResetCache empties the server's prefix cache before the load, where its engine
	// can be told to.
	ResetCache bool `yaml:"reset_cache,omitempty"`
	// TokenIDs sends prompts as the ids of their tokens, where an API takes those.
	TokenIDs bool `yaml:"token_ids,omitempty"`
}

// ContextDistribution is a histogram of prompt lengths: the plan's
// load_profile.context_distribution.
type ContextDistribution struct {
	Weights     []float64 `yaml:"weights"`
	TokenCounts []int     `yaml:"token_counts"`
}

// Validate says what is wrong with the histogram.
func (c ContextDistribution) Validate() error { return c.dist().Validate() }

func (c ContextDistribution) dist() Dist {
	return Dist{Weights: c.Weights, TokenCounts: c.TokenCounts}
}

// WithContext replaces the prompt lengths by a histogram. Output lengths stay
// those of s where it describes any, and are 128 tokens where it is zero.
func (s Spec) WithContext(c ContextDistribution) Spec {
	s.Prompt = new(c.dist())
	return s
}

// Complete gives s with its names as the tables spell them, or says what is
// wrong with it.
func (s Spec) Complete() (Spec, error) {
	if err := s.Validate(); err != nil {
		return Spec{}, err
	}
	if s.Preset != "" {
		s.Preset = canonicalName(s.Preset)
	}
	s.Classes = slices.Clone(s.Classes)
	for i := range s.Classes {
		s.Classes[i].Workload.Preset = canonicalName(s.Classes[i].Workload.Preset)
	}
	return s, nil
}

// Validate says what is wrong with a Spec and what to write in its place. It
// opens no file.
func (s Spec) Validate() error {
	if err := s.validateTenants(); err != nil {
		return err
	}
	if mix := findMix(s.Preset); mix != nil {
		if s.Prompt != nil || s.Output != nil || s.Prefix != nil || s.Session != nil || s.Images != nil || s.File != "" || s.Classes != nil {
			return fmt.Errorf("%s is a mix of classes; give it alone, or its classes written out", mix.Name)
		}
		return nil
	}
	if s.Classes == nil {
		return s.Traffic.validate()
	}
	if !s.Traffic.blank() {
		return errors.New("classes: replace the preset, lengths and file; give those in the classes")
	}
	return validateClasses(s.Classes)
}

// blank says that nothing is described.
func (t Traffic) blank() bool {
	return t.terse() && t.Preset == "" && t.File == "" && t.Prompt == nil && t.Output == nil
}

// terse says that the terse form holds all there is.
func (s Spec) terse() bool {
	return s.Traffic.terse() && s.Classes == nil && s.Tenants == nil && s.HotSpot == nil && s.Salt == "" && !s.ResetCache && !s.TokenIDs
}

// String is the canonical terse form: Parse reads it back to the same
// workload, so far as the terse form can say it. What more there is has a word
// each.
func (s Spec) String() string {
	parts := []string{s.Traffic.String()}
	if s.Classes != nil {
		names := text.Each(s.Classes, func(c Class) string { return c.Name + ":" + fmt.Sprint(c.weight()) })
		parts = []string{"mix(" + strings.Join(names, ",") + ")"}
	}
	if s.Tenants != nil {
		parts = append(parts, fmt.Sprintf("tenants(%d)", len(tenantNames(s.Tenants))))
	}
	if h := s.HotSpot; h != nil {
		parts = append(parts, h.String())
	}
	return strings.Join(parts, " ")
}

// Terse gives the terse form where that says all.
func (s Spec) Terse() (text string, ok bool) { return s.String(), s.terse() }

// MarshalYAML writes the terse form where that says all, and the block where
// it does not.
func (s Spec) MarshalYAML() (any, error) {
	if s.terse() {
		return s.String(), nil
	}
	type mapping Spec
	return mapping(s), nil
}

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
func findPreset(name string) (preset, error) {
	wanted := canonicalName(name)
	for _, p := range Presets {
		if p.Name == wanted {
			return p, nil
		}
	}
	err := unknownName("workload", name, Names())
	if text.Hint(wanted, Names()) == "" {
		err = fmt.Errorf("%w; a file has a dot or a slash, as in ./%s", err, text.Brief(name))
	}
	return preset{}, err
}

// Names lists the presets and mixes.
func Names() []string {
	names := text.Each(Presets, func(p preset) string { return p.Name })
	for _, m := range Mixes {
		names = append(names, m.Name)
	}
	return names
}

func canonicalName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
}

// unknownName is the error for a name that no table has, with the nearest that
// one does.
func unknownName(what, name string, known []string) error {
	return fmt.Errorf("unknown %s %q: %s", what, text.Brief(name), text.HintWithKnown(canonicalName(name), known))
}
