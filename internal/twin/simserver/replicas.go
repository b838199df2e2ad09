package simserver

import (
	"context"
	"errors"

	"redline/internal/twin/sim"
)

// Replicas is how many engines there are.
func (r *Running) Replicas() int { return r.spec.Engines() }

// KillReplica has one engine of a fleet go away at once, and cuts its replies.
func (r *Running) KillReplica(i int) error {
	return r.steer(func(d *driver, g sim.Gateway, at int64) error { return g.Kill(at, i, d.emit) })
}

// DrainReplica gives an engine no more requests, and waits until it has ended those
// that it has and is away.
func (r *Running) DrainReplica(ctx context.Context, i int) error {
	gone, stopped := make(chan struct{}), (<-chan struct{})(nil)
	err := r.steer(func(d *driver, g sim.Gateway, _ int64) error {
		stopped = d.stopped
		return g.Drain(i, func() { close(gone) })
	})
	if err != nil {
		return err
	}
	select {
	case <-gone:
		return nil
	case <-stopped:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// StartReplica brings an engine back that is away.
func (r *Running) StartReplica(i int) error {
	return r.steer(func(d *driver, g sim.Gateway, _ int64) error {
		if err := g.Start(i); err != nil {
			return err
		}
		d.replicas[i], d.steps[i] = sim.Replicas(d.core)[i], 0
		d.meters[i].reset()
		return nil
	})
}

var errStopped = errors.New("the engine does not run")

// steer does something with a fleet, in the goroutine that owns it.
func (r *Running) steer(do func(*driver, sim.Gateway, int64) error) (err error) {
	d := r.present().drivers[0]
	g, ok := d.core.(sim.Gateway)
	if !ok {
		return errors.New("the engine has no replicas")
	}
	if !d.ask(func(at int64) { err = do(d, g, at) }) {
		return errStopped
	}
	return err
}
