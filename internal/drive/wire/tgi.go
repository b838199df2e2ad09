package wire

import (
	"errors"
	"fmt"
	"strconv"

	"redline/internal/llm"
)

// tgiGenerate is the own API of text-generation-inference. Its last event
// carries a token and closes the stream.
var tgiGenerate = Dialect{
	Name:      "tgi-generate",
	Path:      "/generate_stream",
	WholePath: "/generate",
	KeyEnv:    "HF_TOKEN",
	Schemas:   true,
	TextOnly:  true,
	Headers:   openAIHeaders,

	Encode:      encodeTGI,
	Adapt:       adaptNothing,
	Decode:      decodeTGI,
	DecodeWhole: func(body []byte, d *Delta) error { return decodeWhole(body, d, treeTGIWhole) },
	DecodeError: decodeError,

	ParseRequest:     parseTGI,
	Open:             openNothing,
	Output:           outputTGI,
	Close:            closeTGI,
	Whole:            wholeTGI,
	EncodeError:      encodeTGIError,
	EncodeErrorEvent: encodeTGIErrorEvent,
}

// encodeTGI leaves out what the server refuses although it means nothing to it:
// a temperature of 0, which is its default of no sampling, a top_p of 1, and a
// negative seed.
func encodeTGI(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, q)
	if b.key("inputs") {
		b.dst = appendPrompt(b.dst, r.Messages)
	}
	b.object("parameters", func(p *body) {
		if r.MaxTokens > 0 {
			p.int("max_new_tokens", int64(r.MaxTokens))
		}
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
		if schema := schemaOf(r, q); schema != "" {
			p.raw("grammar", `{"type":"json","value":`+schema+"}")
		}
		p.raw("details", "true")
		if !r.Stream {
			p.raw("decoder_input_details", "true") // else the prompt's length is not told
		}
	})
	if r.Stream {
		b.raw("stream", "true")
	}
	return b.end()
}

func decodeTGI(name, data []byte, d *Delta) error {
	if data = d.begin(data); data == nil {
		return nil
	}
	s := scan{b: data}
	if scanTGI(&s, d); s.over() && string(name) != "error" {
		return nil
	}
	return decodeTree(name, data, d, treeTGI)
}

func scanTGI(s *scan, d *Delta) {
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "token":
			s.once(&seen, 0)
			if !s.null() {
				scanTGIToken(s, d)
			}
		case "generated_text":
			s.once(&seen, 1)
			if !s.null() {
				s.str()
				d.Done = true
			}
		case "details":
			s.once(&seen, 2)
			if !s.null() {
				scanTGIDetails(s, d)
			}
		default:
			s.other(k)
		}
	}
}

func scanTGIToken(s *scan, d *Delta) {
	var seen uint
	var text span
	special := false
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "text":
			s.once(&seen, 0)
			text = s.text()
		case "special":
			s.once(&seen, 1)
			special = s.flag()
		default:
			s.skip()
		}
	}
	if !special {
		d.join(&d.Text, text)
	}
}

func scanTGIDetails(s *scan, d *Delta) {
	d.Done, d.HasUsage = true, true
	var seen uint
	var finish span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "finish_reason":
			s.once(&seen, 0)
			finish = s.text()
		case "generated_tokens":
			s.once(&seen, 1)
			d.Usage.OutputTokens = s.count()
		case "input_length":
			s.once(&seen, 2)
			d.Usage.PromptTokens = s.count()
		default:
			s.skip()
		}
	}
	d.setFinish(finish)
	d.Finish = plainFinish(d.Finish)
}

// treeTGI reads a stream event. A special token, such as the one that ends the
// text, is no text.
func treeTGI(t tree, d *Delta) {
	if token := t.object("token"); !token.flag("special") {
		d.joinString(&d.Text, token.str("text"))
	}
	_, closed := t["generated_text"].(string)
	d.Done = closed || t.object("details") != nil
	treeTGIDetails(t, d)
}

func treeTGIDetails(t tree, d *Delta) {
	details := t.object("details")
	if details == nil {
		return
	}
	d.HasUsage = true
	d.Usage = llm.Usage{PromptTokens: details.count("input_length"), OutputTokens: details.count("generated_tokens")}
	if reason := details.str("finish_reason"); reason != "" {
		d.Finish = plainFinish([]byte(reason))
	}
}

