package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"redline/internal/clock"
)

// ServeOptions says how an engine is served.
type ServeOptions struct {
	// Listen is the address, 127.0.0.1 and any free port by default.
	Listen string
	// Pace, where it is not 0, replaces the engine by a metronome.
	Pace time.Duration
	// Truth receives one line per generation; nil for none.
	Truth io.Writer
	// Clock is a new one by default.
	Clock *clock.Clock
	// Version is what /version tells.
	Version string
}

// Running is an engine that answers on a socket.
type Running struct {
	server *Server
	addr   net.Addr
	served chan error
}

// Start serves an engine until Close, or until ctx ends.
func Start(ctx context.Context, spec Spec, o ServeOptions) (*Running, error) {
	full, err := spec.Resolve()
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	core, err := coreFor(full, o.Pace)
	if err != nil {
		return nil, err
	}
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", orDefault(o.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("sim: %w; choose another address to listen on", err)
	}
	if o.Clock == nil {
		o.Clock = clock.New()
	}
	server, err := NewServer(Options{Spec: full, Core: core, Clock: o.Clock, Truth: o.Truth, Version: o.Version})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	r := &Running{server: server, addr: l.Addr(), served: make(chan error, 1)}
	go func() { r.served <- server.Serve(ctx, l) }()
	return r, nil
}

func coreFor(spec Spec, pace time.Duration) (Core, error) {
	switch {
	case pace < 0:
		return nil, fmt.Errorf("sim: pace is %v; want a positive time between tokens", pace)
	case pace > 0:
		return NewMetronome(pace), nil
	}
	return NewBatching(spec)
}

// URL is the base URL of the server.
func (r *Running) URL() string { return "http://" + r.addr.String() }

// Lateness says how late the engine has been against its own schedule so far.
func (r *Running) Lateness() Lateness { return r.server.driver.lateness() }

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
	return errors.Join(r.server.Close(), r.Wait())
}
