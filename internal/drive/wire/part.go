package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// partForm is how one kind of part stands in the messages of each API. A form is
// JSON in which %t stands for the part's text, %j for its text as a JSON value, %i for the id
// of its call, %n for the tool's name, %d for its bytes in base64, %m for their media type and
// %f for the second half of that. An API without a form has no word for the kind.
// One form serves both halves: it is filled in to write a part, and matched to
// read one.
type partForm struct {
	kind                               llm.PartKind
	chat, responses, anthropic, ollama string
}

// partForms is the table of parts: a new kind is a row.
var partForms = []partForm{
	{llm.Text, `{"type":"text","text":"%t"}`, `{"type":"input_text","text":"%t"}`, `{"type":"text","text":"%t"}`, ""},
	{llm.ToolCall,
		`{"id":"%i","type":"function","function":{"name":"%n","arguments":"%t"}}`,
		`{"type":"function_call","call_id":"%i","name":"%n","arguments":"%t"}`,
		`{"type":"tool_use","id":"%i","name":"%n","input":%j}`,
		`{"function":{"name":"%n","arguments":%j}}`},
	{llm.ToolResult,
		`{"role":"tool","tool_call_id":"%i","content":"%t"}`,
		`{"type":"function_call_output","call_id":"%i","output":"%t"}`,
		`{"type":"tool_result","tool_use_id":"%i","content":"%t"}`,
		`{"role":"tool","tool_name":"%n","content":"%t"}`},
	{llm.Image,
		`{"type":"image_url","image_url":{"url":"data:%m;base64,%d"}}`,
		`{"type":"input_image","image_url":"data:%m;base64,%d"}`,
		`{"type":"image","source":{"type":"base64","media_type":"%m","data":"%d"}}`,
		`"%d"`},
	{kind: llm.Sound, chat: `{"type":"input_audio","input_audio":{"data":"%d","format":"%f"}}`},
}

// messageForm is how an API writes messages that are more than text.
type messageForm struct {
	column func(*partForm) string
	// places has the kinds of parts that are no content: the key of the message
	// that lists them, or alone for those that stand beside the messages.
	places []place
	roles  map[string]string // those that are called otherwise
	named  bool              // messages can have names
}

type place struct {
	kind llm.PartKind
	key  string
}

const (
	content = ""
	alone   = "."
)

var (
	chatParts = messageForm{column: func(f *partForm) string { return f.chat }, named: true,
		places: []place{{llm.ToolCall, "tool_calls"}, {llm.ToolResult, alone}}}
	responsesParts = messageForm{column: func(f *partForm) string { return f.responses },
		places: []place{{llm.ToolCall, alone}, {llm.ToolResult, alone}}}
	anthropicParts = messageForm{column: func(f *partForm) string { return f.anthropic }, roles: map[string]string{"tool": "user"}}
	ollamaParts    = messageForm{column: func(f *partForm) string { return f.ollama },
		places: []place{{llm.ToolCall, "tool_calls"}, {llm.Image, "images"}, {llm.ToolResult, alone}}}
)

// in gives the parts that stand in a place.
func (f *messageForm) in(key string, parts []llm.Part) []llm.Part {
	var list []llm.Part
	for _, p := range parts {
		at := content
		if i := slices.IndexFunc(f.places, func(at place) bool { return at.kind == p.Kind }); i >= 0 {
			at = f.places[i].key
		}
		if at == key {
			list = append(list, p)
		}
	}
	return list
}

// form is how a kind is written, "" where there is no word for it.
func (f *messageForm) form(kind llm.PartKind) string {
	for i := range partForms {
		if partForms[i].kind == kind {
			return f.column(&partForms[i])
		}
	}
	return ""
}

// has reports whether messages can say what is needed.
func (f *messageForm) has(need llm.Need) bool {
	if need == llm.NeedName {
		return f.named
	}
	return slices.ContainsFunc(partForms, func(p partForm) bool { return f.column(&p) != "" && llm.Need(p.kind.String()) == need })
}

// append writes the messages as an array.
func (f *messageForm) append(dst []byte, messages []llm.Message) []byte {
	dst = append(dst, '[')
	for i := range messages {
		if m := &messages[i]; len(m.Parts) == 0 && m.Name == "" {
			dst = jsonio.Appendf(dst, `{"role":%s,"content":%s},`, m.Role, m.Content)
		} else {
			dst = f.appendMessage(dst, m)
		}
	}
	return closeList(dst)
}

