package workload

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
	"redline/internal/traffic/dist"
	"redline/internal/traffic/structured"
	"redline/internal/traffic/token"
)

// Tools are what the model may call: made up, or those of a file.
type Tools struct {
	// Share is that of the sessions which have them; all where it is 0.
	Share float64 `yaml:"share,omitempty"`
	// Count is how many definitions a request has, all of a file's where it is nil,
	// and Tokens how long each is that is made up.
	Count  *Dist  `yaml:"count,omitempty"`
	Tokens *Dist  `yaml:"tokens,omitempty"`
	File   string `yaml:"file,omitempty"`
	// Sets is how many different lists of tools there are, 1 where it is 0; a
	// session has one of them by Popularity.
	Sets       int             `yaml:"sets,omitempty"`
	Popularity dist.Popularity `yaml:"popularity,omitempty"`
	// Choice is auto, none or required, or the name of a tool; nothing is sent
	// where it is empty.
	Choice   string `yaml:"choice,omitempty"`
	Parallel *bool  `yaml:"parallel,omitempty"`
}

// Schemas are what replies have to keep: made up, or those of a file.
type Schemas struct {
	Share float64 `yaml:"share,omitempty"`
	// Count is how many different ones there are: a server has compiled each only
	// once it has seen it. 1 where it is 0, or all of a file's.
	Count      int             `yaml:"count,omitempty"`
	Tokens     *Dist           `yaml:"tokens,omitempty"`
	File       string          `yaml:"file,omitempty"`
	Popularity dist.Popularity `yaml:"popularity,omitempty"`
	Strict     bool            `yaml:"strict,omitempty"`
}

// Defaults of what is made up, and bounds of it.
const (
	defaultTools        = 4
	defaultToolTokens   = 120
	maxTools            = 1000
	defaultSchemaTokens = 150
	maxToolSets         = 10_000
	// maxPieceTokens is how long one tool or schema may be on average, and maxMadeTokens
	// all of them together.
	maxPieceTokens = 50_000
	maxMadeTokens  = 10_000_000
)

// checkMade refuses more made-up tools or schemas than anyone sends: n of them, of so
// many tokens each, or of the default.
func checkMade(what string, n float64, tokens *Dist, usual float64) error {
	each := usual
	if tokens != nil {
		each = tokens.Mean()
	}
	switch {
	case each > maxPieceTokens:
		return fmt.Errorf("tokens: must be at most %d on average, got %.0f", maxPieceTokens, each)
	case n*each > maxMadeTokens:
		return fmt.Errorf("%s: %.0f of %.0f tokens are more than %d tokens in all: take fewer or shorter ones", what, n, each, maxMadeTokens)
	}
	return nil
}

func checkShare(share float64) error {
	if !(share >= 0 && share <= 1) {
		return fmt.Errorf("share: must be above 0 and up to 1, got %v", share)
	}
	return nil
}

