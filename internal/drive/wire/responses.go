package wire

import (
	"encoding/json"
	"strings"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// openAIResponses is OpenAI's newest dialect, as OpenAI, vLLM, SGLang and
// llama.cpp serve it. Every event says by its type what its delta is.
var openAIResponses = Dialect{
	Name:     "openai-responses",
	Path:     "/v1/responses",
	KeyEnv:   "OPENAI_API_KEY",
	Features: Features{Reasoning: true, Tools: true, Schemas: true, IgnoreEOS: true},
	messages: &responsesParts,
	needs:    []llm.Need{llm.NeedTools, llm.NeedToolChoice, llm.NeedParallel, llm.NeedAdapter, llm.NeedPriority},

	Encode: encodeResponses,
	Adapt: func(body []byte, q Quirks) (Quirks, bool) {
		was := q
		q.NoIgnoreEOS = q.NoIgnoreEOS || names(body, "ignore_eos", q)
		q.NoGreedy = q.NoGreedy || names(body, "temperature", q)
		return q, q != was
	},
	scan:  scanResponses,
	tree:  treeResponses,
	whole: treeResponse,

	ParseRequest: parse[responsesRequest],
	Open: func(dst []byte, r *Reply) []byte {
		for _, kind := range []string{"response.created", "response.in_progress"} {
			dst = r.appendResponse(r.beginEvent(dst, kind, `,"response":`), "in_progress")
			dst = append(dst, "}\n\n"...)
		}
		return dst
	},
	Output: outputResponses,
	Close: func(dst []byte, r *Reply) []byte {
		dst = r.finishItem(dst)
		status := r.finish("completed", "incomplete", "")
		return append(r.appendResponse(r.beginEvent(dst, "response."+status, `,"response":`), status), "}\n\n"...)
	},
	Whole: wholeResponses,
	EncodeErrorEvent: func(dst []byte, message string) []byte {
		return appendEvent(dst, "error", `,"code":"server_error","param":null,"sequence_number":0,"message":%s`, message)
	},
}

// encodeResponses asks the server not to store the reply, which is of no use
// to anyone once it was measured.
func encodeResponses(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, r, q)
	b.model(r)
	b.prompt("input", r.Messages, responsesParts.append)
	b.limit("max_output_tokens", r)
	b.raw("store", "false")
	b.flag("stream", r.Stream)
	b.ignoreEOS(r, q)
	b.priority(r)
	b.heat(r)
	b.tools(&responsesTools, r)
	b.toolChoice(&responsesTools, r)
	b.format("text", `{"format":{"type":"json_object"}}`, `{"format":{"type":"json_schema",`, "}}", q.formatOf(r))
	return b.end()
}

// scanResponses reads the events that are many, the deltas, and leaves those
// that come once to the tree.
func scanResponses(s *jsonio.Scanner, d *Delta) {
	var kind, delta jsonio.Span
	index := noCall
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "type":
			s.Into(&kind)
		case "delta":
			s.Into(&delta)
		case "output_index":
			index = s.Count()
		case "object":
			s.Fail()
		case "response", "item":
			s.FailIf(!s.Null())
		default:
			skipOther(s, k)
		}
	}
	s.FailIf(kind.Escaped || !strings.HasSuffix(string(kind.Raw), ".delta"))
	switch part := d.partOf(string(kind.Raw)); part {
	case nil:
	case &d.Tool:
		d.piece(index, jsonio.Span{}, jsonio.Span{}, delta)
	default:
		d.join(part, delta)
	}
}

// partOf is the part of d that the delta of an event belongs to; nil for none.
func (d *Delta) partOf(kind string) *[]byte {
	switch kind {
	case "response.output_text.delta", "response.refusal.delta":
		return &d.Text
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return &d.Reasoning
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta":
		return &d.Tool
	}
	return nil
}

// treeResponses reads any of the stream's events.
func treeResponses(t jsonio.Tree, d *Delta) {
	kind := t.Str("type")
	index := callIndex(t, "output_index")
	switch part := d.partOf(kind); part {
	case nil:
	case &d.Tool:
		d.pieceString(index, "", "", t.Str("delta"))
	default:
		d.joinString(part, t.Str("delta"))
	}
	response := t.Object("response")
	switch kind {
	case "response.output_item.added":
		if item := t.Object("item"); item.Str("name") != "" {
			d.pieceString(index, item.Str("call_id"), item.Str("name"), "")
		}
	case "response.completed", "response.incomplete":
		d.Done = true
		treeResponseEnd(response, d)
	case "response.failed", "response.cancelled":
		d.fail(kind)
		if m, ok := errorMessage(response); ok {
			d.fail(m)
		}
	}
}