// closeList ends an array whose elements are each followed by a comma.
func closeList(dst []byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst = dst[:last]
	}
	return append(dst, ']')
}

// appendMessage writes a message with parts, and then those that stand alone.
func (f *messageForm) appendMessage(dst []byte, m *llm.Message) []byte {
	apart := f.in(alone, m.Parts)
	if m.Content != "" || len(apart) < max(1, len(m.Parts)) {
		dst = jsonio.Appendf(dst, `{"role":%s,"content":`, cmp.Or(f.roles[m.Role], m.Role))
		dst = f.appendContent(dst, m.Content, f.in(content, m.Parts))
		for _, at := range f.places {
			if list := f.in(at.key, m.Parts); at.key != alone && len(list) > 0 {
				dst = closeList(f.appendParts(jsonio.Appendf(dst, `,%s:[`, at.key), list))
			}
		}
		if m.Name != "" && f.named {
			dst = jsonio.Appendf(dst, `,"name":%s`, m.Name)
		}
		dst = append(dst, "},"...)
	}
	return f.appendParts(dst, apart)
}

// appendContent writes what a message says: a string, or a list where there is
// more than text.
func (f *messageForm) appendContent(dst []byte, text string, parts []llm.Part) []byte {
	if len(parts) == 0 {
		return jsonio.AppendString(dst, text)
	}
	if f.form(llm.Text) == "" { // no lists: what is text is put together
		for _, p := range parts {
			if p.Kind == llm.Text {
				text += p.Text
			}
		}
		return jsonio.AppendString(dst, text)
	}
	dst = append(dst, '[')
	if text != "" {
		dst = f.appendParts(dst, []llm.Part{{Text: text}})
	}
	return closeList(f.appendParts(dst, parts))
}

// appendParts writes each part that there is a word for, with a comma behind it.
func (f *messageForm) appendParts(dst []byte, parts []llm.Part) []byte {
	for i := range parts {
		if form := f.form(parts[i].Kind); form != "" {
			dst = append(appendPart(dst, form, &parts[i]), ',')
		}
	}
	return dst
}

// appendPart fills a form in.
func appendPart(dst []byte, form string, p *llm.Part) []byte {
	for {
		i := strings.IndexByte(form, '%')
		if i < 0 {
			return append(dst, form...)
		}
		dst = append(dst, form[:i]...)
		switch verb := form[i+1]; verb {
		case 't':
			dst = jsonio.AppendUnquoted(dst, p.Text)
		case 'j':
			dst = append(dst, toolInput(p.Text)...)
		case 'i':
			dst = jsonio.AppendUnquoted(dst, p.Call)
		case 'n':
			dst = jsonio.AppendUnquoted(dst, p.Name)
		case 'd':
			dst = base64.StdEncoding.AppendEncode(dst, p.Data)
		case 'm':
			dst = jsonio.AppendUnquoted(dst, p.Media)
		case 'f':
			_, second, _ := strings.Cut(p.Media, "/")
			dst = jsonio.AppendUnquoted(dst, second)
		}
		form = form[i+2:]
	}
}

// toolInput is what stands for a call's arguments where an object must.
func toolInput(arguments string) string {
	switch {
	case arguments == "":
		return "{}"
	case json.Valid([]byte(arguments)):
		return arguments
	}
	return string(jsonio.Appendf(nil, `{"text":%s}`, arguments))
}

