package wire

import (
	"strings"

	"redline/internal/llm"
)

// openAIResponses is OpenAI's newest dialect, as OpenAI, vLLM, SGLang and
// llama.cpp serve it. Every event says by its type what its delta is.
var openAIResponses = Dialect{
	Name:    "openai-responses",
	Path:    "/v1/responses",
	KeyEnv:  "OPENAI_API_KEY",
	Schemas: true,
	Headers: openAIHeaders,

	Encode:      encodeResponses,
	Adapt:       adaptResponses,
	Decode:      decodeResponses,
	DecodeWhole: func(body []byte, d *Delta) error { return decodeWhole(body, d, treeResponse) },
	DecodeError: decodeError,

	ParseRequest:     parseResponses,
	Open:             openResponses,
	Output:           outputResponses,
	Close:            closeResponses,
	Whole:            wholeResponses,
	EncodeError:      encodeOpenAIError,
	EncodeErrorEvent: encodeResponsesErrorEvent,
}

// encodeResponses asks the server not to store the reply, which is of no use
// to anyone once it was measured.
func encodeResponses(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, q)
	b.str("model", r.Model)
	if b.key("input") {
		b.dst = appendMessages(b.dst, r.Messages)
	}
	if r.MaxTokens > 0 {
		b.int("max_output_tokens", int64(r.MaxTokens))
	}
	b.raw("store", "false")
	if r.Stream {
		b.raw("stream", "true")
	}
	if !q.NoIgnoreEOS && !r.Natural {
		b.raw("ignore_eos", "true")
	}
	b.float("temperature", r.Sampling.Temperature)
	b.float("top_p", r.Sampling.TopP)
	if schema := schemaOf(r, q); schema != "" {
		b.raw("text", `{"format":{"type":"json_schema","name":"answer","strict":true,"schema":`+schema+"}}")
	}
	return b.end()
}

func adaptResponses(body []byte, q Quirks) (Quirks, bool) {
	was := q
	if names(body, "ignore_eos", q) {
		q.NoIgnoreEOS = true
	}
	return q, q != was
}

func decodeResponses(name, data []byte, d *Delta) error {
	if data = d.begin(data); data == nil {
		return nil
	}
	s := scan{b: data}
	if scanResponses(&s, d); s.over() && string(name) != "error" {
		return nil
	}
	return decodeTree(name, data, d, treeResponses)
}

// scanResponses reads the events that are many, the deltas, and leaves those
// that come once to the tree.
func scanResponses(s *scan, d *Delta) {
	var seen uint
	var kind, delta span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "type":
			s.once(&seen, 0)
			kind = s.str()
		case "delta":
			s.once(&seen, 1)
			delta = s.text()
		case "object":
			s.fail()
		case "response", "item":
			s.failIf(!s.null())
		default:
			s.other(k)
		}
	}
	s.failIf(kind.escaped || !strings.HasSuffix(string(kind.raw), ".delta"))
	if part := d.partOf(string(kind.raw)); part != nil {
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
func treeResponses(t tree, d *Delta) {
	kind := t.str("type")
	if part := d.partOf(kind); part != nil {
		d.joinString(part, t.str("delta"))
	}
	response := t.object("response")
	switch kind {
	case "response.output_item.added":
		d.joinString(&d.Tool, t.object("item").str("name"))
	case "response.completed", "response.incomplete":
		d.Done = true
		treeResponseEnd(response, d)
	case "response.failed", "response.cancelled":
		d.Err, d.HasErr = []byte(kind), true
		response.readError(d)
	}
}

// treeResponseEnd reads what a response says of its end. One that calls a
// function has no word for it but the call itself.
func treeResponseEnd(t tree, d *Delta) {
	d.Finish = finishStop
	for _, item := range t.objects("output") {
		if strings.HasSuffix(item.str("type"), "_call") {
			d.Finish = finishTools
		}
	}
	if reason := t.object("incomplete_details").str("reason"); reason != "" {
		d.Finish = plainFinish([]byte(reason))
	}
	if u := t.object("usage"); u != nil {
		d.HasUsage = true
		d.Usage = llm.Usage{
			PromptTokens:    u.count("input_tokens"),
			CachedTokens:    u.object("input_tokens_details").count("cached_tokens"),
			OutputTokens:    u.count("output_tokens"),
			ReasoningTokens: u.object("output_tokens_details").count("reasoning_tokens"),
		}
	}
}

// treeResponse reads a reply that was not streamed.
func treeResponse(t tree, d *Delta) {
	for _, item := range t.objects("output") {
		for _, part := range item.objects("content") {
			switch part.str("type") {
			case "reasoning_text":
				d.joinString(&d.Reasoning, part.str("text"))
			default:
				d.joinString(&d.Text, part.str("text"))
				d.joinString(&d.Text, part.str("refusal"))
			}
		}
		for _, part := range item.objects("summary") {
			d.joinString(&d.Reasoning, part.str("text"))
		}
		treeFunction(item, d)
	}
	treeResponseEnd(t, d)
}
