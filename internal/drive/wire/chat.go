package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// openAIChat is OpenAI's chat completions as OpenAI, vLLM, SGLang, TGI,
// llama.cpp and Ollama serve it.
var openAIChat = Dialect{
	Name:     "openai-chat",
	Path:     "/v1/chat/completions",
	KeyEnv:   "OPENAI_API_KEY",
	Features: Features{Reasoning: true, Tools: true, Schemas: true, IgnoreEOS: true, Seed: true, Stop: true},
	messages: &chatParts,
	needs:    []llm.Need{llm.NeedTools, llm.NeedToolChoice, llm.NeedParallel, llm.NeedAdapter, llm.NeedPriority},

	Encode: encodeChat,
	Adapt:  adaptChat,
	scan:   scanOpenAI,
	tree:   treeOpenAI,

	ParseRequest: parse[chatRequest],
	Open: func(dst []byte, r *Reply) []byte { // the role ahead of any output, as vLLM sends it
		return chatForm.chunk(dst, r, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`)
	},
	Output: outputChat,
	Close: func(dst []byte, r *Reply) []byte {
		dst = chatForm.chunk(dst, r, `{"index":0,"delta":{},"logprobs":null,"finish_reason":%s}`, r.finish("stop", "length", "tool_calls"))
		return chatForm.end(dst, r)
	},
	Whole: wholeChat,
}

const responseFormat = "response_format"

func encodeChat(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, r, q)
	b.model(r)
	b.prompt("messages", r.Messages, chatParts.append)
	limit := "max_tokens"
	if q.MaxCompletionTokens {
		limit = "max_completion_tokens"
	}
	b.limit(limit, r)
	encodeOpenAIOptions(&b, r, q)
	b.tools(&chatTools, r)
	b.toolChoice(&chatTools, r)
	b.format(responseFormat, `{"type":"json_object"}`, `{"type":"json_schema","json_schema":{`, "}}", q.formatOf(r))
	return b.end()
}

// adaptChat also renames the limit for a server that asks for the new name,
// but not for one that names both to say that the limit is beyond its context.
func adaptChat(body []byte, q Quirks) (Quirks, bool) {
	adapted, _ := adaptOpenAI(body, q)
	if names(body, "max_tokens", q) && names(body, "max_completion_tokens", q) &&
		!bytes.Contains(body, []byte("too large")) {
		adapted.MaxCompletionTokens = true
	}
	adapted.NoSchema = adapted.NoSchema || names(body, responseFormat, q) || names(body, "json_schema", q)
	return adapted, adapted != q
}

type chatRequest struct {
	openAIFields
	toolFields
	Messages            json.RawMessage `json:"messages"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	ResponseFormat      formatFields    `json:"response_format"`
	GuidedJSON          llm.JSON        `json:"guided_json"` // vLLM's older way to say it
}

func (in *chatRequest) request() (*llm.Request, ServerOptions, error) {
	if in.MaxCompletionTokens != nil {
		in.MaxTokens = in.MaxCompletionTokens
	}
	r, o, err := in.openAIFields.request()
	if err != nil {
		return nil, o, err
	}
	if r.Format = in.ResponseFormat.format(); r.Format == nil && in.GuidedJSON != nil {
		r.Format = &llm.Format{Schema: in.GuidedJSON}
	}
	if r.Tools, err = in.toolset(); err != nil {
		return nil, o, err
	}
	r.Messages, err = chatParts.parse("messages", in.Messages)
	return r, o, err
}

var chatForm = openAIForm{id: "chatcmpl", event: "chat.completion.chunk", whole: "chat.completion"}

const toolCall = `"id":"call_%d","type":"function","function":{"name":%s,"arguments":%s}`

func outputChat(dst []byte, r *Reply, part llm.PartKind, text string) []byte {
	const before, after = `{"index":0,"delta":{`, `},"logprobs":null,"finish_reason":null}`
	call := r.turn(part)
	switch {
	case call:
		return chatForm.chunk(dst, r, before+`"tool_calls":[{"index":%d,`+toolCall+`}]`+after, r.calls-1, r.calls-1, text, "")
	case part == llm.ToolCall:
		return chatForm.chunk(dst, r, before+`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`+after, r.calls-1, text)
	case part == llm.Reasoning:
		return chatForm.chunk(dst, r, before+`"reasoning_content":%s`+after, text)
	}
	return chatForm.chunk(dst, r, before+`"content":%s`+after, text)
}

func wholeChat(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	return chatForm.reply(dst, r, func(dst []byte) []byte {
		dst = jsonio.Appendf(dst, `{"index":0,"message":{"role":"assistant","content":%s`, text)
		if reasoning != "" {
			dst = jsonio.Appendf(dst, `,"reasoning_content":%s`, reasoning)
		}
		if tool != "" {
			r.turn(llm.ToolCall)
			name, arguments := cutTool(tool)
			dst = jsonio.Appendf(dst, `,"tool_calls":[{`+toolCall+`}]`, r.calls-1, name, arguments)
		}
		return jsonio.Appendf(dst, `},"logprobs":null,"finish_reason":%s}`, r.finish("stop", "length", "tool_calls"))
	})
}

// cutTool splits a call into its function's name and its arguments.
func cutTool(tool string) (name, arguments string) {
	i := strings.IndexByte(tool, '{')
	if i < 0 {
		return tool, ""
	}
	return tool[:i], tool[i:]
}
