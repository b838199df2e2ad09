package simserver

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strings"

	"redline/internal/drive/wire"
	"redline/internal/llm"
	"redline/internal/traffic/structured"
	"redline/internal/twin/sim"
)

// checkCarried refuses what the engine cannot do with a request: a model that it
// does not serve, a priority that its scheduler does not know, a schema that does
// not compile.
func (s *Server) checkCarried(asked *llm.Request) error {
	refuse := func(format string, values ...any) error {
		return &refusal{http.StatusBadRequest, fmt.Sprintf(format, values...)}
	}
	if asked.Adapter == "" && asked.Model != s.spec.ServedModelName && s.serves(asked.Model) {
		asked.Adapter, asked.Model = asked.Model, "" // named as the model
	}
	switch p := asked.Priority; {
	case asked.Model != "" && asked.Model != s.spec.ServedModelName:
		return &refusal{http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist.", asked.Model)}
	case asked.Adapter != "" && !s.serves(asked.Adapter):
		return &refusal{http.StatusNotFound, fmt.Sprintf("The adapter `%s` does not exist.", asked.Adapter)}
	case p != nil && *p != 0 && s.spec.SchedulingPolicy != sim.Priority:
		return refuse("Got priority %d but priority scheduling is not enabled.", *p)
	}
	if err := cmp.Or(structured.CheckTools(asked.Tools), structured.CheckFormat(asked.Format)); err != nil {
		return refuse("Failed to compile the grammar: %v", err)
	}
	return nil
}

// serves reports whether an adapter is one of the engine's.
func (s *Server) serves(adapter string) bool {
	return slices.ContainsFunc(s.spec.LoraModules, func(pattern string) bool {
		matches, err := path.Match(pattern, adapter)
		return err == nil && matches
	})
}

// grammarOf is what the engine compiles for a request, "" for nothing.
func grammarOf(asked *llm.Request) string {
	if t := asked.Tools; t != nil && (t.Choice.Mode == llm.ChoiceRequired || t.Choice.Named != "") {
		return strings.Join(slices.Collect(t.Texts), "\n")
	}
	if f := asked.Format; f != nil {
		return string(f.Schema)
	}
	return ""
}

// composeStructured writes the tool call or the document that a request asks for,
// of at most that length. It reports whether it was to be either.
func (s *Server) composeStructured(d *wire.Dialect, asked *llm.Request, r *rand.Rand, most int) (script, bool) {
	word := func() string { return s.vocab.Piece(r) }
	reasoning := s.spec.ReasoningTokens
	if !d.Reasoning {
		reasoning = 0
	}
	var name, document string
	switch t := asked.Tools; {
	case t != nil && t.Choice.Mode != llm.ChoiceNone && d.Tools:
		tool := t.Tools[r.IntN(len(t.Tools))]
		if i := slices.IndexFunc(t.Tools, func(one llm.Tool) bool { return one.Name == t.Choice.Named }); i >= 0 {
			tool = t.Tools[i]
		}
		name, document = tool.Name, structured.Document(tool.Parameters, r, word)
	case asked.Format != nil:
		document = structured.Document(asked.Format.Schema, r, word)
	default:
		return script{}, false
	}
	if r.Float64() < s.spec.StructuredError { // the brace that closes it is missing
		document = strings.TrimSuffix(document, "}")
	}
	out := newScript(s.vocab, r, min(reasoning, most), reasoning, false)
	named := 0
	if name != "" {
		part := recite(s.vocab, name, most)
		named = len(part.ids)
		out.append(part)
	}
	out.append(recite(s.vocab, document, most))
	out.tool, out.named, out.perChunk = name != "", named, s.spec.TokensPerChunk
	out.cut(most)
	return out, true
}

// reciteReply is the script of a given answer: a text, or a call of one of the
// tools as its name and then its arguments.
func (s *Server) reciteReply(asked *llm.Request, text string, most int) script {
	name, _, _ := strings.Cut(text, "{")
	if asked.Tools == nil || !slices.ContainsFunc(asked.Tools.Tools, func(t llm.Tool) bool { return t.Name == name }) {
		return recite(s.vocab, text, most)
	}
	out := recite(s.vocab, name, most)
	out.named = len(out.ids)
	out.append(recite(s.vocab, text[len(name):], most))
	out.tool = true
	out.cut(most)
	return out
}

// append adds another text behind the first.
func (s *script) append(more script) {
	start := len(s.text)
	s.text += more.text
	for _, end := range more.ends {
		s.ends = append(s.ends, start+end)
	}
	s.ids = append(s.ids, more.ids...)
}

// cut ends the text at so many tokens.
func (s *script) cut(most int) {
	if most < len(s.ends) {
		s.ends, s.ids = s.ends[:most], s.ids[:most]
	}
	s.tool = s.tool && s.reasoning < len(s.ends)
}
