package structured

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"redline/internal/llm"
)

// maxDepth is how far a document follows a schema that refers to itself.
const maxDepth = 12

// Document writes JSON that keeps a schema, with texts that word writes, and ""
// where none is found: of what a text must look like only its length is kept.
func Document(schema llm.JSON, r *rand.Rand, word func() string) string {
	w := writer{rand: r, word: word}
	if schema == nil {
		schema = llm.JSON(anyObject)
	}
	if json.Unmarshal(schema, &w.root) != nil {
		return ""
	}
	document, err := json.Marshal(w.value(w.root, 0))
	if err != nil {
		return ""
	}
	if s, err := Compile(schema); err != nil || s.Check(string(document)) != llm.CheckOK {
		return ""
	}
	return string(document)
}

// writer fills a schema in.
type writer struct {
	root map[string]any
	rand *rand.Rand
	word func() string
}

// value gives a value of a schema.
func (w *writer) value(schema any, depth int) any {
	s, _ := schema.(map[string]any)
	if depth > maxDepth {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		return w.value(w.follow(ref), depth+1)
	}
	if fixed, ok := s["const"]; ok {
		return fixed
	}
	if list, _ := s["enum"].([]any); len(list) > 0 {
		return list[w.rand.IntN(len(list))]
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, _ := s[key].([]any); len(list) > 0 && s["properties"] == nil {
			return w.value(list[0], depth+1)
		}
	}
	switch kind := kindOf(s); kind {
	case "object":
		return w.object(s, depth)
	case "array":
		list := make([]any, int(number(s, "minItems", 1)))
		for i := range list {
			list[i] = w.value(s["items"], depth+1)
		}
		return list
	case "string":
		return w.text(s)
	case "integer", "number":
		return w.number(s, kind == "integer")
	case "boolean":
		return w.rand.IntN(2) == 0
	}
	return nil
}

// kindOf is the first type of a schema; one that names none is guessed by what
// else it says.
func kindOf(s map[string]any) string {
	switch kind := s["type"].(type) {
	case string:
		return kind
	case []any:
		for _, one := range kind {
			if name, ok := one.(string); ok {
				return name
			}
		}
	}
	switch {
	case s["items"] != nil:
		return "array"
	case s["properties"] != nil || len(s) == 0:
		return "object"
	}
	return "string"
}

// object writes the properties that have to be there, and of the others some.
func (w *writer) object(s map[string]any, depth int) map[string]any {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	out := map[string]any{}
	for _, name := range required {
		if name, ok := name.(string); ok {
			out[name] = w.value(properties[name], depth+1)
		}
	}
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if _, there := out[name]; !there && depth < 3 && w.rand.IntN(2) == 0 {
			out[name] = w.value(properties[name], depth+1)
		}
	}
	return out
}

// follow gives what a reference within the schema means.
func (w *writer) follow(ref string) any {
	var at any = w.root
	for _, key := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if object, ok := at.(map[string]any); ok && key != "" {
			at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
		}
	}
	return at
}

// formats are texts of the forms that schemas name.
var formats = map[string]string{"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "email": "ann@example.org",
	"uri": "https://example.org/a", "uuid": "123e4567-e89b-12d3-a456-426614174000", "ipv4": "192.0.2.1"}

func (w *writer) text(s map[string]any) string {
	if form, _ := s["format"].(string); formats[form] != "" {
		return formats[form]
	}
	var b strings.Builder
	shortest, longest := int(number(s, "minLength", 0)), int(number(s, "maxLength", math.MaxInt32))
	for b.WriteString(strings.TrimSpace(w.word())); b.Len() < shortest; {
		fmt.Fprintf(&b, " %s", strings.TrimSpace(w.word()))
	}
	letters := []rune(b.String())
	return string(letters[:min(len(letters), longest)])
}

func (w *writer) number(s map[string]any, whole bool) any {
	low, high := number(s, "minimum", 0), number(s, "maximum", math.Inf(1))
	if above, ok := s["exclusiveMinimum"].(float64); ok {
		low = above + 1
	}
	if below, ok := s["exclusiveMaximum"].(float64); ok {
		high = below - 1
	}
	low = min(low, high)
	if math.IsInf(high, 1) {
		high = low + 100
	}
	value := low + math.Floor(w.rand.Float64()*(high-low+1))
	if of := number(s, "multipleOf", 0); of > 0 {
		value = math.Ceil(low/of) * of
	}
	value = min(value, high)
	if whole {
		return int64(math.Ceil(value))
	}
	return value
}

// number is a member of a schema, or what it is by default.
func number(s map[string]any, key string, usual float64) float64 {
	if v, ok := s[key].(float64); ok {
		return v
	}
	return usual
}
