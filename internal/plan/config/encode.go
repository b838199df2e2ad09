package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// nodeEncoder is a type with a form of its own in the plan.
type nodeEncoder interface{ encodeNode() any }

// marshaler is the other half of unmarshaler.
type marshaler interface{ MarshalYAML() (any, error) }

// encode gives a value as the plan writes it: blocks as ordered keys, lists,
// and scalars. What is marked omitempty and empty is left out.
func encode(v reflect.Value) any {
	if own, ok := v.Interface().(nodeEncoder); ok {
		return own.encodeNode()
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
		out := yaml.MapSlice{}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			out = append(out, yaml.MapItem{Key: k.String(), Value: encode(v.MapIndex(k))})
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

func encodeStruct(v reflect.Value) yaml.MapSlice {
	out := yaml.MapSlice{}
	for _, f := range fieldsOf(v.Type()) {
		value := v.FieldByIndex(f.index)
		if f.omitEmpty && value.IsZero() {
			continue
		}
		e := encode(value)
		if block, ok := e.(yaml.MapSlice); ok && len(block) == 0 {
			continue
		}
		out = append(out, yaml.MapItem{Key: f.key, Value: e})
	}
	return out
}

// sortedKeys lists a map's keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
