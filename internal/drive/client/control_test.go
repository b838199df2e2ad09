package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A page that does not end, or not in time, is refused and not read for a whole one.
func TestAnEndlessPageIsRefused(t *testing.T) {
	t.Parallel()
	line := []byte(strings.Repeat("vllm:num_requests_running 1\n", 1000))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	page, err := newClient(t, Spec{}, server.URL).Get(t.Context(), "/metrics")
	if err == nil || err.Error() != "/metrics: the reply is larger than 8 MiB, or has no end" {
		t.Errorf("%d bytes, %v", len(page), err)
	}
}
