package workload

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"redline/internal/text"
	"redline/internal/traffic/media"
	"redline/internal/traffic/trace"
)

// defaultOutput is the output length where only prompts are described.
const defaultOutput = 128

// Traffic describes one kind of request: a preset, a distribution for each of
// the two lengths, or a file; with shared prefixes and with conversations
// where they are wanted. The zero value is the first preset.
type Traffic struct {
	Preset string `yaml:"preset,omitempty"`
	// File holds prompts, conversations, prose, a trace or a fitted workload.
	// Its content says which, unless Format does.
	File   string `yaml:"file,omitempty"`
	Format string `yaml:"format,omitempty"`
	// Prompt and Output count tokens; nil leaves the preset's or the file's,
	// and an Output of neither is 128 tokens.
	Prompt *Dist `yaml:"prompt,omitempty"`
	Output *Dist `yaml:"output,omitempty"`
	// Pairs is keep or break: whether prompt and output lengths that come from
	// one row of a file stay together. Kept by default.
	Pairs string `yaml:"pairs,omitempty"`
	// Order is file or shuffled: in which order the conversations of a file
	// come. Traces, batches and golden prompts keep theirs by default.
	Order       string `yaml:"order,omitempty"`
	SkipBadRows bool   `yaml:"skip_bad_rows,omitempty"`
	// Sort puts the rows of a trace in the order of their times, where they
	// are not; it is refused otherwise.
	Sort    bool              `yaml:"sort,omitempty"`
	Columns map[string]string `yaml:"columns,omitempty"`
	Replay  *trace.Replay     `yaml:"replay,omitempty"`
	Prefix  *Prefix           `yaml:"prefix,omitempty"`
	// Cache is warm or cold: cold gives every request a prefix of its own, of
	// the same length, where warm has the shared ones.
	Cache   string   `yaml:"cache,omitempty"`
	Session *Session `yaml:"session,omitempty"`
	// Jobs is for jobs of agents.
	Jobs *Jobs `yaml:"jobs,omitempty"`
	// Images go with the first message of every session.
	Images *media.Spec `yaml:"images,omitempty"`
	// Inputs is how many texts one request asks about, each of the prompt's
	// length, where the API makes vectors or scores of them: one to embed, ten
	// to rank where it is 0.
	Inputs int `yaml:"inputs,omitempty"`
	// Natural leaves the end of replies to the model.
	Natural bool `yaml:"natural,omitempty"`
	// Tools, Schemas and Adapters are what requests carry beside their text.
	Tools    *Tools    `yaml:"tools,omitempty"`
	Schemas  *Schemas  `yaml:"schemas,omitempty"`
	Adapters *Adapters `yaml:"adapters,omitempty"`
}

