package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"redline/internal/llm"
)

// connectLimit bounds the set-up of one connection.
const connectLimit = 30 * time.Second

// conn is one connection to a server and what has been read from it.
type conn struct {
	net.Conn          // what requests are written to and replies read from
	raw      *stamper // the stamping reader beneath
	ep       *endpoint
	remote   string
	used     bool // it has carried a request before

	buf        []byte
	head, tail int   // unread bytes of buf
	at         int64 // arrival of the newest unread byte
	reads      int64 // the raw read that brought it
	out        []byte
}

const readBuffer = 16 << 10

// connect opens a connection, telling observe of each step.
func (c *Client) connect(ctx context.Context, ep *endpoint, observe func(llm.Event) bool) (*conn, *llm.Fault) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	dialed, err := ep.dial(ctx, ep.network, ep.addr)
	if err != nil {
		return nil, c.dialFault(ctx, ep, err)
	}
	if observe != nil {
		observe(llm.Event{Kind: llm.Dialed, At: c.clock.Now()})
	}
	raw := newStamper(dialed, c.clock, &c.stamps)
	fresh := &conn{Conn: raw, raw: raw, ep: ep, remote: remoteAddr(dialed), buf: make([]byte, readBuffer)}
	if ep.tls == nil {
		return fresh, nil
	}
	secure := tls.Client(raw, ep.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		dialed.Close()
		return nil, c.tlsFault(ctx, ep, err)
	}
	if observe != nil {
		observe(llm.Event{Kind: llm.Secured, At: c.clock.Now()})
	}
	fresh.Conn = secure
	return fresh, nil
}

func remoteAddr(c net.Conn) string {
	if a := c.RemoteAddr(); a != nil {
		return a.String()
	}
	return ""
}

func (c *Client) fault(o llm.Outcome, format string, args ...any) *llm.Fault {
	return &llm.Fault{Outcome: o, At: c.clock.Now(), Message: fmt.Sprintf(format, args...)}
}

func (c *Client) dialFault(ctx context.Context, ep *endpoint, err error) *llm.Fault {
	var dns *net.DNSError
	switch {
	case isCancelled(ctx):
		return c.fault(llm.Cancelled, "cancelled")
	case errors.As(err, &dns):
		return c.fault(llm.DNS, "cannot resolve %s: %s", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return c.fault(llm.Connect, "%s refused the connection: is the server running there?", ep.addr)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return c.fault(llm.Connect, "%s did not answer within %v", ep.addr, connectLimit)
	}
	return c.fault(llm.Connect, "cannot connect to %s: %s", ep.addr, innermost(err))
}

func (c *Client) tlsFault(ctx context.Context, ep *endpoint, err error) *llm.Fault {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var header tls.RecordHeaderError
	switch {
	case isCancelled(ctx):
		return c.fault(llm.Cancelled, "cancelled")
	case errors.As(err, &authority):
		return c.fault(llm.TLS, "%s has a certificate of an unknown authority: trust it with --ca-cert FILE", ep.addr)
	case errors.As(err, &name):
		return c.fault(llm.TLS, "%s has a certificate for another name: %v", ep.addr, name)
	case errors.As(err, &invalid):
		return c.fault(llm.TLS, "%s has an invalid certificate: %v", ep.addr, invalid)
	case errors.As(err, &header):
		return c.fault(llm.TLS, "%s does not speak TLS: use http:// instead of https://", ep.addr)
	case strings.Contains(err.Error(), "no application protocol"):
		return c.fault(llm.TLS, "%s speaks HTTP/2 only; redline measures over HTTP/1.1: enable HTTP/1.1 on the server or its proxy", ep.addr)
	}
	return c.fault(llm.TLS, "TLS with %s failed: %s", ep.addr, innermost(err))
}

// innermost gives the cause at the bottom of an error, which says what
// happened without the addresses that the message already has.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// isCancelled tells a stop of the run from a time limit.
func isCancelled(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// fill reads once more from the connection.
func (c *conn) fill() error {
	if c.head == c.tail {
		c.head, c.tail = 0, 0
	}
	if c.tail == len(c.buf) {
		if c.head == 0 {
			c.buf = append(c.buf, make([]byte, len(c.buf))...)
		} else {
			c.tail = copy(c.buf, c.buf[c.head:c.tail])
			c.head = 0
		}
	}
	n, err := c.Conn.Read(c.buf[c.tail:])
	c.tail += n
	if n > 0 {
		c.at, c.reads = c.raw.at, c.raw.reads
		return nil
	}
	return err
}

func (c *conn) close() { c.Conn.Close() }
