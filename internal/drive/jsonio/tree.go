package jsonio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Tree is a JSON object as encoding/json reads it. It defines what the Scanner must agree
// with, and reads what that finds odd. Its accessors take a missing key and a
// value of another type for the zero value.
type Tree map[string]any

// ParseTree reads one object; numbers stay as they are written.
func ParseTree(data []byte) (Tree, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var t Tree
	if err := dec.Decode(&t); err != nil || t == nil {
		return nil, fmt.Errorf("expected a JSON object, got %s", kindOf(data))
	}
	return t, nil
}

// kindOf names what a JSON document is, for messages: a document itself may hold
// secrets, which are hidden before anything of it is shown.
func kindOf(data []byte) string {
	switch data = bytes.TrimSpace(data); {
	case len(data) == 0:
		return "nothing"
	case data[0] == '[':
		return "an array"
	case data[0] == '"':
		return "a string"
	case data[0] == '{':
		return "an object"
	case data[0] == 't', data[0] == 'f':
		return "a boolean"
	case data[0] == 'n':
		return "null"
	}
	return "a number"
}

// Object gives the object of a key, nil where there is none.
func (t Tree) Object(key string) Tree {
	m, _ := t[key].(map[string]any)
	return m
}

// Objects gives those of the elements of an array that are objects.
func (t Tree) Objects(key string) []Tree {
	elems, _ := t[key].([]any)
	var out []Tree
	for _, e := range elems {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// Str gives the string of a key.
func (t Tree) Str(key string) string {
	s, _ := t[key].(string)
	return s
}

// Count reads a number of tokens; one that is no whole number is cut down to
// one, and one that is negative or beyond reason is none.
func (t Tree) Count(key string) int {
	n, _ := t[key].(json.Number)
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || f < 0 || f > math.MaxInt32 {
		return 0
	}
	return int(f)
}

// Number is a number, and whether there is one.
func (t Tree) Number(key string) (float64, bool) {
	n, _ := t[key].(json.Number)
	f, err := strconv.ParseFloat(string(n), 64)
	return f, err == nil
}

// Flag reports whether the key is true.
func (t Tree) Flag(key string) bool {
	v, _ := t[key].(bool)
	return v
}

// Has reports whether the key is there, whatever its value.
func (t Tree) Has(key string) bool {
	_, ok := t[key]
	return ok
}

// Compact gives v back as JSON.
func Compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
