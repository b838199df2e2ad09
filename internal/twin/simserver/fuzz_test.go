package simserver

import (
	"bytes"
	"net/http"
	"testing"

	"redline/internal/clock"
	"redline/internal/drive/wire"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// FuzzRequest throws bodies at every path that takes one: the server answers
// with success or with a 4xx, never with anything else.
func FuzzRequest(f *testing.F) {
	for _, d := range wire.All() {
		f.Add(d.Path, d.Encode(nil, question(2), wire.Quirks{}))
	}
	f.Add("/tokenize", []byte(`{"prompt":"a"}`))
	f.Add("/tokenize", []byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`))
	f.Add("/v1/chat/completions", []byte(`{"messages":null,"max_tokens":1e99}`))
	spec := sim.Spec{ServedModelName: sim.DefaultModel, MaxModelLen: 64}
	s := must.Get(NewServer(Options{Spec: spec, Core: sim.NewMetronome(1), Clock: clock.New()}))(f)
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sim", bytes.NewReader(body)))(t)
		req.URL.Path = path
		w := &sink{header: http.Header{}}
		s.ServeHTTP(w, req)
		if w.status >= 500 {
			t.Errorf("%s %q: status %d", path, body, w.status)
		}
	})
}

// sink is a response that keeps only its status.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) Flush()                      {}
