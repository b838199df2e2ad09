package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// llamaCppCompletion is the own API of llama.cpp's server. The event whose stop
// is true closes the stream.
var llamaCppCompletion = Dialect{
	Name:     "llamacpp-completion",
	Path:     "/completion",
	KeyEnv:   "LLAMA_API_KEY",
	Features: Features{Schemas: true, IgnoreEOS: true, Seed: true, Stop: true},
	needs:    []llm.Need{llm.NeedImages, llm.NeedTokenIDs},

	Encode: func(dst []byte, r *llm.Request, q Quirks) []byte {
		b := newBody(dst, r, q)
		b.promptWithImages("prompt", r)
		b.limit("n_predict", r)
		b.flag("stream", r.Stream)
		b.ignoreEOS(r, q)
		b.sampling(r)
		b.schema("json_schema", "", "", q.formatOf(r))
		return b.end()
	},
	scan: scanLlamaCpp,
	tree: treeLlamaCpp,

	ParseRequest: parse[llamaCppRequest],
	Output: func(dst []byte, r *Reply, _ llm.PartKind, text string) []byte {
		dst = jsonio.Appendf(dst, `data: {"index":0,"content":%s,"tokens":[1],"stop":false,"id_slot":0`, text)
		return append(appendLlamaCppUsage(dst, r, r.ContinuousUsage), "}\n\n"...)
	},
	Close: func(dst []byte, r *Reply) []byte {
		dst = appendLlamaCppLast(append(dst, "data: "...), r, "", r.IncludeUsage || r.ContinuousUsage)
		return append(dst, "\n\n"...)
	},
	Whole: func(dst []byte, r *Reply, text, reasoning, tool string) []byte {
		return appendLlamaCppLast(dst, r, reasoning+text+tool, true)
	},
	EncodeError: llamaCppErrors.encode,
}

// promptWithImages writes a prompt: a text, or an object of it and its images.
func (b *body) promptWithImages(name string, r *llm.Request) {
	if n, _, _ := r.Images(); n == 0 {
		b.textOrIDs(name, name, r)
		return
	}
	b.object(name, func(p *body) {
		p.prompt("prompt_string", r.Messages, func(dst []byte, messages []llm.Message) []byte { return appendMarked(dst, messages, markMedia) })
		p.images("multimodal_data", plainData, r.Messages)
	})
}

// parseIllustrated is the server's half of it. A text has as many marks as
// there are images.
func parseIllustrated(raw json.RawMessage) ([]llm.Message, error) {
	var in struct {
		Text   *string  `json:"prompt_string"`
		Images []string `json:"multimodal_data"`
	}
	if json.Unmarshal(raw, &in) != nil || in.Text == nil {
		return parsePrompt(raw)
	}
	texts := strings.Split(*in.Text, mediaMark)
	if len(texts) != len(in.Images)+1 {
		return nil, fmt.Errorf("prompt.multimodal_data: expected an image for each %s in the prompt, of which there are %d, got %d", mediaMark, len(texts)-1, len(in.Images))
	}
	messages := []llm.Message{{Role: "user", Content: texts[0]}}
	for i, text := range texts[1:] {
		if err := readImages("prompt.multimodal_data", plainData, messages, in.Images[i:i+1]); err != nil {
			return nil, err
		}
		if text != "" {
			messages[0].Parts = append(messages[0].Parts, llm.Part{Text: text})
		}
	}
	return messages, nil
}

func scanLlamaCpp(s *jsonio.Scanner, d *Delta) {
	var seen uint
	var text, finish jsonio.Span
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "content":
			s.Into(&text)
		case "stop":
			d.Done = s.Flag()
		case "stop_type":
			s.Into(&finish)
		case "tokens_evaluated":
			s.Tally(&d.Usage.PromptTokens)
			d.HasUsage = true
		case "tokens_predicted":
			s.Tally(&d.Usage.OutputTokens)
			d.HasUsage = true
		case "timings":
			s.MarkSeen(&seen, 0)
			scanCountsIn(s, []string{"cache_n", "draft_n", "draft_n_accepted"}, &d.Usage.CachedTokens, &d.Usage.Drafted, &d.Usage.Accepted)
		case "stopped_limit", "stopped_eos", "stopped_word":
			s.Fail()
		default:
			skipOther(s, k)
		}
	}
	d.join(&d.Text, text)
	d.setFinish(finish)
}

// treeLlamaCpp reads a stream event or a whole reply. Older servers say why
// they stopped in flags.
func treeLlamaCpp(t jsonio.Tree, d *Delta) {
	d.joinString(&d.Text, t.Str("content"))
	d.Done = t.Flag("stop")
	d.HasUsage = t.Has("tokens_evaluated") || t.Has("tokens_predicted")
	d.Usage = llm.Usage{PromptTokens: t.Count("tokens_evaluated"), OutputTokens: t.Count("tokens_predicted"),
		CachedTokens: t.Object("timings").Count("cache_n")}
	treeDetails(t, d)
	switch reason := t.Str("stop_type"); {
	case reason != "":
		d.readFinish(reason)
	case t.Flag("stopped_limit"):
		d.Finish = finishLength
	case t.Flag("stopped_eos"), t.Flag("stopped_word"):
		d.Finish = finishStop
	}
}

type llamaCppRequest struct {
	knobs
	Prompt     json.RawMessage `json:"prompt"`
	NPredict   *int            `json:"n_predict"`
	Stream     bool            `json:"stream"`
	JSONSchema llm.JSON        `json:"json_schema"`
}

func (in *llamaCppRequest) request() (*llm.Request, ServerOptions, error) {
	o := ServerOptions{IncludeUsage: true, ContinuousUsage: in.Stream, IgnoreEOS: in.IgnoreEOS}
	r, err := in.knobs.request("", nil, dropNegative(in.NPredict), in.Stream)
	if err == nil {
		r.Format = formatIf(in.JSONSchema)
		err = readPrompt(r, in.Prompt, parseIllustrated)
	}
	return r, o, err
}

func appendLlamaCppUsage(dst []byte, r *Reply, usage bool) []byte {
	if !usage {
		return dst
	}
	return jsonio.Appendf(dst, `,"tokens_predicted":%d,"tokens_evaluated":%d`, r.Usage.OutputTokens, r.Usage.PromptTokens)
}

// appendLlamaCppLast also says what was computed: a prompt's cached part was not.
func appendLlamaCppLast(dst []byte, r *Reply, text string, usage bool) []byte {
	dst = jsonio.Appendf(dst, `{"index":0,"content":%s,"tokens":[],"id_slot":0,"stop":true,"model":%s`, text, r.Model)
	dst = jsonio.Appendf(appendLlamaCppUsage(dst, r, usage), `,"has_new_line":false,"truncated":false,"stop_type":%s,"stopping_word":""`, r.finish("eos", "limit", ""))
	if u := r.Usage; usage {
		dst = jsonio.Appendf(dst, `,"timings":{"cache_n":%d,"prompt_n":%d,"prompt_ms":%r,"predicted_n":%d,"predicted_ms":%r}`,
			u.CachedTokens, u.PromptTokens-u.CachedTokens, milliseconds(r.Prefill), u.OutputTokens, milliseconds(r.Decode))
	}
	return append(dst, '}')
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64)
}

var llamaCppErrors = errorForm{
	names: map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		501: "not_supported_error", 503: "unavailable_error",
	},
	other: "server_error",
	body: func(dst []byte, status int, name, message string) []byte {
		return jsonio.Appendf(dst, `{"error":{"code":%d,"message":%s,"type":%s}}`, status, message, name)
	},
}
