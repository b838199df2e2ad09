package measure

import (
	"context"
	"time"

	"redline/internal/judge/fire"
	"redline/internal/judge/result"
)

const (
	// restEvery is the time between two readings of a server at rest.
	restEvery = 200 * time.Millisecond
	// maxRest bounds the wait for a server to come to rest after the load.
	maxRest = 30 * time.Second
	// staleAfter is when a request is sent to have the gauges written again: some
	// engines write them only when they compute something.
	staleAfter = 2 * time.Second
)

// readRest reads the gauges before the load as often as a leak is judged by.
func (r *run) readRest(ctx context.Context) {
	w := r.watched
	if !r.Config.WatchesLeaks() || w.server == nil {
		return
	}
	for range fire.Readings {
		w.server.Now(ctx)
		if !r.pause(ctx, restEvery) {
			return
		}
	}
	w.firstRead = r.clock.Now()
}

// awaitRest reads the gauges after the load until they are where they were before
// it, or for as long as that may take.
func (r *run) awaitRest(ctx context.Context) {
	w := r.watched
	if !r.Config.WatchesLeaks() || w.server == nil || r.outcome.Stopped == result.ByUser {
		return
	}
	r.target.client.Drop()
	end := r.clock.Now()
	r.say("waiting for the server's gauges to return, at most %v", maxRest)
	for stale := false; r.clock.Now() < end+int64(maxRest); {
		w.server.Now(ctx)
		if fire.AtRest(w.scrapes(), w.firstRead, end) {
			return
		}
		if !stale && r.clock.Now() >= end+int64(staleAfter) {
			stale = true
			if _, err := r.target.ask(ctx, r, preflightNumber, nil); err == nil {
				w.sent.Add(1)
			}
			r.target.client.Drop()
		}
		if !r.pause(ctx, restEvery) {
			return
		}
	}
}

// pause waits, or reports false where the run is to end.
func (r *run) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Stop:
	case <-ctx.Done():
	}
	return false
}
