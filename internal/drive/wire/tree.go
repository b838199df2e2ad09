package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// tree is a JSON object as encoding/json reads it. It is how whole replies,
// errors, and every event that the scanner finds odd are read, and it defines
// what the scanner must agree with. Its accessors take a missing key and a
// value of another type for the zero value.
type tree map[string]any

func parseTree(data []byte) (tree, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var t tree
	if err := dec.Decode(&t); err != nil || t == nil {
		return nil, fmt.Errorf("want a JSON object, got %s", kindOf(data))
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

func (t tree) object(key string) tree {
	m, _ := t[key].(map[string]any)
	return m
}

func (t tree) objects(key string) []tree {
	elems, _ := t[key].([]any)
	var out []tree
	for _, e := range elems {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func (t tree) str(key string) string {
	s, _ := t[key].(string)
	return s
}

// count reads a number of tokens; one that is no whole number is cut down to
// one, and one that is negative or beyond reason is none.
func (t tree) count(key string) int {
	n, _ := t[key].(json.Number)
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || f < 0 || f > math.MaxInt32 {
		return 0
	}
	return int(f)
}

// index reads which call is meant.
func (t tree) index(key string) int {
	if !t.has(key) {
		return noCall
	}
	return t.count(key)
}

func (t tree) flag(key string) bool {
	v, _ := t[key].(bool)
	return v
}

// has reports whether the key is there, whatever its value.
func (t tree) has(key string) bool {
	_, ok := t[key]
	return ok
}

// errorMessage finds what an object says went wrong: "error" as a string or an
// object, vLLM's {"object":"error","message":…}, FastAPI's "detail".
func (t tree) errorMessage() (string, bool) {
	switch e := t["error"].(type) {
	case nil:
	case string:
		return e, true
	case map[string]any:
		if m := tree(e).str("message"); m != "" {
			return m, true
		}
		return compact(e), true
	default:
		return compact(e), true
	}
	if t.str("object") == "error" || t.str("type") == "error" {
		if m := t.str("message"); m != "" {
			return m, true
		}
		return compact(t), true
	}
	return "", false
}

// compact gives v back as JSON.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
