// Package catalog knows models and accelerators: it takes their names, a file
// that describes further ones, or a model's published configuration, and gives
// shapes, bytes, rates, watts and prices, and the arithmetic over them: of
// weights, of key-value caches and of the time of a step. It must not know
// engines, schedules or requests.
package catalog

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"redline/internal/text"
)

//go:embed builtin.yaml
var builtinYAML []byte

// Catalog is the built-in entries with what a user's files add to them. A nil
// Catalog is the built-in one.
type Catalog struct {
	models       table[Model]
	accelerators table[Accelerator]
	// given is the model whose published configuration the user names: the one
	// that is served, whatever it is called there.
	given *Model
}

// table is entries and where each stands by its folded name and aliases.
type table[T any] struct {
	entries []T
	byName  map[string]int
}

// builtin is read at the first look-up, so that a command that needs no entry
// pays nothing at start. The file is part of the program, and a test reads it.
var builtin = sync.OnceValue(func() *Catalog {
	c := &Catalog{}
	if err := c.add("builtin.yaml", builtinYAML); err != nil {
		panic("catalog: " + err.Error())
	}
	return c
})

func (c *Catalog) orBuiltin() *Catalog {
	if c == nil {
		return builtin()
	}
	return c
}

// clone is a catalog that can be added to.
func (c *Catalog) clone() *Catalog {
	c = c.orBuiltin()
	return &Catalog{models: c.models.clone(), accelerators: c.accelerators.clone(), given: c.given}
}

func (t *table[T]) clone() table[T] {
	return table[T]{slices.Clone(t.entries), maps.Clone(t.byName)}
}

// find looks a name up in all the forms in which people write it.
func (t *table[T]) find(candidates []string) (T, bool) {
	for _, c := range candidates {
		if i, ok := t.byName[fold(c)]; ok {
			return t.entries[i], true
		}
	}
	var none T
	return none, false
}

// put takes an entry in, in the place of one that has its name.
func (t *table[T]) put(entry T, names []string) {
	i, known := t.byName[fold(names[0])]
	if !known {
		i = len(t.entries)
		t.entries = append(t.entries, entry)
	}
	t.entries[i] = entry
	if t.byName == nil {
		t.byName = map[string]int{}
	}
	for _, n := range names {
		t.byName[fold(n)] = i
	}
}

// Model gives the model of that name. Case, separators, an organization before
// a slash and endings such as -Instruct do not matter; an ending such as -FP8 is
// the precision of the weights.
func (c *Catalog) Model(name string) (Model, error) {
	c = c.orBuiltin()
	forms := modelForms(name)
	if m, ok := c.models.find(forms[:1]); ok {
		return m, nil
	}
	if m, ok := c.models.find(forms); ok {
		if p, named := NamedPrecision(name); named {
			m.Precision = p
		}
		return m, nil
	}
	return Model{}, unknown("model", name, c.models.entries, Model.names)
}

// GivenModel is the model whose published configuration was named, and whether one
// was.
func (c *Catalog) GivenModel() (Model, bool) {
	if c == nil || c.given == nil {
		return Model{}, false
	}
	return *c.given, true
}

// Accelerator gives the accelerator of that name. Case, separators and a
// vendor's name in front do not matter.
func (c *Catalog) Accelerator(name string) (Accelerator, error) {
	c = c.orBuiltin()
	if a, ok := c.accelerators.find(acceleratorForms(name)); ok {
		return a, nil
	}
	return Accelerator{}, unknown("accelerator", name, c.accelerators.entries, Accelerator.names)
}

// Models lists every known model.
func (c *Catalog) Models() []Model { return slices.Clone(c.orBuiltin().models.entries) }

// Accelerators lists every known accelerator.
func (c *Catalog) Accelerators() []Accelerator {
	return slices.Clone(c.orBuiltin().accelerators.entries)
}

// FindModel gives a built-in model.
func FindModel(name string) (Model, error) { return builtin().Model(name) }

// FindAccelerator gives a built-in accelerator.
func FindAccelerator(name string) (Accelerator, error) { return builtin().Accelerator(name) }

// fold reduces a name to its lower-case letters and digits.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return -1
	}, name)
}

// modelEndings are parts of a published name that say how a model was tuned
// or packed, not what shape it has.
var modelEndings = []string{"instruct", "chat", "base", "it", "hf", "fp8", "bf16", "awq", "gptq", "dynamic",
	"int4", "int8", "w4a16", "w8a8", "mxfp4", "nvfp4", "quantized", "thinking", "v01", "v02", "v03", "0324", "0528", "2507", "meta"}

// modelForms lists ever shorter forms of a model's name, most exact first.
func modelForms(name string) []string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	f := fold(name)
	forms := []string{f}
	for shorter := true; shorter; {
		shorter = false
		for _, e := range modelEndings {
			if cut, ok := strings.CutSuffix(f, e); ok && cut != "" {
				f, shorter = cut, true
				forms = append(forms, f)
			}
		}
	}
	for _, f := range slices.Clone(forms) {
		forms = append(forms, strings.TrimPrefix(f, "meta"))
	}
	return forms
}

var acceleratorPrefixes = []string{"nvidia", "amd", "instinct", "google", "geforce", "tesla"}

func acceleratorForms(name string) []string {
	f := fold(name)
	forms := []string{f}
	for _, p := range acceleratorPrefixes {
		f = strings.TrimPrefix(f, p)
		forms = append(forms, f)
	}
	return forms
}

// unknown names the nearest entry, by its name or an alias, and all the others.
func unknown[T any](kind, name string, entries []T, namesOf func(T) []string) error {
	var all, primary []string
	for _, e := range entries {
		names := namesOf(e)
		all, primary = append(all, names...), append(primary, names[0])
	}
	hint := text.Hint(name, all)
	if family := withPrefix(name, primary); len(family) > 0 {
		hint = "did you mean " + strings.Join(family, " or ") + "?"
	}
	return fmt.Errorf("unknown %s %q: %s", kind, name, strings.TrimSpace(hint+" known: "+strings.Join(primary, ", ")))
}

// withPrefix gives the names that begin as a word does, punctuation aside:
// "llama3" is the family of llama-3.1.
func withPrefix(word string, names []string) []string {
	word = fold(word)
	if len(word) < 3 {
		return nil
	}
	var found []string
	for _, n := range names {
		if strings.HasPrefix(fold(n), word) {
			found = append(found, n)
		}
	}
	return found
}