// validate says what is wrong and what to write in its place. It opens no
// file.
func (t Traffic) validate() error {
	for _, check := range []func() error{t.checkLengths, t.checkWords, t.checkFile, t.checkParts} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkLengths resolves the lengths where no file has them. A preset beside a
// file is for prose, which has none.
func (t Traffic) checkLengths() error {
	if t.File == "" || t.Preset != "" {
		_, err := t.shape()
		return err
	}
	for _, d := range []namedDist{{"prompt", t.Prompt}, {"output", t.Output}} {
		if d.dist == nil {
			continue
		}
		if err := d.dist.Validate(); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// checkWords checks the keys that take one of a few words.
func (t Traffic) checkWords() error {
	for _, word := range []struct {
		key, value string
		known      []string
	}{
		{"pairs", t.Pairs, []string{"keep", "break"}},
		{"order", t.Order, []string{"file", "shuffled"}},
		{"cache", t.Cache, []string{"warm", "cold"}},
		{"format", t.Format, FileFormats()},
	} {
		if word.value == "" {
			continue
		}
		found := false
		for _, k := range word.known {
			found = found || k == word.value
		}
		if !found {
			return fmt.Errorf("%s: expected %s, got %q", word.key, strings.Join(word.known, " or "), text.Brief(word.value))
		}
	}
	return nil
}

// checkFile refuses what only a file can have.
func (t Traffic) checkFile() error {
	if t.File != "" {
		return nil
	}
	for _, only := range []struct {
		key string
		set bool
	}{{"format", t.Format != ""}, {"pairs", t.Pairs != ""}, {"order", t.Order != ""},
		{"skip_bad_rows", t.SkipBadRows}, {"sort", t.Sort}, {"columns", t.Columns != nil}, {"jobs", t.Jobs != nil}, {"replay", t.Replay != nil}} {
		if only.set && !(only.key == "jobs" && t.isJobs()) {
			return fmt.Errorf("%s: is for a file, but none is given", only.key)
		}
	}
	return nil
}

// checkParts checks the blocks.
func (t Traffic) checkParts() error {
	if p := t.Prefix; p != nil {
		if err := p.validate(); err != nil {
			return fmt.Errorf("prefix.%w", err)
		}
	}
	if s := t.Session; s != nil {
		if err := s.validate(); err != nil {
			return fmt.Errorf("session.%w", err)
		}
	}
	if j := t.Jobs; j != nil {
		if err := j.validate(); err != nil {
			return fmt.Errorf("jobs.%w", err)
		}
	}
	if a := t.Tools; a != nil {
		if err := a.validate(); err != nil {
			return fmt.Errorf("tools.%w", err)
		}
	}
	if a := t.Schemas; a != nil {
		if err := a.validate(); err != nil {
			return fmt.Errorf("schemas.%w", err)
		}
	}
	if a := t.Adapters; a != nil {
		if err := a.validate(); err != nil {
			return fmt.Errorf("adapters.%w", err)
		}
	}
	if r := t.Replay; r != nil {
		if err := r.Validate(); err != nil {
			return fmt.Errorf("replay.%w", err)
		}
	}
	if i := t.Images; i != nil {
		if err := i.Validate(); err != nil {
			return fmt.Errorf("images.%w", err)
		}
	}
	if err := trace.CheckColumns(t.Columns); err != nil {
		return fmt.Errorf("columns: %w", err)
	}
	if t.Inputs < 0 || t.Inputs > maxInputs {
		return fmt.Errorf("inputs: must be 1 to %d texts in a request, got %d", maxInputs, t.Inputs)
	}
	if t.Cache != "" && t.Prefix == nil && t.File == "" && !t.presetHasPrefix() {
		return errors.New("cache: nothing is shared, expected a prefix beside it")
	}
	return nil
}

func (t Traffic) presetHasPrefix() bool {
	p, err := findPreset(t.Preset)
	return t.Preset != "" && err == nil && p.Prefix != nil
}

// shape gives what t stands for without a file: its preset with what t says
// itself in its place.
func (t Traffic) shape() (preset, error) {
	base := preset{Output: Dist{Fixed: defaultOutput}}
	var err error
	switch {
	case t.Preset != "":
		if base, err = findPreset(t.Preset); err != nil {
			return preset{}, err
		}
	case t.Prompt == nil && t.Output == nil:
		base = Presets[0]
	case t.Prompt == nil:
		return preset{}, errors.New("prompt: no length given, expected one such as in=lognormal(500,0.8) or a preset such as chat")
	}
	if t.Prompt != nil {
		base.Prompt = *t.Prompt
	}
	if t.Output != nil {
		base.Output = *t.Output
	}
	if base.Jobs != nil {
		return base, nil
	}
	base.Prefix, base.Session = cmp.Or(t.Prefix, base.Prefix), cmp.Or(t.Session, base.Session)
	if err := base.Prompt.Validate(); err != nil {
		return preset{}, fmt.Errorf("prompt: %w", err)
	}
	if err := base.Output.Validate(); err != nil {
		return preset{}, fmt.Errorf("output: %w", err)
	}
	return base, nil
}

// terse says that the terse form holds all there is.
func (t Traffic) terse() bool {
	return t.Format == "" && t.Pairs == "" && t.Order == "" && !t.SkipBadRows && !t.Sort && t.Columns == nil && t.Replay == nil &&
		t.Prefix == nil && t.Cache == "" && t.Session == nil && t.Jobs == nil && t.Images == nil && !t.Natural && t.Inputs == 0 && t.Tools == nil && t.Schemas == nil && t.Adapters == nil &&
		(t.File == "" || isPath(t.File) && !strings.Contains(t.File, " "))
}

// String is the terse form of preset, file and lengths, which Parse reads,
// with a word for each thing more that it does not.
func (t Traffic) String() string {
	output := t.Output
	plain := t.Preset == "" && t.File == ""
	if plain && t.Prompt != nil && output == nil {
		output = &Dist{Fixed: defaultOutput}
	}
	var parts []string
	switch {
	case plain && t.Prompt == nil && output == nil:
		parts = []string{Presets[0].Name}
	case plain && t.Prompt != nil && t.Prompt.Fixed != 0 && output.Fixed != 0:
		parts = []string{fmt.Sprintf("fixed(%d,%d)", t.Prompt.Fixed, output.Fixed)}
	default:
		for _, name := range []string{canonicalName(t.Preset), t.File} {
			if name != "" {
				parts = append(parts, name)
			}
		}
		if t.Prompt != nil {
			parts = append(parts, "in="+t.Prompt.String())
		}
		if output != nil {
			parts = append(parts, "out="+output.String())
		}
	}
	return strings.Join(append(parts, t.extras()...), " ")
}

// extras names what the terse form has no words for.
func (t Traffic) extras() []string {
	var out []string
	if p := t.Prefix; p != nil {
		order := p.Popularity.String()
		if p.InTurn {
			order = "in turn"
		}
		out = append(out, fmt.Sprintf("prefix(%d×%d,%s)", p.Groups, p.Tokens, order))
	}
	if t.Cache != "" {
		out = append(out, t.Cache)
	}
	if s := t.Session; s != nil {
		if s.Turns != nil {
			out = append(out, "turns("+s.Turns.String()+")")
		} else {
			out = append(out, "session")
		}
		if s.Agent != nil {
			out = append(out, "calls("+s.Agent.Calls.String()+")")
		}
	}
	if i := t.Images; i != nil {
		out = append(out, "images("+i.String()+")")
	}
	if a := t.Tools; a != nil {
		out = append(out, "tools("+describeShare(a.Share)+")")
	}
	if a := t.Schemas; a != nil {
		out = append(out, fmt.Sprintf("schemas(%d,%s)", max(1, a.Count), describeShare(a.Share)))
	}
	if a := t.Adapters; a != nil {
		out = append(out, fmt.Sprintf("adapters(%d)", len(a.names())))
	}
	if r := t.Replay; r != nil && r.Speedup != 0 && r.Speedup != 1 {
		out = append(out, fmt.Sprint(r.Speedup)+"×")
	}
	return out
}

func describeShare(share float64) string { return text.Percent(cmp.Or(share, 1)) }

// Part is the Traffic of one class of a mix: a terse form or a block.
type Part Traffic

// MarshalYAML writes the terse form where that says all.
func (p Part) MarshalYAML() (any, error) {
	if t := Traffic(p); !t.terse() {
		return t, nil
	}
	return Traffic(p).String(), nil
}

// UnmarshalYAML reads the terse form or a block.
func (p *Part) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if unmarshal(&text) == nil {
		t, err := parseTraffic(text)
		*p = Part(t)
		return err
	}
	return unmarshal((*Traffic)(p))
}
