package client

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"redline/internal/clock"
	"redline/internal/text"
)

// trace writes down one exchange, with its secrets masked. A nil trace writes
// nothing.
type trace struct {
	w     io.Writer
	clock *clock.Clock
	mask  *text.Mask
	sent  int64
}

// TraceNext writes the next request and its reply to w.
func (c *Client) TraceNext(w io.Writer) {
	c.trace.Store(&trace{w: w, clock: c.clock, mask: c.mask})
}

// maxTraced is how much of one body or read is shown.
const maxTraced = 600

func (t *trace) request(out []byte) {
	if t == nil {
		return
	}
	t.sent = t.clock.Now()
	head, payload, _ := bytes.Cut(out, []byte("\r\n\r\n"))
	first, fields, _ := strings.Cut(string(head), "\r\n")
	fmt.Fprintf(t.w, "> %s\n", maskQuery(first))
	for line := range strings.SplitSeq(fields, "\r\n") {
		fmt.Fprintf(t.w, "> %s\n", maskHeader(line))
	}
	fmt.Fprintf(t.w, ">\n> %s\n", t.shorten(payload))
}

func (t *trace) head(r *response) {
	if t == nil {
		return
	}
	fmt.Fprintf(t.w, "< %s HTTP %d  %s\n", t.since(r.at), r.status, t.shorten([]byte(r.kind)))
}

func (t *trace) read(at int64, data []byte) {
	if t == nil {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSpace(t.shorten(data)), "\n") {
		fmt.Fprintf(t.w, "< %s %s\n", t.since(at), strings.TrimRight(line, "\r"))
	}
}

func (t *trace) body(content []byte) {
	if t != nil {
		fmt.Fprintf(t.w, "< %s\n", t.shorten(content))
	}
}

func (t *trace) since(at int64) string {
	return fmt.Sprintf("%8.2f ms", float64(at-t.sent)/1e6)
}

// shorten masks before it cuts, so that no part of a secret is left at the cut.
// A read may begin or end inside of one.
func (t *trace) shorten(b []byte) string {
	s := text.Clean(strings.ReplaceAll(t.mask.HidePiece(string(b)), "\r\n", "\n"))
	if len(s) <= maxTraced {
		return s
	}
	return fmt.Sprintf("%s (%d bytes in all)", text.Cut(s, maxTraced), len(b))
}
