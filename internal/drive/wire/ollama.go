package wire

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"redline/internal/drive/frame"
	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// ollamaChat is Ollama's own chat API.
var ollamaChat = ollamaForm{prompt: "messages", write: ollamaParts.append,
	text: `,"message":{"role":"assistant","content":%s}`, thinking: `,"message":{"role":"assistant","content":%s,"thinking":%s}`,
}.dialect("ollama-chat", "/api/chat", parse[ollamaChatRequest])

// ollamaGenerate is Ollama's API for a single prompt.
var ollamaGenerate = ollamaForm{prompt: "prompt", write: appendPrompt, text: `,"response":%s`, thinking: `,"response":%s,"thinking":%s`}.
	dialect("ollama-generate", "/api/generate", parse[ollamaGenerateRequest])

// ollamaForm is in what Ollama's dialects differ: the prompt, and how a reply carries
// text, alone or with reasoning. A tool call is one event, written when its arguments
// are whole: there are no words for a part of one.
type ollamaForm struct {
	prompt, text, thinking string
	write                  func([]byte, []llm.Message) []byte
}

func (f ollamaForm) isChat() bool { return f.prompt == "messages" }

func (f ollamaForm) dialect(name, path string, parse func([]byte) (*llm.Request, ServerOptions, error)) Dialect {
	d := Dialect{
		Name:     name,
		Path:     path,
		Framing:  frame.Lines,
		KeyEnv:   "OLLAMA_API_KEY",
		Features: Features{Reasoning: true, Schemas: true, Seed: true, Stop: true, Tools: f.isChat(), WholeCalls: f.isChat()},

		Encode: f.encode,
		scan:   scanOllama,
		tree:   treeOllama,

		ParseRequest: parse,
		Output:       f.output,
		Close:        f.close,
		Whole:        f.whole,
		EncodeError:  func(dst []byte, _ int, message string) []byte { return jsonio.Appendf(dst, `{"error":%s}`, message) },
	}
	if d.needs = []llm.Need{llm.NeedAdapter, llm.NeedImages}; f.isChat() {
		d.messages, d.needs = &ollamaParts, []llm.Need{llm.NeedAdapter, llm.NeedTools}
	}
	return d
}

func (f ollamaForm) encode(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, r, q)
	b.model(r)
	b.prompt(f.prompt, r.Messages, f.write)
	b.raw("stream", strconv.FormatBool(r.Stream)) // it streams unless told not to
	if format := q.formatOf(r); format != nil && format.Schema == nil {
		b.raw("format", `"json"`)
	} else {
		b.schema("format", "", "", format)
	}
	if f.isChat() {
		b.tools(&chatTools, r)
	} else {
		b.images("images", plainData, r.Messages)
	}
	b.object("options", func(o *body) {
		o.limit("num_predict", r)
		o.sampling(r)
	})
	return b.end()
}

func (f ollamaForm) output(dst []byte, r *Reply, part llm.PartKind, output string) []byte {
	if part == llm.ToolCall && f.isChat() {
		return appendOllamaCall(dst, r, output)
	}
	r.turn(part)
	reasoning := ""
	if part == llm.Reasoning {
		output, reasoning = "", output
	}
	return append(f.say(dst, r, output, reasoning), ",\"done\":false}\n"...)
}

// say begins an object that carries text and reasoning.
func (f ollamaForm) say(dst []byte, r *Reply, output, reasoning string) []byte {
	if dst = appendOllamaHead(dst, r); reasoning != "" {
		return jsonio.Appendf(dst, f.thinking, output, reasoning)
	}
	return jsonio.Appendf(dst, f.text, output)
}

func (f ollamaForm) close(dst []byte, r *Reply) []byte {
	cut := ""
	for _, it := range r.items { // a call that was cut short is text
		cut += it.name + string(it.text)
	}
	return append(appendOllamaEnd(f.say(dst, r, cut, ""), r), '\n')
}

func (f ollamaForm) whole(dst []byte, r *Reply, output, reasoning, tool string) []byte {
	calls := ""
	if name, arguments := cutTool(tool); tool != "" && f.isChat() && (arguments == "" || json.Valid([]byte(arguments))) {
		calls, tool = ollamaCall(name, arguments), ""
	}
	if dst = f.say(dst, r, output+tool, reasoning); calls != "" { // into the message
		dst = append(append(dst[:len(dst)-1], calls...), '}')
	}
	return appendOllamaEnd(dst, r)
}

func scanOllama(s *jsonio.Scanner, d *Delta) {
	var seen uint
	var text, thinking, finish jsonio.Span
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "message":
			if s.Object(&seen, 0) {
				scanOllamaMessage(s, d)
			}
		case "response":
			s.Into(&text)
		case "thinking":
			s.Into(&thinking)
		case "done":
			d.Done = s.Flag()
		case "done_reason":
			s.Into(&finish)
		case "prompt_eval_count":
			s.Tally(&d.Usage.PromptTokens)
			d.HasUsage = true
		case "eval_count":
			s.Tally(&d.Usage.OutputTokens)
			d.HasUsage = true
		default:
			skipOther(s, k)
		}
	}
	d.join(&d.Text, text)
	d.join(&d.Reasoning, thinking)
	d.setFinish(finish)
}

