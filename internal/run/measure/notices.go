package measure

import (
	"cmp"
	"context"
	"sync"
	"time"

	"redline/internal/drive/client"
	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/text"
)

// patience is how long a server may take to answer before the user is told
// what is waited for.
const patience = 5 * time.Second

// background does something until it is stopped, which waits for its end.
func background(do func(quit <-chan struct{})) (stop func()) {
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { do(quit) })
	return func() {
		close(quit)
		done.Wait()
	}
}

// untilStopped does what comes before a load. Unlike the load, which ends in order,
// it ends at once when the user stops it: there is nothing to keep yet.
func (r *run) untilStopped(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer background(func(quit <-chan struct{}) {
		slow := time.NewTimer(patience)
		defer slow.Stop()
		for {
			select {
			case <-r.Stop:
				cancel()
				return
			case <-slow.C:
				r.say("waiting for the server's first answer, for up to %s (--timeout); Ctrl-C gives up", text.Option(cmp.Or(r.Config.Provider.Timeouts.Total, client.DefaultTimeout)))
			case <-quit:
				return
			}
		}
	})()
	err := do(ctx)
	if ctx.Err() != nil {
		return context.Canceled
	}
	return err
}

// noticeEvery is how soon the user hears of a disk that takes no more records.
const noticeEvery = time.Second

// notices tells the user, until the returned func is called, that the run is
// stopping and that records cannot be written, once each.
func (r *run) notices() (stop func()) {
	return background(func(quit <-chan struct{}) {
		tick := time.NewTicker(noticeEvery)
		defer tick.Stop()
		stopping, full := r.Stop, tick.C
		for {
			select {
			case <-stopping:
				stopping = nil
				if r.counts.InFlight.Load() == 0 {
					continue
				}
				r.say("stopping: waiting a moment for requests in flight; Ctrl-C again stops at once")
			case <-full:
				if err := r.log.Err(); err != nil {
					full = nil
					r.say("%v; the run goes on", err)
				}
			case <-quit:
				return
			}
		}
	})
}

// watch calls Live until the returned func is called, and ends the window where
// Enough says so.
func (r *run) watch() (stop func()) {
	if r.Live == nil && r.Enough == nil {
		return func() {}
	}
	enough := make(chan struct{})
	r.stage.Enough = enough
	start := r.clock.Now()
	return background(func(quit <-chan struct{}) {
		tick := time.NewTicker(liveEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				now := r.snapshot(start)
				if r.Live != nil {
					r.Live(now)
				}
				if r.Enough != nil && enough != nil && r.Enough(now) {
					close(enough)
					enough = nil
				}
			case <-quit:
				return
			}
		}
	})
}

// heldUpOver is how far back the live view looks for hold-ups.
const heldUpOver = 10 * time.Second

func (r *run) snapshot(start int64) progress.Snapshot {
	p, workers, lost := &r.counts, 0, 0
	if r.stint != nil {
		workers, lost = r.stint.Size(), r.stint.LostWorkers()
	}
	s := r.live.Snapshot(progress.Snapshot{Elapsed: time.Duration(r.clock.Now() - start), Phase: p.Phase(),
		InFlight: int(p.InFlight.Load()), Waiting: int(p.Waiting.Load()), Due: int(p.Due.Load()), Answered: int(p.Answered.Load()), Workers: workers, Lost: lost,
		Open: r.lookout.stillOpen(), Server: r.watched.gauges()}, p.Events.Load())
	switch {
	case s.Phase == record.Warmup && r.stage.Warmup == nil:
		s.PhaseLimit = r.stage.WarmupLimit()
	case s.Phase == record.Cooldown && !r.stage.Plain:
		s.PhaseLimit = r.stage.Drain
	}
	s.HeldUp, s.Spoils = r.watched.host.HoldupShare(heldUpOver), r.spoils.all()
	return s
}

func (r *run) say(format string, args ...any) {
	if r.Say != nil {
		r.Say(format, args...)
	}
}
