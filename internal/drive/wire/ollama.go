package wire

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"redline/internal/llm"
)

// ollamaChat is Ollama's own chat API.
var ollamaChat = Dialect{
	Name:    "ollama-chat",
	Path:    "/api/chat",
	Framing: Lines,
	KeyEnv:  ollamaKey,
	Schemas: true,
	NoTools: true,
	Headers: openAIHeaders,

	Encode: func(dst []byte, r *llm.Request, q Quirks) []byte {
		return encodeOllama(dst, r, q, "messages", appendMessages)
	},
	Adapt:       adaptNothing,
	Decode:      decodeOllama,
	DecodeWhole: decodeWholeOllama,
	DecodeError: decodeError,

	ParseRequest:     parseOllamaChat,
	Open:             openNothing,
	Output:           outputOllamaChat,
	Close:            closeOllamaChat,
	Whole:            wholeOllamaChat,
	EncodeError:      encodeOllamaError,
	EncodeErrorEvent: encodeOllamaErrorEvent,
}

// ollamaGenerate is Ollama's API for a single prompt.
var ollamaGenerate = Dialect{
	Name:    "ollama-generate",
	Path:    "/api/generate",
	Framing: Lines,
	KeyEnv:  ollamaKey,
	Schemas: true,
	NoTools: true,
	Headers: openAIHeaders,

	Encode: func(dst []byte, r *llm.Request, q Quirks) []byte {
		return encodeOllama(dst, r, q, "prompt", appendPrompt)
	},
	Adapt:       adaptNothing,
	Decode:      decodeOllama,
	DecodeWhole: decodeWholeOllama,
	DecodeError: decodeError,

	ParseRequest:     parseOllamaGenerate,
	Open:             openNothing,
	Output:           outputOllamaGenerate,
	Close:            closeOllamaGenerate,
	Whole:            wholeOllamaGenerate,
	EncodeError:      encodeOllamaError,
	EncodeErrorEvent: encodeOllamaErrorEvent,
}

const ollamaKey = "OLLAMA_API_KEY"

// adaptNothing is for dialects without anything to leave out.
func adaptNothing(_ []byte, q Quirks) (Quirks, bool) { return q, false }

// openNothing is for dialects whose streams begin with output.
func openNothing(dst []byte, _ *Reply) []byte { return dst }

func encodeOllama(dst []byte, r *llm.Request, q Quirks, prompt string, write func([]byte, []llm.Message) []byte) []byte {
	b := newBody(dst, q)
	b.str("model", r.Model)
	if b.key(prompt) {
		b.dst = write(b.dst, r.Messages)
	}
	b.raw("stream", strconv.FormatBool(r.Stream)) // it streams unless told not to
	if schema := schemaOf(r, q); schema != "" {
		b.raw("format", schema)
	}
	b.object("options", func(o *body) {
		if r.MaxTokens > 0 {
			o.int("num_predict", int64(r.MaxTokens))
		}
		encodeSampling(o, r)
	})
	return b.end()
}

// encodeSampling writes the knobs that most engines call by the same names.
func encodeSampling(b *body, r *llm.Request) {
	b.float("temperature", r.Sampling.Temperature)
	b.float("top_p", r.Sampling.TopP)
	if seed := r.Sampling.Seed; seed != nil {
		b.int("seed", *seed)
	}
	b.strs("stop", r.Sampling.Stop)
}

func decodeOllama(name, data []byte, d *Delta) error {
	if data = d.begin(data); data == nil {
		return nil
	}
	s := scan{b: data}
	if scanOllama(&s, d); s.over() && string(name) != "error" {
		return nil
	}
	return decodeTree(name, data, d, treeOllama)
}

func decodeWholeOllama(body []byte, d *Delta) error { return decodeWhole(body, d, treeOllama) }