func scanOllamaMessage(s *jsonio.Scanner, d *Delta) {
	var content, thinking jsonio.Span
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "content":
			s.Into(&content)
		case "thinking":
			s.Into(&thinking)
		case "tool_calls":
			s.FailIf(!s.Null())
		default:
			s.Skip()
		}
	}
	d.join(&d.Text, content)
	d.join(&d.Reasoning, thinking)
}

// treeOllama reads a stream event or a whole reply, of either dialect. Tool
// calls come whole, with their arguments as an object.
func treeOllama(t jsonio.Tree, d *Delta) {
	m := t.Object("message")
	for _, from := range []jsonio.Tree{m, t} {
		d.joinString(&d.Reasoning, from.Str("thinking"))
	}
	d.joinString(&d.Text, m.Str("content"))
	d.joinString(&d.Text, t.Str("response"))
	for _, call := range m.Objects("tool_calls") {
		f := call.Object("function")
		arguments := ""
		if object := f.Object("arguments"); object != nil {
			arguments = jsonio.Compact(object)
		}
		d.pieceString(noCall, call.Str("id"), f.Str("name"), arguments)
	}
	d.Done = t.Flag("done")
	d.readFinish(t.Str("done_reason"))
	d.HasUsage = t.Has("prompt_eval_count") || t.Has("eval_count")
	d.Usage = llm.Usage{PromptTokens: t.Count("prompt_eval_count"), OutputTokens: t.Count("eval_count")}
}

// ollamaFields are the fields of a request that Ollama's two dialects share.
type ollamaFields struct {
	Model   string   `json:"model"`
	Stream  *bool    `json:"stream"`
	Format  llm.JSON `json:"format"`
	Options struct {
		knobs
		NumPredict *int `json:"num_predict"`
	} `json:"options"`
}

func (f *ollamaFields) request() (*llm.Request, ServerOptions, error) {
	r, err := f.Options.request("options.", nil, dropNegative(f.Options.NumPredict), f.Stream == nil || *f.Stream)
	if err == nil {
		r.Model = f.Model
		if r.Format = formatIf(f.Format); string(f.Format) == `"json"` {
			r.Format = &llm.Format{}
		}
	}
	return r, ServerOptions{IncludeUsage: true}, err
}

type ollamaChatRequest struct {
	ollamaFields
	toolFields
	Messages json.RawMessage `json:"messages"`
}

func (in *ollamaChatRequest) request() (*llm.Request, ServerOptions, error) {
	r, o, err := in.ollamaFields.request()
	if err != nil {
		return nil, o, err
	}
	if r.Tools, err = in.toolset(); err != nil {
		return nil, o, err
	}
	r.Messages, err = ollamaParts.parse("messages", in.Messages)
	return r, o, err
}

type ollamaGenerateRequest struct {
	ollamaFields
	Prompt *string  `json:"prompt"`
	System string   `json:"system"`
	Images []string `json:"images"`
}

func (in *ollamaGenerateRequest) request() (*llm.Request, ServerOptions, error) {
	messages, err := parseText("prompt", in.Prompt)
	if err == nil {
		err = readImages("images", plainData, messages, in.Images)
	}
	if err != nil {
		return nil, ServerOptions{}, err
	}
	r, o, err := in.ollamaFields.request()
	if err != nil {
		return nil, o, err
	}
	if in.System != "" {
		r.Messages = append(r.Messages, llm.Message{Role: "system", Content: in.System})
	}
	r.Messages = append(r.Messages, messages...)
	return r, o, nil
}

// appendOllamaCall takes in a piece of a call and writes the call once it is whole.
func appendOllamaCall(dst []byte, r *Reply, piece string) []byte {
	if r.turn(llm.ToolCall) {
		r.items = append(r.items[:0], item{name: piece})
		return dst
	}
	if len(r.items) == 0 {
		return dst
	}
	call := &r.items[0]
	if call.text = append(call.text, piece...); !json.Valid(call.text) {
		return dst
	}
	dst = jsonio.Appendf(appendOllamaHead(dst, r), `,"message":{"role":"assistant","content":%s`, "")
	dst = append(append(dst, ollamaCall(call.name, string(call.text))...), "},\"done\":false}\n"...)
	r.items = r.items[:0]
	return dst
}

// ollamaCall is a call as a member of a message.
func ollamaCall(name, arguments string) string {
	return string(jsonio.Appendf(nil, `,"tool_calls":[{"function":{"name":%s,"arguments":`, name)) + cmp.Or(arguments, "{}") + "}}]"
}

func appendOllamaHead(dst []byte, r *Reply) []byte {
	dst = jsonio.Appendf(dst, `{"model":%s,"created_at":"`, r.Model)
	return append(time.Unix(r.Created, 0).UTC().AppendFormat(dst, time.RFC3339), '"')
}

// appendOllamaEnd ends the last object, which has usage and how long all of it
// took, in nanoseconds.
func appendOllamaEnd(dst []byte, r *Reply) []byte {
	dst = jsonio.Appendf(dst, `,"done":true,"done_reason":%s`, r.finish("stop", "length", ""))
	if r.IncludeUsage {
		dst = jsonio.Appendf(dst, `,"total_duration":%d,"load_duration":0,"prompt_eval_count":%d,"prompt_eval_duration":%d,"eval_count":%d,"eval_duration":%d`,
			int64(r.Prefill+r.Decode), r.Usage.PromptTokens, int64(r.Prefill), r.Usage.OutputTokens, int64(r.Decode))
	}
	return append(dst, '}')
}