// treeResponseEnd reads what a response says of its end. One that calls a
// function has no word for it but the call itself.
func treeResponseEnd(t jsonio.Tree, d *Delta) {
	d.Finish = finishStop
	for _, item := range t.Objects("output") {
		if strings.HasSuffix(item.Str("type"), "_call") {
			d.Finish = finishTools
		}
	}
	d.readFinish(t.Object("incomplete_details").Str("reason"))
	treeUsage(t, d, "input", "output")
}

// treeResponse reads a reply that was not streamed.
func treeResponse(t jsonio.Tree, d *Delta) {
	for _, item := range t.Objects("output") {
		for _, part := range item.Objects("content") {
			switch part.Str("type") {
			case "reasoning_text":
				d.joinString(&d.Reasoning, part.Str("text"))
			default:
				d.joinString(&d.Text, part.Str("text"))
				d.joinString(&d.Text, part.Str("refusal"))
			}
		}
		for _, part := range item.Objects("summary") {
			d.joinString(&d.Reasoning, part.Str("text"))
		}
		d.pieceString(noCall, item.Str("call_id"), item.Str("name"), item.Str("arguments"))
	}
	treeResponseEnd(t, d)
}

type responsesRequest struct {
	commonFields
	toolFields
	Input           json.RawMessage `json:"input"`
	Instructions    string          `json:"instructions"`
	MaxOutputTokens *int            `json:"max_output_tokens"`
	IgnoreEOS       bool            `json:"ignore_eos"`
	Text            struct {
		Format formatFields `json:"format"`
	} `json:"text"`
}

func (in *responsesRequest) request() (*llm.Request, ServerOptions, error) {
	o := ServerOptions{IncludeUsage: true, IgnoreEOS: in.IgnoreEOS}
	in.MaxTokens = in.MaxOutputTokens
	r, err := in.commonFields.request()
	if err != nil {
		return nil, o, err
	}
	r.Format = in.Text.Format.format()
	if r.Tools, err = in.toolset(); err != nil {
		return nil, o, err
	}
	if r.Messages, err = parseInput(in.Input); in.Instructions != "" {
		r.Messages = append([]llm.Message{{Role: "system", Content: in.Instructions}}, r.Messages...)
	}
	return r, o, err
}

// parseInput reads a prompt, or messages whose contents are strings or parts.
func parseInput(raw json.RawMessage) ([]llm.Message, error) {
	var prompt *string
	if json.Unmarshal(raw, &prompt) == nil && prompt != nil {
		return []llm.Message{{Role: "user", Content: *prompt}}, nil
	}
	return responsesParts.parse("input", raw)
}

// item is one block of a response: a message, a line of thought, or a call.
type item struct {
	part llm.PartKind
	name string // of the function that is called
	text []byte
}

// itemWords are what the events of each part are called, and how its content
// and the item around it are written.
var itemWords = [...]struct{ delta, content, item string }{
	llm.Text: {"response.output_text", `{"type":"output_text","text":%s,"annotations":[]}`,
		`,"type":"message","role":"assistant","content":[`},
	llm.Reasoning: {"response.reasoning_text", `{"type":"reasoning_text","text":%s}`,
		`,"type":"reasoning","summary":[],"content":[`},
	llm.ToolCall: {delta: "response.function_call_arguments"},
}

// beginEvent begins a numbered event; "}\n\n" ends it.
func (r *Reply) beginEvent(dst []byte, kind, form string, values ...any) []byte {
	dst = jsonio.Appendf(dst, "event: %r\ndata: {\"type\":%s,\"sequence_number\":%d", kind, kind, r.events)
	r.events++
	return jsonio.Appendf(dst, form, values...)
}

// itemEvent appends an event about the item that is open, or about its one
// part.
func (r *Reply) itemEvent(dst []byte, kind, form string, values ...any) []byte {
	n := len(r.items) - 1
	dst = r.beginEvent(dst, kind, `,"item_id":"item_%d","output_index":%d`, n, n)
	if r.items[n].part != llm.ToolCall {
		dst = append(dst, `,"content_index":0`...)
	}
	return append(jsonio.Appendf(dst, form, values...), "}\n\n"...)
}

