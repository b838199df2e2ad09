package client

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"redline/internal/clock"
)

// trace writes down one exchange, with its secrets masked. A nil trace writes
// nothing.
type trace struct {
	mu    sync.Mutex
	w     io.Writer
	clock *clock.Clock
	sent  int64
}

// TraceNext writes the next request and its reply to w.
func (c *Client) TraceNext(w io.Writer) { c.trace.Store(&trace{w: w, clock: c.clock}) }

// mostTraced is how much of one body or read is shown.
const mostTraced = 600

func (t *trace) request(out []byte) {
	if t == nil {
		return
	}
	t.sent = t.clock.Now()
	head, payload, _ := bytes.Cut(out, []byte("\r\n\r\n"))
	for _, line := range strings.Split(string(head), "\r\n") {
		fmt.Fprintf(t.w, "> %s\n", mask(line))
	}
	fmt.Fprintf(t.w, ">\n> %s\n", shorten(payload))
}

func (t *trace) head(r response) {
	if t == nil {
		return
	}
	fmt.Fprintf(t.w, "< %s HTTP %d  %s\n", t.since(r.at), r.status, r.kind)
}

func (t *trace) read(at int64, data []byte) {
	if t == nil {
		return
	}
	for _, line := range strings.Split(strings.TrimSpace(shorten(data)), "\n") {
		fmt.Fprintf(t.w, "< %s %s\n", t.since(at), strings.TrimRight(line, "\r"))
	}
}

func (t *trace) body(content []byte) {
	if t != nil {
		fmt.Fprintf(t.w, "< %s\n", shorten(content))
	}
}

func (t *trace) since(at int64) string {
	return fmt.Sprintf("%8.2f ms", float64(at-t.sent)/1e6)
}

func shorten(b []byte) string {
	if len(b) <= mostTraced {
		return string(b)
	}
	return fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(string(b[:mostTraced]), ""), len(b))
}

// mask hides the value of every header that is not known to be harmless.
func mask(line string) string {
	name, _, ok := strings.Cut(line, ":")
	if !ok || strings.HasPrefix(line, "POST ") {
		return line
	}
	switch strings.ToLower(name) {
	case "host", "user-agent", "content-type", "content-length", "accept", "accept-encoding", "x-request-id", "anthropic-version":
		return line
	}
	return name + ": ***"
}