// treeTGIWhole reads a reply that was not streamed, which lists the prompt's
// tokens instead of counting them.
func treeTGIWhole(t tree, d *Delta) {
	d.joinString(&d.Text, t.str("generated_text"))
	treeTGIDetails(t, d)
	if prefill, ok := t.object("details")["prefill"].([]any); ok && d.Usage.PromptTokens == 0 {
		d.Usage.PromptTokens = len(prefill)
	}
}

func parseTGI(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		Inputs     *string `json:"inputs"`
		Stream     bool    `json:"stream"`
		Parameters struct {
			MaxNewTokens *int     `json:"max_new_tokens"`
			Temperature  *float64 `json:"temperature"`
			TopP         *float64 `json:"top_p"`
			Seed         *int64   `json:"seed"`
			Stop         []string `json:"stop"`
		} `json:"parameters"`
	}
	none := ServerOptions{}
	if err := parseBody(body, &in); err != nil {
		return nil, none, err
	}
	p := in.Parameters
	switch {
	case in.Inputs == nil:
		return nil, none, errors.New("inputs: want the text to continue")
	case p.Temperature != nil && *p.Temperature == 0:
		return nil, none, errors.New("parameters.temperature: want more than 0; leave it out for no sampling")
	case p.TopP != nil && *p.TopP == 1:
		return nil, none, errors.New("parameters.top_p: want less than 1; leave it out for all tokens")
	}
	shared := asked{MaxTokens: p.MaxNewTokens, Stream: in.Stream, Temperature: p.Temperature, TopP: p.TopP}
	r, err := shared.request()
	if err != nil {
		return nil, none, fmt.Errorf("parameters.%w", err)
	}
	r.Messages = []llm.Message{{Role: "user", Content: *in.Inputs}}
	r.Sampling.Seed, r.Sampling.Stop = p.Seed, p.Stop
	return r, ServerOptions{IncludeUsage: true}, nil
}

func outputTGI(dst []byte, r *Reply, _ llm.Part, text string) []byte {
	r.say(text)
	dst = appendTGIToken(dst, r, text, false)
	return append(dst, ",\"generated_text\":null,\"details\":null}\n\n"...)
}

func appendTGIToken(dst []byte, r *Reply, text string, special bool) []byte {
	r.events++
	dst = strconv.AppendInt(append(dst, `data:{"index":`...), int64(r.events), 10)
	dst = appendString(append(dst, `,"token":{"id":1,"text":`...), text)
	dst = strconv.AppendBool(append(dst, `,"logprob":-0.5,"special":`...), special)
	return append(dst, '}')
}

// tgiFinish is the reason for stopping in the server's words.
func tgiFinish(r *Reply) string {
	if r.textFinish() == "length" {
		return "length"
	}
	return "eos_token"
}

// closeTGI sends the token that ends the text together with the figures.
func closeTGI(dst []byte, r *Reply) []byte {
	dst = appendTGIToken(dst, r, "</s>", true)
	dst = appendString(append(dst, `,"generated_text":`...), string(r.said))
	dst = appendString(append(dst, `,"details":{"finish_reason":`...), tgiFinish(r))
	if r.IncludeUsage {
		dst = strconv.AppendInt(append(dst, `,"generated_tokens":`...), int64(r.Usage.OutputTokens), 10)
		dst = strconv.AppendInt(append(dst, `,"seed":null,"input_length":`...), int64(r.Usage.PromptTokens), 10)
	}
	return append(dst, "}}\n\n"...)
}

func wholeTGI(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	dst = appendString(append(dst, `{"generated_text":`...), reasoning+text+tool)
	dst = appendString(append(dst, `,"details":{"finish_reason":`...), tgiFinish(r))
	dst = strconv.AppendInt(append(dst, `,"generated_tokens":`...), int64(r.Usage.OutputTokens), 10)
	dst = append(dst, `,"seed":null,"prefill":[`...)
	for i := range r.Usage.PromptTokens {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":1,"text":"","logprob":null}`...)
	}
	return append(dst, `],"tokens":[]}}`...)
}

// tgiErrorTypes are the server's names for what a status means.
var tgiErrorTypes = map[int]string{400: "validation", 422: "validation", 424: "generation", 429: "overloaded", 503: "unhealthy"}

func encodeTGIError(dst []byte, status int, message string) []byte {
	kind, ok := tgiErrorTypes[status]
	if !ok {
		kind = "generation"
	}
	dst = appendString(append(dst, `{"error":`...), message)
	return append(appendString(append(dst, `,"error_type":`...), kind), '}')
}

func encodeTGIErrorEvent(dst []byte, message string) []byte {
	return append(encodeTGIError(append(dst, "data:"...), 424, message), "\n\n"...)
}
