package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"redline/internal/drive/socket"
	"redline/internal/llm"
	"strconv"
	"strings"
	"time"
)

// maxHead is how much a server may send before its body.
const maxHead = 256 << 10

// errProtocol marks bytes that are not HTTP/1.1. It quotes them whole: they are
// cut where their secrets have been hidden.
type errProtocol string

func (e errProtocol) Error() string { return string(e) }

// errLongLine is a line that goes on beyond its limit.
var errLongLine = errors.New("line too long")

// response is the head of a reply.
type response struct {
	status     int
	at         int64 // arrival of the status line
	kind       string
	encoding   string
	location   string
	requestID  string // as the server echoes it
	retryAfter time.Duration
	dropped    string // why a gateway refused it
	placing    placing
	timing     llm.Timing // as far as the head tells

	// What the head says about where the body ends, and what follows of it.
	old               bool // HTTP/1.0
	coding            string
	length            int64 // -1 unknown
	saysClose, saysOn bool
	keepAlive         bool
}

// readResponse reads a reply's head, passing over interim ones.
// replicaHeader is what the user calls the header that names the engine.
func readResponse(c *socket.Conn, replicaHeader string) (*response, error) {
	for {
		r, err := readHead(c, replicaHeader)
		if err != nil || r.status >= 200 {
			return r, err
		}
		if r.status == 101 {
			return nil, errProtocol("the server switched to another protocol unasked (HTTP 101)")
		}
	}
}

func readHead(c *socket.Conn, replicaHeader string) (*response, error) {
	first, err := statusLine(c)
	if err != nil {
		return nil, err
	}
	r := &response{at: c.At, length: -1}
	if !r.parseStatus(first) {
		return nil, notHTTP(first)
	}
	framing := false
	for size := len(first); ; {
		line, err := readLine(c, maxHead)
		if size += len(line); errors.Is(err, errLongLine) || size > maxHead {
			return nil, errProtocol("the response head is larger than 256 KiB")
		}
		if err != nil {
			return nil, toUnexpectedEOF(err)
		}
		if len(line) == 0 {
			return r, r.settle()
		}
		if framing, err = r.header(line, framing, replicaHeader); err != nil {
			return nil, err
		}
	}
}

// statusLine reads the first line, but gives up with the first byte that shows
// that none will come: servers of other protocols may never send a line's end.
func statusLine(c *socket.Conn) ([]byte, error) {
	const begins = "HTTP/1."
	for {
		unread := c.Unread()
		n := min(len(unread), len(begins))
		if string(unread[:n]) != begins[:n] {
			return nil, notHTTP(unread)
		}
		if n == len(begins) {
			break
		}
		if err := c.Fill(); err != nil {
			return nil, err
		}
	}
	line, err := readLine(c, maxHead)
	if errors.Is(err, errLongLine) {
		err = notHTTP(c.Unread())
	}
	return line, err
}

func (r *response) parseStatus(line []byte) bool {
	version, rest, _ := bytes.Cut(line, []byte(" "))
	code, _, _ := bytes.Cut(rest, []byte(" "))
	status, err := strconv.ParseUint(string(code), 10, 16)
	r.status, r.old = int(status), string(version) == "HTTP/1.0"
	return err == nil && len(code) == 3 && status >= 100 && (r.old || string(version) == "HTTP/1.1")
}

// notHTTP says what a reply that does not begin with a status line looks like.
func notHTTP(first []byte) error {
	// A server that knows only HTTP/2 answers with a frame: three bytes of
	// length, then the type, SETTINGS or GOAWAY.
	if len(first) > 0 && first[0] == 0 && (len(first) < 4 || first[3] == 4 || first[3] == 7) {
		return errProtocol("the server speaks HTTP/2 only; redline measures over HTTP/1.1: enable HTTP/1.1 on the server or its proxy")
	}
	if len(first) > 0 && first[0] == 0x15 {
		return errProtocol("the server speaks TLS: use https:// instead of http://")
	}
	return errProtocol(fmt.Sprintf("not an HTTP/1.1 response: %q", first))
}