func scanOllama(s *scan, d *Delta) {
	var seen uint
	var text, thinking, finish span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "message":
			s.once(&seen, 0)
			if !s.null() {
				scanOllamaMessage(s, d)
			}
		case "response":
			s.once(&seen, 1)
			text = s.text()
		case "thinking":
			s.once(&seen, 2)
			thinking = s.text()
		case "done":
			s.once(&seen, 3)
			d.Done = s.flag()
		case "done_reason":
			s.once(&seen, 4)
			finish = s.text()
		case "prompt_eval_count":
			s.once(&seen, 5)
			d.Usage.PromptTokens, d.HasUsage = s.count(), true
		case "eval_count":
			s.once(&seen, 6)
			d.Usage.OutputTokens, d.HasUsage = s.count(), true
		default:
			s.other(k)
		}
	}
	d.join(&d.Text, text)
	d.join(&d.Reasoning, thinking)
	d.setFinish(finish)
}

func scanOllamaMessage(s *scan, d *Delta) {
	var seen uint
	var content, thinking span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "content":
			s.once(&seen, 0)
			content = s.text()
		case "thinking":
			s.once(&seen, 1)
			thinking = s.text()
		case "tool_calls":
			s.failIf(!s.null())
		default:
			s.skip()
		}
	}
	d.join(&d.Text, content)
	d.join(&d.Reasoning, thinking)
}

// treeOllama reads a stream event or a whole reply, of either dialect. Tool
// calls come whole, with their arguments as an object.
func treeOllama(t tree, d *Delta) {
	m := t.object("message")
	for _, from := range []tree{m, t} {
		d.joinString(&d.Reasoning, from.str("thinking"))
	}
	d.joinString(&d.Text, m.str("content"))
	d.joinString(&d.Text, t.str("response"))
	for _, call := range m.objects("tool_calls") {
		f := call.object("function")
		d.joinString(&d.Tool, f.str("name"))
		if arguments := f.object("arguments"); arguments != nil {
			d.joinString(&d.Tool, compact(arguments))
		}
	}
	d.Done = t.flag("done")
	if reason := t.str("done_reason"); reason != "" {
		d.Finish = []byte(reason)
	}
	d.HasUsage = t.has("prompt_eval_count") || t.has("eval_count")
	d.Usage = llm.Usage{PromptTokens: t.count("prompt_eval_count"), OutputTokens: t.count("eval_count")}
}

