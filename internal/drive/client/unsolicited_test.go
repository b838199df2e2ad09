package client

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"redline/internal/llm"
)

// TestTheAnswerToAnotherRequest: a server that echoes ids mixes them up once.
func TestTheAnswerToAnotherRequest(t *testing.T) {
	t.Parallel()
	ids := []string{llm.RequestID("run", 1), llm.RequestID("run", 2), llm.RequestID("run", 3)}
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		echoed := r.Header.Get(requestID)
		if asked.Add(1) == 2 {
			echoed = ids[0] // that of the request before
		}
		w.Header().Set(requestID, echoed)
		hails(w, r)
	})
	c := newClient(t, Spec{}, url)
	for i, id := range ids {
		r := requestOf(true)
		r.ID = id
		events, fault := plainly(t, c, r, nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "text", textOf(events), "Hello!")
		equal(t, "reconnected", has(events, llm.Reconnect), i == 1)
	}
	equal(t, "unasked", c.UnsolicitedReads(), int64(1))
}

// On a connection of its own there is nothing else to blame.
func TestTheAnswerToAnotherRequestOnANewConnection(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(requestID, llm.RequestID("run", 99))
		hails(w, r)
	})
	r := requestOf(true)
	r.ID = llm.RequestID("run", 1)
	_, fault := plainly(t, newClient(t, Spec{}, url), r, nil)
	if fault == nil || fault.Outcome != llm.Malformed || !strings.Contains(fault.Message, "answered another request") {
		t.Errorf("got %v", fault)
	}
}

func TestForeignIdsSayNothing(t *testing.T) {
	t.Parallel()
	own := llm.RequestID("8f14e45f-ceea-467f-a8b1", 17)
	for echoed, want := range map[string]bool{
		"":  false,
		own: false,
		llm.RequestID("8f14e45f-ceea-467f-a8b1", 16): true,
		llm.RequestID("9f14e45f-ceea-467f-a8b1", 16): false,
		"req_abc123":                 false,
		"8f14e45f-ceea-467f-a8b1-17": false,
	} {
		if got := otherOfRun(echoed, own); got != want {
			t.Errorf("%q: %t, want %t", echoed, got, want)
		}
	}
	if otherOfRun("anything", "") {
		t.Error("a request without an id has an answer of another")
	}
}

// TestARepeatedReplyIsCounted: a server answers every request twice in one
// write. No request is answered with what was left of the one before.
func TestARepeatedReplyIsCounted(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url, _ := serveRaw(t, func(c net.Conn, _, _ int) bool {
		text := fmt.Sprintf(`data: {"choices":[{"delta":{"content":"%d"}}]}`+"\n\n"+done, asked.Add(1))
		reply := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", streamHead, len(text), text)
		_, err := io.WriteString(c, reply+reply)
		return err == nil
	})
	c := newClient(t, Spec{}, url)
	for i := 1; i <= 5; i++ {
		events, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "text", textOf(events), fmt.Sprint(i))
	}
	equal(t, "unasked", c.UnsolicitedReads(), int64(5))
}
