package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"redline/internal/clock"
	"redline/internal/drive/socket"
)

// reference reads a reply with the standard library, passing over interim
// replies as a client does.
func reference(data []byte) (status int, content []byte, err error) {
	in := bufio.NewReader(bytes.NewReader(data))
	for {
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			return 0, nil, err
		}
		if r.StatusCode >= 200 || r.StatusCode == 101 {
			content, err = io.ReadAll(r.Body)
			return r.StatusCode, content, err
		}
	}
}

func ours(data []byte, step int) (status int, content []byte, err error) {
	set := socket.NewSet(clock.New(), true, false)
	defer set.Close()
	c := set.Conn(&replay{reply: bytes.NewReader(data), step: step, end: io.EOF}, true)
	r, err := readResponse(c, "")
	if err != nil {
		return 0, nil, err
	}
	b := newBody(c, r)
	content, err = b.rest(1<<20, nil)
	return r.status, content, err
}

// FuzzResponse reads arbitrary bytes as a server's reply, in reads of any size,
// and compares with the standard library: where both accept the reply, they
// agree on its status and its body, and the size of the reads never matters.
// Each may refuse what the other takes. The client takes bare newlines between
// chunks and passes over folded headers and malformed trailers; it refuses
// HTTP/1.2 and beyond, 101, and Transfer-Encoding in HTTP/1.0, which the
// library ignores there.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		withLength(streamHead),
		chunkedHead + inChunks(role, hello, bang, done),
		chunkedHead + "5;x=\"y\"\r\nhello\r\n0\r\nX: y\r\n\r\nrest",
		chunkedHead + "5\r\nhelloworld\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: y\r\n Content-Length: 1\r\n\r\nhi",
		"HTTP/1.1 200 OK\nContent-Length : 1\n\nhi",
		"HTTP/1.1 200 OK\r\n\r\nuntil the end",
		"HTTP/1.1 +20 OK\r\n\r\n",
		"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
	} {
		f.Add([]byte(seed), uint16(1))
		f.Add([]byte(seed), uint16(1000))
	}
	f.Fuzz(func(t *testing.T, data []byte, step uint16) {
		status, content, err := ours(data, int(step)+1)
		wholeStatus, wholeContent, wholeErr := ours(data, 1<<20)
		if status != wholeStatus || !bytes.Equal(content, wholeContent) || (err == nil) != (wholeErr == nil) {
			t.Fatalf("in reads of %d: %d %q %v; at once: %d %q %v", step+1, status, content, err, wholeStatus, wholeContent, wholeErr)
		}
		if errors.Is(err, io.ErrNoProgress) {
			t.Fatal("a read that gave nothing")
		}
		wantStatus, want, wantErr := reference(data)
		if err == nil && wantErr == nil && (status != wantStatus || !bytes.Equal(content, want)) {
			t.Fatalf("got %d %q, the library %d %q", status, content, wantStatus, want)
		}
	})
}
