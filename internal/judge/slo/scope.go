package slo

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Scope is whose requests an objective is about: those of a class, of a tenant,
// of both; of all where it is empty.
type Scope struct {
	Class  string `json:"class,omitempty"`
	Tenant string `json:"tenant,omitempty"`
}

// Covers reports whether a request of that class and tenant is meant.
func (s Scope) Covers(class, tenant string) bool {
	return (s.Class == "" || s.Class == class) && (s.Tenant == "" || s.Tenant == tenant)
}

// String is the scope as objectives spell it: "class=rag tenant=acme".
func (s Scope) String() string {
	var parts []string
	for _, p := range s.parts() {
		if *p.name != "" {
			parts = append(parts, p.key+"="+quoteName(*p.name))
		}
	}
	return strings.Join(parts, " ")
}

// Within gives the same objective for the requests of a scope only.
func (o Objective) Within(s Scope) Objective {
	text := strings.TrimSpace(strings.TrimPrefix(o.Text, o.Scope.String()))
	o.Scope, o.Text = s, text
	if scope := s.String(); scope != "" {
		o.Text = scope + " " + text
	}
	return o
}

type scopePart struct {
	key  string
	name *string
}

func (s *Scope) parts() []scopePart {
	return []scopePart{{"class", &s.Class}, {"tenant", &s.Tenant}}
}

// quoteName quotes a name that would not be read as one word.
func quoteName(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' }) {
		return strconv.Quote(name)
	}
	return name
}

// readScope takes the scope off the front of an objective's text.
func readScope(text string) (s Scope, rest string, err error) {
	rest = strings.TrimSpace(text)
	for {
		part, value, found := s.next(rest)
		if !found {
			return s, rest, nil
		}
		if *part.name != "" {
			return Scope{}, "", fmt.Errorf("%s is given twice", part.key)
		}
		if *part.name, rest, err = readName(value); err != nil {
			return Scope{}, "", fmt.Errorf("%s: %w; write it as in %s=rag ttft:p99<2s", part.key, err, part.key)
		}
	}
}

// next finds the part of a scope that a text begins with, and what follows its
// equals sign.
func (s *Scope) next(text string) (part scopePart, value string, found bool) {
	key, value, found := strings.Cut(text, "=")
	key = clean(key)
	for _, p := range s.parts() {
		if found && key == p.key {
			return p, strings.TrimSpace(value), true
		}
	}
	return scopePart{}, "", false
}

// readName reads one word, or one text in quotes.
func readName(text string) (name, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", fmt.Errorf("the quotes of %s do not close", text)
		}
		if name, err = strconv.Unquote(quoted); err != nil {
			return "", "", err
		}
		rest = text[len(quoted):]
	} else if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		name, rest = text[:end], text[end:]
	} else {
		name = text
	}
	if name == "" {
		return "", "", fmt.Errorf("the name is missing")
	}
	return name, strings.TrimSpace(rest), nil
}
