package wire

import (
	"encoding/json"
	"fmt"

	"redline/internal/llm"
)

// openAICompletions is OpenAI's older dialect, which continues a bare prompt.
var openAICompletions = Dialect{
	Name:     "openai-completions",
	Path:     "/v1/completions",
	KeyEnv:   "OPENAI_API_KEY",
	TextOnly: true,
	Headers:  openAIHeaders,

	Encode:      encodeCompletions,
	Adapt:       adaptOpenAI,
	Decode:      decodeOpenAI,
	DecodeWhole: decodeWholeOpenAI,
	DecodeError: decodeError,

	ParseRequest:     parseCompletions,
	Open:             func(dst []byte, _ *Reply) []byte { return dst },
	Output:           outputCompletions,
	Close:            closeCompletions,
	Whole:            wholeCompletions,
	EncodeError:      encodeOpenAIError,
	EncodeErrorEvent: encodeOpenAIErrorEvent,
}

func encodeCompletions(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, q)
	b.str("model", r.Model)
	if b.key("prompt") {
		b.dst = appendPrompt(b.dst, r.Messages)
	}
	if r.MaxTokens > 0 {
		b.int("max_tokens", int64(r.MaxTokens))
	}
	encodeOpenAIOptions(&b, r, q)
	return b.end()
}

// appendPrompt joins the contents of the messages by newlines, piece by piece
// so that long prompts are not copied twice.
func appendPrompt(dst []byte, messages []llm.Message) []byte {
	dst = append(dst, '"')
	for i, m := range messages {
		if i > 0 {
			dst = append(dst, `\n`...)
		}
		dst = appendStringBody(dst, m.Content)
	}
	return append(dst, '"')
}

func parseCompletions(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		openAIAsked
		Prompt json.RawMessage `json:"prompt"`
	}
	if err := parseBody(body, &in); err != nil {
		return nil, ServerOptions{}, err
	}
	r, o, err := in.request()
	if err != nil {
		return nil, ServerOptions{}, err
	}
	prompt, err := parseStrings("prompt", in.Prompt)
	if err != nil {
		return nil, ServerOptions{}, err
	}
	if len(prompt) != 1 {
		return nil, ServerOptions{}, fmt.Errorf("prompt: want one string, got %d", len(prompt))
	}
	r.Messages = []llm.Message{{Role: "user", Content: prompt[0]}}
	return r, o, nil
}

const (
	completionsID     = "cmpl"
	completionsObject = "text_completion"
)

func outputCompletions(dst []byte, r *Reply, _ llm.Part, text string) []byte {
	dst = appendChunkHead(append(dst, "data: "...), r, completionsID, completionsObject)
	dst = appendString(append(dst, `{"index":0,"text":`...), text)
	dst = append(dst, `,"logprobs":null,"finish_reason":null}`...)
	return appendChunkTail(dst, r, r.ContinuousUsage)
}

func closeCompletions(dst []byte, r *Reply) []byte {
	dst = appendChunkHead(append(dst, "data: "...), r, completionsID, completionsObject)
	dst = append(dst, `{"index":0,"text":"","logprobs":null,"finish_reason":`...)
	dst = append(appendString(dst, r.textFinish()), '}')
	dst = appendChunkTail(dst, r, r.ContinuousUsage)
	return appendClosing(dst, r, completionsID, completionsObject)
}

func wholeCompletions(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	dst = appendChunkHead(dst, r, completionsID, completionsObject)
	dst = append(dst, `{"index":0,"text":"`...)
	for _, part := range []string{reasoning, text, tool} {
		dst = appendStringBody(dst, part)
	}
	dst = appendString(append(dst, `","logprobs":null,"finish_reason":`...), r.textFinish())
	dst = appendOpenAIUsage(append(dst, `}],"usage":`...), r.Usage)
	return append(dst, '}')
}
