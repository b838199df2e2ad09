package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// anthropicMessages is Anthropic's messages API.
var anthropicMessages = Dialect{
	Name:     "anthropic-messages",
	Path:     "/v1/messages",
	KeyEnv:   "ANTHROPIC_API_KEY",
	Features: Features{Reasoning: true, Tools: true, Stop: true},
	messages: &anthropicParts,
	needs:    []llm.Need{llm.NeedTools, llm.NeedToolChoice, llm.NeedParallel, llm.NeedAdapter},
	Headers: func(key string) [][2]string {
		headers := [][2]string{{"anthropic-version", "2023-06-01"}}
		if key != "" {
			headers = append(headers, [2]string{"x-api-key", key})
		}
		return headers
	},

	Encode: encodeAnthropic,
	Adapt: func(body []byte, q Quirks) (Quirks, bool) {
		was := q
		q.NoGreedy = q.NoGreedy || names(body, "temperature", q)
		return q, q != was
	},
	scan:  scanAnthropic,
	tree:  treeAnthropic,
	whole: treeAnthropicWhole,

	ParseRequest: parse[anthropicRequest],
	Open: func(dst []byte, r *Reply) []byte {
		dst = appendAnthropicMessage(append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"...), r)
		dst = appendAnthropicUsage(append(dst, `],"stop_reason":null,"stop_sequence":null,"usage":`...), r.Usage)
		return append(dst, "}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"...)
	},
	Output: outputAnthropic,
	Close: func(dst []byte, r *Reply) []byte {
		dst = jsonio.Appendf(stopBlock(dst, r), "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":%s,\"stop_sequence\":null},\"usage\":", anthropicFinish(r))
		return append(appendAnthropicUsage(dst, r.Usage), "}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
	},
	Whole:       wholeAnthropic,
	EncodeError: anthropicErrors.encode,
	EncodeErrorEvent: func(dst []byte, message string) []byte {
		return append(anthropicErrors.encode(append(dst, "event: error\ndata: "...), 500, message), "\n\n"...)
	},
}

func encodeAnthropic(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, r, q)
	b.model(r)
	messages := r.Messages
	if len(messages) > 0 && messages[0].Role == "system" {
		b.str("system", messages[0].Content)
		messages = messages[1:]
	}
	b.prompt("messages", messages, anthropicParts.append)
	b.int("max_tokens", int64(r.MaxTokens))
	b.flag("stream", r.Stream)
	b.heat(r)
	b.strs("stop_sequences", r.Sampling.Stop)
	b.tools(&anthropicTools, r)
	if choice := anthropicChoice(r.Tools); choice != "" {
		b.raw("tool_choice", choice)
	}
	return b.end()
}

// anthropicChoice says in one object what has to be called, and whether calls
// may come together.
func anthropicChoice(t *llm.Toolset) string {
	choice := anthropicTools.choice(t)
	if t == nil || t.Parallel == nil {
		return choice
	}
	return fmt.Sprintf(`%s,"disable_parallel_tool_use":%t}`, strings.TrimSuffix(cmp.Or(choice, `{"type":"auto"}`), "}"), !*t.Parallel)
}

// scanAnthropic reads any of the stream's events. Their fields never mean two
// things, so the event's type matters only for closing and for errors.
func scanAnthropic(s *jsonio.Scanner, d *Delta) {
	var seen uint
	var message, usage anthropicUsage
	var block anthropicCall
	index := noCall
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "type":
			kind := s.Text()
			s.FailIf(kind.Escaped || string(kind.Raw) == "error")
			d.Done = string(kind.Raw) == "message_stop"
		case "delta", "content_block":
			if s.Object(&seen, 0) {
				block = scanAnthropicBlock(s, d)
			}
		case "index":
			index = s.Count()
		case "message":
			if s.Object(&seen, 1) {
				message = scanAnthropicMessage(s)
			}
		case "usage":
			s.MarkSeen(&seen, 2)
			usage = scanAnthropicUsage(s)
		case "error", "object":
			s.Fail()
		default:
			s.Skip()
		}
	}
	if len(block.name.Raw)+len(block.input.Raw) > 0 {
		d.piece(index, block.id, block.name, block.input)
	}
	message.report(d)
	usage.report(d)
}

// anthropicCall is what a block says of a call.
type anthropicCall struct{ id, name, input jsonio.Span }

