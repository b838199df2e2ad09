package wire

import (
	"errors"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// tgiGenerate is the own API of text-generation-inference. Its last event
// carries a token and closes the stream.
var tgiGenerate = Dialect{
	Name:      "tgi-generate",
	Path:      "/generate_stream",
	WholePath: "/generate",
	KeyEnv:    "HF_TOKEN",
	Features:  Features{Schemas: true, Seed: true, Stop: true},
	needs:     []llm.Need{llm.NeedAdapter, llm.NeedImages},

	Encode: encodeTGI,
	scan:   scanTGI,
	tree:   treeTGI,
	whole:  treeTGIWhole,

	ParseRequest: parse[tgiRequest],
	Output: func(dst []byte, r *Reply, _ llm.PartKind, text string) []byte {
		r.say(text)
		return append(appendTGIToken(dst, r, text, "false"), ",\"generated_text\":null,\"details\":null}\n\n"...)
	},
	Close:       closeTGI,
	Whole:       wholeTGI,
	EncodeError: tgiErrors.encode,
	EncodeErrorEvent: func(dst []byte, message string) []byte {
		return append(tgiErrors.encode(append(dst, "data:"...), 424, message), "\n\n"...)
	},
}

// encodeTGI leaves out what the server refuses although it means nothing to it:
// a temperature of 0, which is its default of no sampling, a top_p of 1, and a
// negative seed.
func encodeTGI(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, r, q)
	b.prompt("inputs", r.Messages, func(dst []byte, messages []llm.Message) []byte { return appendMarked(dst, messages, markdown) })
	b.object("parameters", func(p *body) {
		p.limit("max_new_tokens", r)
		if t := r.Sampling.Temperature; t != nil && *t > 0 {
			p.raw("do_sample", "true")
			p.float("temperature", t)
		}
		if top := r.Sampling.TopP; top != nil && *top < 1 {
			p.float("top_p", top)
		}
		if seed := r.Sampling.Seed; seed != nil && *seed >= 0 {
			p.int("seed", *seed)
		}
		p.strs("stop", r.Sampling.Stop)
		p.schema("grammar", `{"type":"json","value":`, "}", q.formatOf(r))
		if r.Adapter != "" {
			p.str("adapter_id", r.Adapter)
		}
		p.raw("details", "true")
		p.flag("decoder_input_details", !r.Stream) // else the prompt's length is not told
	})
	b.flag("stream", r.Stream)
	return b.end()
}

func scanTGI(s *jsonio.Scanner, d *Delta) {
	var seen uint
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "token":
			if s.Object(&seen, 0) {
				scanTGIToken(s, d)
			}
		case "generated_text":
			if s.Object(&seen, 1) {
				s.Str()
				d.Done = true
			}
		case "details":
			if s.Object(&seen, 2) {
				scanTGIDetails(s, d)
			}
		default:
			skipOther(s, k)
		}
	}
}

func scanTGIToken(s *jsonio.Scanner, d *Delta) {
	var text jsonio.Span
	special := false
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "text":
			s.Into(&text)
		case "special":
			special = s.Flag()
		default:
			s.Skip()
		}
	}
	if !special {
		d.join(&d.Text, text)
	}
}

func scanTGIDetails(s *jsonio.Scanner, d *Delta) {
	d.Done, d.HasUsage = true, true
	var finish jsonio.Span
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "finish_reason":
			s.Into(&finish)
		case "generated_tokens":
			s.Tally(&d.Usage.OutputTokens)
		case "input_length":
			s.Tally(&d.Usage.PromptTokens)
		default:
			s.Skip()
		}
	}
	d.setFinish(finish)
}

// treeTGI reads a stream event. A special token, such as the one that ends the
// text, is no text.
func treeTGI(t jsonio.Tree, d *Delta) {
	if token := t.Object("token"); !token.Flag("special") {
		d.joinString(&d.Text, token.Str("text"))
	}
	_, closed := t["generated_text"].(string)
	d.Done = closed || t.Object("details") != nil
	treeTGIDetails(t, d)
}

