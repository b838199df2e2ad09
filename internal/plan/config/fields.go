package config

import (
	"reflect"
	"slices"
	"strings"
)

// field is one key of a block and where its value lives in the Go struct.
type field struct {
	key       string
	index     []int
	omitEmpty bool
}

// fieldsOf lists the keys of a struct in the order of its fields; inlined
// structs lend theirs.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, flags, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
			continue
		case flags == "inline":
			for _, inner := range fieldsOf(f.Type) {
				out = append(out, field{inner.key, append([]int{i}, inner.index...), inner.omitEmpty})
			}
		case name != "":
			out = append(out, field{name, []int{i}, flags == "omitempty"})
		}
	}
	return out
}

// homes lists the full paths that end in key, for a key that stands in the
// wrong block.
func homes(key string) []string {
	var out []string
	for _, path := range keysOf(reflect.TypeFor[Config](), "") {
		if path == key || strings.HasSuffix(path, "."+key) {
			out = append(out, path)
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
	for _, f := range fieldsOf(t) {
		full := join(path, f.key)
		out = append(out, full)
		out = append(out, keysOf(t.FieldByIndex(f.index).Type, full)...)
	}
	return slices.Clip(out)
}
