package workload

import (
	"redline/internal/llm"
)

// maxInputs bounds the texts of one request.
const maxInputs = 10_000

// The texts of one request where the workload does not say, and the length of
// the query that they are ranked for.
const (
	defaultTexts     = 1
	defaultDocuments = 10
	queryTokens      = 16
)

// poolingRequest makes a request for vectors or scores of one that asks for text: its
// prompt is the first of several texts of that length.
func (w *Workload) poolingRequest(c *class, r *llm.Request, i int) *llm.Request {
	n := c.inputs
	switch {
	case n == 0 && w.options.Ranking:
		n = defaultDocuments
	case n == 0:
		n = defaultTexts
	}
	role, tokens := "user", r.PromptTokens
	var messages []llm.Message
	if w.options.Ranking {
		role = "document"
		messages = append(messages, llm.Message{Role: "query", Content: w.input(c, i, maxInputs, queryTokens)})
		r.PromptTokens += queryTokens
	}
	messages = append(messages, llm.Message{Role: role, Content: r.Messages[len(r.Messages)-1].Content})
	for k := 1; k < n; k++ {
		messages = append(messages, llm.Message{Role: role, Content: w.input(c, i, k, tokens)})
		r.PromptTokens += tokens
	}
	r.Messages, r.Inputs, r.MaxTokens, r.Stream = messages, n, 0, false
	return r
}

// input writes the k-th text of the i-th request.
func (w *Workload) input(c *class, i, k, tokens int) string {
	return w.write(c, []segment{{"workload input", uint64(i)*(maxInputs+1) + uint64(k), tokens}})
}
