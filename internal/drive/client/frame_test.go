package client

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"redline/internal/llm"
)

const chunkedHead = streamHead + "Transfer-Encoding: chunked\r\n\r\n"

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// inChunks frames each part as a chunk, and ends the body.
func inChunks(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(chunk(p))
	}
	return b.String() + "0\r\n\r\n"
}

func withLength(headers string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", headers, len(greeting), greeting)
}

// TestFraming: ways to frame one and the same stream, and whether the
// connection serves another request.
func TestFraming(t *testing.T) {
	crlf := strings.ReplaceAll(greeting, "\n", "\r\n")
	for _, tc := range []struct {
		name, reply string
		reused      bool
	}{
		{"one chunk", chunkedHead + inChunks(greeting), true},
		{"a chunk per event", chunkedHead + inChunks(role, hello, bang, done), true},
		{"chunks that cut events", chunkedHead + inChunks(greeting[:70], greeting[70:71], greeting[71:]), true},
		{"a chunk per byte", chunkedHead + inChunks(strings.Split(greeting, "")...), true},
		{"CRLF inside", chunkedHead + inChunks(crlf), true},
		{"CR inside", chunkedHead + inChunks(strings.ReplaceAll(greeting, "\n", "\r")), true},
		{"extension", chunkedHead + fmt.Sprintf("%X ;name=\"v\"\r\n%s\r\n0;last\r\n\r\n", len(greeting), greeting), true},
		{"leading zeros", chunkedHead + fmt.Sprintf("000%x\r\n%s\r\n000\r\n\r\n", len(greeting), greeting), true},
		{"trailer", chunkedHead + strings.TrimSuffix(inChunks(greeting), "\r\n") + "X-Sum: 1\r\nX-More: 2\r\n\r\n", true},
		{"bare newlines", strings.ReplaceAll(chunkedHead+inChunks(greeting), "\r\n", "\n"), true},
		{"coding in capitals", streamHead + "transfer-encoding:Chunked \r\n\r\n" + inChunks(greeting), true},
		{"length", withLength(streamHead), true},
		{"length twice", withLength(streamHead + fmt.Sprintf("Content-Length: %d\r\n", len(greeting))), true},
		{"until the end", streamHead + "\r\n" + greeting, false},
		{"close", withLength(streamHead + "Connection: TE, Close\r\n"), false},
		{"close wins", withLength(streamHead + "Connection: close\r\nConnection: keep-alive\r\n"), false},
		{"chunked and a length", streamHead + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + inChunks(greeting), false},
		{"more than the length", withLength(streamHead) + "HTTP/1.1 408 Request Timeout\r\n\r\n", false},
		{"HTTP/1.0", withLength("HTTP/1.0 200 OK\r\n"), false},
		{"HTTP/1.0 that stays", withLength("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n"), true},
		{"interim replies", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + withLength(streamHead), true},
		{"folded header", withLength("HTTP/1.1 200 OK\r\nX-Long: a\r\n b: c\r\n"), true},
		{"no reason phrase", withLength("HTTP/1.1 200\r\n"), true},
		{"words behind the closing event", chunkedHead + inChunks(greeting, ": bye\n\n"), true},
		{"byte-order mark and comments", chunkedHead + inChunks("\ufeff:hi\n\n", greeting), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			// Where the reply does not end with the connection, it is the client
			// that has to see that it must not be used again.
			url, conns := serveRaw(t, always(tc.reply, tc.name != "until the end"))
			c := newClient(t, Spec{}, url)
			for range 2 {
				events, fault := plainly(t, c, requestOf(true), nil)
				equal(t, "fault", fault, (*llm.Fault)(nil))
				equal(t, "text", textOf(events), "Hello!")
			}
			equal(t, "second connection", conns.Load() == 2, !tc.reused)
		})
	}
}

// TestSplitAtEveryByte: over a pipe each write is one read, so no event is ever
// read together with anything else.
func TestSplitAtEveryByte(t *testing.T) {
	reply := chunkedHead + inChunks(role, hello+bang, done)
	c := newDialing(t, Spec{URLs: []string{"http://pipe"}}, pipeTo(func(server net.Conn) {
		converse(server, 0, func(net.Conn, int, int) bool {
			for i := range len(reply) {
				if _, err := io.WriteString(server, reply[i:i+1]); err != nil {
					return false
				}
			}
			return true
		})
	}))
	got, fault := plainly(t, c, requestOf(true), nil)
	equal(t, "fault", fault, (*llm.Fault)(nil))
	equal(t, "events", got, []llm.Event{{Kind: llm.Dialed}, {Kind: llm.Ready}, {Kind: llm.Sent}, {Kind: llm.Written},
		{Kind: llm.Head, Status: 200}, {Kind: llm.Output, Text: []byte("Hello")}, {Kind: llm.Output, Text: []byte("!")}, {Kind: llm.End}})
}

func TestMegabyteEvent(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<16)
	event := strings.Replace(hello, "Hello", text, 1)
	url, _ := serveRaw(t, always(chunkedHead+inChunks(event, done), true))
	events, fault := plainly(t, newClient(t, Spec{}, url), requestOf(true), nil)
	equal(t, "fault", fault, (*llm.Fault)(nil))
	if textOf(events) != text {
		t.Errorf("%d bytes of output, want the %d sent", len(textOf(events)), len(text))
	}
}

// TestCoalesced: the number of outputs whose time is not their own.
func TestCoalesced(t *testing.T) {
	for _, tc := range []struct {
		name   string
		writes []string // each waits until all outputs of those before it were seen
		want   int
	}{
		{"one per write", []string{hello, bang, hello}, 0},
		{"role beside the first", []string{role + hello, bang}, 0},
		{"two in one write", []string{hello + bang}, 1},
		{"two in two chunks of one write", []string{hello + "\r\n\r\n" + bang}, 1},
		{"three, then two", []string{hello + bang + hello, bang + bang}, 3},
		{"half of the next beside the first", []string{hello + bang[:9], bang[9:]}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan struct{}, 8)
			url, _ := serveRaw(t, func(c net.Conn, _, _ int) bool {
				_, _ = io.WriteString(c, chunkedHead)
				for _, w := range tc.writes {
					var framed strings.Builder
					for part := range strings.SplitSeq(w, "\r\n\r\n") {
						framed.WriteString(chunk(part))
					}
					_, _ = io.WriteString(c, framed.String())
					for range strings.Count(w, "\n\n") - strings.Count(w, "role") {
						<-seen
					}
				}
				_, err := io.WriteString(c, inChunks(done))
				return err == nil
			})
			got := 0
			_, fault := plainly(t, newClient(t, Spec{}, url), requestOf(true), func(ev llm.Event) {
				if ev.Kind == llm.Output {
					seen <- struct{}{}
				}
				if ev.Coalesced {
					got++
				}
			})
			equal(t, "fault", fault, (*llm.Fault)(nil))
			equal(t, "coalesced", got, tc.want)
		})
	}
}
