package client

import (
	"net"
	"testing"

	"redline/internal/clock"
)

// Loopback loses nothing, so that the count is 0; what is asked is that the
// kernel answers at all, and that a closed connection is asked in time.
func TestRetransmitsAreRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var counts stampCounts
	s := newStamper(dialed, clock.New(), &counts)
	if s.raw == nil {
		t.Fatal("no socket beneath a TCP connection")
	}
	if n := s.retransmits(); n != 0 {
		t.Errorf("%d segments were sent again on an idle loopback connection", n)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if n := s.retransmits(); n != 0 {
		t.Errorf("a closed connection still counts %d", n)
	}
}
