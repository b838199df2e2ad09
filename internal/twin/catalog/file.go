package catalog

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"redline/internal/text"
)

// Bounds on a catalog file: the parser recurses, and is quadratic in the length
// of a line.
const (
	maxLine  = 8 << 10
	maxDepth = 20
)

// fileError is a mistake at a line of a file.
type fileError struct {
	file string
	line int
	what string
}

func (e *fileError) Error() string { return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.what) }

// reader turns the nodes of one file into entries.
type reader struct{ file string }

func (r *reader) fail(n ast.Node, format string, args ...any) error {
	line := 1
	if t := n.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	what := strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, fmt.Sprintf(format, args...))
	return &fileError{r.file, line, what}
}

// add takes the entries of a file in.
func (c *Catalog) add(name string, data []byte) error {
	r := &reader{name}
	root, err := r.parse(data)
	if err != nil {
		return err
	}
	var top head
	return block(r, root, "", topFields(c, &top), &top)
}

// head is what a file says of all its entries.
type head struct{ dated, source string }

// apply dates an entry, which may then say otherwise.
func (h head) apply(dated, source *string) {
	if h.dated != "" {
		*dated = h.dated
	}
	if h.source != "" {
		*source = h.source
	}
}

// topFields are the keys of a file.
func topFields(c *Catalog, top *head) []field[head] {
	return []field[head]{
		stringField("dated", func(h *head) *string { return &h.dated }),
		stringField("source", func(h *head) *string { return &h.source }),
		{"models", func(r *reader, n ast.Node, path string, _ *head) error {
			return r.each(n, path, func(n ast.Node, path string) error { return r.model(c, n, path, *top) })
		}},
		{"accelerators", func(r *reader, n ast.Node, path string, _ *head) error {
			return r.each(n, path, func(n ast.Node, path string) error { return r.accelerator(c, n, path, *top) })
		}},
	}
}

// parse gives the body of the only document of a file. A panic of the parser is
// its answer to some malformed files; to the user it is one that cannot be read.
func (r *reader) parse(data []byte) (body ast.Node, err error) {
	defer func() {
		if recover() != nil {
			body, err = nil, fmt.Errorf("%s: cannot be read as YAML", r.file)
		}
	}()
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := r.checkText(data); err != nil {
		return nil, err
	}
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("%s: cannot be read as YAML: %s", r.file, line)
	}
	for _, d := range parsed.Docs {
		switch {
		case d.Body == nil:
		case body != nil:
			return nil, r.fail(d.Body, "a second document begins, want one")
		default:
			body = d.Body
		}
	}
	if body == nil {
		return nil, fmt.Errorf("%s: is empty, want a catalog with models or accelerators", r.file)
	}
	return body, nil
}

func (r *reader) checkText(data []byte) error {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return fmt.Errorf("%s: is not a text file, want a catalog in YAML", r.file)
	}
	depth, line := 0, 1
	for l := range bytes.Lines(data) {
		if len(l) > maxLine {
			return fmt.Errorf("%s:%d: has %d bytes, a line of a catalog has at most %d", r.file, line, len(l), maxLine)
		}
		spaces := len(l) - len(bytes.TrimLeft(l, " \t"))
		depth += bytes.Count(l, []byte("[")) + bytes.Count(l, []byte("{")) - bytes.Count(l, []byte("]")) - bytes.Count(l, []byte("}"))
		if depth > maxDepth || spaces > 8*maxDepth || bytes.Count(l, []byte("- ")) > maxDepth || bytes.Count(l, []byte("? ")) > maxDepth {
			return fmt.Errorf("%s:%d: nested too deeply for a catalog", r.file, line)
		}
		line++
	}
	return nil
}

