package client

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redline/internal/llm"
)

// TestEventsWithoutAnEndAreBoundedInSum: twenty streams that never end an event
// hold no more than is allowed in all, those too many fail, and streams beside
// them do not notice.
func TestEventsWithoutAnEndAreBoundedInSum(t *testing.T) {
	t.Parallel()
	const (
		large, limit    = 64 << 10, 1 << 20
		endless, honest = 20, 10
		each            = 4 * limit / endless // of each stream, so that four times the bound would be held
		piece           = 16 << 10
	)
	for _, tt := range []struct {
		api, kind, begins string
		stream            bool
	}{
		{"openai-chat", "text/event-stream", "data: ", true},
		{"ollama-chat", "application/x-ndjson", `{"a":"`, true},
		{"openai-chat", "application/json", `{"a":"`, false},
	} {
		t.Run(tt.api+" "+tt.kind, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get(requestID) == "honest" {
					hails(w, r)
					return
				}
				w.Header().Set("Content-Type", tt.kind)
				fmt.Fprint(w, tt.begins)
				for sent := 0; sent < each && r.Context().Err() == nil; sent += piece {
					if _, err := fmt.Fprint(w, strings.Repeat("x", piece)); err != nil {
						break
					}
					w.(http.Flusher).Flush()
				}
				select {
				case <-release:
				case <-r.Context().Done():
				}
			})
			c := newClient(t, Spec{API: tt.api}, url)
			held := &c.events
			if !tt.stream {
				held = &c.replies
			}
			held.large, held.max = large, limit
			var failed, other atomic.Int64
			var all sync.WaitGroup
			for range endless {
				all.Go(func() {
					_, fault := collect(t, t.Context(), c, requestOf(tt.stream), nil)
					switch {
					case fault != nil && fault.Outcome == llm.Malformed && strings.Contains(fault.Message, "hold more than 1 MiB in all"):
						failed.Add(1)
					default:
						other.Add(1)
					}
				})
			}
			// Until every stream has failed or has read all that will come.
			for {
				sum, left := held.sum.Load(), int64(endless)-failed.Load()-other.Load()
				if bound := int64(limit + endless*(piece+16<<10)); sum > bound {
					t.Errorf("%d bytes are held, want at most %d", sum, bound)
					break
				}
				if sum >= left*each {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if tt.kind == "text/event-stream" {
				for range honest {
					r := requestOf(true)
					r.ID = "honest"
					if _, fault := collect(t, t.Context(), c, r, nil); fault != nil {
						t.Errorf("an ordinary stream: %v", fault)
					}
				}
			}
			close(release)
			all.Wait()
			// Those that are left hold no more than is allowed.
			if least := int64(endless - limit/each); failed.Load() < least {
				t.Errorf("%d streams failed for the bound, want at least %d; %d ended otherwise", failed.Load(), least, other.Load())
			}
			if other.Load() == 0 {
				t.Error("no stream was left alone")
			}
			if sum := held.sum.Load(); sum != 0 {
				t.Errorf("%d bytes are still counted", sum)
			}
		})
	}
}
