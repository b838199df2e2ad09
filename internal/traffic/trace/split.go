package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// splitCSV appends the fields of a line to dst. Quoted fields may hold commas
// and doubled quotes, not line breaks.
func splitCSV(dst [][]byte, line []byte) ([][]byte, error) {
	for {
		if len(line) == 0 || line[0] != '"' {
			end := bytes.IndexByte(line, ',')
			if end < 0 {
				return append(dst, bytes.TrimSpace(line)), nil
			}
			dst, line = append(dst, bytes.TrimSpace(line[:end])), line[end+1:]
			continue
		}
		field, rest, err := quotedField(line[1:])
		if err != nil {
			return dst, err
		}
		dst = append(dst, field)
		if len(rest) == 0 {
			return dst, nil
		}
		line = rest[1:]
	}
}

// quotedField gives a field whose opening quote has been read, and the rest of
// the line from the comma on.
func quotedField(line []byte) (field, rest []byte, err error) {
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], '"')
		if i < 0 {
			return nil, nil, errors.New("a quote is not closed on its line; leave out columns whose text has line breaks")
		}
		end := from + i
		if end+1 < len(line) && line[end+1] == '"' {
			from = end + 2
			continue
		}
		if rest = line[end+1:]; len(rest) > 0 && rest[0] != ',' {
			return nil, nil, errors.New("text after a closing quote, expected a comma")
		}
		field = line[:end]
		if bytes.IndexByte(field, '"') >= 0 {
			field = bytes.ReplaceAll(field, []byte(`""`), []byte(`"`))
		}
		return field, rest, nil
	}
}

// walkObject visits the values of an object that is known to be valid JSON,
// those of nested objects by their path: plain names joined by dots. Arrays
// are visited whole.
func walkObject(data []byte, path *[]byte, visit func(path, raw []byte)) []byte {
	data = skipSpace(data[1:])
	for len(data) > 0 && data[0] != '}' {
		length := len(*path)
		end := stringEnd(data)
		appendName(path, data[1:end-1])
		data = skipSpace(data[end:])
		data = skipSpace(data[1:]) // the colon
		if data[0] == '{' {
			*path = append(*path, '.')
			data = walkObject(data, path, visit)
		} else {
			end := valueEnd(data)
			visit(*path, data[:end])
			data = data[end:]
		}
		*path = (*path)[:length]
		if data = skipSpace(data); data[0] == ',' {
			data = skipSpace(data[1:])
		}
	}
	return data[1:]
}

// appendName appends a key without case and separators, as plainName has it.
func appendName(path *[]byte, key []byte) {
	for _, b := range key {
		switch {
		case b == '_' || b == '-' || b == ' ':
		case b >= 'A' && b <= 'Z':
			*path = append(*path, b+'a'-'A')
		default:
			*path = append(*path, b)
		}
	}
}

func skipSpace(data []byte) []byte {
	for len(data) > 0 && (data[0] == ' ' || data[0] == '\t' || data[0] == '\n' || data[0] == '\r') {
		data = data[1:]
	}
	return data
}

// stringEnd is the length of the string that data begins with.
func stringEnd(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// valueEnd is the length of the value that data begins with.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i += stringEnd(data[i:]) - 1
			if depth == 0 {
				return i + 1
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(data)
}

// unquote gives the text of a JSON string, and any other value as it stands.
func unquote(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return raw
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	return []byte(text)
}

// spellPath is a path of walkObject with the keys as the object has them.
func spellPath(object []byte, path string) string {
	var entries map[string]json.RawMessage
	if json.Unmarshal(object, &entries) != nil {
		return ""
	}
	for key, value := range entries {
		var plain []byte
		appendName(&plain, []byte(key))
		if string(plain) == path {
			return key
		}
		if rest, within := strings.CutPrefix(path, string(plain)+"."); within {
			if inner := spellPath(value, rest); inner != "" {
				return key + "." + inner
			}
		}
	}
	return ""
}

// objectKeys lists the paths of an object.
func objectKeys(line []byte) []string {
	var keys []string
	var path []byte
	walkObject(line, &path, func(path, _ []byte) { keys = append(keys, string(path)) })
	return keys
}
