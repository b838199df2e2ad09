package socket

import (
	"crypto/tls"
	"io"
	"net"
)

const readBuffer = 16 << 10

// Conn is one connection to a server and what has been read from it.
type Conn struct {
	net.Conn          // what requests are written to and replies read from
	raw      *stamper // the stamping reader beneath

	Remote   string
	Reused   bool // it has waited in a pool, where servers close connections
	GotBytes bool // something of the present reply has arrived

	SilentAt int64 // nothing had arrived since the last reply by then
	FirstAt  int64 // arrival of what the present reply's first read brought
	At       int64 // arrival of the newest byte that is unread
	Reads    int64 // the raw read that brought it
	Merged   int   // output events read together with an earlier one

	tripAsked  bool
	buf        []byte
	head, tail int // unread bytes of buf
}

// QuickestTrip is the quickest round trip on the connection so far, in ns; 0 where the
// system does not tell, and when it is asked again.
func (c *Conn) QuickestTrip() int64 {
	if c.tripAsked {
		return 0
	}
	c.tripAsked = true
	return c.raw.quickestTrip()
}

// Fill reads once more from the connection, behind what is still unread.
func (c *Conn) Fill() error {
	if c.head == c.tail {
		c.head, c.tail = 0, 0
	}
	return c.noteRead(c.read())
}

// noteRead takes in what a read gave.
func (c *Conn) noteRead(n int, err error) error {
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	if n == 0 {
		return err
	}
	// An error that came with bytes comes again with the next read.
	c.tail += n
	c.At, c.Reads = c.raw.at, c.raw.reads
	if !c.GotBytes {
		c.GotBytes, c.FirstAt = true, c.At
	}
	return nil
}

// Follow reads and calls each after every read, until that wants no more or a
// read fails. Where the connection has a reader, that calls each, from its own
// goroutine, and this one only waits for the end.
func (c *Conn) Follow(each func() (more bool)) (more bool, err error) {
	if c.Conn == net.Conn(c.raw) {
		if more, err, ok := c.handOver(each); ok {
			return more, err
		}
	}
	for {
		if err := c.Fill(); err != nil {
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
func (c *Conn) read() (n int, err error) {
	if c.tail == 0 && c.raw.lends() && c.Conn == net.Conn(c.raw) {
		c.buf, n, err = c.raw.readLent(c.buf)
		return n, err
	}
	c.makeRoom()
	return c.Conn.Read(c.buf[c.tail:])
}

// makeRoom leaves room behind what is still unread.
func (c *Conn) makeRoom() {
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
func (c *Conn) state() idleState {
	_, secure := c.Conn.(*tls.Conn)
	now := c.raw.clock.Now()
	found := c.raw.peekIdle(secure)
	if found == silent && !secure {
		c.SilentAt = now
	}
	return found
}

// Fit reports whether a connection is fit for another request, and counts what
// nobody asked for.
func (c *Conn) Fit() bool {
	found := c.state()
	if found == spoke {
		c.raw.counts.Unsolicited.Add(1)
	}
	return found == silent
}

// Abort closes the connection without the word with which TLS says goodbye: a
// server that has fallen silent may not even take that.
func (c *Conn) Abort() { _ = c.raw.Close() }

// Unread is what has been read and not been skipped, valid until the next read.
func (c *Conn) Unread() []byte { return c.buf[c.head:c.tail] }

// Skip passes over the first n bytes of what is unread.
func (c *Conn) Skip(n int) { c.head += n }