// checkCounts checks lengths and numbers of what is made up.
func checkCounts(share float64, popularity dist.Popularity, what string, n int, dists ...namedDist) error {
	if err := checkShare(share); err != nil {
		return err
	}
	if n < 0 || n > maxToolSets {
		return fmt.Errorf("%s: must be 1 to %d, got %d", what, maxToolSets, n)
	}
	for _, d := range dists {
		if d.dist == nil {
			continue
		}
		if err := d.dist.Validate(); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	if err := popularity.Validate(); err != nil {
		return fmt.Errorf("popularity: %w", err)
	}
	return nil
}

func (t Tools) validate() error {
	if t.File != "" && t.Tokens != nil {
		return fmt.Errorf("tokens: is for tools that are made up, but %s has its own: leave out one of the two", t.File)
	}
	if err := checkCounts(t.Share, t.Popularity, "sets", t.Sets, namedDist{"count", t.Count}, namedDist{"tokens", t.Tokens}); err != nil {
		return err
	}
	n := float64(defaultTools)
	if t.Count != nil {
		n = t.Count.Mean()
	}
	if n > maxTools {
		return fmt.Errorf("count: must be at most %d tools in a request, got %.0f", maxTools, n)
	}
	if t.File != "" {
		return nil
	}
	return checkMade("count", n*float64(max(1, t.Sets)), t.Tokens, defaultToolTokens)
}

func (s Schemas) validate() error {
	if s.File != "" && s.Tokens != nil {
		return fmt.Errorf("tokens: is for schemas that are made up, but %s has its own: leave out one of the two", s.File)
	}
	if err := checkCounts(s.Share, s.Popularity, "count", s.Count, namedDist{"tokens", s.Tokens}); err != nil || s.File != "" {
		return err
	}
	return checkMade("count", float64(max(1, s.Count)), s.Tokens, defaultSchemaTokens)
}

// choice reads which tool has to be called.
func (t Tools) choice(list []llm.Tool) (llm.ToolChoice, error) {
	modes := []string{llm.ChoiceAuto, llm.ChoiceNone, llm.ChoiceRequired}
	switch {
	case t.Choice == "":
		return llm.ToolChoice{}, nil
	case slices.Contains(modes, t.Choice):
		return llm.ToolChoice{Mode: t.Choice}, nil
	case slices.ContainsFunc(list, func(tool llm.Tool) bool { return tool.Name == structured.ToolName(t.Choice) }):
		return llm.ToolChoice{Named: structured.ToolName(t.Choice)}, nil
	}
	return llm.ToolChoice{}, fmt.Errorf("choice: expected %s or the name of a tool, got %q", text.List(modes), text.Brief(t.Choice))
}

// toolsets makes the lists of tools that requests have.
func (t Tools) toolsets(text token.Text, seed uint64) ([]*llm.Toolset, error) {
	var pool []llm.Tool
	if t.File != "" {
		var err error
		if pool, err = structured.ReadTools(t.File); err != nil {
			return nil, err
		}
	}
	var sets []*llm.Toolset
	for i := range max(1, t.Sets) {
		r := stats.Rand(seed, "workload tools", uint64(i))
		list, err := t.list(text, r, pool)
		if err != nil {
			return nil, err
		}
		set := &llm.Toolset{Parallel: t.Parallel, Tools: list}
		if set.Choice, err = t.choice(set.Tools); err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// list draws the tools of one list.
func (t Tools) list(text token.Text, r *rand.Rand, pool []llm.Tool) ([]llm.Tool, error) {
	count := Dist{Fixed: defaultTools}
	if t.Count != nil {
		count = *t.Count
	}
	if pool != nil {
		n := len(pool)
		if t.Count != nil {
			n = count.Sample(r)
		}
		if n > len(pool) {
			return nil, fmt.Errorf("count: %d tools in a request are more than the %d of %s", n, len(pool), t.File)
		}
		list := make([]llm.Tool, n)
		for i, k := range r.Perm(len(pool))[:n] {
			list[i] = pool[k]
		}
		return list, nil
	}
	tokens := Dist{Fixed: defaultToolTokens}
	if t.Tokens != nil {
		tokens = *t.Tokens
	}
	list := make([]llm.Tool, max(1, count.Sample(r)))
	for i := range list {
		list[i] = structured.MakeTool(text, r, i+1, min(tokens.Sample(r), 2*maxPieceTokens))
	}
	return list, nil
}

// formats makes the schemas that replies have to keep.
func (s Schemas) formats(text token.Text, seed uint64) ([]*llm.Format, error) {
	var pool []llm.JSON
	if s.File != "" {
		var err error
		if pool, err = structured.ReadSchemas(s.File); err != nil {
			return nil, err
		}
		if s.Count > len(pool) {
			return nil, fmt.Errorf("count: %d schemas are more than the %d of %s", s.Count, len(pool), s.File)
		} else if s.Count > 0 {
			pool = pool[:s.Count]
		}
	}
	tokens := Dist{Fixed: defaultSchemaTokens}
	if s.Tokens != nil {
		tokens = *s.Tokens
	}
	for i := len(pool); i < max(1, s.Count) && s.File == ""; i++ {
		r := stats.Rand(seed, "workload schemas", uint64(i))
		pool = append(pool, structured.MakeSchema(text, r, min(tokens.Sample(r), 2*maxPieceTokens)))
	}
	var list []*llm.Format
	for i, schema := range pool {
		list = append(list, &llm.Format{Schema: schema, Name: fmt.Sprintf("schema_%d", i+1), Strict: s.Strict, Number: i + 1})
	}
	return list, nil
}

// attachments are what sessions of a class carry beside their text, each some of
// them: tools, schemas and adapters. What a file's row asks for itself stays.
type attachments struct {
	seed       uint64
	tools      drawnSet[*llm.Toolset]
	toolTokens map[*llm.Toolset]int
	formats    drawnSet[*llm.Format]
	adapters   drawnSet[string]
}

// drawnSet is a share of the sessions, each of which has one of a set.
type drawnSet[T any] struct {
	list  []T
	share float64
	urn   dist.Urn
}

func newDrawnSet[T any](list []T, share float64, p dist.Popularity) drawnSet[T] {
	return drawnSet[T]{list, cmp.Or(share, 1), dist.NewUrn(p.Shares(len(list)))}
}

// of draws what a session has; the zero value is nothing.
func (d *drawnSet[T]) of(seed uint64, stream string, i int) (one T) {
	if len(d.list) == 0 {
		return one
	}
	r := stats.Rand(seed, stream, uint64(i))
	if r.Float64() >= d.share {
		return one
	}
	return d.list[d.urn.Draw(r)]
}

// at is the i-th of the set, which begins again at its end.
func (d *drawnSet[T]) at(i int) (one T) {
	if len(d.list) == 0 {
		return one
	}
	return d.list[i%len(d.list)]
}

// attach makes ready what the sessions of a class carry.
func (w *Workload) attach(c *class, t Traffic) error {
	if t.Tools == nil && t.Schemas == nil && t.Adapters == nil {
		return nil
	}
	a := &attachments{seed: w.seed, toolTokens: map[*llm.Toolset]int{}}
	if t.Tools != nil {
		sets, err := t.Tools.toolsets(w.text, c.textSeed)
		if err != nil {
			return fmt.Errorf("tools: %w", err)
		}
		for _, set := range sets {
			for part := range set.Texts {
				a.toolTokens[set] += w.text.Count(part)
			}
		}
		a.tools = newDrawnSet(sets, t.Tools.Share, t.Tools.Popularity)
		w.askRequest(c.place("tools"), &llm.Request{Tools: sets[0]})
	}
	if t.Schemas != nil {
		formats, err := t.Schemas.formats(w.text, c.textSeed)
		if err != nil {
			return fmt.Errorf("schemas: %w", err)
		}
		a.formats = newDrawnSet(formats, t.Schemas.Share, t.Schemas.Popularity)
		w.askRequest(c.place("schemas"), &llm.Request{Format: formats[0]})
	}
	if t.Adapters != nil {
		a.adapters = newDrawnSet(t.Adapters.names(), t.Adapters.Share, t.Adapters.Popularity)
		w.askRequest(c.place("adapters"), &llm.Request{Adapter: a.adapters.list[0]})
	}
	c.attachments, c.mean = a, nil
	return nil
}

// place names a block of the plan within a class.
func (c *class) place(key string) string {
	if c.name == "" {
		return key
	}
	return "class " + c.name + ": " + key
}

// script is that of a session, with what it carries.
func (c *class) script(i int) (*script, error) {
	s, err := c.source.script(i)
	if a := c.attachments; a != nil && s != nil && err == nil {
		a.addTo(s, i)
	}
	return s, err
}

func (a *attachments) addTo(s *script, i int) {
	set := a.tools.of(a.seed, "workload tool share", i)
	format := a.formats.of(a.seed, "workload schema share", i)
	adapter := a.adapters.of(a.seed, "workload adapter share", i)
	for t := range s.steps {
		next := &s.steps[t]
		if a.give(next, set, format, adapter) && (t == 0 || next.whole) {
			next.tokens += a.toolTokens[set]
		}
	}
}

// give lets a step carry what it does not have of its own, and reports whether it got
// the tools.
func (a *attachments) give(next *step, set *llm.Toolset, format *llm.Format, adapter string) (tools bool) {
	if tools = set != nil && next.tools == nil; tools {
		next.tools = set
	}
	if next.format == nil {
		next.format = format
	}
	next.adapter = adapter
	return tools
}

// Adapters is a set of adapters over the model.
type Adapters struct {
	Share float64 `yaml:"share,omitempty"`
	// Names are what they are called; one with a * in it stands for Count of them,
	// numbered from 1.
	Names      []string        `yaml:"names"`
	Count      int             `yaml:"count,omitempty"`
	Popularity dist.Popularity `yaml:"popularity,omitempty"`
}

func (a Adapters) validate() error {
	numbered := slices.ContainsFunc(a.Names, func(name string) bool { return strings.Contains(name, "*") })
	switch {
	case len(a.Names) == 0 || slices.Contains(a.Names, ""):
		return errors.New("names: expected the names of adapters, such as [sql-lora, chat-lora] or lora-* with a count")
	case numbered != (a.Count > 0):
		return errors.New("count: is how many adapters a name with a * in it stands for: expected both, such as lora-* and 50")
	}
	return checkCounts(a.Share, a.Popularity, "count", a.Count)
}

// names lists all of them.
func (a Adapters) names() (all []string) {
	for _, name := range a.Names {
		if !strings.Contains(name, "*") {
			all = append(all, name)
			continue
		}
		for i := range a.Count {
			all = append(all, strings.Replace(name, "*", strconv.Itoa(i+1), 1))
		}
	}
	return all
}
