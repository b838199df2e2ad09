package simserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"redline/internal/clock"
	"redline/internal/holdup"
	"redline/internal/listen"
	"redline/internal/twin/sim"
)

// ServeOptions says how an engine is served.
type ServeOptions struct {
	// Listen is the address, 127.0.0.1 and any free port by default.
	Listen string
	// Open opens a listener at an address; nil means the network's own.
	Open func(ctx context.Context, addr string) (net.Listener, error)
	// TLS serves https with a certificate that nobody has reason to trust.
	TLS bool
	// RestartAfter, where it is not 0, is when the server goes away, once: it
	// cuts every connection, answers nobody for Downtime, and comes back at
	// the same address as a new process would, with counters at zero.
	RestartAfter time.Duration
	// Downtime is a second by default.
	Downtime time.Duration
	// Pace, where it is not 0, replaces the engine by a metronome.
	Pace time.Duration
	// Truth receives one line per generation; nil for none.
	Truth io.Writer
	// Clock is a new one by default.
	Clock *clock.Clock
	// Late, where it is not nil, takes in the tokens that are written later than
	// the engine's own schedule has them, by Clock.
	Late *holdup.Recorder
	// Version is what /version tells.
	Version string
	// MetricsStyle is the engine whose metrics and pages it shows, one of
	// StyleNames; "" for vLLM's.
	MetricsStyle string
	// Loading is for how long each new engine answers that its model is not there
	// yet.
	Loading time.Duration
}

// Running is an engine that answers on a socket.
type Running struct {
	spec     sim.Spec
	options  ServeOptions
	identity *tls.Config // nil without TLS
	addr     net.Addr
	served   chan error
	closing  chan struct{}

	mu     sync.Mutex
	server *Server // the present one
	closed bool
	halted bool
	next   chan successor
}

// successor is a server that takes the place of one that was halted.
type successor struct {
	server   *Server
	listener net.Listener
}

// Start serves an engine until Close, or until ctx ends.
func Start(ctx context.Context, spec sim.Spec, o ServeOptions) (*Running, error) {
	full, err := spec.Resolve()
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	if err := CheckStyle(o.MetricsStyle); err != nil {
		return nil, fmt.Errorf("sim: metrics-style: %w", err)
	}
	if shown, _ := styleOf(o.MetricsStyle); full.Engines() > 1 && shown.Metrics.Replica == "" {
		return nil, fmt.Errorf("sim: metrics-style: %s has no label that tells replicas apart: use vllm or sglang for a fleet", o.MetricsStyle)
	}
	if o.RestartAfter < 0 || o.Downtime < 0 {
		return nil, fmt.Errorf("sim: restart after %v for %v; expected positive times", o.RestartAfter, o.Downtime)
	}
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:0")
	o.Downtime = cmp.Or(o.Downtime, time.Second)
	if o.Clock == nil {
		o.Clock = clock.New()
	}
	if o.Open == nil {
		o.Open = listen.Open
	}
	r := &Running{spec: full, options: o, served: make(chan error, 1), closing: make(chan struct{}), next: make(chan successor)}
	if o.TLS {
		if r.identity, err = newIdentity(time.Now()); err != nil {
			return nil, fmt.Errorf("sim: %w", err)
		}
	}
	l, server, err := r.raise(ctx, o.Listen)
	if err != nil {
		return nil, err
	}
	r.addr, r.server = l.Addr(), server
	go func() { r.served <- r.serve(ctx, server, l) }()
	return r, nil
}

// raise makes a new engine and its listener.
func (r *Running) raise(ctx context.Context, addr string) (net.Listener, *Server, error) {
	o := r.options
	core, err := coreFor(r.spec, o.Pace)
	if err != nil {
		return nil, nil, err
	}
	l, err := o.Open(ctx, addr)
	if err != nil {
		return nil, nil, fmt.Errorf("sim: %w", err)
	}
	server, err := NewServer(Options{Spec: r.spec, Core: core, Clock: o.Clock, Truth: o.Truth, Late: o.Late, Version: o.Version,
		MetricsStyle: o.MetricsStyle, Loading: o.Loading})
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, server, nil
}

