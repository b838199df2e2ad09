package simserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// narrow listens for connections that hold little.
func narrow(ctx context.Context, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	return narrowListener{l}, err
}

type narrowListener struct{ net.Listener }

func (l narrowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return c, err
}

// TestAClientThatDoesNotRead: the metronome goes on for the others while one
// connection is full, and that one gets every event once it is read.
func TestAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	const many, few = 1000, 100
	var log bytes.Buffer
	r := must.Get(Start(t.Context(), sim.Spec{}, ServeOptions{Pace: 500 * time.Microsecond, Truth: &log, Open: narrow}))(t)
	ask := func(output int) net.Conn {
		conn := must.Get(net.Dial("tcp", strings.TrimPrefix(r.URL(), "http://")))(t)
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		body := wire.Dialects[0].Encode(nil, question(output), wire.Quirks{})
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nX-Request-Id: of-%d\r\nContent-Length: %d\r\n\r\n%s", output, len(body), body)
		return conn
	}
	answer := func(conn net.Conn) (events int) {
		defer conn.Close()
		reply := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
		all, err := io.ReadAll(reply.Body)
		if err != nil || !bytes.HasSuffix(all, []byte("data: [DONE]\n\n")) {
			t.Errorf("%v, and an end of %q", err, all[max(0, len(all)-40):])
		}
		return bytes.Count(all, []byte(`"delta":{"content":`))
	}
	full := ask(many)
	if got := answer(ask(few)); got != few {
		t.Errorf("the other client got %d events, want %d", got, few)
	}
	time.Sleep(200 * time.Millisecond) // it is full by now
	if got := answer(full); got != many {
		t.Errorf("%d events, want %d", got, many)
	}
	expect.OK(t, r.Close())
	for id, line := range readTruth(t, &log) {
		if want := map[string]int{fmt.Sprintf("of-%d", many): many, fmt.Sprintf("of-%d", few): few}[id]; len(line.Before) != want || len(line.After) != want {
			t.Errorf("%s: the truth has %d events, want %d", id, len(line.Before), want)
		}
	}
}
