package yaml

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/text"
)

// Decoder puts nodes into Go values by their yaml tags.
type Decoder struct {
	// File is for errors; without it they are those of a single value.
	File string
	// Lines remembers where each key stands, and Templates the scalars in whose
	// place something else was put, both by dotted path.
	Lines     map[string]int
	Templates map[string]Template
	// Homes lists the paths that end in a key, for one that stands in the wrong
	// block. It may be nil.
	Homes func(key string) []string
	// Spelled has the names under which a file has keys that were moved, by their
	// paths, and Top further keys that may stand at its top.
	Spelled map[string]string
	Top     []string
}

// Template is what a file says, and what it became.
type Template struct{ Raw, Text string }

// Decode fills what into points to; path is that of the value in its file.
func (d *Decoder) Decode(n *Node, into any, path string) error {
	return d.decode(n, reflect.ValueOf(into).Elem(), path)
}

// Value is Decode for one key.
func (d *Decoder) Value(e Entry, into any, path string) error {
	return d.value(e, reflect.ValueOf(into).Elem(), path)
}

// Fail is an error at a node.
func (d *Decoder) Fail(n *Node, path, format string, args ...any) error {
	what := n.withTemplate(fmt.Sprintf(format, args...))
	if d.File == "" {
		return errors.New(what)
	}
	key, _, _ := strings.Cut(path, "[") // of a list, one of its items
	if spelled := d.Spelled[key]; spelled != "" {
		path = spelled + strings.TrimPrefix(path, key)
	}
	return Fault(At(d.File, n.Line), "%s", prefix(path)+what)
}

var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// withTemplate quotes what the file says where an error quotes the value of a
// variable, or a piece of it: that may be a secret.
func (n *Node) withTemplate(what string) string {
	if n.Template == "" {
		return what
	}
	return quotation.ReplaceAllStringFunc(what, func(quoted string) string {
		said, err := strconv.Unquote(quoted)
		if err != nil || !strings.Contains(n.Text, strings.TrimSuffix(said, "…")) || strings.Contains(n.Template, said) {
			return quoted
		}
		return text.Quote(n.Template)
	})
}

// nodeDecoder is a type with a form of its own in the plan.
type nodeDecoder interface {
	DecodeNode(d *Decoder, n *Node, path string) error
}

// unmarshaler is what the packages of specifications implement for a type with
// more than one form.
type unmarshaler interface {
	UnmarshalYAML(unmarshal func(any) error) error
}

// note remembers a scalar that named variables.
func (d *Decoder) note(n *Node, path string) {
	if n.Template == "" {
		return
	}
	if d.Templates == nil {
		d.Templates = map[string]Template{}
	}
	d.Templates[path] = Template{n.Template, n.Text}
}

// decode fills v, which must be settable, from n.
func (d *Decoder) decode(n *Node, v reflect.Value, path string) error {
	d.note(n, path)
	if own, ok := v.Addr().Interface().(nodeDecoder); ok {
		return own.DecodeNode(d, n, path)
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return d.decode(n, v.Elem(), path)
	}
	if own, ok := v.Addr().Interface().(unmarshaler); ok {
		return d.foreign(own, n, path)
	}
	if length, ok := v.Addr().Interface().(*time.Duration); ok {
		return d.duration(n, length, path)
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.structure(n, v, path)
	case reflect.Map:
		return d.dictionary(n, v, path)
	case reflect.Slice:
		return d.list(n, v, path)
	case reflect.Interface:
		v.Set(reflect.ValueOf(&[]any{d.plain(n, path)}[0]).Elem())
		return nil
	}
	return d.scalar(n, v, path)
}

// foreign lets a type of another package read its own form; it is handed a
// way to decode the node into whatever it tries.
func (d *Decoder) foreign(own unmarshaler, n *Node, path string) error {
	err := own.UnmarshalYAML(func(into any) error { return d.Decode(n, into, path) })
	var placed *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &placed):
		return placed
	case strings.HasPrefix(err.Error(), path+" "):
		path = ""
	}
	at := *n
	at.Line = d.lineWithin(path, err.Error(), n.Line)
	return d.Fail(&at, path, "%v%s", err, cutByComma(n.Text))
}

// lineWithin is the line of the key that an error about a block begins with, such as
// "classes[1].deadline: …", and the block's own where it begins with none.
func (d *Decoder) lineWithin(path, message string, line int) int {
	for {
		field, rest, more := strings.Cut(message, ": ")
		if !more {
			return line
		}
		path, message = Join(path, field), rest
		if at, known := d.Lines[path]; known {
			line = at
		}
	}
}

func (d *Decoder) duration(n *Node, into *time.Duration, path string) error {
	if n.Kind != Scalar {
		return d.Fail(n, path, "expected a duration such as 30s, got %s", n.Describe())
	}
	var err error
	if *into, err = parseDuration(n.Text); err != nil {
		return d.Fail(n, path, "%v", err)
	}
	return nil
}

func (d *Decoder) structure(n *Node, v reflect.Value, path string) error {
	if n.Kind == Null {
		return nil
	}
	fields := FieldsOf(v.Type())
	if n.Kind == Scalar && path == "" {
		return d.otherKindError(n.Line, fields)
	}
	if n.Kind != Mapping {
		return d.Fail(n, path, "expected a block with keys such as %s, got %s", fields[0].Key, n.Describe())
	}
	var wrong error
	for _, e := range n.Entries {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == e.Key })
		if i < 0 {
			wrong = Add(wrong, d.unknown(e, path, fields))
		} else if err := d.value(e, v.FieldByIndex(fields[i].Index), Join(path, e.Key)); err != nil {
			wrong = Add(wrong, err)
		}
	}
	return wrong
}

