package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// spans reads OpenTelemetry GenAI spans: a session a line with its spans, or a
// span a line, grouped by trace.
type spans struct {
	*reading
	order []string
	rows  map[string]*spanGroup
}

// spanGroup is the calls of one session.
type spanGroup struct {
	part  string
	line  int
	calls []call
}

// call is one generation.
type call struct {
	draft
	begun, done time.Time
	messages    []Block
}

func newSpans(in *reading) reader { return &spans{reading: in, rows: map[string]*spanGroup{}} }

func (s *spans) read(value json.RawMessage, line int) error {
	var list []json.RawMessage
	var session, trace string
	var flat struct {
		Spans   json.RawMessage `json:"spans"`
		Trace   string          `json:"trace_id"`
		Session string          `json:"session_id"`
	}
	if err := json.Unmarshal(value, &flat); err != nil {
		return errors.New("expected a session with spans, or a span, on every line")
	}
	if flat.Spans == nil {
		list = []json.RawMessage{value}
	} else {
		var ignored json.RawMessage
		if err := s.decode(value, fields{"spans": &list, "session_id": &session, "trace_id": &trace, "span_count": &ignored,
			"models": &ignored, "total_tokens": &ignored}); err != nil {
			return err
		}
	}
	name := flat.Session
	if name == "" {
		name = flat.Trace
	}
	if name == "" {
		name = fmt.Sprintf("line %d", line)
	}
	if s.rows[name] == nil {
		s.order = append(s.order, name)
		s.rows[name] = &spanGroup{part: s.part, line: line}
	}
	for i, raw := range list {
		where := fmt.Sprintf("spans[%d]", i)
		if flat.Spans == nil {
			where = fmt.Sprintf("line %d", line)
		}
		if err := s.span(s.rows[name], where, raw); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return nil
}

// unsaid is a length that a span does not have.
const unsaid = math.MinInt

// span takes one that is a generation.
func (s *spans) span(g *spanGroup, where string, raw json.RawMessage) error {
	var attributes, ignored json.RawMessage
	c := call{draft: draft{where: where, from: -1}}
	var status struct {
		Code json.RawMessage `json:"code"`
	}
	var kind string
	if err := s.decode(raw, fields{"attributes": &attributes, "start_time": &c.begun, "end_time": &c.done, "status": &status, "type": &kind,
		"trace_id": &ignored, "span_id": &ignored, "parent_span_id": &ignored, "session_id": &ignored, "name": &ignored}); err != nil {
		return err
	}
	if string(status.Code) == "2" || strings.Contains(string(status.Code), "ERROR") {
		s.assumed["spans left out because they failed"]++
		return nil
	}
	var operation string
	var instructions, input, output, tools json.RawMessage
	prompt, completion := unsaid, unsaid
	if attributes != nil {
		if err := s.decode(attributes, fields{"gen_ai.operation.name": &operation, "gen_ai.request.model": &c.Model,
			"gen_ai.system_instructions": &instructions, "gen_ai.input.messages": &input, "gen_ai.output.messages": &output,
			"gen_ai.tool.definitions": &tools, "gen_ai.usage.input_tokens": &prompt, "gen_ai.usage.prompt_tokens": &prompt,
			"gen_ai.usage.output_tokens": &completion, "gen_ai.usage.completion_tokens": &completion}); err != nil {
			return fmt.Errorf("attributes: %w", err)
		}
	}
	for _, n := range []struct {
		name   string
		tokens int
	}{{"prompt", prompt}, {"output", completion}} {
		if err := checkTokens(n.name, n.tokens); err != nil && n.tokens != unsaid {
			return err
		}
	}
	switch operation {
	case "", "chat", "generate", "generate_content", "text_completion":
	default:
		s.assumed["spans left out because they are no generations"]++
		return nil
	}
	if prompt < 0 && input == nil {
		s.assumed["spans left out because they are no generations"]++
		return nil
	}
	switch {
	case c.begun.IsZero() || c.done.IsZero():
		return errors.New("has no start_time and end_time, expected both")
	case c.done.Before(c.begun):
		return errors.New("ends before it begins")
	}
	c.Took = c.done.Sub(c.begun)
	if err := s.prompt(&c, prompt, tools, instructions, input); err != nil {
		return err
	}
	if c.Output = completion; completion < 0 {
		c.Output = s.count(string(output))
	}
	g.calls = append(g.calls, c)
	return nil
}

// prompt gives a call a block for each message.
func (s *spans) prompt(c *call, tokens int, tools, instructions, input json.RawMessage) error {
	for _, part := range []struct {
		role string
		raw  json.RawMessage
	}{{"tools", tools}, {"system", instructions}} {
		if part.raw != nil {
			c.messages = append(c.messages, s.textBlock(part.role, string(part.raw)))
		}
	}
	if input != nil {
		var quoted string
		if json.Unmarshal(input, &quoted) == nil {
			input = json.RawMessage(quoted)
		}
		var messages []json.RawMessage
		if err := json.Unmarshal(input, &messages); err != nil {
			return errors.New("gen_ai.input.messages: expected a list of messages, as JSON or as text of it")
		}
		for _, m := range messages {
			c.messages = append(c.messages, s.textBlock("message", string(m)))
		}
	}
	if len(c.messages) == 0 {
		s.assumed["prompts without messages, taken to share nothing"]++
		c.messages = []Block{{s.mint(), max(0, tokens)}}
	}
	c.Prompt = tokens
	return nil
}

// scale makes the messages of a session as long, on the whole, as the server
// counted its prompts.
func (g *spanGroup) scale() {
	counted, said := 0, 0
	for _, c := range g.calls {
		if c.Prompt >= 0 {
			counted += tokensOf(c.messages)
			said += c.Prompt
		}
	}
	for i := range g.calls {
		c := &g.calls[i]
		for k := range c.messages {
			if m := &c.messages[k]; counted > 0 {
				m.Tokens = int(math.Round(float64(m.Tokens) * float64(said) / float64(counted)))
			}
		}
		c.prompt, c.Prompt = c.messages, tokensOf(c.messages)
	}
}

// end finds the streams of each session: a call continues the one whose messages
// are the leading ones of its own.
func (s *spans) end() error {
	for _, name := range s.order {
		g := s.rows[name]
		if len(g.calls) == 0 {
			continue
		}
		g.scale()
		slices.SortStableFunc(g.calls, func(a, b call) int { return a.begun.Compare(b.begun) })
		var drafts []draft
		var streams []stream
		of := make([]int, len(g.calls)) // the stream of each
		for i := range g.calls {
			c := &g.calls[i]
			c.start = c.begun.Sub(g.calls[0].begun)
			before, last := -1, -1
			for j := range g.calls[:i] {
				if o := &g.calls[j]; !o.done.After(c.begun) {
					if common(o.messages, c.messages) == len(o.messages) && (before < 0 || len(o.messages) >= len(g.calls[before].messages)) {
						before = j
					}
					if last < 0 || o.done.After(g.calls[last].done) {
						last = j
					}
				}
			}
			switch {
			case before >= 0:
				of[i] = of[before]
			case last >= 0:
				of[i] = len(streams)
				streams = append(streams, stream{parent: of[last]})
			default:
				of[i] = len(streams)
				streams = append(streams, stream{parent: -1})
			}
			own := &streams[of[i]]
			own.drafts = append(own.drafts, i)
			for up := own.parent; up >= 0; up = streams[up].parent {
				c.Depth++
			}
			if of[i] > 0 {
				c.Agent = fmt.Sprintf("stream %d", of[i]+1)
			}
			drafts = append(drafts, c.draft)
		}
		link(drafts, streams)
		findHistories(drafts, streams)
		if err := s.add(name, g.part, g.line, drafts); err != nil {
			return err
		}
	}
	return nil
}