// pairs are the keys of a block.
func pairs(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func (r *reader) each(n ast.Node, path string, do func(n ast.Node, path string) error) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return r.fail(n, "%s: want a list of entries, each with a name", path)
	}
	for i, item := range list.Values {
		if err := do(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

// field is one key of a block and how its value is read.
type field[T any] struct {
	key  string
	read func(r *reader, n ast.Node, path string, into *T) error
}

// block reads the keys of n in the order of the table, not that of the file, so
// that what holds for all entries is known before the first.
func block[T any](r *reader, n ast.Node, path string, fields []field[T], into *T) error {
	values, ok := pairs(n)
	if !ok {
		return r.fail(n, "%swant a block with keys such as %s, got %s", prefix(path), fields[0].key, described(n))
	}
	byKey := map[string]ast.Node{}
	for _, v := range values {
		key, ok := scalar(v.Key)
		if !ok || !slices.ContainsFunc(fields, func(f field[T]) bool { return f.key == key }) {
			return unknownKey(r, v.Key, join(path, key), key, fields)
		}
		if byKey[key] != nil {
			return r.fail(v.Key, "%s: stands twice in one block, want it once", join(path, key))
		}
		byKey[key] = v.Value
	}
	for _, f := range fields {
		if n := byKey[f.key]; n != nil {
			if err := f.read(r, n, join(path, f.key), into); err != nil {
				return err
			}
		}
	}
	return nil
}

func unknownKey[T any](r *reader, n ast.Node, path, key string, fields []field[T]) error {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
	}
	cure := text.Hint(key, known)
	if cure == "" {
		cure = "want one of " + strings.Join(known, ", ")
	}
	return r.fail(n, "%s: unknown key, %s", path, cure)
}

func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// scalar is the text of a value, and whether it is one.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.NullNode, *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode, *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "", false
	case ast.ScalarNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func number(n ast.Node) (float64, bool) {
	s, ok := scalar(n)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

func described(n ast.Node) string {
	if s, ok := scalar(n); ok {
		return text.Quote(s)
	}
	switch n.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.SequenceNode:
		return "a list"
	}
	return "a block"
}

// The kinds of fields.

func stringField[T any](key string, at func(*T) *string) field[T] {
	return field[T]{key, func(r *reader, n ast.Node, path string, into *T) error {
		s, ok := scalar(n)
		if s = strings.TrimSpace(s); !ok || s == "" {
			return r.fail(n, "%s: want text, got %s", path, described(n))
		}
		*at(into) = s
		return nil
	}}
}

func words[T any](key string, at func(*T) *[]string) field[T] {
	return field[T]{key, func(r *reader, n ast.Node, path string, into *T) error {
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			return r.fail(n, "%s: want a list of names, got %s", path, described(n))
		}
		var out []string
		for _, item := range list.Values {
			s, ok := scalar(item)
			if !ok || fold(s) == "" {
				return r.fail(item, "%s: want names, got %s", path, described(item))
			}
			out = append(out, s)
		}
		*at(into) = out
		return nil
	}}
}

// whole is a count from least to most.
func whole[T any](key string, least, most int, at func(*T) *int) field[T] {
	return field[T]{key, func(r *reader, n ast.Node, path string, into *T) error {
		v, ok := number(n)
		if !ok || v != math.Trunc(v) || v < float64(least) || v > float64(most) {
			return r.fail(n, "%s: want a whole number from %d to %d, got %s", path, least, most, described(n))
		}
		*at(into) = int(v)
		return nil
	}}
}

// amount is a number from 0 to most, in units of unit.
func amount[T any](key string, most, unit float64, at func(*T) *float64) field[T] {
	return field[T]{key, func(r *reader, n ast.Node, path string, into *T) error {
		v, ok := number(n)
		if !ok || v < 0 || v > most {
			return r.fail(n, "%s: want a number from 0 to %g, got %s", path, most, described(n))
		}
		*at(into) = v * unit
		return nil
	}}
}

func yes[T any](key string, at func(*T) *bool) field[T] {
	return field[T]{key, func(r *reader, n ast.Node, path string, into *T) error {
		switch s, _ := scalar(n); s {
		case "true":
			*at(into) = true
		case "false":
			*at(into) = false
		default:
			return r.fail(n, "%s: want true or false, got %s", path, described(n))
		}
		return nil
	}}
}

func stored[T any](key string, at func(*T) *Precision) field[T] {
	return field[T]{key, func(r *reader, n ast.Node, path string, into *T) error {
		s, ok := scalar(n)
		if !ok {
			return r.fail(n, "%s: want a precision such as bf16, got %s", path, described(n))
		}
		p, err := ParsePrecision(s)
		if err != nil {
			return r.fail(n, "%s: %v", path, err)
		}
		*at(into) = p
		return nil
	}}
}

var trusts = []string{"high", "medium", "low"}

func trust[T any](key string, at func(*T) *string) field[T] {
	return field[T]{key, func(r *reader, n ast.Node, path string, into *T) error {
		s, _ := scalar(n)
		for _, t := range trusts {
			if s == t {
				*at(into) = s
				return nil
			}
		}
		return r.fail(n, "%s: want %s, got %s", path, strings.Join(trusts, ", "), described(n))
	}}
}
