// Package catalog knows models and accelerators: it takes their names and
// gives shapes, bytes, rates, watts and prices, and the arithmetic of weights
// and key-value caches over them. It must not know engines, schedules or
// requests.
package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"redline/internal/near"
)

//go:embed models.json
var modelsJSON []byte

//go:embed accelerators.json
var acceleratorsJSON []byte

// table is a data file in memory: what it says of itself, and its entries by
// folded name.
type table[T any] struct {
	dated, source string
	entries       []T
	byName        map[string]int
}

// The files are parsed at the first look-up, so that a command that needs
// neither pays nothing at start.
var (
	models = sync.OnceValue(func() *table[Model] {
		var file struct {
			Dated, Source string
			Models        []Model
		}
		decode("models.json", modelsJSON, &file)
		return index(file.Dated, file.Source, file.Models,
			func(m Model) []string { return append([]string{m.Name}, m.Aliases...) })
	})
	accelerators = sync.OnceValue(func() *table[Accelerator] {
		var file struct {
			Dated, Source string
			Accelerators  []acceleratorEntry
		}
		decode("accelerators.json", acceleratorsJSON, &file)
		entries := make([]Accelerator, len(file.Accelerators))
		for i, e := range file.Accelerators {
			entries[i] = e.accelerator()
		}
		return index(file.Dated, file.Source, entries,
			func(a Accelerator) []string { return append([]string{a.Name}, a.Aliases...) })
	})
)

// decode panics on failure: the files are part of the program, and a test
// reads them.
func decode(name string, data []byte, into any) {
	if err := json.Unmarshal(data, into); err != nil {
		panic(fmt.Sprintf("catalog: %s: %v", name, err))
	}
}

func index[T any](dated, source string, entries []T, names func(T) []string) *table[T] {
	t := &table[T]{dated: dated, source: source, entries: entries, byName: map[string]int{}}
	for i, e := range entries {
		for _, n := range names(e) {
			t.byName[fold(n)] = i
		}
	}
	return t
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

// FindModel gives the model of that name. Case, separators, an organisation
// before a slash and endings such as -Instruct do not matter.
func FindModel(name string) (Model, error) {
	t := models()
	if m, ok := t.find(modelForms(name)); ok {
		return m, nil
	}
	return Model{}, unknown("model", name, Models(), func(m Model) string { return m.Name })
}

// FindAccelerator gives the accelerator of that name. Case, separators and a
// vendor's name in front do not matter.
func FindAccelerator(name string) (Accelerator, error) {
	t := accelerators()
	if a, ok := t.find(acceleratorForms(name)); ok {
		return a, nil
	}
	return Accelerator{}, unknown("accelerator", name, Accelerators(), func(a Accelerator) string { return a.Name })
}

// Models lists every known model.
func Models() []Model { return slices.Clone(models().entries) }

// Accelerators lists every known accelerator.
func Accelerators() []Accelerator { return slices.Clone(accelerators().entries) }

// Sources says when the two tables were made and from what, for reports that
// print their assumptions.
func Sources() (modelsFrom, acceleratorsFrom string) {
	m, a := models(), accelerators()
	return m.source + " (" + m.dated + ")", a.source + " (" + a.dated + ")"
}

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
	"v01", "v02", "v03", "0324", "0528", "2507", "meta"}

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

// unknown names the nearest entry and all the others.
func unknown[T any](kind, name string, entries []T, nameOf func(T) string) error {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = nameOf(e)
	}
	return fmt.Errorf("unknown %s %q: %s", kind, name, strings.TrimSpace(near.Hint(name, names)+" known: "+strings.Join(names, ", ")))
}
