package simserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"redline/internal/drive/frame"
	"redline/internal/drive/wire"
	"redline/internal/llm"
	"redline/internal/twin/faults"
)

// hugeEvent is the size of a huge event.
const hugeEvent = 1 << 20

// errCut says that a reply ends here on purpose.
var errCut = errors.New("sim: the reply was cut by a fault")

// inject does to a request what a fault does before anything is generated. It
// gives the refusal, if the fault is one.
func (s *Server) inject(m *faults.Effect, w http.ResponseWriter, r *http.Request) error {
	if m == nil {
		return nil
	}
	if m.HangUp {
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			s.doomed.Store(c, true)
		}
	}
	if m.Status == 0 {
		return nil
	}
	// A body that nobody reads would cost the client its connection.
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, bodyLimit)); err != nil {
		return errGone
	}
	if err := s.linger(m.BeforeHead, r.Context().Done()); err != nil {
		return err
	}
	if m.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64(m.RetryAfter/time.Second), 10))
	}
	return &refusal{m.Status, fmt.Sprintf("%s: a fault of the simulator's making", http.StatusText(m.Status))}
}

// connKey finds a request's connection in its context.
type connKey struct{}

// linger waits, unless the client has gone.
func (s *Server) linger(wait time.Duration, gone <-chan struct{}) error {
	if wait == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-gone:
	case <-s.stopping:
	}
	return errGone
}

// account makes a reply's usage what the fault wants it to be.
func account(m *faults.Effect, r *wire.Reply) {
	switch {
	case m == nil:
	case m.NoUsage:
		r.Usage, r.IncludeUsage, r.ContinuousUsage = llm.Usage{}, false, false
	case m.WrongUsage:
		r.Usage.OutputTokens *= 2
	}
}

// faultyStream is a stream with a fault.
type faultyStream struct {
	*generation
	bufferedEvents int  // output events in the buffer
	passed         bool // the middle of the reply is behind
}

// run writes what follows the head.
func (s *faultyStream) run() error {
	if s.fault.Ending == faults.Empty {
		return errCut
	}
	if err := s.await(func(p progress) bool { return p.tokens > 0 }); err != nil {
		return err
	}
	account(s.fault, &s.reply)
	if err := s.send(s.dialect.Open(s.buf[:0], &s.reply)); err != nil {
		return err
	}
	for !s.script.isDone() {
		wanted := s.script.spoken + s.script.chunk()
		if err := s.await(func(p progress) bool { return p.tokens >= wanted }); err != nil {
			return err
		}
		s.misword()
		m := s.fault
		midway := !s.passed && (m.Midway > 0 || m.Huge || m.Ending != faults.InOrder) && 2*wanted > len(s.script.ends)
		if midway {
			if err := s.interrupt(); err != nil {
				return err
			}
		}
		if err := s.output(midway); err != nil {
			return err
		}
	}
	if err := s.release(); err != nil {
		return err
	}
	return s.send(s.dialect.Close(s.buf[:0], &s.reply))
}

// interrupt does what happens between the two halves of the reply.
func (s *faultyStream) interrupt() error {
	s.passed = true
	if err := s.release(); err != nil {
		return err
	}
	if err := s.server.linger(s.fault.Midway, s.clientGone); err != nil {
		return err
	}
	switch s.fault.Ending {
	case faults.Reset:
		return s.reset()
	case faults.Truncated:
		return errCut
	case faults.ErrorEvent:
		return errors.Join(errCut, s.send(s.dialect.EncodeErrorEvent(s.buf[:0], faultMessage)))
	}
	return nil
}

// faultMessage is what an error inside a reply says.
const faultMessage = "the engine died: a fault of the simulator's making"

// output writes the next event, or holds it back for the one after it.
func (s *faultyStream) output(midway bool) error {
	part, text := s.script.next()
	s.countWritten()
	if s.bufferedEvents == 0 {
		s.buf = s.buf[:0]
	}
	s.buf = s.dialect.Output(s.buf, &s.reply, part, text)
	if midway && s.fault.Huge {
		s.buf = inflate(s.buf, payload(s.buf, s.dialect.Framing))
	}
	if midway && s.fault.Ending == faults.Malformed {
		// The JSON is cut in the middle: no output that anyone can read.
		return s.send(append(s.buf[:(payload(s.buf, s.dialect.Framing)+len(s.buf))/2], "\n\n"...))
	}
	s.bufferedEvents++
	if s.fault.Pieces == faults.InPairs && s.bufferedEvents < 2 {
		return nil
	}
	return s.release()
}

