package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// The limits of what a server may send as framing.
const (
	maxHead      = 256 << 10
	maxChunkLine = 4 << 10
)

// errProtocol marks bytes that are not HTTP/1.1.
type errProtocol string

func (e errProtocol) Error() string { return string(e) }

// response is the head of a reply.
type response struct {
	status     int
	at         int64 // arrival of the status line
	kind       string
	encoding   string
	location   string
	retryAfter time.Duration
	length     int64 // -1 unknown
	chunked    bool
	keepAlive  bool
}

// readResponse reads a reply's head, passing over interim ones.
func (c *conn) readResponse() (response, error) {
	for {
		r, err := c.readHead()
		if err != nil || r.status >= 200 || r.status == 101 {
			return r, err
		}
	}
}

func (c *conn) readHead() (response, error) {
	first, err := c.line(maxHead)
	if err != nil {
		return response{}, err
	}
	r := response{at: c.at, length: -1}
	version, rest, _ := bytes.Cut(first, []byte(" "))
	code, _, _ := bytes.Cut(rest, []byte(" "))
	if r.status, err = strconv.Atoi(string(code)); err != nil || !bytes.HasPrefix(version, []byte("HTTP/1.")) || r.status < 100 || r.status > 999 {
		return response{}, notHTTP(first)
	}
	r.keepAlive = string(version) != "HTTP/1.0"
	for size := 0; ; {
		line, err := c.line(maxHead)
		if err != nil {
			return response{}, err
		}
		if len(line) == 0 {
			return r.settled(), nil
		}
		if size += len(line); size > maxHead {
			return response{}, errProtocol("the response head is larger than 256 KiB")
		}
		r.header(line)
	}
}

// notHTTP says what a status line that is none looks like.
func notHTTP(first []byte) error {
	// A server that knows only HTTP/2 answers with its settings frame: three
	// bytes of length, then the type.
	if len(first) >= 4 && first[0] == 0 && (first[3] == 4 || first[3] == 7) {
		return errProtocol("the server speaks HTTP/2 only; redline measures over HTTP/1.1: enable HTTP/1.1 on the server or its proxy")
	}
	if len(first) > 0 && first[0] == 0x15 {
		return errProtocol("the server speaks TLS: use https:// instead of http://")
	}
	return errProtocol(fmt.Sprintf("not an HTTP/1.1 response: %.60q", first))
}

func (r *response) header(line []byte) {
	k, v, _ := bytes.Cut(line, []byte(":"))
	value := string(bytes.TrimSpace(v))
	switch strings.ToLower(string(bytes.TrimSpace(k))) {
	case "content-type":
		r.kind, _, _ = strings.Cut(strings.ToLower(value), ";")
		r.kind = strings.TrimSpace(r.kind)
	case "content-encoding":
		r.encoding = strings.ToLower(value)
	case "content-length":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
			r.length = n
		}
	case "transfer-encoding":
		r.chunked = strings.HasSuffix(strings.ToLower(value), "chunked")
	case "connection":
		switch strings.ToLower(value) {
		case "close":
			r.keepAlive = false
		case "keep-alive":
			r.keepAlive = true
		}
	case "location":
		r.location = value
	case "retry-after":
		if s, err := strconv.Atoi(value); err == nil && s >= 0 {
			r.retryAfter = time.Duration(s) * time.Second
		}
	}
}

// settled decides how the body ends.
func (r response) settled() response {
	switch {
	case r.status == 204 || r.status == 304:
		r.length, r.chunked = 0, false
	case r.chunked:
		r.length = -1
	case r.length < 0:
		r.keepAlive = false // the body ends with the connection
	}
	return r
}

// line gives the next line without its ending, valid until the next read.
func (c *conn) line(limit int) ([]byte, error) {
	for scanned := 0; ; {
		unread := c.buf[c.head:c.tail]
		if i := bytes.IndexByte(unread[scanned:], '\n'); i >= 0 {
			end := scanned + i
			c.head += end + 1
			return bytes.TrimSuffix(unread[:end], []byte("\r")), nil
		}
		if scanned = len(unread); scanned > limit {
			return nil, notHTTP(unread)
		}
		if err := c.fill(); err != nil {
			if errors.Is(err, io.EOF) && len(unread) > 0 {
				return nil, cutShort(unread)
			}
			return nil, err
		}
	}
}

// cutShort is the error of a reply that ended before its first line did.
func cutShort(unread []byte) error {
	if bytes.HasPrefix(unread, []byte("HTTP/1.")) {
		return io.ErrUnexpectedEOF
	}
	return notHTTP(unread)
}

// body undoes the framing of a reply's body.
type body struct {
	c       *conn
	chunked bool
	left    int64 // bytes left of the chunk, or of the body; -1: until the end
	state   chunkState
}

type chunkState uint8

const (
	inSize chunkState = iota
	inData
	inDataEnd
	inTrailer
	ended
)

func newBody(c *conn, r response) body {
	if r.chunked {
		return body{c: c, chunked: true}
	}
	return body{c: c, left: r.length, state: inData}
}

// next gives bytes of the body, those at hand first, else those of one more
// read. It gives io.EOF after the body has ended in order; a body cut short is
// io.ErrUnexpectedEOF. The bytes are valid until the next call.
func (b *body) next() ([]byte, error) {
	if !b.chunked {
		return b.plain()
	}
	for {
		switch b.state {
		case inData:
			if data, err := b.take(); err != nil || len(data) > 0 {
				return data, err
			}
			b.state = inDataEnd
		case inSize, inDataEnd, inTrailer:
			line, err := b.c.line(maxChunkLine)
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return nil, err
			}
			if err := b.framing(line); err != nil {
				return nil, err
			}
		case ended:
			return nil, io.EOF
		}
	}
}

// framing takes in a line between chunks.
func (b *body) framing(line []byte) error {
	switch b.state {
	case inDataEnd:
		if len(line) > 0 {
			return errProtocol(fmt.Sprintf("a chunk is longer than its size: %.30q", line))
		}
		b.state = inSize
	case inTrailer:
		if len(line) == 0 {
			b.state = ended
		}
	case inSize:
		digits, _, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 62)
		if err != nil {
			return errProtocol(fmt.Sprintf("not a chunk size: %.30q", line))
		}
		b.left, b.state = int64(size), inData
		if size == 0 {
			b.state = inTrailer
		}
	}
	return nil
}

func (b *body) plain() ([]byte, error) {
	if b.left == 0 {
		return nil, io.EOF
	}
	data, err := b.take()
	if errors.Is(err, io.ErrUnexpectedEOF) && b.left < 0 {
		return nil, io.EOF
	}
	return data, err
}

// take gives what is at hand of the bytes left, reading once if nothing is.
func (b *body) take() ([]byte, error) {
	if b.left == 0 {
		return nil, nil
	}
	if b.c.head == b.c.tail {
		if err := b.c.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	n := b.c.tail - b.c.head
	if b.left > 0 {
		n = int(min(int64(n), b.left))
		b.left -= int64(n)
	}
	data := b.c.buf[b.c.head : b.c.head+n]
	b.c.head += n
	return data, nil
}

// rest reads the body to its end, at most limit bytes of it.
func (b *body) rest(limit int) ([]byte, error) {
	var all []byte
	for {
		data, err := b.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if len(all)+len(data) > limit {
			return all, errProtocol(fmt.Sprintf("the body is larger than %d MiB", limit>>20))
		}
		all = append(all, data...)
	}
}
