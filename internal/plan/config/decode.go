package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/text"
)

// decoder puts the nodes of a plan into Go values by their yaml tags. Nothing
// is guessed: an unknown key or a value of another type is an error with its
// line.
type decoder struct {
	file string
	// lines remembers where each key stands, and templates the scalars that
	// named variables, both by dotted path.
	lines     map[string]int
	templates map[string]template
}

func (d *decoder) fail(n *node, path, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if d.file == "" {
		return errors.New(what)
	}
	return fault(at(d.file, n.line), "%s", prefix(path)+what)
}

// nodeDecoder is a type with a form of its own in the plan.
type nodeDecoder interface {
	decodeNode(d *decoder, n *node, path string) error
}

// unmarshaler is what the packages of specifications implement for a type with
// more than one form.
type unmarshaler interface {
	UnmarshalYAML(unmarshal func(any) error) error
}

// note remembers a scalar that named variables.
func (d *decoder) note(n *node, path string) {
	if n.template != "" {
		d.templates[path] = template{n.template, n.text}
	}
}

// decode fills v, which must be settable, from n.
func (d *decoder) decode(n *node, v reflect.Value, path string) error {
	d.note(n, path)
	if own, ok := v.Addr().Interface().(nodeDecoder); ok {
		return own.decodeNode(d, n, path)
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
func (d *decoder) foreign(own unmarshaler, n *node, path string) error {
	err := own.UnmarshalYAML(func(into any) error { return d.decode(n, settable(into), path) })
	var placed *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &placed):
		return placed
	case strings.HasPrefix(err.Error(), path+" "):
		path = ""
	}
	return d.fail(n, path, "%v%s", err, cutByComma(n.text))
}

func (d *decoder) duration(n *node, into *time.Duration, path string) error {
	if n.kind != scalar {
		return d.fail(n, path, "want a duration such as 30s, got %s", n.describe())
	}
	var err error
	if *into, err = parseDuration(n.text); err != nil {
		return d.fail(n, path, "%v", err)
	}
	return nil
}

func (d *decoder) structure(n *node, v reflect.Value, path string) error {
	if n.kind == null {
		return nil
	}
	fields := fieldsOf(v.Type())
	if n.kind != mapping {
		return d.fail(n, path, "want a block with keys such as %s, got %s", fields[0].key, n.describe())
	}
	for _, e := range n.entries {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == e.key })
		if i < 0 {
			return d.unknown(e, path, fields)
		}
		if err := d.value(e, v.FieldByIndex(fields[i].index), join(path, e.key)); err != nil {
			return err
		}
	}
	return nil
}

// value decodes one key's value. A key with nothing after it is a slip: of a
// block too, whose keys may stand too far to the left.
func (d *decoder) value(e entry, v reflect.Value, path string) error {
	d.lines[path] = e.line
	if e.value.kind == null {
		block := v.Kind() == reflect.Struct || v.Kind() == reflect.Map ||
			v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct
		if block {
			return fault(at(d.file, e.line), "%s: has no value: indent its keys below it, or leave it out", path)
		}
		return fault(at(d.file, e.line), "%s: has no value", path)
	}
	return d.decode(e.value, v, path)
}

func (d *decoder) unknown(e entry, path string, fields []field) error {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	if hint := cutByComma(e.key); hint != "" {
		return fault(at(d.file, e.line), "%s: unknown key%s", join(path, e.key), hint)
	}
	cure := "want one of " + strings.Join(keys, ", ")
	if hint := text.Hint(e.key, keys); hint != "" {
		cure = hint
	} else if home := homes(e.key); len(home) > 0 && !slices.Contains(home, join(path, e.key)) {
		cure = "did you mean " + strings.Join(home, " or ") + "?"
	}
	return fault(at(d.file, e.line), "%s: unknown key, %s", join(path, e.key), cure)
}

// cutByComma explains half a call such as "ramp(1..50", which a comma between
// braces leaves of "ramp(1..50, 5m)"; "" where there is nothing to explain.
func cutByComma(text string) string {
	if strings.Count(text, "(") == strings.Count(text, ")") {
		return ""
	}
	return "; a comma between { } or [ ] ends a value: put the whole in quotes"
}