// parse is the server's half of append.
func (f *messageForm) parse(field string, raw json.RawMessage) ([]llm.Message, error) {
	var in []json.RawMessage
	if json.Unmarshal(raw, &in) != nil || len(in) == 0 {
		return nil, fmt.Errorf("%s: expected at least one message", field)
	}
	out := make([]llm.Message, len(in))
	for i, element := range in {
		at := fmt.Sprintf("%s[%d]", field, i)
		t, err := jsonio.ParseTree(element)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if out[i], err = f.parseMessage(at, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (f *messageForm) parseMessage(at string, t jsonio.Tree) (llm.Message, error) {
	m := llm.Message{Role: t.Str("role")}
	for _, in := range f.places {
		form := f.form(in.kind)
		if in.key == alone {
			if p, ok := readPart(form, in.kind, map[string]any(t)); ok {
				return llm.Message{Role: cmp.Or(m.Role, aloneRoles[in.kind]), Parts: []llm.Part{p}}, nil
			}
			continue
		}
		list, _ := t[in.key].([]any)
		for i, e := range list {
			p, ok := readPart(form, in.kind, e)
			if !ok {
				return m, fmt.Errorf("%s.%s[%d]: expected %s", at, in.key, i, form)
			}
			m.Parts = append(m.Parts, p)
		}
	}
	if f.named {
		m.Name = t.Str("name")
	}
	if m.Role == "" {
		return m, fmt.Errorf("%s.role: expected a role such as \"user\"", at)
	}
	listed := m.Parts
	m.Parts = nil
	err := f.parseContent(&m, at+".content", t["content"])
	m.Parts = append(m.Parts, listed...)
	return m, err
}

// aloneRoles are those of parts that stand beside messages and name none.
var aloneRoles = map[llm.PartKind]string{llm.ToolCall: "assistant", llm.ToolResult: "tool"}

// parseContent reads a message's content: a string, or a list of parts. Texts
// that begin it are put together. null is the empty string.
func (f *messageForm) parseContent(m *llm.Message, at string, content any) error {
	switch content := content.(type) {
	case nil:
	case string:
		m.Content = content
	case []any:
		for i, e := range content {
			p, ok := f.readContent(e)
			switch {
			case !ok:
				kind, _ := e.(map[string]any)
				return fmt.Errorf(`%s[%d]: expected a part of type "text" with its text, or another that this API has, got type %q`, at, i, jsonio.Tree(kind).Str("type"))
			case p.Kind == llm.Text && len(m.Parts) == 0:
				m.Content += p.Text
			default:
				m.Parts = append(m.Parts, p)
			}
		}
	default:
		return fmt.Errorf("%s: expected a string or an array of parts", at)
	}
	return nil
}

func (f *messageForm) readContent(e any) (llm.Part, bool) {
	for i := range partForms {
		if p, ok := readPart(f.column(&partForms[i]), partForms[i].kind, e); ok {
			return p, true
		}
	}
	return readPart(`{"type":"output_text","text":"%t"}`, llm.Text, e)
}

// readPart matches a value with a form.
func readPart(form string, kind llm.PartKind, value any) (llm.Part, bool) {
	p := llm.Part{Kind: kind}
	var shape any
	if json.Unmarshal([]byte(strings.ReplaceAll(form, "%j", `"%j"`)), &shape) != nil {
		return p, false // there is no form
	}
	return p, match(shape, value, &p)
}

func match(form, value any, p *llm.Part) bool {
	if form == "%j" {
		p.Text = jsonio.Compact(value)
		return value != nil
	}
	switch form := form.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		for key, inner := range form {
			ok = ok && match(inner, object[key], p)
		}
		return ok
	case string:
		if list, ok := value.([]any); ok && form == "%t" { // what a tool gave back, as parts
			var m llm.Message
			ok = anthropicParts.parseContent(&m, "", list) == nil && m.Parts == nil
			p.Text = m.Content
			return ok
		}
		text, ok := value.(string)
		return ok && matchText(form, text, p)
	}
	return false
}

// matchText takes the values out of a text whose form is known.
func matchText(form, text string, p *llm.Part) bool {
	for {
		before, after, more := strings.Cut(form, "%")
		rest, ok := strings.CutPrefix(text, before)
		if !ok || !more {
			return ok && rest == ""
		}
		form = after[1:]
		end := len(rest)
		if literal, _, _ := strings.Cut(form, "%"); literal != "" {
			if end = strings.Index(rest, literal); end < 0 {
				return false
			}
		}
		value := rest[:end]
		text = rest[end:]
		var err error
		switch after[0] {
		case 't':
			p.Text = value
		case 'i':
			p.Call = value
		case 'n':
			p.Name = value
		case 'd':
			p.Data, err = base64.StdEncoding.DecodeString(value)
		case 'm':
			p.Media = value
		case 'f':
			p.Media = "audio/" + value
		}
		if err != nil {
			return false
		}
	}
}
