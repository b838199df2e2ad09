package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"redline/internal/text"
)

// spans reads OpenTelemetry GenAI spans: lines of OTLP in JSON, which hold
// many spans, and lines of one flat span each.
type spans struct {
	flat *columnReader
	// others counts spans that are no generation: tools, agents, which repeat
	// the tokens of the calls inside them, and everything else a service does.
	others int
}

// spanColumns are the attributes of a span by their path in a flat one.
var spanColumns = [roleCount][]string{
	roleTime:      {"starttimeunixnano", "starttime", "start", "timestamp"},
	rolePrompt:    attributes("genai.usage.inputtokens", "genai.usage.prompttokens", "llm.usage.prompttokens"),
	roleOutput:    attributes("genai.usage.outputtokens", "genai.usage.completiontokens", "llm.usage.completiontokens"),
	roleSession:   attributes("genai.conversation.id", "session.id"),
	roleTenant:    attributes("tenant.id", "enduser.id", "user.id"),
	roleClass:     attributes("genai.request.model", "genai.response.model"),
	roleText:      attributes("genai.input.messages", "genai.prompt"),
	roleOperation: attributes("genai.operation.name"),
}

// attributes gives names as they stand inside a span's attributes and beside
// them.
func attributes(names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, "attributes."+name, name)
	}
	return all
}

func newSpans(_ Options, salt uint64) lineReader {
	f := format{name: "otel", columns: spanColumns}
	// Only a role that does not exist makes this fail, and none is given.
	c, _ := newColumns(f, Options{}, salt)
	c.names = [roleCount]string{roleTime: "the start time", rolePrompt: "gen_ai.usage.input_tokens", roleOutput: "gen_ai.usage.output_tokens"}
	c.started, c.counting = true, true
	return &spans{flat: c}
}

func (s *spans) read(line []byte, number int, emit func(entry) error) error {
	if !json.Valid(line) || line[0] != '{' {
		return errors.New("is not a JSON object; expected spans as OTLP JSON lines, or one span on every line")
	}
	if bytes.Contains(line, []byte(`"resourceSpans"`)) {
		return s.readExport(line, number, emit)
	}
	var v values
	if err := s.flat.readObject(line, &v); err != nil {
		return err
	}
	return s.take(&v, number, emit)
}

// take emits a span that is a generation.
func (s *spans) take(v *values, number int, emit func(entry) error) error {
	defer s.flat.unread.next(false)
	switch string(v[roleOperation].text) {
	case "", "chat", "text_completion", "generate_content":
	default:
		s.others++
		return nil
	}
	if !v[rolePrompt].set || !v[roleOutput].set {
		s.others++
		return nil
	}
	e, err := s.flat.convert(v)
	if err != nil {
		return err
	}
	s.flat.unread.next(true)
	e.row.Line = number
	return emit(e)
}

// export is the part of an OTLP trace request that matters here.
type export struct {
	ResourceSpans []struct {
		Resource   json.RawMessage
		ScopeSpans []struct {
			Scope json.RawMessage
			Spans []map[string]json.RawMessage
		}
	}
}

// attributeList is a span's attributes in such a request.
type attributeList []struct {
	Key   string
	Value map[string]json.RawMessage
}

func (s *spans) readExport(line []byte, number int, emit func(entry) error) error {
	var x export
	if err := json.Unmarshal(line, &x); err != nil {
		return fmt.Errorf("is not an OTLP export of spans: %w", err)
	}
	var bad []error
	for _, resource := range x.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				s.flat.unread.see([]byte("resource"), resource.Resource, nil)
				s.flat.unread.see([]byte("scope"), scope.Scope, nil)
				v, err := s.spanValues(span)
				if err == nil {
					err = s.take(&v, number, emit)
				}
				if err != nil {
					bad = append(bad, err)
				}
			}
		}
	}
	return joinRows(bad)
}

// spanValues gives what of a span has a role.
func (s *spans) spanValues(span map[string]json.RawMessage) (v values, err error) {
	for name, raw := range span {
		switch name {
		case "startTimeUnixNano":
			v[roleTime] = value{text: unquote(raw), set: true}
		case "attributes":
			var list attributeList
			if err := json.Unmarshal(raw, &list); err != nil {
				return v, errors.New("attributes: expected a list of keys and values")
			}
			for _, a := range list {
				s.attribute(&v, a.Key, a.Value)
			}
		default:
			s.flat.unread.see([]byte(name), raw, nil)
		}
	}
	return v, nil
}

// attribute takes one of {"intValue":"12"}, {"stringValue":"a"}, ….
func (s *spans) attribute(v *values, key string, held map[string]json.RawMessage) {
	var path []byte
	appendName(&path, []byte(key))
	p, ok := s.flat.wanted[string(path)]
	if !ok {
		s.flat.unread.see([]byte(key), []byte{' '}, nil)
	}
	if !ok || (v[p.role].set && v[p.role].rank <= p.rank) {
		return
	}
	for _, raw := range held {
		v[p.role] = value{text: raw, set: true, place: p}
		if p.role != roleText {
			v[p.role].text = unquote(raw)
		}
	}
}

func (s *spans) end(func(entry) error) error { return nil }

func (s *spans) columnsUsed() []string { return nil } // spans have their own names

func (s *spans) idle() string { return s.flat.unread.note("fields of spans") }

func (s *spans) notes() []string {
	if s.others == 0 {
		return nil
	}
	return []string{fmt.Sprintf("spans left out because they are not generations with token counts: %s", text.Count(s.others))}
}