// value decodes one key's value. A key with nothing after it is a slip: of a
// block too, whose keys may stand too far to the left.
func (d *Decoder) value(e Entry, v reflect.Value, path string) error {
	if d.Lines == nil {
		d.Lines = map[string]int{}
	}
	d.Lines[path] = e.Line
	if e.Value.Kind == Null {
		block := v.Kind() == reflect.Struct || v.Kind() == reflect.Map ||
			v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct
		if block {
			return Fault(At(d.File, e.Line), "%shas no value: indent its keys below it, or leave it out", prefix(path))
		}
		return Fault(At(d.File, e.Line), "%shas no value", prefix(path))
	}
	return d.decode(e.Value, v, path)
}

// otherKindError is a file of another kind, named by mistake or by somebody who may not
// read it: nothing of it is shown.
func (d *Decoder) otherKindError(line int, fields []Field) error {
	return Fault(At(d.File, line), "expected a block with keys such as %s, got other text", fields[0].Key)
}

// keyLike is what a person may have meant as a key.
var keyLike = regexp.MustCompile(`^[\w.-]+$`)

func (d *Decoder) unknown(e Entry, path string, fields []Field) error {
	if path == "" && !keyLike.MatchString(e.Key) {
		return d.otherKindError(e.Line, fields)
	}
	keys := text.Each(fields, func(f Field) string { return f.Key })
	key := prefix(Join(path, text.Brief(e.Key)))
	if hint := cutByComma(e.Key); hint != "" {
		return Fault(At(d.File, e.Line), "%sunknown key%s", key, hint)
	}
	cure := "expected one of " + strings.Join(keys, ", ")
	if path == "" {
		keys = append(keys, d.Top...)
	}
	var home []string
	if d.Homes != nil {
		home = d.Homes(e.Key)
	}
	if len(home) > 0 && !slices.Contains(home, Join(path, e.Key)) {
		cure = "did you mean " + strings.Join(home, " or ") + "?"
	} else if hint := text.Hint(e.Key, keys); hint != "" {
		cure = hint
	}
	return Fault(At(d.File, e.Line), "%sunknown key, %s", key, cure)
}

// cutByComma explains half a call such as "ramp(1..50", which a comma between
// braces leaves of "ramp(1..50, 5m)"; "" where there is nothing to explain.
func cutByComma(text string) string {
	if strings.Count(text, "(") == strings.Count(text, ")") {
		return ""
	}
	return "; a comma between { } or [ ] ends a value: put the whole in quotes"
}

func (d *Decoder) dictionary(n *Node, v reflect.Value, path string) error {
	if n.Kind != Mapping {
		return d.Fail(n, path, "expected keys with values, got %s", n.Describe())
	}
	v.Set(reflect.MakeMap(v.Type()))
	var wrong error
	for _, e := range n.Entries {
		element := reflect.New(v.Type().Elem()).Elem()
		if e.Value.Kind == Null && element.Kind() == reflect.Interface {
			v.SetMapIndex(reflect.ValueOf(e.Key), element)
			continue
		}
		if err := d.value(e, element, Join(path, e.Key)); err != nil {
			wrong = Add(wrong, err)
		}
		v.SetMapIndex(reflect.ValueOf(e.Key), element)
	}
	return wrong
}

// list decodes a sequence; a single scalar is a list of one.
func (d *Decoder) list(n *Node, v reflect.Value, path string) error {
	items := n.Items
	if n.Kind == Scalar {
		items = []*Node{n}
	} else if n.Kind != Sequence {
		return d.Fail(n, path, "expected a list, got %s", n.Describe())
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	var wrong error
	for i, item := range items {
		if err := d.decode(item, out.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			wrong = Add(wrong, err)
		}
	}
	v.Set(out)
	return wrong
}

func (d *Decoder) scalar(n *Node, v reflect.Value, path string) error {
	if v.Kind() == reflect.String {
		if n.Kind != Scalar {
			return d.Fail(n, path, "expected text, got %s", n.Describe())
		}
		v.SetString(n.Text)
		return nil
	}
	if n.Kind != Scalar || !n.Plain {
		return d.Fail(n, path, "expected %s, got %s", wantText(v.Kind()), n.Describe())
	}
	if err := setScalar(v, n.Text); err != nil {
		return d.Fail(n, path, "%v", err)
	}
	return nil
}

// plain gives a node as untyped data, for the blocks that are passed on as
// they are.
func (d *Decoder) plain(n *Node, path string) any {
	d.note(n, path)
	switch n.Kind {
	case Null:
		return nil
	case Mapping:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Key] = d.plain(e.Value, Join(path, e.Key))
		}
		return m
	case Sequence:
		s := make([]any, len(n.Items))
		for i, item := range n.Items {
			s[i] = d.plain(item, fmt.Sprintf("%s[%d]", path, i))
		}
		return s
	}
	if !n.Plain {
		return n.Text
	}
	if i, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
		return i
	}
	if f, err := ParseFloat(n.Text); err == nil {
		return f
	}
	if b, err := ParseBool(n.Text); err == nil {
		return b
	}
	return n.Text
}

// prefix is a path before an error. Its keys may be a file's own.
func prefix(path string) string {
	const limit = 200
	if path == "" {
		return ""
	}
	return text.Cut(path, limit) + ": "
}

func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
