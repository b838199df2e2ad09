package corpus

import (
	"bytes"
	"encoding/json"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// Recognize tells by the beginning of a file how it holds its text; ok is
// false where none of the formats fits. Golden prompts look like prose and
// must be named.
func Recognize(head []byte) (format Format, ok bool) {
	head = trim(head)
	if len(head) == 0 {
		return "", false
	}
	switch head[0] {
	case '[':
		if keys := keysOf(bytes.TrimLeft(head[1:], " \t\r\n")); keys["conversations"] {
			return ShareGPT, true
		}
		return "", false
	case '{':
		switch keys := keysOf(head); {
		case keys["conversations"]:
			return ShareGPT, true
		case keys["body"] && (keys["custom_id"] || keys["url"] || keys["method"]):
			return Batch, true
		case keys["question"] && keys["function"]:
			return Calls, true
		case keys["prompt"] || keys["messages"] || keys["turns"] && keys["category"]:
			return Lines, true
		}
		return "", false
	}
	if setting.Match(head) || !isProse(head) {
		return "", false
	}
	return Prose, true
}

// setting is the first line of a YAML file.
var setting = regexp.MustCompile(`^(#.*\n)*[a-z_]+:([ \n]|$)`)

// keysOf lists the keys of the JSON object at the start of data, as far as it
// goes: a beginning of a file may end inside the first row.
func keysOf(data []byte) map[string]bool {
	keys := map[string]bool{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return keys
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			break
		}
		if name, ok := key.(string); ok {
			keys[name] = true
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			break
		}
	}
	return keys
}

// isProse says that head is mostly words, which a table of figures is not.
func isProse(head []byte) bool {
	letters, spaces, all := 0, 0, 0
	for len(head) > 0 {
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size == 1 {
			if !utf8.FullRune(head) {
				break // cut off inside a character
			}
			return false
		}
		head = head[size:]
		all++
		switch {
		case r == 0:
			return false
		case unicode.IsLetter(r), unicode.IsMark(r):
			letters++
		case unicode.IsSpace(r):
			spaces++
		}
	}
	// Some scripts put no spaces between words; they have hardly anything but
	// letters.
	const mostly, nearlyAll, some = 0.65, 0.8, 0.04
	share := func(n int) float64 { return float64(n) / float64(max(all, 1)) }
	return share(letters+spaces) > mostly && (share(spaces) > some || share(letters) > nearlyAll)
}
