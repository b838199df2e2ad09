//go:build !linux

package socket

import (
	"io"
	"net"

	"redline/internal/clock"
)

// Dialer asks for nothing.
func Dialer() *net.Dialer { return &net.Dialer{} }

func holdStamps() io.Closer { return io.NopCloser(nil) }

// stamper is a connection whose reads know when their bytes were taken; these
// systems do not tell when they arrived.
type stamper struct {
	net.Conn
	clock  *clock.Clock
	counts *Counts
	at     int64
	reads  int64
}

func newStamper(c net.Conn, k *clock.Clock, counts *Counts) *stamper {
	return &stamper{Conn: c, clock: k, counts: counts}
}

// Read takes what has arrived and notes the time right after.
func (s *stamper) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if n > 0 {
		s.at = s.clock.Now()
		s.reads++
		s.counts.User.Add(1)
	}
	return n, err
}

// lends is false: these systems read through Go's own calls, which want a
// buffer to wait with.
func (s *stamper) lends() bool { return false }

func (s *stamper) readLent(held []byte) ([]byte, int, error) {
	n, err := s.Read(held)
	return held, n, err
}

// retransmits is not told by these systems.
func (s *stamper) retransmits() int64 { return 0 }

func (s *stamper) quickestTrip() int64 { return 0 }
