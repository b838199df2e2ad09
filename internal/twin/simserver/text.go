package simserver

import (
	"math/rand/v2"

	"redline/internal/llm"
	"redline/internal/traffic/token"
)

// toolName is the function that a simulated tool call calls: one token.
const toolName = "search"

// script is the text of one answer. It is made of pieces of one token that
// stay one token each when they are put together, so counting the text gives
// the tokens generated.
type script struct {
	text string
	ends []int // where each token ends in text
	ids  []int32
	// reasoning is how many of the first tokens are reasoning; tool says that
	// the others are a tool call.
	reasoning int
	tool      bool
	named     int // tokens of the tool's name; 1 where it is 0
	perChunk  int // tokens in one event, where there are that many
	atOnce    int // tokens that are there for the next event, if more

	spoken int // tokens that next has given
}

// newScript writes an answer of n tokens, of which the first ones are
// reasoning and the others a tool call where that is asked for.
func newScript(v *token.Vocabulary, r *rand.Rand, n, reasoning int, tool bool) script {
	reasoning = min(reasoning, n)
	s := script{
		ends: make([]int, 0, n), ids: make([]int32, 0, n),
		reasoning: reasoning, tool: tool && reasoning < n, perChunk: 1,
	}
	text := make([]byte, 0, 8*n)
	for i := range n {
		piece := ""
		if s.tool && i >= reasoning {
			piece = toolPiece(i-reasoning, n-reasoning)
		}
		if piece == "" {
			piece = v.Piece(r)
		}
		text = append(text, piece...)
		s.ends = append(s.ends, len(text))
		s.ids = v.Encode(s.ids, piece)
	}
	s.text = string(text)
	return s
}

// chunk is how many tokens the next event carries. Neither reasoning nor the
// name of a tool is mixed with what follows it.
func (s *script) chunk() int {
	end := len(s.ends)
	switch {
	case s.spoken < s.reasoning:
		end = s.reasoning
	case s.tool && s.spoken == s.reasoning:
		return min(max(1, s.named), end-s.spoken)
	}
	return min(max(s.perChunk, s.atOnce), end-s.spoken)
}

// isDone reports whether all has been said.
func (s *script) isDone() bool { return s.spoken == len(s.ends) }

// next gives the text of the next event.
func (s *script) next() (llm.PartKind, string) {
	part := llm.Text
	switch {
	case s.spoken < s.reasoning:
		part = llm.Reasoning
	case s.tool:
		part = llm.ToolCall
	}
	from := s.spoken
	s.spoken += s.chunk()
	s.atOnce = 0
	return part, s.textOf(from, s.spoken)
}

// split gives the whole answer by its parts.
func (s *script) split() (text, reasoning, tool string) {
	reasoning = s.textOf(0, s.reasoning)
	rest := s.textOf(s.reasoning, len(s.ends))
	if s.tool {
		return "", reasoning, rest
	}
	return rest, reasoning, ""
}

// textOf gives the text of the tokens from one up to, not including, another.
func (s *script) textOf(from, to int) string {
	start, end := 0, 0
	if from > 0 {
		start = s.ends[from-1]
	}
	if to > 0 {
		end = s.ends[to-1]
	}
	return s.text[start:end]
}

// shortArguments are JSON objects of none to four tokens, too few for a word.
var shortArguments = [][]string{
	{},
	{`{}`},
	{`{`, ` }`},
	{`{`, ` `, ` }`},
	{`{"`, `q`, `":`, `[]}`},
}

// toolPiece gives token i of a tool call of n tokens: the function's name and
// a JSON object, {"q":" some words"}. It is "" where a word is to stand.
func toolPiece(i, n int) string {
	if i == 0 {
		return toolName
	}
	i, n = i-1, n-1
	if n < len(shortArguments) {
		return shortArguments[n][i]
	}
	switch i {
	case 0:
		return `{"`
	case 1:
		return `q`
	case 2:
		return `":"`
	case n - 1:
		return `"}`
	}
	return ""
}

// promptSeed condenses a prompt, so that the answer depends on what is asked
// and the same question gets the same answer.
func promptSeed(prompt []int32) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for _, id := range prompt {
		h = (h ^ uint64(uint32(id))) * prime
	}
	return h
}