// release writes the events that are held. They share their times.
func (s *faultyStream) release() error {
	if s.bufferedEvents == 0 {
		return nil
	}
	err := s.trail.around(func() error { return s.send(s.buf) })
	if err == nil {
		s.trail.repeat(s.bufferedEvents - 1)
	}
	s.bufferedEvents = 0
	return err
}

// send writes b at once, in the pieces that the fault wants.
func (g *generation) send(b []byte) error {
	m := g.fault
	if m.CRLF && g.asked.Stream {
		b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	size := len(b)
	switch m.Pieces {
	case faults.InHalves:
		size = (len(b) + 1) / 2
	case faults.InBytes:
		size = 1
	}
	for len(b) > 0 {
		n := min(size, len(b))
		if _, err := g.w.Write(b[:n]); err != nil {
			return err
		}
		if err := g.flush(); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// reset cuts the connection so that the client's end of it breaks.
func (g *generation) reset() error {
	conn, _, err := http.NewResponseController(g.w).Hijack()
	if err != nil {
		return err
	}
	socket := conn
	for wrapped, ok := socket.(interface{ NetConn() net.Conn }); ok; wrapped, ok = socket.(interface{ NetConn() net.Conn }) {
		socket = wrapped.NetConn()
	}
	if tcp, ok := socket.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it would be closed in order
	}
	err = socket.Close()
	conn.Close() // what stands around it has nothing left to say
	return errors.Join(errCut, err)
}

// inflate adds a megabyte to the JSON object that begins at b[at]. It is white
// space, so that the object means what it did.
func inflate(b []byte, at int) []byte {
	padded := make([]byte, 0, len(b)+hugeEvent)
	padded = append(padded, b[:at+1]...)
	padded = append(padded, bytes.Repeat([]byte(" "), hugeEvent)...)
	return append(padded, b[at+1:]...)
}

// payload is where the JSON of the last event of b begins.
func payload(b []byte, f frame.Framing) int {
	mark := []byte("\ndata:")
	if f == frame.Lines {
		mark, b = []byte("\n"), bytes.TrimRight(b, "\n")
	}
	at := 0
	if i := bytes.LastIndex(b, mark); i >= 0 {
		at = i + 1
	}
	return at + bytes.IndexByte(b[at:], '{')
}

// sendFaultyReply sends the reply in the buffer, which is not streamed.
func (g *generation) sendFaultyReply() error {
	g.spoil()
	g.w.Header().Set("Content-Type", "application/json")
	g.w.Header().Set("Content-Length", strconv.Itoa(len(g.buf)))
	if g.fault.Ending != faults.InOrder {
		return errors.Join(errCut, g.halves())
	}
	return g.trail.around(g.halves)
}

// spoil makes a whole reply what the fault leaves of it.
func (g *generation) spoil() {
	switch g.fault.Ending {
	case faults.Empty:
		g.buf = g.buf[:0]
	case faults.Truncated, faults.Malformed:
		g.buf = g.buf[:len(g.buf)/2]
	case faults.ErrorEvent:
		g.buf = g.dialect.EncodeError(g.buf[:0], http.StatusInternalServerError, faultMessage)
	}
	if g.fault.Huge && len(g.buf) > 0 {
		g.buf = inflate(g.buf, 0)
	}
}

// halves writes a whole reply with what happens between its halves.
func (g *generation) halves() error {
	m, half := g.fault, len(g.buf)
	if m.Midway > 0 || m.Ending == faults.Reset {
		half /= 2
	}
	if err := g.send(g.buf[:half]); err != nil {
		return err
	}
	if err := g.server.linger(m.Midway, g.clientGone); err != nil {
		return err
	}
	if m.Ending == faults.Reset {
		return g.reset()
	}
	return g.send(g.buf[half:])
}
