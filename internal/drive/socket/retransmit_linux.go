package socket

import "golang.org/x/sys/unix"

// retransmits is how many segments the kernel has sent again on this
// connection so far; 0 where it does not say.
func (s *stamper) retransmits() (n int64) {
	if s.raw == nil {
		return 0
	}
	// A connection that is closed already has said so before.
	_ = s.raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n = int64(info.Total_retrans)
		}
	})
	return n
}

// Close counts what was sent again before the kernel forgets it.
func (s *stamper) Close() error {
	s.counts.Retransmits.Add(s.retransmits())
	return s.Conn.Close()
}
