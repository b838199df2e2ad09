package catalog

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"redline/internal/yaml"

	"redline/internal/text"
)

var form = yaml.Form{Name: "a catalog", Want: "a catalog with models or accelerators", MaxBytes: maxFileBytes}

// reader turns the nodes of one file into entries.
type reader struct{ yaml.Decoder }

// add takes the entries of a file in.
func (c *Catalog) add(name string, data []byte) error {
	r := &reader{yaml.Decoder{File: name}}
	root, err := form.Parse(name, data)
	if err != nil {
		return err
	}
	var top head
	return block(r, root, "", topFields(c, &top), &top)
}

// head is what a file says of all its entries.
type head struct{ dated, source string }

// topFields are the keys of a file.
func topFields(c *Catalog, top *head) []field[head] {
	return []field[head]{
		stringField("dated", func(h *head) *string { return &h.dated }),
		stringField("source", func(h *head) *string { return &h.source }),
		{"models", func(r *reader, n *yaml.Node, path string, _ *head) error {
			return r.each(n, path, func(n *yaml.Node, path string) error { return readEntry(r, &c.models, modelFields, n, path, *top) })
		}},
		{"accelerators", func(r *reader, n *yaml.Node, path string, _ *head) error {
			return r.each(n, path, func(n *yaml.Node, path string) error {
				return readEntry(r, &c.accelerators, acceleratorFields, n, path, *top)
			})
		}},
	}
}

func (r *reader) each(n *yaml.Node, path string, do func(n *yaml.Node, path string) error) error {
	if n.Kind != yaml.Sequence {
		return r.Fail(n, path, "expected a list of entries, each with a name")
	}
	for i, item := range n.Items {
		if err := do(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

// field is one key of a block and how its value is read.
type field[T any] struct {
	key  string
	read func(r *reader, n *yaml.Node, path string, into *T) error
}

// block reads the keys of n in the order of the table, not that of the file, so
// that what holds for all entries is known before the first.
func block[T any](r *reader, n *yaml.Node, path string, fields []field[T], into *T) error {
	if n.Kind != yaml.Mapping {
		return r.Fail(n, path, "expected a block with keys such as %s, got %s", fields[0].key, n.Describe())
	}
	byKey := map[string]*yaml.Node{}
	for _, e := range n.Entries {
		if !slices.ContainsFunc(fields, func(f field[T]) bool { return f.key == e.Key }) {
			known := text.Each(fields, func(f field[T]) string { return f.key })
			return yaml.Fault(yaml.At(r.File, e.Line), "%s: unknown key, %s", yaml.Join(path, text.Brief(e.Key)), text.Cure(e.Key, known))
		}
		byKey[e.Key] = e.Value
	}
	for _, f := range fields {
		if n := byKey[f.key]; n != nil {
			if err := f.read(r, n, yaml.Join(path, f.key), into); err != nil {
				return err
			}
		}
	}
	return nil
}

// scalar is the text of a value, and whether it is one.
func scalar(n *yaml.Node) (string, bool) { return n.Text, n.Kind == yaml.Scalar }

func number(n *yaml.Node) (float64, bool) {
	s, ok := scalar(n)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// The kinds of fields.

func stringField[T any](key string, at func(*T) *string) field[T] {
	return field[T]{key, func(r *reader, n *yaml.Node, path string, into *T) error {
		s, ok := scalar(n)
		if s = strings.TrimSpace(s); !ok || s == "" {
			return r.Fail(n, path, "expected text, got %s", n.Describe())
		}
		*at(into) = s
		return nil
	}}
}

func words[T any](key string, at func(*T) *[]string) field[T] {
	return field[T]{key, func(r *reader, n *yaml.Node, path string, into *T) error {
		if n.Kind != yaml.Sequence {
			return r.Fail(n, path, "expected a list of names, got %s", n.Describe())
		}
		var out []string
		for _, item := range n.Items {
			s, ok := scalar(item)
			if !ok || fold(s) == "" {
				return r.Fail(item, path, "expected names, got %s", item.Describe())
			}
			out = append(out, s)
		}
		*at(into) = out
		return nil
	}}
}

// whole is a count from least to most.
func whole[T any](key string, least, limit int, at func(*T) *int) field[T] {
	return field[T]{key, func(r *reader, n *yaml.Node, path string, into *T) error {
		v, ok := number(n)
		if !ok || v != math.Trunc(v) || v < float64(least) || v > float64(limit) {
			return r.Fail(n, path, "expected a whole number from %d to %d, got %s", least, limit, n.Describe())
		}
		*at(into) = int(v)
		return nil
	}}
}

// amount is a number from 0 to most, in units of unit.
func amount[T any](key string, limit, unit float64, at func(*T) *float64) field[T] {
	return field[T]{key, func(r *reader, n *yaml.Node, path string, into *T) error {
		v, ok := number(n)
		if !ok || v < 0 || v > limit {
			return r.Fail(n, path, "expected a number from 0 to %g, got %s", limit, n.Describe())
		}
		*at(into) = v * unit
		return nil
	}}
}

func yes[T any](key string, at func(*T) *bool) field[T] {
	return field[T]{key, func(r *reader, n *yaml.Node, path string, into *T) error {
		switch s, _ := scalar(n); s {
		case "true":
			*at(into) = true
		case "false":
			*at(into) = false
		default:
			return r.Fail(n, path, "expected true or false, got %s", n.Describe())
		}
		return nil
	}}
}

func precisionField[T any](key string, at func(*T) *Precision) field[T] {
	return field[T]{key, func(r *reader, n *yaml.Node, path string, into *T) error {
		s, ok := scalar(n)
		if !ok {
			return r.Fail(n, path, "expected a precision such as bf16, got %s", n.Describe())
		}
		p, err := ParsePrecision(s)
		if err != nil {
			return r.Fail(n, path, "%v", err)
		}
		*at(into) = p
		return nil
	}}
}

var trusts = []string{"high", "medium", "low"}

func trust[T any](key string, at func(*T) *string) field[T] {
	return field[T]{key, func(r *reader, n *yaml.Node, path string, into *T) error {
		s, _ := scalar(n)
		if slices.Contains(trusts, s) {
			*at(into) = s
			return nil
		}
		return r.Fail(n, path, "expected %s, got %s", strings.Join(trusts, ", "), n.Describe())
	}}
}
