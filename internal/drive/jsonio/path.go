package jsonio

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Path leads to one value of a JSON document: choices[0].delta.content. A
// nil path leads nowhere.
type Path []pathStep

type pathStep struct {
	key   string
	index int // -1 where the step is a key
}

// ParsePath reads keys that are joined by dots, each followed by any number
// of [index] or ["key"]; a leading $ means the document itself.
func ParsePath(text string) (Path, error) {
	if text == "" {
		return nil, nil
	}
	rest := strings.TrimPrefix(text, "$")
	if rest == "" {
		return nil, fmt.Errorf("expected a path into the document, got %q", text)
	}
	var path Path
	for first := true; rest != ""; first = false {
		var step pathStep
		var err error
		switch {
		case rest[0] == '[':
			step, rest, err = parseBracket(rest)
		case rest[0] == '.' || first:
			rest = strings.TrimPrefix(rest, ".")
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if step = (pathStep{rest[:end], -1}); end == 0 || strings.ContainsAny(step.key, " ]\"") {
				err = errors.New("a key is missing")
			}
			rest = rest[end:]
		default:
			err = errors.New("expected a dot before a key")
		}
		if err != nil {
			return nil, fmt.Errorf("%w in %q; expected a path such as choices[0].delta.content", err, text)
		}
		path = append(path, step)
	}
	return path, nil
}

// parseBracket reads [index] or ["key"].
func parseBracket(text string) (step pathStep, rest string, err error) {
	if quoted, ok := strings.CutPrefix(text, `["`); ok {
		key, rest, closed := strings.Cut(quoted, `"]`)
		if !closed {
			return step, "", errors.New("a bracket is not closed")
		}
		return pathStep{key, -1}, rest, nil
	}
	digits, rest, closed := strings.Cut(text[1:], "]")
	index, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || !closed {
		return step, "", errors.New("an index is no number")
	}
	return pathStep{"", int(index)}, rest, nil
}

// find gives the value that p leads to, nil where it leads nowhere.
func (p Path) find(t Tree) any {
	if p == nil {
		return nil
	}
	var at any = map[string]any(t)
	for _, step := range p {
		switch v := at.(type) {
		case map[string]any:
			at = v[step.key]
			if step.index >= 0 {
				return nil
			}
		case []any:
			if step.index < 0 || step.index >= len(v) {
				return nil
			}
			at = v[step.index]
		default:
			return nil
		}
	}
	return at
}

// Text gives the value as text: a string as it is, null and false as nothing,
// anything else as JSON.
func (p Path) Text(t Tree) string {
	switch v := p.find(t).(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if !v {
			return ""
		}
		return "true"
	default:
		return Compact(v)
	}
}

// Count gives the value as a number of tokens.
func (p Path) Count(t Tree) int { return Tree{"": p.find(t)}.Count("") }

// Truthy reports whether the value is there and says neither no nor nothing.
func (p Path) Truthy(t Tree) bool { return p.Text(t) != "" }
