package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"redline/internal/llm"
)

// openAIChat is OpenAI's chat completions as OpenAI, vLLM, SGLang, TGI,
// llama.cpp and Ollama serve it.
var openAIChat = Dialect{
	Name:    "openai-chat",
	Path:    "/v1/chat/completions",
	KeyEnv:  "OPENAI_API_KEY",
	Schemas: true,
	Fields: []string{"tools", "tool_choice", "parallel_tool_calls", responseFormat,
		"messages.tool_calls", "messages.tool_call_id", "messages.name"},
	Headers: openAIHeaders,

	Encode:      encodeChat,
	Adapt:       adaptChat,
	Decode:      decodeOpenAI,
	DecodeWhole: decodeWholeOpenAI,
	DecodeError: decodeError,

	ParseRequest:     parseChat,
	Open:             openChat,
	Output:           outputChat,
	Close:            closeChat,
	Whole:            wholeChat,
	EncodeError:      encodeOpenAIError,
	EncodeErrorEvent: encodeOpenAIErrorEvent,
}

const responseFormat = "response_format"

func encodeChat(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, q)
	b.str("model", r.Model)
	if b.key("messages") {
		b.dst = appendMessages(b.dst, r.Messages)
	}
	limit := "max_tokens"
	if q.MaxCompletionTokens {
		limit = "max_completion_tokens"
	}
	if r.MaxTokens > 0 && !q.Extra.Has("max_tokens") && !q.Extra.Has("max_completion_tokens") {
		b.int(limit, int64(r.MaxTokens))
	}
	encodeOpenAIOptions(&b, r, q)
	formatted := false
	for _, f := range r.Fields {
		b.raw(f.Name, string(f.JSON))
		formatted = formatted || f.Name == responseFormat
	}
	if schema := schemaOf(r, q); schema != "" && !formatted {
		b.raw(responseFormat, `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":`+schema+"}}")
	}
	return b.end()
}

func appendMessages(dst []byte, messages []llm.Message) []byte {
	dst = append(dst, '[')
	for i, m := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"role":`...), m.Role)
		dst = appendString(append(dst, `,"content":`...), m.Content)
		for _, f := range m.Fields {
			dst = append(append(appendString(append(dst, ','), f.Name), ':'), f.JSON...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// adaptChat also renames the limit for a server that asks for the new name,
// but not for one that names both to say that the limit is beyond its context.
func adaptChat(body []byte, q Quirks) (Quirks, bool) {
	adapted, _ := adaptOpenAI(body, q)
	if names(body, "max_tokens", q) && names(body, "max_completion_tokens", q) &&
		!bytes.Contains(body, []byte("too large")) {
		adapted.MaxCompletionTokens = true
	}
	adapted.NoSchema = adapted.NoSchema || names(body, "response_format", q) || names(body, "json_schema", q)
	return adapted, adapted != q
}

func parseChat(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		openAIAsked
		Messages            []message `json:"messages"`
		MaxCompletionTokens *int      `json:"max_completion_tokens"`
		ResponseFormat      struct {
			JSONSchema struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
		GuidedJSON json.RawMessage `json:"guided_json"` // vLLM's older way to say it
	}
	if err := parseBody(body, &in); err != nil {
		return nil, ServerOptions{}, err
	}
	if in.MaxCompletionTokens != nil {
		in.MaxTokens = in.MaxCompletionTokens
	}
	r, o, err := in.request()
	if err != nil {
		return nil, ServerOptions{}, err
	}
	if r.Messages, err = parseMessages(in.Messages); err != nil {
		return nil, ServerOptions{}, err
	}
	r.Schema = in.GuidedJSON
	if schema := in.ResponseFormat.JSONSchema.Schema; schema != nil {
		r.Schema = schema
	}
	return r, o, nil
}

const (
	chatID     = "chatcmpl"
	chatChunk  = "chat.completion.chunk"
	chatObject = "chat.completion"
)

// openChat sends the role ahead of any output, as vLLM does.
func openChat(dst []byte, r *Reply) []byte {
	dst = appendChunkHead(append(dst, "data: "...), r, chatID, chatChunk)
	dst = append(dst, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`...)
	return appendChunkTail(dst, r, r.ContinuousUsage)
}

func outputChat(dst []byte, r *Reply, part llm.Part, text string) []byte {
	call := r.turn(part)
	dst = appendChunkHead(append(dst, "data: "...), r, chatID, chatChunk)
	dst = append(dst, `{"index":0,"delta":{`...)
	switch {
	case part == llm.Tool:
		dst = strconv.AppendInt(append(dst, `"tool_calls":[{"index":`...), int64(r.calls-1), 10)
		if call {
			dst = appendToolCall(append(dst, ','), r, text, "")
		} else {
			dst = appendString(append(dst, `,"function":{"arguments":`...), text)
		}
		dst = append(dst, "}}]"...)
	case part == llm.Reasoning:
		dst = appendString(append(dst, `"reasoning_content":`...), text)
	default:
		dst = appendString(append(dst, `"content":`...), text)
	}
	dst = append(dst, `},"logprobs":null,"finish_reason":null}`...)
	return appendChunkTail(dst, r, r.ContinuousUsage)
}

// appendToolCall appends the fields of the call that r began last.
func appendToolCall(dst []byte, r *Reply, name, arguments string) []byte {
	dst = strconv.AppendInt(append(dst, `"id":"call_`...), int64(r.calls-1), 10)
	dst = appendString(append(dst, `","type":"function","function":{"name":`...), name)
	return appendString(append(dst, `,"arguments":`...), arguments)
}

func closeChat(dst []byte, r *Reply) []byte {
	dst = appendChunkHead(append(dst, "data: "...), r, chatID, chatChunk)
	dst = append(dst, `{"index":0,"delta":{},"logprobs":null,"finish_reason":`...)
	dst = append(appendString(dst, r.finish()), '}')
	dst = appendChunkTail(dst, r, r.ContinuousUsage)
	return appendClosing(dst, r, chatID, chatChunk)
}

func wholeChat(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	dst = appendChunkHead(dst, r, chatID, chatObject)
	dst = appendString(append(dst, `{"index":0,"message":{"role":"assistant","content":`...), text)
	if reasoning != "" {
		dst = appendString(append(dst, `,"reasoning_content":`...), reasoning)
	}
	if tool != "" {
		r.turn(llm.Tool)
		name, arguments := cutTool(tool)
		dst = appendToolCall(append(dst, `,"tool_calls":[{`...), r, name, arguments)
		dst = append(dst, "}}]"...)
	}
	dst = appendString(append(dst, `},"logprobs":null,"finish_reason":`...), r.finish())
	dst = appendOpenAIUsage(append(dst, `}],"usage":`...), r.Usage)
	return append(dst, '}')
}

// cutTool splits a call into its function's name and its arguments.
func cutTool(tool string) (name, arguments string) {
	i := strings.IndexByte(tool, '{')
	if i < 0 {
		return tool, ""
	}
	return tool[:i], tool[i:]
}
