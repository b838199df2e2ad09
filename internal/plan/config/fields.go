package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"redline/internal/yaml"
)

// homes lists the full paths that end in key, for a key that stands in the
// wrong block.
func homes(key string) []string {
	var out []string
	for _, path := range keysOf(reflect.TypeFor[Config](), "") {
		if path == key || strings.HasSuffix(path, "."+key) {
			out = append(out, path)
		}
	}
	for i := range Options { // of which some have another name in a plan
		switch o := &Options[i]; {
		case strings.ReplaceAll(o.Flag, "-", "_") != key || o.Key == "" || slices.Contains(out, o.Key):
		case len(out) == 0:
			out = append(out, o.Key)
		case o.Top() != "": // other blocks have such a key too, but people know the flag's
			out = []string{o.Top()}
		}
	}
	return out
}

// keysOf lists every path of a block that has a fixed name.
func keysOf(t reflect.Type, path string) []string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for _, f := range yaml.FieldsOf(t) {
		full := join(path, f.Key)
		out = append(out, full)
		out = append(out, keysOf(t.FieldByIndex(f.Index).Type, full)...)
	}
	return slices.Clip(out)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
