package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"redline/internal/drive/frame"
	"redline/internal/drive/jsonio"
	"redline/internal/llm"
	"redline/internal/text"
)

// rerank is the API of Jina and Cohere for scores, as vLLM, SGLang and
// llama.cpp serve it, and that of text-embeddings-inference. The message whose
// role is "query" is the query, and every other one a document.
var rerank = Dialect{
	Name:    "rerank",
	Path:    "/v1/rerank",
	Framing: frame.Single,
	KeyEnv:  "JINA_API_KEY",
	Items: func(r *llm.Request) int {
		_, documents := splitQuery(r.Messages)
		return len(documents)
	},
	needs: []llm.Need{llm.NeedAdapter, llm.NeedPriority},

	Encode:    encodeRerank,
	Adapt:     adaptRerank,
	tree:      treeRerank,
	wholeScan: readScores,

	ParseRequest: parse[rerankRequest],
	Output:       outputNothing,
	Close:        closeNothing,
	Whole:        wholeRerank,
}

// splitQuery takes the first message for the query.
func splitQuery(messages []llm.Message) (query string, documents []llm.Message) {
	if len(messages) == 0 {
		return "", nil
	}
	return messages[0].Content, messages[1:]
}

func encodeRerank(dst []byte, r *llm.Request, q Quirks) []byte {
	query, documents := splitQuery(r.Messages)
	b := newBody(dst, r, q)
	list := "texts"
	if !q.Texts {
		list = "documents"
		b.model(r)
	}
	b.str("query", query)
	b.prompt(list, documents, appendContents)
	b.priority(r)
	return b.end()
}

// adaptRerank speaks to text-embeddings-inference in its own manner, once it
// has said that it misses its texts.
func adaptRerank(body []byte, q Quirks) (Quirks, bool) {
	was := q
	q.Texts = q.Texts || names(body, "texts", q)
	return q, q != was
}

// readScores counts the scores of a reply that is a bare array, which is that of
// text-embeddings-inference.
func readScores(body []byte, d *Delta) (bool, error) {
	if body = bytes.TrimSpace(body); len(body) < 2 || body[0] != '[' {
		return false, nil
	}
	var scores []struct{ Score *float64 }
	if err := json.Unmarshal(body, &scores); err != nil {
		return true, fmt.Errorf("reply: not an array of scores: %s", text.Reason(err))
	}
	for _, s := range scores {
		if s.Score != nil {
			d.Items++
		}
	}
	if d.Done = d.Items > 0; !d.Done {
		return true, errors.New("reply: expected scores, got an array without any")
	}
	return true, nil
}

func treeRerank(t jsonio.Tree, d *Delta) {
	for _, result := range t.Objects("results") {
		for _, key := range []string{"relevance_score", "score"} {
			if _, ok := result[key].(json.Number); ok {
				d.Items++
				break
			}
		}
	}
	treePoolingUsage(t, d)
}

type rerankRequest struct {
	Model     string          `json:"model"`
	Query     *string         `json:"query"`
	Documents json.RawMessage `json:"documents"`
	Texts     json.RawMessage `json:"texts"`
}

func (in *rerankRequest) request() (*llm.Request, ServerOptions, error) {
	var o ServerOptions
	if in.Query == nil {
		return nil, o, errors.New("query: expected the text to compare with")
	}
	field, raw := "documents", in.Documents
	if raw == nil && in.Texts != nil {
		field, raw = "texts", in.Texts
	}
	documents, err := parseStrings(field, raw)
	switch {
	case err != nil:
		return nil, o, err
	case len(documents) == 0:
		return nil, o, fmt.Errorf("%s: expected at least one text", field)
	}
	r := &llm.Request{Model: in.Model, Messages: []llm.Message{{Role: "query", Content: *in.Query}}}
	for _, text := range documents {
		r.Messages = append(r.Messages, llm.Message{Role: "document", Content: text})
	}
	return r, ServerOptions{Texts: field == "texts"}, nil
}

// wholeRerank scores the documents in the order in which they came.
func wholeRerank(dst []byte, r *Reply, _, _, _ string) []byte {
	score, after := "score", ""
	if !r.Options.Texts {
		score, after = "relevance_score", "}"
		dst = appendPoolingUsage(jsonio.Appendf(dst, `{"id":"rerank-%b","model":%s,"usage":`, r.ID, r.Model), r.Usage)
		dst = append(dst, `,"results":`...)
	}
	dst = jsonio.AppendList(dst, r.Items, func(dst []byte, i int) []byte {
		return append(strconv.AppendFloat(jsonio.Appendf(dst, `{"index":%d,%s:`, i, score), 1/float64(i+1), 'f', 6, 64), '}')
	})
	return append(dst, after...)
}
