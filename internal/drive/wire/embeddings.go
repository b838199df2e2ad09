package wire

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"redline/internal/llm"
)

// embeddings is OpenAI's API for vectors, as vLLM, SGLang, llama.cpp, Ollama
// and text-embeddings-inference serve it. Every message is an input.
var embeddings = Dialect{
	Name:     "embeddings",
	Path:     "/v1/embeddings",
	Framing:  Single,
	KeyEnv:   "OPENAI_API_KEY",
	TextOnly: true,
	Headers:  openAIHeaders,
	Items:    func(r *llm.Request) int { return len(r.Messages) },

	Encode:      encodeEmbeddings,
	Adapt:       adaptNothing,
	Decode:      decodeNoStream,
	DecodeWhole: decodeEmbeddings,
	DecodeError: decodeError,

	ParseRequest:     parseEmbeddings,
	Open:             openNothing,
	Output:           outputNothing,
	Close:            openNothing,
	Whole:            wholeEmbeddings,
	EncodeError:      encodeOpenAIError,
	EncodeErrorEvent: encodeOpenAIErrorEvent,
}

// Pooled reports whether d makes figures of texts and generates nothing.
func (d *Dialect) Pooled() bool { return d.Items != nil }

func outputNothing(dst []byte, _ *Reply, _ llm.Part, _ string) []byte { return dst }

func decodeNoStream(_, _ []byte, d *Delta) error {
	d.reset()
	return errors.New("stream event: this API replies with one JSON body, not with a stream")
}

func encodeEmbeddings(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, q)
	b.str("model", r.Model)
	if b.key("input") {
		b.dst = appendContents(b.dst, r.Messages)
	}
	b.raw("encoding_format", `"float"`)
	return b.end()
}

// appendContents appends the messages' contents as an array of strings.
func appendContents(dst []byte, messages []llm.Message) []byte {
	dst = append(dst, '[')
	for i, m := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, m.Content)
	}
	return append(dst, ']')
}

// decodeEmbeddings counts the vectors. They are long, so that the scanner is
// worth its while although a reply comes but once.
func decodeEmbeddings(body []byte, d *Delta) error {
	d.reset()
	s := scan{b: body}
	if scanEmbeddings(&s, d); s.over() {
		d.Done = true
		return nil
	}
	return decodeWhole(body, d, treeEmbeddings)
}

func scanEmbeddings(s *scan, d *Delta) {
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "data":
			s.once(&seen, 0)
			for ok := s.firstElem(); ok; ok = s.nextElem() {
				scanEmbedding(s, d)
			}
		case "usage":
			s.once(&seen, 1)
			scanOpenAIUsage(s, d)
		default:
			s.other(k)
		}
	}
	d.Usage.OutputTokens, d.Usage.ReasoningTokens = 0, 0
	s.failIf(d.HasUsage && d.Usage.PromptTokens == 0)
}

func scanEmbedding(s *scan, d *Delta) {
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		if string(k) != "embedding" {
			s.skip()
			continue
		}
		s.once(&seen, 0)
		length := 0
		if s.peek() == '"' {
			length = len(s.str().raw)
		} else {
			for ok := s.firstElem(); ok; ok = s.nextElem() {
				s.skip()
				length++
			}
		}
		if length > 0 {
			d.Items++
		}
	}
}

func treeEmbeddings(t tree, d *Delta) {
	for _, e := range t.objects("data") {
		vector, _ := e["embedding"].([]any)
		if len(vector) > 0 || e.str("embedding") != "" {
			d.Items++
		}
	}
	treePoolingUsage(t, d)
}

// treePoolingUsage reads the prompt's length. Some servers tell only a total,
// which is the same where nothing is generated.
func treePoolingUsage(t tree, d *Delta) {
	if u := t.object("usage"); u != nil {
		d.HasUsage = true
		d.Usage = llm.Usage{PromptTokens: u.count("prompt_tokens"), CachedTokens: u.object("prompt_tokens_details").count("cached_tokens")}
		if d.Usage.PromptTokens == 0 {
			d.Usage.PromptTokens = u.count("total_tokens")
		}
	}
}

func parseEmbeddings(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		Model      string          `json:"model"`
		Input      json.RawMessage `json:"input"`
		Encoding   string          `json:"encoding_format"`
		Dimensions int             `json:"dimensions"`
	}
	none := ServerOptions{}
	if err := parseBody(body, &in); err != nil {
		return nil, none, err
	}
	inputs, err := parseStrings("input", in.Input)
	switch {
	case err != nil:
		return nil, none, err
	case len(inputs) == 0:
		return nil, none, errors.New("input: want a string or an array of strings")
	case in.Encoding != "" && in.Encoding != "float" && in.Encoding != "base64":
		return nil, none, fmt.Errorf("encoding_format: want float or base64, got %q", in.Encoding)
	case in.Dimensions < 0 || in.Dimensions > maxDimensions:
		return nil, none, fmt.Errorf("dimensions: want 1 to %d, got %d", maxDimensions, in.Dimensions)
	}
	r := &llm.Request{Model: in.Model}
	for _, text := range inputs {
		r.Messages = append(r.Messages, llm.Message{Role: "user", Content: text})
	}
	return r, ServerOptions{Base64: in.Encoding == "base64", Dimensions: in.Dimensions}, nil
}

const (
	// dimensions is how long a vector is if nobody asks for another length.
	dimensions    = 384
	maxDimensions = 16384
)

func wholeEmbeddings(dst []byte, r *Reply, _, _, _ string) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i := range r.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"object":"embedding","index":`...), int64(i), 10)
		dst = append(appendVector(append(dst, `,"embedding":`...), r, i), '}')
	}
	dst = appendString(append(dst, `],"model":`...), r.Model)
	return append(appendPoolingUsage(append(dst, `,"usage":`...), r.Usage), '}')
}

// appendVector writes a vector of unit length that is another one for every
// input.
func appendVector(dst []byte, r *Reply, i int) []byte {
	size := r.Options.Dimensions
	if size == 0 {
		size = dimensions
	}
	scale := math.Sqrt(2 / float64(size))
	element := func(j int) float64 { return scale * math.Sin(float64((i+1)*(j+1))) }
	if r.Options.Base64 {
		var raw []byte
		for j := range size {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(element(j))))
		}
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), raw), '"')
	}
	dst = append(dst, '[')
	for j := range size {
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, element(j), 'f', 7, 64)
	}
	return append(dst, ']')
}

func appendPoolingUsage(dst []byte, u llm.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), int64(u.PromptTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), int64(u.PromptTokens), 10)
	return append(dst, '}')
}
