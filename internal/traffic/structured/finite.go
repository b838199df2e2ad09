package structured

import "encoding/json"

// finder looks for a document that ends.
type finder struct {
	writer
	following map[string]bool // references that are being followed
}

// endsSomewhere reports whether some finite document may keep a schema: one that
// requires itself, however far down, has none.
func endsSomewhere(schema []byte) bool {
	f := finder{following: map[string]bool{"#": true}}
	return json.Unmarshal(schema, &f.root) != nil || f.ends(f.root)
}

func (f *finder) ends(schema any) bool {
	if anything, ok := schema.(bool); ok {
		return anything
	}
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		if f.following[ref] {
			return false
		}
		f.following[ref] = true
		defer delete(f.following, ref)
		return f.ends(f.follow(ref))
	}
	if _, fixed := s["const"]; fixed || s["enum"] != nil {
		return true
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, _ := s[key].([]any); len(list) > 0 && f.count(list) == 0 {
			return false
		}
	}
	if list, _ := s["allOf"].([]any); f.count(list) < len(list) {
		return false
	}
	switch kinds, several := s["type"].([]any); {
	case several && len(kinds) > 1:
		return true // a text or null ends
	case kindOf(s) == "array":
		return number(s, "minItems", 0) < 1 || f.ends(s["items"])
	case kindOf(s) == "object":
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for _, name := range required {
			if name, ok := name.(string); ok && properties[name] != nil && !f.ends(properties[name]) {
				return false
			}
		}
	}
	return true
}

// count is how many of a list of schemas have documents that end.
func (f *finder) count(list []any) (n int) {
	for _, one := range list {
		if f.ends(one) {
			n++
		}
	}
	return n
}