func scanAnthropicBlock(s *jsonio.Scanner, d *Delta) (call anthropicCall) {
	var text, thinking, redacted, finish jsonio.Span
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "text":
			s.Into(&text)
		case "thinking":
			s.Into(&thinking)
		case "data":
			s.Into(&redacted)
		case "id":
			s.Into(&call.id)
		case "name":
			s.Into(&call.name)
		case "partial_json":
			s.Into(&call.input)
		case "stop_reason":
			s.Into(&finish)
		default:
			s.Skip()
		}
	}
	d.join(&d.Text, text)
	d.join(&d.Reasoning, thinking)
	d.join(&d.Reasoning, redacted)
	d.setFinish(finish)
	return call
}

// scanAnthropicMessage reads the message of message_start, of which only the
// usage matters: its content is always empty.
func scanAnthropicMessage(s *jsonio.Scanner) (u anthropicUsage) {
	var seen uint
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		if string(k) != "usage" {
			s.Skip()
			continue
		}
		s.MarkSeen(&seen, 0)
		u = scanAnthropicUsage(s)
	}
	return u
}

type anthropicUsage struct {
	given                                    bool
	input, created, cached, output, thinking int
}

// report adds u to what the event says. The prompt is what was computed, what
// was written to the cache, and what was found there.
func (u anthropicUsage) report(d *Delta) {
	if !u.given {
		return
	}
	d.HasUsage = true
	MergeUsage(&d.Usage, llm.Usage{
		PromptTokens:    u.input + u.created + u.cached,
		CachedTokens:    u.cached,
		OutputTokens:    u.output,
		ReasoningTokens: u.thinking,
	})
}

func scanAnthropicUsage(s *jsonio.Scanner) (u anthropicUsage) {
	if s.Null() {
		return u
	}
	u.given = true
	var seen uint
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "input_tokens":
			s.Tally(&u.input)
		case "cache_creation_input_tokens":
			s.Tally(&u.created)
		case "cache_read_input_tokens":
			s.Tally(&u.cached)
		case "output_tokens":
			s.Tally(&u.output)
		case "output_tokens_details":
			s.MarkSeen(&seen, 0)
			u.thinking = scanCountIn(s, "thinking_tokens")
		default:
			s.Skip()
		}
	}
	return u
}

// treeAnthropic reads a stream event.
func treeAnthropic(t jsonio.Tree, d *Delta) {
	d.Done = t.Str("type") == "message_stop"
	for _, key := range []string{"delta", "content_block"} {
		b := t.Object(key)
		treeAnthropicBlock(b, d)
		if name, input := b.Str("name"), b.Str("partial_json"); name+input != "" {
			d.pieceString(callIndex(t, "index"), b.Str("id"), name, input)
		}
		d.readFinish(b.Str("stop_reason"))
	}
	treeAnthropicUsage(t.Object("message")).report(d)
	treeAnthropicUsage(t).report(d)
}

// treeAnthropicWhole reads a reply that was not streamed.
func treeAnthropicWhole(t jsonio.Tree, d *Delta) {
	for _, b := range t.Objects("content") {
		treeAnthropicBlock(b, d)
		if name := b.Str("name"); name != "" {
			input := ""
			if object := b.Object("input"); len(object) > 0 {
				input = jsonio.Compact(object)
			}
			d.pieceString(noCall, b.Str("id"), name, input)
		}
	}
	d.readFinish(t.Str("stop_reason"))
	treeAnthropicUsage(t).report(d)
}

func treeAnthropicBlock(b jsonio.Tree, d *Delta) {
	d.joinString(&d.Text, b.Str("text"))
	d.joinString(&d.Reasoning, b.Str("thinking"))
	d.joinString(&d.Reasoning, b.Str("data"))
}

func treeAnthropicUsage(t jsonio.Tree) anthropicUsage {
	u := t.Object("usage")
	return anthropicUsage{
		given:    u != nil,
		input:    u.Count("input_tokens"),
		created:  u.Count("cache_creation_input_tokens"),
		cached:   u.Count("cache_read_input_tokens"),
		output:   u.Count("output_tokens"),
		thinking: u.Object("output_tokens_details").Count("thinking_tokens"),
	}
}

type anthropicRequest struct {
	commonFields
	toolFields
	System   json.RawMessage `json:"system"`
	Messages json.RawMessage `json:"messages"`
	Stop     []string        `json:"stop_sequences"`
}