// header takes in one line of the head. A line that begins with a space goes
// on from the one before it, which is refused where that one was about framing
// and passed over otherwise.
func (r *response) header(line []byte, framing bool, replicaHeader string) (bool, error) {
	k, v, ok := bytes.Cut(line, []byte(":"))
	folded := line[0] == ' ' || line[0] == '\t'
	switch {
	case folded && !framing:
		return false, nil
	case folded || !ok:
		return false, errProtocol(fmt.Sprintf("not a response header: %q", line))
	}
	value := string(bytes.Trim(v, " \t"))
	switch strings.ToLower(string(k)) {
	case "content-type":
		kind, _, _ := strings.Cut(strings.ToLower(value), ";")
		r.kind = strings.TrimSpace(kind)
	case "content-encoding":
		r.encoding = strings.ToLower(value)
	case "x-request-id":
		r.requestID = value
	case "location":
		r.location = value
	case "retry-after":
		r.retryAfter = parseRetryAfter(value, time.Now())
	case "x-llm-d-request-dropped-reason":
		r.dropped = replicaName(value) // bounded as names are
	case "server-timing":
		readServerTiming(value, &r.timing)
	case "x-litellm-overhead-duration-ms":
		if ms, err := strconv.ParseFloat(value, 64); err == nil {
			r.timing.Gateway = llm.TimingNS(ms)
		}
	case "content-length":
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil || (r.length >= 0 && r.length != int64(n)) {
			return true, errProtocol(fmt.Sprintf("the response has no clear length: Content-Length %q", value))
		}
		r.length = int64(n)
		return true, nil
	case "transfer-encoding":
		// Two codings, in one header or in two, are never just "chunked".
		r.coding += "," + strings.ToLower(value)
		return true, nil
	case "connection":
		for word := range strings.SplitSeq(strings.ToLower(value), ",") {
			word = strings.Trim(word, " \t")
			r.saysClose, r.saysOn = r.saysClose || word == "close", r.saysOn || word == "keep-alive"
		}
		return true, nil
	default:
		r.placing.note(k, value, replicaHeader)
	}
	return false, nil
}

// parseRetryAfter reads seconds or a date, and gives 0 for what it cannot read
// and for what has passed.
func parseRetryAfter(value string, now time.Time) time.Duration {
	if s, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// isChunked reports whether the body comes in chunks.
func (r *response) isChunked() bool { return r.coding != "" }

// settle decides how the body ends and whether the connection outlives it.
func (r *response) settle() error {
	switch {
	case r.coding != "" && r.coding != ",chunked":
		return errProtocol(fmt.Sprintf("the response has a transfer coding that was not asked for: %q", r.coding[1:]))
	case r.coding != "" && r.old:
		return errProtocol("the response is HTTP/1.0 and chunked, which cannot be read safely")
	}
	r.keepAlive = !r.saysClose && (!r.old || r.saysOn)
	switch {
	case r.status == 204 || r.status == 304:
		r.length, r.coding = 0, ""
	case r.isChunked():
		// A server that also gives a length cannot be trusted to mean the
		// same end as this client.
		r.keepAlive = r.keepAlive && r.length < 0
	case r.length < 0:
		r.keepAlive = false // the body ends with the connection
	}
	return nil
}

// line gives the next line without its ending, valid until the next read.
func readLine(c *socket.Conn, limit int) ([]byte, error) {
	for scanned := 0; ; {
		unread := c.Unread()
		if i := bytes.IndexByte(unread[scanned:], '\n'); i >= 0 {
			end := scanned + i
			c.Skip(end + 1)
			return bytes.TrimSuffix(unread[:end], []byte("\r")), nil
		}
		if scanned = len(unread); scanned > limit {
			return nil, errLongLine
		}
		if err := c.Fill(); err != nil {
			if len(unread) > 0 {
				err = toUnexpectedEOF(err)
			}
			return nil, err
		}
	}
}

// toUnexpectedEOF turns the end of a connection into the error of one that ended
// too early.
func toUnexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
