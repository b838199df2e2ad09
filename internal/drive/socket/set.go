// Package socket reads connections as cheaply as many streams of tokens want:
// on Linux by threads of its own, with the kernel's stamps of when each byte
// arrived; elsewhere as Go's runtime does, stamped by the clock.
package socket

import (
	"io"
	"net"
	"sync/atomic"

	"redline/internal/clock"
)

// Set is the connections of one client, and what they share.
type Set struct {
	Counts   Counts
	clock    *clock.Clock
	readers  readerSet
	stamping io.Closer
}

// Counts is what happened on a set's connections. Kernel and User are how many
// reads the kernel stamped and how many the clock after them.
type Counts struct {
	Kernel, User atomic.Int64
	Retransmits  atomic.Int64 // of connections that are closed
	Unsolicited  atomic.Int64 // how often bytes came that nobody had asked for
	noKernel     bool         // its stamps are not used
}

// NewSet makes a set. Without kernelStamps the clock stamps every read, without
// ownReaders every connection is left to Go's runtime, as TLS is.
func NewSet(k *clock.Clock, kernelStamps, ownReaders bool) *Set {
	s := &Set{clock: k, stamping: holdStamps()}
	s.Counts.noKernel, s.readers.wanted = !kernelStamps, ownReaders
	return s
}

// Conn takes a connection over. A plain one may get a reader; on another one TLS
// is to be set up.
func (s *Set) Conn(dialed net.Conn, plain bool) *Conn {
	if plain {
		dialed = s.adopt(dialed)
	}
	raw := newStamper(dialed, s.clock, &s.Counts)
	c := &Conn{Conn: raw, raw: raw}
	if a := dialed.RemoteAddr(); a != nil {
		c.Remote = a.String()
	}
	return c
}

// Close ends the readers once the set's connections are closed.
func (s *Set) Close() {
	_ = s.stamping.Close()
	s.readers.close()
}