func (d *decoder) dictionary(n *node, v reflect.Value, path string) error {
	if n.kind != mapping {
		return d.fail(n, path, "want keys with values, got %s", n.describe())
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range n.entries {
		element := reflect.New(v.Type().Elem()).Elem()
		if e.value.kind == null && element.Kind() == reflect.Interface {
			v.SetMapIndex(reflect.ValueOf(e.key), element)
			continue
		}
		if err := d.value(e, element, join(path, e.key)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(e.key), element)
	}
	return nil
}

// list decodes a sequence; a single scalar is a list of one.
func (d *decoder) list(n *node, v reflect.Value, path string) error {
	items := n.items
	if n.kind == scalar {
		items = []*node{n}
	} else if n.kind != sequence {
		return d.fail(n, path, "want a list, got %s", n.describe())
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := d.decode(item, out.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

func (d *decoder) scalar(n *node, v reflect.Value, path string) error {
	if v.Kind() == reflect.String {
		if n.kind != scalar {
			return d.fail(n, path, "want text, got %s", n.describe())
		}
		v.SetString(n.text)
		return nil
	}
	if n.kind != scalar || !n.plain {
		return d.fail(n, path, "want %s, got %s", wanted(v.Kind()), n.describe())
	}
	if err := setScalar(v, n.text); err != nil {
		return d.fail(n, path, "%v", err)
	}
	return nil
}

// setScalar parses text into a bool or number.
func setScalar(v reflect.Value, text string) error {
	var err error
	switch v.Kind() {
	case reflect.Bool:
		var b bool
		if b, err = parseBool(text); err == nil {
			v.SetBool(b)
		}
	case reflect.Int, reflect.Int64:
		var i int64
		if i, err = parseInt(text); err == nil {
			v.SetInt(i)
		}
	case reflect.Uint64:
		var u uint64
		if u, err = parseUint(text); err == nil {
			v.SetUint(u)
		}
	case reflect.Float64:
		var f float64
		if f, err = parseFloat(text); err == nil {
			v.SetFloat(f)
		}
	default:
		err = fmt.Errorf("no value of kind %s can stand in a plan", v.Kind())
	}
	return err
}

func wanted(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	}
	return "a number"
}

// plain gives a node as untyped data, for the blocks that are passed on as
// they are.
func (d *decoder) plain(n *node, path string) any {
	d.note(n, path)
	switch n.kind {
	case null:
		return nil
	case mapping:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key] = d.plain(e.value, join(path, e.key))
		}
		return m
	case sequence:
		s := make([]any, len(n.items))
		for i, item := range n.items {
			s[i] = d.plain(item, fmt.Sprintf("%s[%d]", path, i))
		}
		return s
	}
	if !n.plain {
		return n.text
	}
	if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
		return i
	}
	if f, err := parseFloat(n.text); err == nil {
		return f
	}
	if b, err := parseBool(n.text); err == nil {
		return b
	}
	return n.text
}

func (n *node) describe() string {
	switch n.kind {
	case null:
		return "nothing"
	case mapping:
		return "a block"
	case sequence:
		return "a list"
	}
	return shown(n.text)
}

// at is the i-th item of a list, or the scalar that stands for a list of one.
func (n *node) at(i int) *node {
	if i < len(n.items) {
		return n.items[i]
	}
	return n
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

// The parsers of scalars, which flags and environment share with the plan.

func parseBool(s string) (bool, error) {
	switch s {
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	return false, fmt.Errorf("want true or false, got %s", shown(s))
}

func parseInt(s string) (int64, error) {
	digits := strings.ReplaceAll(s, "_", "")
	i, err := strconv.ParseInt(digits, 10, 64)
	if err == nil {
		return i, nil
	}
	if f, ferr := strconv.ParseFloat(digits, 64); ferr == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f), nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is too large", shown(s))
	}
	return 0, fmt.Errorf("want a whole number, got %s", shown(s))
}

func parseUint(s string) (uint64, error) {
	u, err := strconv.ParseUint(strings.ReplaceAll(s, "_", ""), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is too large", shown(s))
	}
	if err != nil {
		return 0, fmt.Errorf("want a whole number of at least 0, got %s", shown(s))
	}
	return u, nil
}

func parseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		if of, ok := strings.CutSuffix(s, "%"); ok {
			if share, err := parseFloat(of); err == nil {
				return 0, fmt.Errorf("want a number such as %g, got %s", share/100, shown(s))
			}
		}
		return 0, fmt.Errorf("want a number, got %s", shown(s))
	}
	return f, nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("want a duration such as 30s or 1m30s, got %s", shown(s))
	}
	return d, nil
}
