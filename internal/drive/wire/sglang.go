package wire

import (
	"errors"
	"fmt"
	"strconv"

	"redline/internal/llm"
)

// sglangGenerate is SGLang's own API. Each of its events repeats all the text
// before it.
var sglangGenerate = Dialect{
	Name:     "sglang-generate",
	Path:     "/generate",
	KeyEnv:   "SGLANG_API_KEY",
	Schemas:  true,
	TextOnly: true,
	Headers:  openAIHeaders,

	Encode:      encodeSGLang,
	Adapt:       adaptNothing,
	Decode:      decodeSGLang,
	DecodeWhole: func(body []byte, d *Delta) error { return decodeWhole(body, d, treeSGLangWhole) },
	DecodeError: decodeError,

	ParseRequest:     parseSGLang,
	Open:             openNothing,
	Output:           outputSGLang,
	Close:            closeSGLang,
	Whole:            wholeSGLang,
	EncodeError:      encodeOpenAIError,
	EncodeErrorEvent: encodeOpenAIErrorEvent,
}

func encodeSGLang(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, q)
	if b.key("text") {
		b.dst = appendPrompt(b.dst, r.Messages)
	}
	b.object("sampling_params", func(p *body) {
		if r.MaxTokens > 0 {
			p.int("max_new_tokens", int64(r.MaxTokens))
		}
		if !q.NoIgnoreEOS && !r.Natural {
			p.raw("ignore_eos", "true")
		}
		p.float("temperature", r.Sampling.Temperature)
		p.float("top_p", r.Sampling.TopP)
		if seed := r.Sampling.Seed; seed != nil {
			p.int("sampling_seed", *seed)
		}
		p.strs("stop", r.Sampling.Stop)
		if schema := schemaOf(r, q); schema != "" {
			p.str("json_schema", schema) // as text
		}
	})
	if r.Stream {
		b.raw("stream", "true")
	}
	return b.end()
}

func decodeSGLang(name, data []byte, d *Delta) error {
	if data = d.begin(data); data == nil {
		return nil
	}
	s := scan{b: data}
	running := scanSGLang(&s, d)
	if s.over() && string(name) != "error" {
		d.joinRest(running)
		return nil
	}
	return decodeTree(name, data, d, treeSGLang)
}

func scanSGLang(s *scan, d *Delta) (running []byte) {
	var seen uint
	var text span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "text":
			s.once(&seen, 0)
			text = s.text()
		case "meta_info":
			s.once(&seen, 1)
			if !s.null() {
				scanSGLangMeta(s, d)
			}
		default:
			s.other(k)
		}
	}
	d.join(&running, text)
	return running
}

func scanSGLangMeta(s *scan, d *Delta) {
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "prompt_tokens":
			s.once(&seen, 0)
			d.Usage.PromptTokens, d.HasUsage = s.count(), true
		case "completion_tokens":
			s.once(&seen, 1)
			d.Usage.OutputTokens, d.HasUsage = s.count(), true
		case "cached_tokens":
			s.once(&seen, 2)
			d.Usage.CachedTokens = s.count()
		case "finish_reason":
			s.once(&seen, 3)
			s.failIf(!s.null())
		default:
			s.skip()
		}
	}
}

// treeSGLang reads a stream event.
func treeSGLang(t tree, d *Delta) {
	d.joinRest([]byte(t.str("text")))
	treeSGLangMeta(t, d)
}

// treeSGLangWhole reads a reply that was not streamed.
func treeSGLangWhole(t tree, d *Delta) {
	d.joinString(&d.Text, t.str("text"))
	treeSGLangMeta(t, d)
}

func treeSGLangMeta(t tree, d *Delta) {
	meta := t.object("meta_info")
	d.HasUsage = meta.has("prompt_tokens") || meta.has("completion_tokens")
	d.Usage = llm.Usage{PromptTokens: meta.count("prompt_tokens"), CachedTokens: meta.count("cached_tokens"),
		OutputTokens: meta.count("completion_tokens")}
	reason := meta.object("finish_reason")
	switch kind := reason.str("type"); kind {
	case "":
	case "abort":
		d.Err, d.HasErr = []byte("aborted: "+reason.str("message")), true
	default:
		d.Finish = []byte(kind)
	}
}

func parseSGLang(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		Text           *string `json:"text"`
		Stream         bool    `json:"stream"`
		SamplingParams struct {
			MaxNewTokens *int     `json:"max_new_tokens"`
			IgnoreEOS    bool     `json:"ignore_eos"`
			Temperature  *float64 `json:"temperature"`
			TopP         *float64 `json:"top_p"`
			Seed         *int64   `json:"sampling_seed"`
			Stop         []string `json:"stop"`
		} `json:"sampling_params"`
	}
	if err := parseBody(body, &in); err != nil {
		return nil, ServerOptions{}, err
	}
	if in.Text == nil {
		return nil, ServerOptions{}, errors.New("text: want the text to continue")
	}
	p := in.SamplingParams
	shared := asked{MaxTokens: p.MaxNewTokens, Stream: in.Stream, Temperature: p.Temperature, TopP: p.TopP}
	r, err := shared.request()
	if err != nil {
		return nil, ServerOptions{}, fmt.Errorf("sampling_params.%w", err)
	}
	r.Messages = []llm.Message{{Role: "user", Content: *in.Text}}
	r.Sampling.Seed, r.Sampling.Stop = p.Seed, p.Stop
	return r, ServerOptions{IncludeUsage: true, ContinuousUsage: in.Stream, IgnoreEOS: p.IgnoreEOS}, nil
}

func outputSGLang(dst []byte, r *Reply, _ llm.Part, text string) []byte {
	r.say(text)
	dst = appendSGLang(append(dst, "data: "...), r, string(r.said), false, r.ContinuousUsage)
	return append(dst, "\n\n"...)
}

func closeSGLang(dst []byte, r *Reply) []byte {
	dst = appendSGLang(append(dst, "data: "...), r, string(r.said), true, r.IncludeUsage || r.ContinuousUsage)
	return append(dst, "\n\ndata: "+closingMark+"\n\n"...)
}

func wholeSGLang(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	return appendSGLang(dst, r, reasoning+text+tool, true, true)
}

func appendSGLang(dst []byte, r *Reply, text string, last, usage bool) []byte {
	dst = appendString(append(dst, `{"text":`...), text)
	dst = appendString(append(dst, `,"meta_info":{"id":`...), r.ID)
	switch {
	case !last:
		dst = append(dst, `,"finish_reason":null`...)
	case r.textFinish() == "length":
		dst = strconv.AppendInt(append(dst, `,"finish_reason":{"type":"length","length":`...), int64(r.Usage.OutputTokens), 10)
		dst = append(dst, '}')
	default:
		dst = append(dst, `,"finish_reason":{"type":"stop","matched":2}`...)
	}
	if usage {
		dst = strconv.AppendInt(append(dst, `,"prompt_tokens":`...), int64(r.Usage.PromptTokens), 10)
		dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), int64(r.Usage.OutputTokens), 10)
		dst = strconv.AppendInt(append(dst, `,"cached_tokens":`...), int64(r.Usage.CachedTokens), 10)
	}
	return append(dst, "}}"...)
}