func (in *anthropicRequest) request() (*llm.Request, ServerOptions, error) {
	o := ServerOptions{IncludeUsage: true}
	r, err := in.commonFields.request()
	if err != nil {
		return nil, o, err
	}
	if in.MaxTokens == nil {
		return nil, o, errors.New("max_tokens: expected the most tokens to generate")
	}
	if r.Tools, err = in.toolset(); err != nil {
		return nil, o, err
	}
	if r.Messages, err = anthropicParts.parse("messages", in.Messages); err != nil {
		return nil, o, err
	}
	system := llm.Message{Role: "system"}
	var content any
	if len(in.System) > 0 && json.Unmarshal(in.System, &content) == nil {
		err = anthropicParts.parseContent(&system, "system", content)
	}
	if system.Content != "" {
		r.Messages = append([]llm.Message{system}, r.Messages...)
	}
	r.Sampling.Stop = in.Stop
	return r, o, err
}

func appendAnthropicUsage(dst []byte, u llm.Usage) []byte {
	return jsonio.Appendf(dst, `{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":%d,`+
		`"output_tokens_details":{"thinking_tokens":%d}}`, u.PromptTokens-u.CachedTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens)
}

// appendAnthropicMessage begins a message, up to its content.
func appendAnthropicMessage(dst []byte, r *Reply) []byte {
	return jsonio.Appendf(dst, `{"id":"msg_%b","type":"message","role":"assistant","model":%s,"content":[`, r.ID, r.Model)
}

// appendEvent appends an event of a kind, with what follows its type.
func appendEvent(dst []byte, kind, form string, values ...any) []byte {
	dst = jsonio.Appendf(dst, "event: %r\ndata: {\"type\":\"%r\"", kind, kind)
	return append(jsonio.Appendf(dst, form, values...), "}\n\n"...)
}

// outputAnthropic writes a delta into the block of its part. The start of a
// tool's block carries the function's name and is an output by itself.
func outputAnthropic(dst []byte, r *Reply, part llm.PartKind, text string) []byte {
	begins := r.blocks == 0 || part != r.part
	if begins {
		dst = stopBlock(dst, r)
		r.blocks++
	}
	if r.turn(part); begins {
		dst = startBlock(dst, r, text)
		if part == llm.ToolCall {
			return dst
		}
	}
	form := `,"index":%d,"delta":{"type":"text_delta","text":%s}`
	switch part {
	case llm.ToolCall:
		form = `,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`
	case llm.Reasoning:
		form = `,"index":%d,"delta":{"type":"thinking_delta","thinking":%s}`
	}
	return appendEvent(dst, "content_block_delta", form, r.blocks-1, text)
}

const toolUse = `{"type":"tool_use","id":"toolu_%d","name":%s,"input":%r}`

func startBlock(dst []byte, r *Reply, name string) []byte {
	const kind = "content_block_start"
	switch r.part {
	case llm.ToolCall:
		return appendEvent(dst, kind, `,"index":%d,"content_block":`+toolUse, r.blocks-1, r.calls-1, name, "{}")
	case llm.Reasoning:
		return appendEvent(dst, kind, `,"index":%d,"content_block":{"type":"thinking","thinking":"","signature":""}`, r.blocks-1)
	}
	return appendEvent(dst, kind, `,"index":%d,"content_block":{"type":"text","text":""}`, r.blocks-1)
}

func stopBlock(dst []byte, r *Reply) []byte {
	if r.blocks == 0 {
		return dst
	}
	if r.part == llm.Reasoning {
		dst = appendEvent(dst, "content_block_delta", `,"index":%d,"delta":{"type":"signature_delta","signature":"c2ln"}`, r.blocks-1)
	}
	return appendEvent(dst, "content_block_stop", `,"index":%d`, r.blocks-1)
}

func anthropicFinish(r *Reply) string { return r.finish("end_turn", "max_tokens", "tool_use") }

func wholeAnthropic(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	dst = appendAnthropicMessage(dst, r)
	if reasoning != "" {
		dst = jsonio.Appendf(dst, `{"type":"thinking","thinking":%s,"signature":"c2ln"},`, reasoning)
	}
	if text != "" {
		dst = jsonio.Appendf(dst, `{"type":"text","text":%s},`, text)
	}
	if tool != "" {
		r.turn(llm.ToolCall)
		name, arguments := cutTool(tool)
		dst = jsonio.Appendf(dst, toolUse+",", r.calls-1, name, toolInput(arguments))
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	dst = jsonio.Appendf(dst, `],"stop_reason":%s,"stop_sequence":null,"usage":`, anthropicFinish(r))
	return append(appendAnthropicUsage(dst, r.Usage), '}')
}

var anthropicErrors = errorForm{
	names: map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error", 503: "overloaded_error", 529: "overloaded_error",
	},
	other: "api_error",
	body: func(dst []byte, _ int, name, message string) []byte {
		return jsonio.Appendf(dst, `{"type":"error","error":{"type":%s,"message":%s}}`, name, message)
	},
}
