package socket

import "golang.org/x/sys/unix"

// retransmits is how many segments the kernel has sent again on this
// connection so far; 0 where it does not say.
func (s *stamper) retransmits() int64 { return int64(s.info().Total_retrans) }

// quickestTrip is the quickest round trip that the kernel has seen on this connection, in
// ns: that of the network, for kernels acknowledge what no server has read yet.
func (s *stamper) quickestTrip() int64 { return int64(s.info().Min_rtt) * 1e3 }

// info is what the kernel knows of the connection, nothing where it does not say. A
// connection that is closed already has said so before.
func (s *stamper) info() (info unix.TCPInfo) {
	if s.raw == nil {
		return info
	}
	_ = s.raw.Control(func(fd uintptr) {
		if said, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			info = *said
		}
	})
	return info
}

// Close counts what was sent again before the kernel forgets it.
func (s *stamper) Close() error {
	s.counts.Retransmits.Add(s.retransmits())
	return s.Conn.Close()
}