// wholeItemEvent appends an event that carries the item that is open.
func (r *Reply) wholeItemEvent(dst []byte, kind, status string) []byte {
	n := len(r.items) - 1
	return append(r.appendItem(r.beginEvent(dst, kind, `,"output_index":%d,"item":`, n), n, status), "}\n\n"...)
}

func outputResponses(dst []byte, r *Reply, part llm.PartKind, text string) []byte {
	begins := len(r.items) == 0 || r.items[len(r.items)-1].part != part
	if begins {
		dst = r.finishItem(dst)
		r.items = append(r.items, item{part: part})
	}
	call := r.turn(part)
	last := &r.items[len(r.items)-1]
	if call {
		last.name = text
	}
	if begins {
		dst = r.wholeItemEvent(dst, "response.output_item.added", "in_progress")
		if part != llm.ToolCall {
			dst = r.itemEvent(dst, "response.content_part.added", `,"part":`+itemWords[part].content, "")
		}
	}
	if call {
		return dst
	}
	last.text = append(last.text, text...)
	return r.itemEvent(dst, itemWords[part].delta+".delta", `,"delta":%s`, text)
}

// finishItem ends the item that is open, if one is.
func (r *Reply) finishItem(dst []byte) []byte {
	if len(r.items) == 0 {
		return dst
	}
	it := r.items[len(r.items)-1]
	words, text := itemWords[it.part], string(it.text)
	switch kind := words.delta + ".done"; it.part {
	case llm.ToolCall:
		dst = r.itemEvent(dst, kind, `,"name":%s,"arguments":%s`, it.name, text)
	case llm.Text:
		dst = r.itemEvent(dst, kind, `,"logprobs":[],"text":%s`, text)
	default:
		dst = r.itemEvent(dst, kind, `,"text":%s`, text)
	}
	if it.part != llm.ToolCall {
		dst = r.itemEvent(dst, "response.content_part.done", `,"part":`+words.content, text)
	}
	return r.wholeItemEvent(dst, "response.output_item.done", "completed")
}

// appendItem writes the n-th item. One that is in progress has no content yet.
func (r *Reply) appendItem(dst []byte, n int, status string) []byte {
	it := r.items[n]
	dst = jsonio.Appendf(dst, `{"id":"item_%d","status":%s`, n, status)
	if it.part == llm.ToolCall {
		return jsonio.Appendf(dst, `,"type":"function_call","call_id":"call_%d","name":%s,"arguments":%s}`, n, it.name, string(it.text))
	}
	dst = append(dst, itemWords[it.part].item...)
	if status != "in_progress" {
		dst = jsonio.Appendf(dst, itemWords[it.part].content, string(it.text))
	}
	return append(dst, "]}"...)
}

// appendResponse writes the response as it stands.
func (r *Reply) appendResponse(dst []byte, status string) []byte {
	dst = jsonio.Appendf(dst, `{"id":"resp_%b","object":"response","created_at":%d,"model":%s,"status":%s`, r.ID, r.Created, r.Model, status)
	dst = append(dst, `,"error":null,"instructions":null,"metadata":{},"tools":[],"tool_choice":"auto","parallel_tool_calls":true,"incomplete_details":`...)
	if status == "incomplete" {
		dst = append(dst, `{"reason":"max_output_tokens"}`...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = jsonio.AppendList(append(dst, `,"output":`...), len(r.items), func(dst []byte, n int) []byte { return r.appendItem(dst, n, "completed") })
	if status == "in_progress" || !r.IncludeUsage {
		return append(dst, `,"usage":null}`...)
	}
	u := r.Usage
	return jsonio.Appendf(dst, `,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,`+
		`"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}}`,
		u.PromptTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens, u.PromptTokens+u.OutputTokens)
}

func wholeResponses(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	if reasoning != "" {
		r.items = append(r.items, item{part: llm.Reasoning, text: []byte(reasoning)})
	}
	if text != "" {
		r.items = append(r.items, item{part: llm.Text, text: []byte(text)})
	}
	if tool != "" {
		r.turn(llm.ToolCall)
		name, arguments := cutTool(tool)
		r.items = append(r.items, item{part: llm.ToolCall, name: name, text: []byte(arguments)})
	}
	r.IncludeUsage = true
	return r.appendResponse(dst, r.finish("completed", "incomplete", ""))
}
