package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	lib "go.yaml.in/yaml/v4"
)

// Map is a block whose keys keep their order.
type Map []Item

// Item is one key of a Map.
type Item struct {
	Key   string
	Value any
}

// MarshalYAML writes the keys in their order.
func (m Map) MarshalYAML() (any, error) {
	out := &lib.Node{Kind: lib.MappingNode}
	for _, item := range m {
		var key, value lib.Node
		if err := errors.Join(key.Encode(item.Key), value.Encode(item.Value)); err != nil {
			return nil, err
		}
		out.Content = append(out.Content, &key, &value)
	}
	return out, nil
}

// Marshal writes a value as a document.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := lib.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(v)
	return b.Bytes(), err
}

// nodeEncoder is a type with a form of its own in a file.
type nodeEncoder interface{ EncodeNode() any }

// marshaler is the other half of unmarshaler.
type marshaler interface{ MarshalYAML() (any, error) }

// Encode gives a value as a file has it: blocks as ordered keys, lists, and
// scalars. What is marked omitempty and empty is left out.
func Encode(v any) any { return encode(reflect.ValueOf(v)) }

func encode(v reflect.Value) any {
	if own, ok := v.Interface().(nodeEncoder); ok {
		return own.EncodeNode()
	}
	if own, ok := v.Interface().(marshaler); ok && !(v.Kind() == reflect.Pointer && v.IsNil()) {
		if form, err := own.MarshalYAML(); err == nil {
			return encode(reflect.ValueOf(form))
		}
	}
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return encode(v.Elem())
	case reflect.Struct:
		return encodeStruct(v)
	case reflect.Map:
		out := Map{}
		for _, k := range sortedKeys(v) {
			out = append(out, Item{Key: k.String(), Value: encode(v.MapIndex(k))})
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = encode(v.Index(i))
		}
		return out
	}
	return v.Interface()
}

func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
}

func encodeStruct(v reflect.Value) Map {
	out := Map{}
	for _, f := range FieldsOf(v.Type()) {
		value := v.FieldByIndex(f.Index)
		if f.omitEmpty && value.IsZero() {
			continue
		}
		e := encode(value)
		if block, ok := e.(Map); ok && len(block) == 0 {
			continue
		}
		out = append(out, Item{Key: f.Key, Value: e})
	}
	return out
}

// Field is one key of a block and where its value lives in the Go struct.
type Field struct {
	Key       string
	Index     []int
	Tag       reflect.StructTag
	omitEmpty bool
}

// FieldsOf lists the keys of a struct in the order of its fields; inlined
// structs lend theirs.
func FieldsOf(t reflect.Type) []Field {
	var out []Field
	for i := range t.NumField() {
		f := t.Field(i)
		name, flags, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
			continue
		case flags == "inline":
			for _, inner := range FieldsOf(f.Type) {
				out = append(out, Field{inner.Key, append([]int{i}, inner.Index...), inner.Tag, inner.omitEmpty})
			}
		case name != "":
			out = append(out, Field{name, []int{i}, f.Tag, flags == "omitempty"})
		}
	}
	return out
}

// Text is one text of a value: its path in the file, what the nearest field above
// it has for a tag, and the keys between the two.
type Text struct {
	Path, Tag string
	Keys      []string
	Text      string
}

// TextsByTag lists the texts of v that stand in or below fields with the tag.
func TextsByTag(v any, tag string) []Text { return appendByTag(nil, reflect.ValueOf(v), tag, Text{}) }

func appendByTag(list []Text, v reflect.Value, tag string, at Text) []Text {
	below := func(path string, v reflect.Value, keys ...string) {
		list = appendByTag(list, v, tag, Text{Path: path, Tag: at.Tag, Keys: slices.Concat(at.Keys, keys)})
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			below(at.Path, v.Elem())
		}
	case reflect.Struct:
		for _, f := range FieldsOf(v.Type()) {
			inner := Text{Path: Join(at.Path, f.Key), Tag: at.Tag, Keys: append(at.Keys[:len(at.Keys):len(at.Keys)], f.Key)}
			if word := f.Tag.Get(tag); word != "" {
				inner.Tag, inner.Keys = word, nil
			}
			list = appendByTag(list, v.FieldByIndex(f.Index), tag, inner)
		}
	case reflect.Map:
		for _, k := range sortedKeys(v) {
			below(Join(at.Path, k.String()), v.MapIndex(k), k.String())
		}
	case reflect.Slice:
		for i := range v.Len() {
			below(fmt.Sprintf("%s[%d]", at.Path, i), v.Index(i))
		}
	case reflect.String:
		if at.Tag != "" {
			at.Text = v.String()
			list = append(list, at)
		}
	}
	return list
}