func treeTGIDetails(t jsonio.Tree, d *Delta) {
	if details := t.Object("details"); details != nil {
		d.HasUsage = true
		d.Usage = llm.Usage{PromptTokens: details.Count("input_length"), OutputTokens: details.Count("generated_tokens")}
		d.readFinish(details.Str("finish_reason"))
	}
}

// treeTGIWhole reads a reply that was not streamed, which lists the prompt's
// tokens instead of counting them.
func treeTGIWhole(t jsonio.Tree, d *Delta) {
	d.joinString(&d.Text, t.Str("generated_text"))
	treeTGIDetails(t, d)
	if prefill, ok := t.Object("details")["prefill"].([]any); ok && d.Usage.PromptTokens == 0 {
		d.Usage.PromptTokens = len(prefill)
	}
}

type tgiRequest struct {
	Inputs     *string `json:"inputs"`
	Stream     bool    `json:"stream"`
	Parameters struct {
		knobs
		MaxNewTokens *int   `json:"max_new_tokens"`
		Adapter      string `json:"adapter_id"`
		Grammar      struct {
			Value llm.JSON `json:"value"`
		} `json:"grammar"`
	} `json:"parameters"`
}

func (in *tgiRequest) request() (*llm.Request, ServerOptions, error) {
	o := ServerOptions{IncludeUsage: true}
	p := in.Parameters
	messages, err := parseText("inputs", in.Inputs)
	switch {
	case err != nil:
		return nil, o, err
	case p.Temperature != nil && *p.Temperature == 0:
		return nil, o, errors.New("parameters.temperature: must be more than 0; leave it out for no sampling")
	case p.TopP != nil && *p.TopP == 1:
		return nil, o, errors.New("parameters.top_p: must be less than 1; leave it out for all tokens")
	}
	splitMarkdown(&messages[0])
	r, err := p.request("parameters.", messages, p.MaxNewTokens, in.Stream)
	if err == nil {
		r.Adapter, r.Format = p.Adapter, formatIf(p.Grammar.Value)
	}
	return r, o, err
}

func appendTGIToken(dst []byte, r *Reply, text, special string) []byte {
	r.events++
	return jsonio.Appendf(dst, `data:{"index":%d,"token":{"id":1,"text":%s,"logprob":-0.5,"special":%r}`, r.events, text, special)
}

// closeTGI sends the token that ends the text together with the figures.
func closeTGI(dst []byte, r *Reply) []byte {
	dst = appendTGIToken(dst, r, "</s>", "true")
	dst = jsonio.Appendf(dst, `,"generated_text":%s,"details":{"finish_reason":%s`, string(r.said), r.finish("eos_token", "length", ""))
	if r.IncludeUsage {
		dst = jsonio.Appendf(dst, `,"generated_tokens":%d,"seed":null,"input_length":%d`, r.Usage.OutputTokens, r.Usage.PromptTokens)
	}
	return append(dst, "}}\n\n"...)
}

func wholeTGI(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	dst = jsonio.Appendf(dst, `{"generated_text":%s,"details":{"finish_reason":%s,"generated_tokens":%d,"seed":null,"prefill":`,
		reasoning+text+tool, r.finish("eos_token", "length", ""), r.Usage.OutputTokens)
	dst = jsonio.AppendList(dst, r.Usage.PromptTokens, func(dst []byte, _ int) []byte {
		return append(dst, `{"id":1,"text":"","logprob":null}`...)
	})
	return append(dst, `,"tokens":[]}}`...)
}

var tgiErrors = errorForm{
	names: map[int]string{400: "validation", 422: "validation", 424: "generation", 429: "overloaded", 503: "unhealthy"},
	other: "generation",
	body: func(dst []byte, _ int, name, message string) []byte {
		return jsonio.Appendf(dst, `{"error":%s,"error_type":%s}`, message, name)
	},
}
