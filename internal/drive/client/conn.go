package client

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"time"

	"redline/internal/llm"
)

const (
	// connectLimit bounds the set-up of one connection, unless the limit of
	// the whole request is shorter.
	connectLimit = 30 * time.Second
	readBuffer   = 16 << 10
)

// conn is one connection to a server and what has been read from it.
type conn struct {
	net.Conn          // what requests are written to and replies read from
	raw      *stamper // the stamping reader beneath
	remote   string
	reused   bool // it has waited in the pool, where servers close connections
	gotBytes bool // something of the present reply has arrived

	silentAt int64 // nothing had arrived since the last reply by then
	firstAt  int64 // arrival of what the present reply's first read brought

	buf        []byte
	head, tail int   // unread bytes of buf
	at         int64 // arrival of the newest byte in buf
	reads      int64 // the raw read that brought it
	merged     int   // output events read together with an earlier one
}

// connect opens a connection, telling observe of each step.
func (c *Client) connect(ctx context.Context, ep *endpoint, observe func(llm.Event) bool) (*conn, *llm.Fault) {
	limited, cancel := context.WithTimeout(ctx, c.connectTime())
	defer cancel()
	began := c.clock.Now()
	dialed, err := ep.dial(limited, ep.network, ep.addr)
	if err != nil {
		return nil, c.dialFault(ctx, ep, err)
	}
	if ep.tls == nil {
		dialed = c.adopt(dialed)
	}
	raw := newStamper(dialed, c.clock, &c.stamps)
	fresh := &conn{Conn: raw, raw: raw, remote: remoteAddr(dialed)}
	if ep.tunnel != nil {
		if fault := c.openTunnel(ctx, limited, ep, fresh); fault != nil {
			fresh.close()
			return nil, fault
		}
	}
	observe(llm.Event{Kind: llm.Dialed, At: c.clock.Now(), Since: began})
	if ep.tls == nil {
		return fresh, nil
	}
	secure := tls.Client(raw, ep.tls)
	if err := secure.HandshakeContext(limited); err != nil {
		_ = dialed.Close()
		return nil, c.tlsFault(ctx, ep, err)
	}
	observe(llm.Event{Kind: llm.Secured, At: c.clock.Now()})
	fresh.Conn = secure
	return fresh, nil
}

// connectTime is what a connection may take to be set up: one that takes longer
// than a whole request may is of no use to it.
func (c *Client) connectTime() time.Duration { return min(connectLimit, c.timeouts.Total) }

func remoteAddr(c net.Conn) string {
	if a := c.RemoteAddr(); a != nil {
		return a.String()
	}
	return ""
}

// fill reads once more from the connection, behind what is still unread.
func (c *conn) fill() error {
	if c.head == c.tail {
		c.head, c.tail = 0, 0
	}
	return c.noteRead(c.read())
}

// noteRead takes in what a read gave.
func (c *conn) noteRead(n int, err error) error {
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	if n == 0 {
		return err
	}
	// An error that came with bytes comes again with the next read.
	c.tail += n
	c.at, c.reads = c.raw.at, c.raw.reads
	if !c.gotBytes {
		c.gotBytes, c.firstAt = true, c.at
	}
	return nil
}

// follow reads and calls each after every read, until that wants no more or a
// read fails. Where the connection has a reader, that calls each, from its own
// goroutine, and this one only waits for the end.
func (c *conn) follow(each func() (more bool)) (more bool, err error) {
	if c.Conn == net.Conn(c.raw) {
		if more, err, ok := c.handOver(each); ok {
			return more, err
		}
	}
	for {
		if err := c.fill(); err != nil {
			return true, err
		}
		if !each() {
			return false, nil
		}
	}
}

// read makes room and takes in what has arrived. A plain connection on which
// everything has been read waits without a buffer: those of a thousand streams
// that wait would be cold memory for every token.
func (c *conn) read() (n int, err error) {
	if c.tail == 0 && c.raw.lends() && c.Conn == net.Conn(c.raw) {
		c.buf, n, err = c.raw.readLent(c.buf)
		return n, err
	}
	c.makeRoom()
	return c.Conn.Read(c.buf[c.tail:])
}

// makeRoom leaves room behind what is still unread.
func (c *conn) makeRoom() {
	switch {
	case c.tail < len(c.buf):
	case c.head == 0:
		c.buf = append(c.buf, make([]byte, max(len(c.buf), readBuffer))...)
	default:
		c.tail = copy(c.buf, c.buf[c.head:c.tail])
		c.head = 0
	}
}

// idleState is what a connection did on which nothing was asked.
type idleState uint8

const (
	silent idleState = iota
	hungUp
	spoke // it brought bytes
)

// state looks at a connection on which everything has been read: only one that
// is silent is fit for another request. On a secure one bytes may be of TLS
// itself, such as session tickets.
func (c *conn) state() idleState {
	_, secure := c.Conn.(*tls.Conn)
	now := c.raw.clock.Now()
	found := c.raw.peekIdle(secure)
	if found == silent && !secure {
		c.silentAt = now
	}
	return found
}

// fit is state, and counts what nobody asked for.
func (c *conn) fit() bool {
	found := c.state()
	if found == spoke {
		c.raw.counts.unsolicited.Add(1)
	}
	return found == silent
}

func (c *conn) close() { _ = c.Conn.Close() }
