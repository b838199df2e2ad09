package wire

import (
	"encoding/json"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// openAICompletions is OpenAI's older dialect, which continues a bare prompt.
var openAICompletions = Dialect{
	Name:     "openai-completions",
	Path:     "/v1/completions",
	KeyEnv:   "OPENAI_API_KEY",
	Features: Features{IgnoreEOS: true, Seed: true, Stop: true},
	needs:    []llm.Need{llm.NeedAdapter, llm.NeedPriority, llm.NeedTokenIDs},

	Encode: func(dst []byte, r *llm.Request, q Quirks) []byte {
		b := newBody(dst, r, q)
		b.model(r)
		b.textOrIDs("prompt", "prompt", r)
		b.limit("max_tokens", r)
		encodeOpenAIOptions(&b, r, q)
		return b.end()
	},
	Adapt: adaptOpenAI,
	scan:  scanOpenAI,
	tree:  treeOpenAI,

	ParseRequest: parse[completionsRequest],
	Output: func(dst []byte, r *Reply, _ llm.PartKind, text string) []byte {
		return completionsForm.chunk(dst, r, `{"index":0,"text":%s,"logprobs":null,"finish_reason":null}`, text)
	},
	Close: func(dst []byte, r *Reply) []byte {
		dst = completionsForm.chunk(dst, r, `{"index":0,"text":"","logprobs":null,"finish_reason":%s}`, r.finish("stop", "length", ""))
		return completionsForm.end(dst, r)
	},
	Whole: func(dst []byte, r *Reply, text, reasoning, tool string) []byte {
		return completionsForm.reply(dst, r, func(dst []byte) []byte {
			return jsonio.Appendf(dst, `{"index":0,"text":"%b%b%b","logprobs":null,"finish_reason":%s}`, reasoning, text, tool, r.finish("stop", "length", ""))
		})
	},
}

var completionsForm = openAIForm{id: "cmpl", event: "text_completion", whole: "text_completion"}

type completionsRequest struct {
	openAIFields
	Prompt json.RawMessage `json:"prompt"`
}

func (in *completionsRequest) request() (*llm.Request, ServerOptions, error) {
	r, o, err := in.openAIFields.request()
	if err != nil {
		return nil, o, err
	}
	err = readPrompt(r, in.Prompt, parsePrompt)
	return r, o, err
}
