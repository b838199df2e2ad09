package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"redline/internal/drive/frame"
	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// embeddings is OpenAI's API for vectors, as vLLM, SGLang, llama.cpp, Ollama
// and text-embeddings-inference serve it. Every message is an input.
var embeddings = Dialect{
	Name:    "embeddings",
	Path:    "/v1/embeddings",
	Framing: frame.Single,
	KeyEnv:  "OPENAI_API_KEY",
	Items:   func(r *llm.Request) int { return len(r.Messages) },
	needs:   []llm.Need{llm.NeedAdapter, llm.NeedPriority},

	Encode: func(dst []byte, r *llm.Request, q Quirks) []byte {
		b := newBody(dst, r, q)
		b.model(r)
		b.prompt("input", r.Messages, appendContents)
		b.raw("encoding_format", `"float"`)
		b.priority(r)
		return b.end()
	},
	tree:      treeEmbeddings,
	wholeScan: scanVectors,

	ParseRequest: parse[embeddingsRequest],
	Output:       outputNothing,
	Close:        closeNothing,
	Whole:        wholeEmbeddings,
}

// PoolsReplies reports whether d makes figures of texts and generates nothing.
func (d *Dialect) PoolsReplies() bool { return d.Items != nil }

func outputNothing(dst []byte, _ *Reply, _ llm.PartKind, _ string) []byte { return dst }

func closeNothing(dst []byte, _ *Reply) []byte { return dst }

// scanVectors counts the vectors. They are long, so that the scanner is worth
// its while although a reply comes but once.
func scanVectors(body []byte, d *Delta) (bool, error) {
	s := jsonio.NewScanner(body)
	scanEmbeddings(&s, d)
	d.Done = s.AtEnd()
	return d.Done, nil
}

func scanEmbeddings(s *jsonio.Scanner, d *Delta) {
	var seen uint
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "data":
			s.MarkSeen(&seen, 0)
			for ok := s.FirstElem(); ok; ok = s.NextElem() {
				scanEmbedding(s, d)
			}
		case "usage":
			scanOpenAIUsage(s, d)
		default:
			skipOther(s, k)
		}
	}
	d.Usage.OutputTokens, d.Usage.ReasoningTokens = 0, 0
	s.FailIf(d.HasUsage && d.Usage.PromptTokens == 0)
}

func scanEmbedding(s *jsonio.Scanner, d *Delta) {
	var seen uint
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		if string(k) != "embedding" {
			s.Skip()
			continue
		}
		s.MarkSeen(&seen, 0)
		length := 0
		if s.Peek() == '"' {
			length = len(s.Str().Raw)
		} else {
			for ok := s.FirstElem(); ok; ok = s.NextElem() {
				s.Skip()
				length++
			}
		}
		if length > 0 {
			d.Items++
		}
	}
}

func treeEmbeddings(t jsonio.Tree, d *Delta) {
	for _, e := range t.Objects("data") {
		vector, _ := e["embedding"].([]any)
		if len(vector) > 0 || e.Str("embedding") != "" {
			d.Items++
		}
	}
	treePoolingUsage(t, d)
}

// treePoolingUsage reads the prompt's length. Some servers tell only a total,
// which is the same where nothing is generated.
func treePoolingUsage(t jsonio.Tree, d *Delta) {
	if u := t.Object("usage"); u != nil {
		d.HasUsage = true
		d.Usage = llm.Usage{PromptTokens: u.Count("prompt_tokens"), CachedTokens: u.Object("prompt_tokens_details").Count("cached_tokens")}
		if d.Usage.PromptTokens == 0 {
			d.Usage.PromptTokens = u.Count("total_tokens")
		}
	}
}

type embeddingsRequest struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Encoding   string          `json:"encoding_format"`
	Dimensions int             `json:"dimensions"`
}

func (in *embeddingsRequest) request() (*llm.Request, ServerOptions, error) {
	var o ServerOptions
	inputs, err := parseStrings("input", in.Input)
	switch {
	case err != nil:
		return nil, o, err
	case len(inputs) == 0:
		return nil, o, errors.New("input: expected a string or an array of strings")
	case in.Encoding != "" && in.Encoding != "float" && in.Encoding != "base64":
		return nil, o, fmt.Errorf("encoding_format: expected float or base64, got %q", in.Encoding)
	case in.Dimensions < 0 || in.Dimensions > maxDimensions:
		return nil, o, fmt.Errorf("dimensions: must be 1 to %d, got %d", maxDimensions, in.Dimensions)
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
	dst = jsonio.AppendList(append(dst, `{"object":"list","data":`...), r.Items, func(dst []byte, i int) []byte {
		return append(appendVector(jsonio.Appendf(dst, `{"object":"embedding","index":%d,"embedding":`, i), r, i), '}')
	})
	return append(appendPoolingUsage(jsonio.Appendf(dst, `,"model":%s,"usage":`, r.Model), r.Usage), '}')
}

// appendVector writes a vector of unit length that is another one for every
// input.
func appendVector(dst []byte, r *Reply, i int) []byte {
	size := cmp.Or(r.Options.Dimensions, dimensions)
	scale := math.Sqrt(2 / float64(size))
	element := func(j int) float64 { return scale * math.Sin(float64((i+1)*(j+1))) }
	if r.Options.Base64 {
		var raw []byte
		for j := range size {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(element(j))))
		}
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), raw), '"')
	}
	return jsonio.AppendList(dst, size, func(dst []byte, j int) []byte { return strconv.AppendFloat(dst, element(j), 'f', 7, 64) })
}

func appendPoolingUsage(dst []byte, u llm.Usage) []byte {
	return jsonio.Appendf(dst, `{"prompt_tokens":%d,"total_tokens":%d}`, u.PromptTokens, u.PromptTokens)
}
