package simserver

import (
	"errors"
	"net"
	"net/http"
	"syscall"

	"redline/internal/twin/sim"
)

// A metronome's server is part of what it measures, so that it must cost
// little: the driver writes each token to the connection itself, and the
// handler sleeps from the head of a reply to its end. What does not go as
// planned, such as a client that does not read, is handed back to the handler.

// direct is an answer that the driver writes. Its events are composed some at a
// time: one by one, each would find the processor's cache full of other things.
type direct struct {
	conn    *net.TCPConn
	raw     syscall.RawConn
	attempt func(fd uintptr) // bound once: a method value allocates
	buf     []byte
	events  []readyEvent // those in buf
	next    int          // the first of them that is not written
	unsent  []byte       // the end of that one
	err     error
}

// readyEvent is an event that is ready to be written.
type readyEvent struct {
	end    int // in the buffer
	tokens int // that the answer has with it
}

// ahead is how many events are composed at a time.
const ahead = 8

// errStalled says that the connection takes no more at present.
var errStalled = errors.New("sim: the client does not read")

// newDirect gives nil where a reply has to go through net/http.
func (s *Server) newDirect(r *http.Request) *direct {
	if _, paced := s.drivers[0].core.(*sim.Metronome); !paced || s.spec.NetDelay > 0 || !r.ProtoAtLeast(1, 1) {
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

// put writes the next event as far as the connection takes it.
func (d *direct) put() error {
	d.unsent = d.buf[d.start():d.events[d.next].end]
	if err := d.raw.Control(d.attempt); err != nil {
		d.err = err
	}
	if d.err == nil && len(d.unsent) > 0 {
		d.err = errStalled
	}
	return d.err
}

// start is where the next event begins.
func (d *direct) start() int {
	if d.next == 0 {
		return 0
	}
	return d.events[d.next-1].end
}

// chunk adds an HTTP chunk of what write appends, if that is anything.
func (d *direct) chunk(write func(dst []byte) []byte) {
	const size = "00000000\r\n"
	from := len(d.buf)
	whole := write(append(d.buf, size...))
	n := len(whole) - from - len(size)
	if n == 0 {
		return
	}
	for i := from + 7; i >= from; i-- {
		whole[i] = "0123456789abcdef"[n&15]
		n >>= 4
	}
	d.buf = append(whole, "\r\n"...)
}

// compose makes the next events ready. The first takes the opening ones along.
func (g *generation) compose() {
	d := g.direct
	d.buf, d.events, d.next = d.buf[:0], d.events[:0], 0
	if !g.opened {
		g.opened = true
		d.chunk(func(dst []byte) []byte { return g.dialect.Open(dst, &g.reply) })
	}
	for range ahead {
		if g.script.isDone() {
			return
		}
		part, text := g.script.next()
		g.countUsage()
		d.chunk(func(dst []byte) []byte { return g.dialect.Output(dst, &g.reply, part, text) })
		d.events = append(d.events, readyEvent{len(d.buf), g.script.spoken})
	}
}

// strike writes the events that the progress allows. It reports whether the
// handler has to go on. The driver calls it.
func (g *generation) strike(p progress) (over bool) {
	d := g.direct
	for {
		if d.next == len(d.events) {
			if g.script.isDone() {
				g.countTime()
				return true
			}
			g.reply.Usage.CachedTokens, g.reply.Timing = p.cached, p.timing
			g.compose()
		}
		if p.tokens < d.events[d.next].tokens {
			return false
		}
		if g.trail.around(d.put) != nil {
			return true
		}
		if g.reply.Prefill == 0 {
			g.countTime()
		}
		d.next++
	}
}

// follow leaves the answer to the driver until that hands it back.
func (g *generation) follow() error {
	box := &g.flight.box
	if g.direct == nil || !box.follow(g) {
		return nil
	}
	for box.hasWriter() {
		select {
		case <-box.called:
		case <-g.clientGone:
			box.leave()
			return errGone
		case <-g.server.stopping:
			box.leave()
			return errGone
		}
	}
	if d := g.direct; d.err != nil && d.err != errStalled {
		return d.err
	}
	return g.finish()
}

// finish writes what is composed and was not taken.
func (g *generation) finish() error {
	d := g.direct
	for ; d.next < len(d.events); d.next++ {
		e := d.events[d.next]
		if err := g.await(func(p progress) bool { return p.tokens >= e.tokens }); err != nil {
			return err
		}
		if len(d.unsent) == 0 {
			d.unsent = d.buf[d.start():e.end]
		}
		err := g.trail.around(func() error { _, err := d.conn.Write(d.unsent); return err })
		if err != nil {
			return err
		}
		d.unsent = nil
		g.countTime()
	}
	return nil
}
