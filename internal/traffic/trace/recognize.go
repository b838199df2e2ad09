package trace

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"redline/internal/text"
)

// HeadBytes is how much of a file's beginning Recognize is best given.
const HeadBytes = 64 << 10

// Recognize names the format of a file by its first lines.
func Recognize(head []byte) (name string, ok bool) {
	head = trimStart(head)
	first, _, whole := bytes.Cut(head, []byte("\n"))
	first = bytes.TrimSpace(first)
	if len(first) == 0 {
		return "", false
	}
	for _, f := range formats {
		if !f.alone && f.recognizes(head, first, whole) {
			return f.name, true
		}
	}
	return "", false
}

// trimStart leaves out the mark of the byte order and blank lines.
func trimStart(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
}

// isTable reports whether a file has columns, of which it knows none by a
// length: a time or a name at least.
func isTable(head []byte) bool {
	first, _, _ := bytes.Cut(trimStart(head), []byte("\n"))
	names := headerNames(bytes.TrimSpace(first))
	if json.Valid(first) && bytes.HasPrefix(first, []byte("{")) {
		names = objectKeys(first)
	}
	for _, name := range names {
		for _, role := range []int{roleTime, roleOutput, roleSession, roleTenant} {
			if slices.Contains(generic[role], name) {
				return true
			}
		}
	}
	return false
}

func (f format) recognizes(head, first []byte, whole bool) bool {
	object := first[0] == '{'
	switch {
	case f.csv:
		return !object && f.names(string(first)) && f.hasLengths(headerNames(first))
	case f.reader == nil && !object:
		return false
	case !f.names(string(head)):
		return false
	case f.reader != nil:
		return object == (f.name == "otel")
	}
	// A first line longer than the head cannot be walked; the names in it have
	// to do, and the generic format has none.
	if !whole && !json.Valid(first) {
		return len(f.needs) > 0
	}
	return json.Valid(first) && f.hasLengths(objectKeys(first))
}

// names says that the text has all that the format needs, and one of any.
func (f format) names(text string) bool {
	for _, n := range f.needs {
		if !strings.Contains(text, n) {
			return false
		}
	}
	return len(f.any) == 0 || slices.ContainsFunc(f.any, func(n string) bool { return strings.Contains(text, n) })
}

// hasLengths says that the lengths are among the columns: a file of prompts
// alone is no trace.
func (f format) hasLengths(columns []string) bool {
	has := func(role int) bool {
		return slices.ContainsFunc(f.columns[role], func(name string) bool { return slices.Contains(columns, name) })
	}
	return has(rolePrompt) && (has(roleOutput) || f.partial)
}

func headerNames(line []byte) []string {
	fields, err := splitCSV(nil, line)
	if err != nil {
		return nil
	}
	return text.Each(fields, func(f []byte) string { return plainName(string(f)) })
}

// IsFitted says that a file's beginning is that of a fitted workload, which
// Read reads.
func IsFitted(head []byte) bool {
	for line := range bytes.Lines(head) {
		text := strings.Trim(strings.TrimSpace(string(line)), `"'`)
		if rest, ok := strings.CutPrefix(text, "schema:"); ok {
			return strings.HasPrefix(strings.Trim(strings.TrimSpace(rest), `"'`), schemaFamily)
		}
	}
	return false
}