// serve answers on l, and on its successor after a restart.
func (r *Running) serve(ctx context.Context, server *Server, l net.Listener) error {
	if r.options.RestartAfter == 0 {
		for {
			err := r.answer(ctx, server, l)
			r.mu.Lock()
			halted := r.halted
			r.mu.Unlock()
			if err != nil || !halted {
				return err
			}
			select {
			case s := <-r.next:
				server, l = s.server, s.listener
			case <-r.closing:
				return nil
			case <-ctx.Done():
				return nil
			}
		}
	}
	fall := time.AfterFunc(r.options.RestartAfter, func() { server.Close() })
	err := r.answer(ctx, server, l)
	if fall.Stop() || err != nil {
		return err
	}
	// The first of the two has to be gone before the second writes truth.
	if err := server.Close(); err != nil {
		return err
	}
	select {
	case <-time.After(r.options.Downtime):
	case <-r.closing:
		return nil
	case <-ctx.Done():
		return nil
	}
	return r.restart(ctx)
}

// Halt has the server go away as a killed process does: every connection is cut, and
// nobody is answered until Resume.
func (r *Running) Halt() error {
	r.mu.Lock()
	halted := r.halted
	r.halted = true
	server := r.server
	r.mu.Unlock()
	if halted {
		return errStopped
	}
	return server.Close()
}

// Resume serves a new engine where the one was that was halted, with counters at zero.
func (r *Running) Resume(ctx context.Context) error {
	r.mu.Lock()
	halted := r.halted
	r.mu.Unlock()
	if !halted {
		return errors.New("the engine runs already")
	}
	l, server, err := r.raise(ctx, r.addr.String())
	if err != nil {
		return err
	}
	select {
	case r.next <- successor{server, l}:
	case <-r.closing:
		return errors.Join(server.Close(), l.Close())
	}
	r.mu.Lock()
	r.server, r.halted = server, false
	r.mu.Unlock()
	return nil
}

// restart serves a new engine where the old one was.
func (r *Running) restart(ctx context.Context) error {
	l, server, err := r.raise(ctx, r.addr.String())
	if err != nil {
		return err
	}
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.server = server
	}
	r.mu.Unlock()
	if closed {
		return errors.Join(server.Close(), l.Close())
	}
	return r.answer(ctx, server, l)
}

func (r *Running) answer(ctx context.Context, server *Server, l net.Listener) error {
	if r.identity != nil {
		server.http.ErrorLog = silent // clients that do not trust us are meant to fail
		l = tls.NewListener(l, r.identity)
	}
	return server.Serve(ctx, l)
}

func coreFor(spec sim.Spec, pace time.Duration) (sim.Core, error) {
	switch {
	case pace < 0:
		return nil, fmt.Errorf("sim: pace is %v; expected a positive time between tokens", pace)
	case pace > 0 && spec.IsGateway():
		return nil, errors.New("sim: --pace replaces the engine by a metronome, of which there is one: leave out --replicas, --prefill, --decode and --gateway-delay")
	case pace > 0:
		return sim.NewMetronome(pace), nil
	}
	return sim.New(spec)
}

// URL is the base URL of the server.
func (r *Running) URL() string {
	if r.identity != nil {
		return "https://" + r.addr.String()
	}
	return "http://" + r.addr.String()
}

// present is the server that answers now, or did last.
func (r *Running) present() *Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.server
}

// Lateness says how late the engine has been against its own schedule since it
// was asked the last time, or since its restart.
func (r *Running) Lateness() Lateness { return r.present().lateness() }

// Wait blocks until the server has stopped serving and says why, nil after
// Close or the end of the context.
func (r *Running) Wait() error {
	err := <-r.served
	r.served <- err
	return err
}

// Close stops serving, waits for everything that was started and writes out
// the truth.
func (r *Running) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.closing)
	}
	server := r.server
	r.mu.Unlock()
	return errors.Join(server.Close(), r.Wait())
}
