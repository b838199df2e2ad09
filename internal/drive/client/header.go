package client

import (
	"strings"

	"redline/internal/llm"
)

// appendHead appends all of a request's head that its id and body do not
// change. A request's own headers and key win over the user's, and those over
// what the client would send. r is nil for a request that has none of its own.
func (c *Client) appendHead(dst []byte, ep *endpoint, path string, r *llm.Request) []byte {
	authorization := ""
	if ep.proxy != nil && ep.tunnel == nil {
		path, authorization = "http://"+ep.host+path, proxyAuthorization(ep.proxy)
	}
	dst = append(append(append(dst, "POST "...), path...), " HTTP/1.1\r\n"+authorization...)
	var own [][2]string
	key, keyHeaders := c.key, c.dialect.Headers(c.key)
	if r != nil {
		own = r.Headers
		if r.Key != "" {
			key = r.Key
			keyHeaders = c.dialect.Headers(key)
		}
	}
	defaults := [...][2]string{{"Host", ep.host}, {"User-Agent", "redline"}, {"Content-Type", "application/json"},
		{"Accept", acceptHeader}, {"Accept-Encoding", "identity"}}
	for _, h := range defaults {
		if !holds(c.headers, h[0]) && !holds(own, h[0]) {
			dst = appendHeader(dst, h)
		}
	}
	for _, h := range keyHeaders {
		// A tenant's key also takes the place of one that the user gave as a
		// header.
		if (key != c.key || !holds(c.headers, h[0])) && !holds(own, h[0]) {
			dst = appendHeader(dst, h)
		}
	}
	for _, h := range c.headers {
		if !holds(own, h[0]) && (key == c.key || !holds(keyHeaders, h[0])) {
			dst = appendHeader(dst, h)
		}
	}
	for _, h := range own {
		// Where a request ends is not for anyone else to say.
		if !strings.EqualFold(h[0], "Content-Length") && !strings.EqualFold(h[0], "Transfer-Encoding") {
			dst = appendHeader(dst, h)
		}
	}
	return dst
}

const traceHeader = "traceparent"

// appendTraceparent writes the header of W3C's trace context. The trace is the
// request's id, which is a UUID, and the span the last half of it, so that both
// join with the log of requests.
func appendTraceparent(dst []byte, id string) []byte {
	hex := strings.ReplaceAll(id, "-", "")
	if len(hex) != 32 || strings.Trim(hex, "0123456789abcdef") != "" {
		return dst
	}
	return append(dst, traceHeader+": 00-"+hex+"-"+hex[16:]+"-01\r\n"...)
}

const acceptHeader = "text/event-stream, application/json"

func holds(headers [][2]string, name string) bool {
	for _, h := range headers {
		if strings.EqualFold(h[0], name) {
			return true
		}
	}
	return false
}

// appendHeader writes one line whatever the value holds: what would end the
// line becomes a space.
func appendHeader(dst []byte, h [2]string) []byte {
	for i, text := range h {
		for _, c := range []byte(text) {
			if c < ' ' || c == 0x7f {
				c = ' '
			}
			dst = append(dst, c)
		}
		if i == 0 {
			dst = append(dst, ": "...)
		}
	}
	return append(dst, "\r\n"...)
}

// headOf gives the head of one request, which is that of all requests unless
// it has headers or a key of its own.
func (x *exchange) headOf(dst []byte) []byte {
	head, path := x.ep.plain, x.ep.whole
	if x.streams() {
		head, path = x.ep.head, x.ep.path
	}
	if len(x.r.Headers) == 0 && x.r.Key == "" {
		return append(dst, head...)
	}
	return x.c.appendHead(dst, x.ep, path, x.r)
}
