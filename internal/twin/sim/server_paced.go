package sim

import (
	"errors"
	"net"
	"net/http"
	"syscall"
)

// A metronome's server is part of what it measures, so that it must cost
// little: the driver writes each token to the connection itself, and the
// handler sleeps from the head of a reply to its end. What does not go as
// planned, such as a client that does not read, is handed back to the handler.

// direct is an answer that the driver writes.
type direct struct {
	conn    *net.TCPConn
	raw     syscall.RawConn
	attempt func(fd uintptr) // bound once: a method value allocates
	buf     []byte
	unsent  []byte // the end of buf
	stalled bool   // with an output event
	err     error
}

// errStalled says that the connection takes no more at present.
var errStalled = errors.New("sim: the client does not read")

// newDirect gives nil where a reply has to go through net/http.
func (s *Server) newDirect(r *http.Request) *direct {
	if _, paced := s.driver.core.(*metronome); !paced || s.spec.NetDelay > 0 || !r.ProtoAtLeast(1, 1) {
		return nil
	}
	tcp, ok := r.Context().Value(connKey{}).(*net.TCPConn)
	if !ok || !canWriteDirectly {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{conn: tcp, raw: raw}
	d.attempt = d.write
	return d
}

// put writes the buffer as far as the connection takes it.
func (d *direct) put() error {
	d.unsent = d.buf
	if err := d.raw.Control(d.attempt); err != nil {
		d.err = err
	}
	if d.err == nil && len(d.unsent) > 0 {
		d.err = errStalled
	}
	return d.err
}

// chunk makes the buffer an HTTP chunk of what write appends.
func (d *direct) chunk(write func(dst []byte) []byte) {
	const size = "00000000\r\n"
	whole := write(append(d.buf[:0], size...))
	n := len(whole) - len(size)
	for i := 7; i >= 0; i-- {
		whole[i] = "0123456789abcdef"[n&15]
		n >>= 4
	}
	d.buf = append(whole, "\r\n"...)
}

// strike writes the events that the progress allows. It reports whether the
// handler has to go on. The driver calls it.
func (g *generation) strike(p progress) (over bool) {
	d := g.direct
	g.reply.Usage.CachedTokens = p.cached
	for !g.script.over() && p.tokens >= g.script.spoken+g.script.chunk() {
		if !g.opened {
			g.opened = true
			d.chunk(func(dst []byte) []byte { return g.dialect.Open(dst, &g.reply) })
			if len(d.buf) > len("00000000\r\n\r\n") && d.put() != nil {
				return true
			}
		}
		part, text := g.script.next()
		g.countSpoken()
		d.chunk(func(dst []byte) []byte { return g.dialect.Output(dst, &g.reply, part, text) })
		if g.trail.around(d.put) != nil {
			d.stalled = true
			return true
		}
	}
	return g.script.over()
}

// follow leaves the answer to the driver until that hands it back.
func (g *generation) follow() error {
	box := &g.flight.box
	if g.direct == nil || !box.follow(g) {
		return nil
	}
	for box.followed() {
		select {
		case <-box.called:
		case <-g.gone:
			box.leave()
			return errGone
		case <-g.server.stopping:
			box.leave()
			return errGone
		}
	}
	d := g.direct
	switch finish := func() error { _, err := d.conn.Write(d.unsent); return err }; {
	case d.err == nil:
		return nil
	case d.err != errStalled:
		return d.err
	case d.stalled:
		return g.trail.around(finish)
	default:
		return finish()
	}
}
