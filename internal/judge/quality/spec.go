// Package quality says how right the answers of a server are: it asks a golden
// set through whatever answers requests, before a load, beside it and after
// it, scores what comes back, and holds the scores to thresholds. It knows no
// wire, no file but the set, and nothing of the load's own figures.
package quality

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"redline/internal/text"
)

// Spec is the plan's block.
type Spec struct {
	// Golden is a file of questions, or "builtin".
	Golden     string     `yaml:"golden,omitempty"`
	Thresholds Thresholds `yaml:"thresholds,omitempty"`
	// UnderLoadShare is how many golden requests there are for each request
	// of the load; 0 is enough to ask the set once, within limits, and a
	// negative one asks none.
	UnderLoadShare float64 `yaml:"under_load_share,omitempty"`
	// Repeats is how often each question is asked before the load; from 2 on,
	// equal answers are counted.
	Repeats int `yaml:"repeats,omitempty"`
	// LengthDrift is how far answers may be longer or shorter than their
	// references, on average; 0 does not judge it.
	LengthDrift float64 `yaml:"length_drift,omitempty"`
	Judge       *Judge  `yaml:"judge,omitempty" secret:"text"`
	// KeepText keeps the worst answers with their questions.
	KeepText bool `yaml:"keep_text,omitempty"`
}

// Judge is a model that scores answers which no matcher can.
type Judge struct {
	URL   string `yaml:"url,omitempty" secret:"url"`
	Model string `yaml:"model,omitempty"`
	// Prompt takes the place of the usual instruction.
	Prompt string `yaml:"prompt,omitempty"`
	// APIKey is sent to the judge alone.
	APIKey string `yaml:"api_key,omitempty" secret:"key"`
}

// Thresholds are the least scores that will do.
type Thresholds struct {
	Overall *float64 `yaml:"overall,omitempty"`
	// Slices are by tag.
	Slices map[string]float64 `yaml:"slices,omitempty"`
	// Structured is about answers that were asked for by a schema.
	Structured *float64 `yaml:"structured_validity,omitempty"`
	// Determinism is about repeats.
	Determinism *float64 `yaml:"determinism,omitempty"`
}

const maxRepeats = 100

// The bounds of the share that holds where none is given: few enough not to be
// a load of their own, and usualShare where the number of requests is
// unknown.
const (
	minShare   = 0.02
	maxShare   = 0.1
	usualShare = 0.05
)

// share is how many golden requests there are for each request of a load of so
// many, 0 where that is not known.
func (s *Spec) share(items, requests int) float64 {
	switch {
	case s.UnderLoadShare < 0:
		return 0
	case s.UnderLoadShare > 0:
		return s.UnderLoadShare
	case requests == 0:
		return usualShare
	}
	return min(max(float64(items)/float64(requests), minShare), maxShare)
}

// IsAsked reports whether there is anything to ask.
func (s *Spec) IsAsked() bool { return s.Golden != "" }

// Validate looks at each setting; its errors begin with the key.
func (s *Spec) Validate() error {
	switch {
	case !s.IsAsked() && (len(s.Thresholds.list()) > 0 || s.Judge != nil || s.Repeats != 0 || s.LengthDrift != 0 || s.KeepText):
		return errors.New("golden: is not given, but the rest is about it: give --golden FILE, or --golden builtin")
	case s.UnderLoadShare > 0.5 || math.IsNaN(s.UnderLoadShare):
		return fmt.Errorf("under_load_share: must be at most 0.5, one golden request for two others, got %g", s.UnderLoadShare)
	case s.Repeats < 0 || s.Repeats > maxRepeats:
		return fmt.Errorf("repeats: expected a number from 1 to %d, got %d", maxRepeats, s.Repeats)
	case !(s.LengthDrift >= 0 && s.LengthDrift <= 10):
		return fmt.Errorf("length_drift: expected a share such as 0.1, got %g", s.LengthDrift)
	case s.Thresholds.Determinism != nil && s.Repeats < 2:
		return errors.New("repeats: must be 2 or more, or equal answers cannot be counted, which a threshold asks for")
	case s.Judge != nil && s.Judge.URL == "":
		return errors.New("judge.url: expected the URL of the judge model's server")
	case s.Judge != nil && s.Judge.Model == "":
		return errors.New("judge.model: expected the name of the judge model")
	}
	for _, g := range s.Thresholds.list() {
		if !(g.limit > 0 && g.limit <= 1) {
			return fmt.Errorf("thresholds.%s: expected a share above 0 and up to 1 such as 0.95, got %g", g.key, g.limit)
		}
	}
	return nil
}

// threshold is one of them, flat.
type threshold struct {
	// key is its place in the block, name what it is called.
	key, name string
	limit     float64
	figure    func(*phase) *share
}

const (
	overallName     = "overall"
	structuredName  = "structured_validity"
	determinismName = "determinism"
)

// list gives them in the order in which they are shown.
func (t *Thresholds) list() []threshold {
	var list []threshold
	if t.Overall != nil {
		list = append(list, threshold{overallName, overallName, *t.Overall, func(p *phase) *share { return p.overall() }})
	}
	for _, tag := range slices.Sorted(maps.Keys(t.Slices)) {
		list = append(list, threshold{"slices." + tag, tag, t.Slices[tag], func(p *phase) *share { return p.slice(tag) }})
	}
	if t.Structured != nil {
		list = append(list, threshold{structuredName, "valid JSON", *t.Structured, func(p *phase) *share { return p.validJSON() }})
	}
	if t.Determinism != nil {
		list = append(list, threshold{determinismName, determinismName, *t.Determinism, func(p *phase) *share { return p.determinism() }})
	}
	return list
}

// Set reads thresholds such as "overall>=0.95" or "structured>=100%", each in
// place of the one that is there.
func (t *Thresholds) Set(texts []string) error {
	out := Thresholds{Slices: map[string]float64{}}
	for _, text := range texts {
		name, limit, err := parseThreshold(text)
		if err != nil {
			return err
		}
		switch name {
		case overallName:
			out.Overall = &limit
		case structuredName:
			out.Structured = &limit
		case determinismName:
			out.Determinism = &limit
		default:
			out.Slices[name] = limit
		}
	}
	if len(out.Slices) == 0 {
		out.Slices = nil
	}
	*t = out
	return nil
}

func parseThreshold(text string) (name string, limit float64, err error) {
	name, number, ok := strings.Cut(text, ">=")
	if !ok {
		name, number, ok = strings.Cut(text, "≥")
	}
	name, number = strings.TrimSpace(name), strings.TrimSpace(number)
	of := 1.0
	if bare, percent := strings.CutSuffix(number, "%"); percent {
		number, of = strings.TrimSpace(bare), 100
	}
	limit, parse := strconv.ParseFloat(number, 64)
	if !ok || name == "" || parse != nil || !(limit > 0 && limit <= of) {
		return "", 0, fmt.Errorf("expected a threshold such as overall>=0.95 or math>=80%%, got %q", text)
	}
	return name, limit / of, nil
}

// Texts is what Set reads back.
func (t *Thresholds) Texts() []string {
	var texts []string
	for _, one := range t.list() {
		name := one.key
		if tag, isSlice := strings.CutPrefix(one.key, "slices."); isSlice {
			name = tag
		}
		texts = append(texts, name+">="+text.Plain(one.limit))
	}
	return texts
}
