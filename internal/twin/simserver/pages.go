package simserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"redline/internal/drive/wire"
	"redline/internal/llm"
	"redline/internal/text"
)

// writeDetail answers outside of any dialect, in the form of vLLM's web
// framework.
func writeDetail(w http.ResponseWriter, status int, detail string) {
	writeJSON(w, status, map[string]string{"detail": detail})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone is the only way in which this fails.
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusOK)
}

// serveReset empties the prefix cache, in vLLM's form.
func (s *Server) serveReset(w http.ResponseWriter, _ *http.Request) {
	done := true
	for _, d := range s.drivers {
		done = d.forget() && done
	}
	writeJSON(w, http.StatusOK, map[string]bool{"success": done})
}

type modelCard struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"`
	MaxModelLen int     `json:"max_model_len"`
}

func (s *Server) serveModels(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Object string      `json:"object"`
		Data   []modelCard `json:"data"`
	}{"list", []modelCard{{
		ID: s.spec.ServedModelName, Object: "model", Created: s.created, OwnedBy: cmp.Or(s.engine.Style.Owner, s.spec.ServedModelName),
		Root: s.spec.Model, MaxModelLen: s.spec.MaxModelLen,
	}}})
}

// serveTokenize counts the tokens of a prompt or of messages, in vLLM's form.
func (s *Server) serveTokenize(w http.ResponseWriter, r *http.Request) {
	asked, err := parseTokenize(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		writeDetail(w, http.StatusBadRequest, err.Error())
		return
	}
	if asked.Model != "" && asked.Model != s.spec.ServedModelName {
		writeDetail(w, http.StatusNotFound, "The model `"+asked.Model+"` does not exist.")
		return
	}
	tokens, _, err := s.encode(asked, nil)
	if err != nil {
		writeDetail(w, http.StatusBadRequest, err.Error())
		return
	}
	if tokens == nil {
		tokens = []int32{}
	}
	writeJSON(w, http.StatusOK, struct {
		Count       int     `json:"count"`
		MaxModelLen int     `json:"max_model_len"`
		Tokens      []int32 `json:"tokens"`
	}{len(tokens), s.spec.MaxModelLen, tokens})
}

// parseTokenize reads the body as the request of which it is the beginning: a
// chat where it has messages, else a completion.
func parseTokenize(r io.Reader) (*llm.Request, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var keys struct {
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &keys); err != nil {
		return nil, fmt.Errorf("body: %s", text.Reason(err))
	}
	name := "openai-completions"
	if keys.Messages != nil {
		name = "openai-chat"
	}
	dialect, _ := wire.ByName(name)
	asked, _, err := dialect.ParseRequest(body)
	return asked, err
}
