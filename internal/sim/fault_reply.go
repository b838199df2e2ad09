package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"redline/internal/llm"
	"redline/internal/wire"
)

// hugeEvent is the size of a huge event.
const hugeEvent = 1 << 20

// errCut says that a reply ends here on purpose.
var errCut = errors.New("sim: the reply was cut by a fault")

// strike lets a mishap have its way with a request before anything is
// generated. It gives the refusal, if that is what befalls it.
func (s *Server) strike(m *mishap, w http.ResponseWriter, r *http.Request) error {
	if m.hangUp {
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			s.doomed.Store(c, true)
		}
	}
	if m.status == 0 {
		return nil
	}
	// A body that nobody reads would cost the client its connection.
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, bodyLimit)); err != nil {
		return errGone
	}
	if err := s.linger(m.beforeHead, r.Context().Done()); err != nil {
		return err
	}
	if after := m.retryHeader(); after != "" {
		w.Header().Set("Retry-After", after)
	}
	return &refusal{m.status, fmt.Sprintf("%s: a fault of the simulator's making", http.StatusText(m.status))}
}

// connKey finds a request's connection in its context.
type connKey struct{}

// linger waits, unless nobody is left to wait for.
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

// account makes a reply's usage what the mishap wants it to be.
func (m *mishap) account(r *wire.Reply) {
	switch {
	case m == nil:
	case m.noUsage:
		r.Usage, r.IncludeUsage, r.ContinuousUsage = llm.Usage{}, false, false
	case m.wrongUsage:
		r.Usage.OutputTokens *= 2
	}
}

// streamStruck is stream for a reply that a mishap befalls: its head is out.
func (g *generation) streamStruck() error {
	if g.mishap.ending == emptyEnding {
		return errCut
	}
	g.buf = g.buf[:0]
	held := 0 // output events in the buffer
	for first, passed := true, false; !g.script.over(); first = false {
		wanted := g.script.spoken + g.script.chunk()
		if err := g.await(func(p progress) bool { return p.tokens >= wanted }); err != nil {
			return err
		}
		if first {
			if err := g.openStruck(); err != nil {
				return err
			}
		}
		halfway := !passed && 2*wanted > len(g.script.ends)
		if halfway {
			passed = true
			if err := g.release(&held); err != nil {
				return err
			}
			if err := g.break_(); err != nil {
				return err
			}
		}
		if err := g.hold(&held, halfway); err != nil {
			return err
		}
	}
	if err := g.release(&held); err != nil {
		return err
	}
	g.buf = g.dialect.Close(g.buf[:0], &g.reply)
	return g.send()
}
