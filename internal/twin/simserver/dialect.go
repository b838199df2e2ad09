package simserver

import (
	"net/http"
	"slices"

	"redline/internal/drive/wire"
	"redline/internal/llm"
)

// rerankPaths are where text-embeddings-inference, vLLM and Cohere serve rerank
// beside its usual path.
var rerankPaths = []string{"/rerank", "/v2/rerank"}

// dialectsByPath lists what is spoken at each path. Engines of different makers
// share some: then the body tells them apart, and the engine's own come last.
func dialectsByPath(own []string) map[string][]*wire.Dialect {
	spoken, last := map[string][]*wire.Dialect{}, map[string]*wire.Dialect{}
	for _, d := range wire.All() {
		paths := d.Paths()
		if d.Name == "rerank" {
			paths = append(paths, rerankPaths...)
		}
		for _, path := range paths {
			if slices.Contains(own, d.Name) {
				last[path] = d
			} else {
				spoken[path] = append(spoken[path], d)
			}
		}
	}
	for path, d := range last {
		spoken[path] = append(spoken[path], d)
	}
	return spoken
}

// inquiry is a request, in the dialect in which it makes sense.
type inquiry struct {
	dialect *wire.Dialect
	asked   *llm.Request
	options wire.ServerOptions
}

// understand reads a body in the first of the dialects that has a meaning for
// it. The error is that of the last, which its path names.
func understand(spoken []*wire.Dialect, path string, body []byte) (u inquiry, err error) {
	for _, d := range spoken {
		u = inquiry{dialect: d}
		if u.asked, u.options, err = d.ParseRequest(body); err == nil {
			break
		}
	}
	if err == nil && u.dialect.WholePath != "" {
		u.asked.Stream = path == u.dialect.Path
	}
	return u, err
}

// pooledLength is how many tokens the engine generates where only figures are
// wanted: the one that the prefill ends with, which nobody sees.
const pooledLength = 1

// fits refuses texts that are longer than the context.
func (s *Server) fits(prompt int) error {
	switch {
	case prompt == 0:
		return &refusal{http.StatusBadRequest, "The input is empty."}
	case prompt+pooledLength > s.spec.MaxModelLen:
		return &refusal{http.StatusBadRequest, "The input is longer than the model's context."}
	}
	return nil
}