// ollamaAsked holds the fields that Ollama's two dialects share.
type ollamaAsked struct {
	Model   string `json:"model"`
	Stream  *bool  `json:"stream"`
	Options struct {
		NumPredict  *int     `json:"num_predict"`
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"top_p"`
		Seed        *int64   `json:"seed"`
		Stop        []string `json:"stop"`
	} `json:"options"`
}

func (a *ollamaAsked) request() (*llm.Request, error) {
	o := a.Options
	if o.NumPredict != nil && *o.NumPredict < 0 {
		o.NumPredict = nil // -1 and -2 leave the end to the model
	}
	shared := asked{Model: a.Model, MaxTokens: o.NumPredict, Stream: a.Stream == nil || *a.Stream, Temperature: o.Temperature, TopP: o.TopP}
	r, err := shared.request()
	if err != nil {
		return nil, fmt.Errorf("options.%w", err)
	}
	r.Sampling.Seed, r.Sampling.Stop = o.Seed, o.Stop
	return r, nil
}

func parseOllamaChat(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		ollamaAsked
		Messages []message `json:"messages"`
	}
	if err := parseBody(body, &in); err != nil {
		return nil, ServerOptions{}, err
	}
	r, err := in.request()
	if err != nil {
		return nil, ServerOptions{}, err
	}
	r.Messages, err = parseMessages(in.Messages)
	return r, ServerOptions{IncludeUsage: true}, err
}

func parseOllamaGenerate(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		ollamaAsked
		Prompt *string `json:"prompt"`
		System string  `json:"system"`
	}
	if err := parseBody(body, &in); err != nil {
		return nil, ServerOptions{}, err
	}
	if in.Prompt == nil {
		return nil, ServerOptions{}, errors.New("prompt: want the text to continue")
	}
	r, err := in.request()
	if err != nil {
		return nil, ServerOptions{}, err
	}
	if in.System != "" {
		r.Messages = append(r.Messages, llm.Message{Role: "system", Content: in.System})
	}
	r.Messages = append(r.Messages, llm.Message{Role: "user", Content: *in.Prompt})
	return r, ServerOptions{IncludeUsage: true}, nil
}

func outputOllamaChat(dst []byte, r *Reply, part llm.Part, text string) []byte {
	return append(appendOllamaMessage(appendOllamaHead(dst, r), part, text), ",\"done\":false}\n"...)
}

func outputOllamaGenerate(dst []byte, r *Reply, part llm.Part, text string) []byte {
	return append(appendOllamaResponse(appendOllamaHead(dst, r), part, text), ",\"done\":false}\n"...)
}

func closeOllamaChat(dst []byte, r *Reply) []byte {
	return append(appendOllamaEnd(appendOllamaMessage(appendOllamaHead(dst, r), llm.Text, ""), r), '\n')
}

func closeOllamaGenerate(dst []byte, r *Reply) []byte {
	return append(appendOllamaEnd(appendOllamaResponse(appendOllamaHead(dst, r), llm.Text, ""), r), '\n')
}

func wholeOllamaChat(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	dst = appendString(append(appendOllamaHead(dst, r), `,"message":{"role":"assistant","content":`...), text+tool)
	if reasoning != "" {
		dst = appendString(append(dst, `,"thinking":`...), reasoning)
	}
	return appendOllamaEnd(append(dst, '}'), r)
}

func wholeOllamaGenerate(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	dst = appendString(append(appendOllamaHead(dst, r), `,"response":`...), text+tool)
	if reasoning != "" {
		dst = appendString(append(dst, `,"thinking":`...), reasoning)
	}
	return appendOllamaEnd(dst, r)
}

func appendOllamaHead(dst []byte, r *Reply) []byte {
	dst = appendString(append(dst, `{"model":`...), r.Model)
	dst = append(dst, `,"created_at":"`...)
	dst = time.Unix(r.Created, 0).UTC().AppendFormat(dst, time.RFC3339)
	return append(dst, '"')
}

func appendOllamaMessage(dst []byte, part llm.Part, text string) []byte {
	dst = append(dst, `,"message":{"role":"assistant",`...)
	if part == llm.Reasoning {
		dst = append(dst, `"content":"","thinking":`...)
	} else {
		dst = append(dst, `"content":`...)
	}
	return append(appendString(dst, text), '}')
}

func appendOllamaResponse(dst []byte, part llm.Part, text string) []byte {
	if part == llm.Reasoning {
		return appendString(append(dst, `,"response":"","thinking":`...), text)
	}
	return appendString(append(dst, `,"response":`...), text)
}

// appendOllamaEnd ends the last object, which tells usage and how long all of
// it took, in nanoseconds.
func appendOllamaEnd(dst []byte, r *Reply) []byte {
	dst = appendString(append(dst, `,"done":true,"done_reason":`...), r.textFinish())
	if r.IncludeUsage {
		for _, f := range [...]struct {
			name  string
			value int64
		}{
			{"total_duration", int64(r.Prefill + r.Decode)},
			{"load_duration", 0},
			{"prompt_eval_count", int64(r.Usage.PromptTokens)},
			{"prompt_eval_duration", int64(r.Prefill)},
			{"eval_count", int64(r.Usage.OutputTokens)},
			{"eval_duration", int64(r.Decode)},
		} {
			dst = append(appendString(append(dst, ','), f.name), ':')
			dst = strconv.AppendInt(dst, f.value, 10)
		}
	}
	return append(dst, '}')
}

func encodeOllamaError(dst []byte, _ int, message string) []byte {
	return append(appendString(append(dst, `{"error":`...), message), '}')
}

func encodeOllamaErrorEvent(dst []byte, message string) []byte {
	return append(encodeOllamaError(dst, 500, message), '\n')
}
