package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redline/internal/clock"
	"redline/internal/llm"
	"redline/internal/must"
)

// A server that cannot take a schema, with whatever status it says so, is
// asked again without, and not bothered with one afterwards.
func TestRefusedSchemaIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 422, 500} {
		bodies := make(chan string, 8)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies <- string(body)
			if strings.Contains(string(body), "response_format") {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"error":{"message":"('body', 'response_format', 'type'): Input should be 'text'"}}`)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}`)
		}))
		defer s.Close()
		c := must.Get(New(Spec{URLs: []string{s.URL}}, Options{Clock: clock.New()}))(t)
		defer c.Close()
		if !c.SendsSchemas() {
			t.Error("nothing was refused yet")
		}
		for range 2 {
			r := &llm.Request{Model: "m", Messages: []llm.Message{{Role: "user", Content: "u"}}, Format: &llm.Format{Schema: llm.JSON(`{"type":"object"}`), Optional: true}}
			for _, err := range c.Stream(t.Context(), r) {
				if err != nil {
					t.Fatalf("HTTP %d: %v", status, err)
				}
			}
		}
		if len(bodies) != 3 || c.SendsSchemas() {
			t.Errorf("HTTP %d: %d requests, want one with the schema and two without", status, len(bodies))
		}
	}
}
