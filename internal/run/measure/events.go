package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"redline/internal/child"
	"redline/internal/judge/fire"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// happenings makes the plan's events happen while the load goes on. What goes wrong
// with a command is part of what is reported: the run goes on.
type happenings struct {
	r       *run
	ctx     context.Context
	over    chan struct{} // closed when the load has ended
	running sync.WaitGroup

	mu   sync.Mutex
	list []fire.Happening
}

// stopGrace is what a command gets to end in order that still runs after the load.
const stopGrace = 2 * time.Second

// schedule has the events happen once the window's start is known.
func (r *run) schedule(ctx context.Context) *happenings {
	h := &happenings{r: r, ctx: context.WithoutCancel(ctx), over: make(chan struct{})}
	events := r.Config.Events()
	if len(events) == 0 {
		return h
	}
	r.stage.Begun = func(start int64) {
		for i, first := range events {
			if slices.ContainsFunc(events[:i], func(e config.Event) bool { return e.At == first.At }) {
				continue
			}
			h.running.Go(func() { // what has the same time goes in the order in which it was written
				for _, e := range events[i:] {
					if e.At == first.At {
						h.happen(e, start+int64(e.At))
					}
				}
			})
		}
	}
	return h
}

// happen waits for an event's time and does what it asks for.
func (h *happenings) happen(e config.Event, at int64) {
	if h.r.clock.SleepUntil(at, h.over) {
		return
	}
	one := fire.Happening{Action: e.String(), At: h.r.clock.Now()}
	h.r.say("%v after the start of the window: %s", e.At, e)
	err := h.do(e)
	one.Took = h.r.clock.Now() - one.At
	if err != nil {
		one.Failed, one.Undone = err.Error(), !errors.As(err, new(*goesOn))
		h.r.say("%s: %v; the run goes on", e, err)
	}
	h.mu.Lock()
	h.list = append(h.list, one)
	h.mu.Unlock()
}

// goesOn is something that had begun, and was not done when the load had ended.
type goesOn struct{ why string }

func (g *goesOn) Error() string { return g.why }

func (h *happenings) do(e config.Event) error {
	halt, resume := h.r.target.controls(e.Action == config.KillEngine)
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	switch {
	case e.OnFleet():
		return h.untilOver(ctx, cancel, func(ctx context.Context) error { return h.steer(ctx, e) })
	case !e.OnEngine() || halt == nil:
		return h.execute(e.Action)
	case e.Action == config.StartEngine:
		return h.untilOver(ctx, cancel, resume)
	}
	err := halt()
	if e.Action != config.RestartEngine || err != nil {
		return err
	}
	if h.r.clock.SleepUntil(h.r.clock.Now()+int64(e.Away), h.over) {
		return nil
	}
	return h.untilOver(ctx, cancel, resume)
}

// steer has replicas of the embedded engine go away, or come back.
func (h *happenings) steer(ctx context.Context, e config.Event) error {
	engine := h.r.target.engine
	switch e.Action {
	case config.KillEngine:
		return engine.KillReplica(e.Replica)
	case config.DrainReplica:
		return engine.DrainReplica(ctx, e.Replica)
	case config.StartEngine:
		return engine.StartReplica(e.Replica)
	}
	for i := range engine.Replicas() {
		if err := engine.DrainReplica(ctx, i); err != nil {
			return err
		}
		if h.r.clock.SleepUntil(h.r.clock.Now()+int64(e.Away), h.over) {
			return context.Canceled
		}
		if err := engine.StartReplica(i); err != nil {
			return err
		}
	}
	return nil
}

// untilOver ends what it does with the load: a server may never become ready.
func (h *happenings) untilOver(ctx context.Context, cancel func(), do func(context.Context) error) error {
	done := make(chan struct{})
	go func() {
		select {
		case <-h.over:
			cancel()
		case <-done:
		}
	}()
	defer close(done)
	err := do(ctx)
	if errors.Is(err, context.Canceled) {
		return &goesOn{"was not done when the load had ended"}
	}
	return err
}

// controls stop and start the engine that redline runs; nil where others run it.
func (t *Target) controls(kill bool) (halt func() error, resume func(context.Context) error) {
	switch {
	case t.engine != nil:
		return t.engine.Halt, t.engine.Resume
	case t.launched != nil:
		return func() error { return t.launched.halt(kill) }, t.launched.resume
	}
	return nil, nil
}

// execute runs a command to its end, or to that of the load.
func (h *happenings) execute(command string) error {
	// A file, because a server that the command leaves writes on after redline's end.
	complaints, err := os.CreateTemp("", "redline-at-")
	if err != nil {
		return err
	}
	defer complaints.Close()
	defer os.Remove(complaints.Name())
	process, err := child.Start(child.Spec{Command: command, Errors: complaints, Leaves: child.LetsThemBe})
	if err != nil {
		return err
	}
	select {
	case <-process.Done():
	case <-h.over:
		process.Stop(stopGrace)
		return &goesOn{"still ran when the load had ended, and was stopped"}
	}
	if code := process.ExitCode(); code != 0 {
		last, tail := "", &child.Tail{Max: 4 << 10}
		_, _ = io.Copy(tail, io.NewSectionReader(complaints, 0, math.MaxInt64)) // it only adds a reason
		if lines := tail.Lines(1); len(lines) > 0 {
			last = ": " + text.Line(lines[0])
		}
		return fmt.Errorf("ended with exit code %d%s", code, last)
	}
	return nil
}

// stop ends what still goes on and gives what happened.
func (h *happenings) stop() []fire.Happening {
	close(h.over)
	h.running.Wait()
	return h.list
}
