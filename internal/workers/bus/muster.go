package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"redline/internal/child"
	"redline/internal/text"
	"redline/internal/workers/crew"
)

const (
	// TokenVariable is the variable with what conductor and workers share,
	// AuthVariable the one with what a NATS server of the user's own asks for.
	TokenVariable = "REDLINE_JOIN_TOKEN"
	AuthVariable  = "REDLINE_NATS_AUTH"
)

// Muster gives so many workers of this version: started on this machine where
// no address is given, else awaited for so long. done lets them go.
func Muster(ctx context.Context, o Options, count int, wait time.Duration, version string) (all *crew.Crew, done func(), err error) {
	hub, err := Open(ctx, o)
	if err != nil {
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	if o.Came != nil {
		o.Came(0, count)
	}
	var local []localWorker
	switch {
	case o.URL == "" && o.Listen == "":
		local, err = startWorkers(count, hub)
	case o.Token == "":
		o.Say("waiting for %s; on each machine: %s=%s redline worker --nats %s", text.Plural(count, "worker"), TokenVariable, hub.Token(), hub.URL())
	default:
		o.Say("waiting for %s; on each machine: redline worker --nats %s", text.Plural(count, "worker"), hub.URL())
	}
	if err == nil {
		all, err = hub.claim(ctx, count, wait, version, local)
	}
	done = func() {
		if all != nil {
			all.Release()
		}
		for _, one := range local {
			one.Stop(2 * time.Second)
		}
		hub.Close()
	}
	if err != nil {
		done()
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	return all, done, nil
}

// Resume takes over the workers of a conductor that is gone, by the memo that it
// left.
func Resume(ctx context.Context, o Options, memo []byte) (all *crew.Crew, done func(), err error) {
	if o.URL == "" {
		return nil, nil, errors.New("its NATS server was part of the conductor and ended with it: give --nats to runs that are to outlive one")
	}
	if o.Token == "" {
		return nil, nil, fmt.Errorf("it needs the join token that it was started with: give that as %s", TokenVariable)
	}
	hub, err := Open(ctx, o)
	if err != nil {
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	if all, err = crew.Resume(ctx, memo, hub, hub.Link); err != nil {
		hub.Close()
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	return all, func() { all.Release(); hub.Close() }, nil
}

// claim waits for workers, and no longer once one of those that were started here
// has ended.
func (h *Hub) claim(ctx context.Context, count int, wait time.Duration, version string, local []localWorker) (*crew.Crew, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for _, one := range local {
		go func() {
			select {
			case <-one.Done():
				fail(one.failure())
			case <-ctx.Done():
			}
		}()
	}
	host, _ := os.Hostname()
	name := fmt.Sprintf("redline on %s, process %d, since %s", host, os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	links, err := h.gather(ctx, count, name, version)
	if err != nil {
		return nil, err
	}
	all := crew.New(name, links, h)
	for _, one := range local {
		go func() {
			<-one.Done()
			all.ReportExit(one.name, fmt.Sprintf("its process ended with code %d,", one.ExitCode()))
		}()
	}
	return all, nil
}

// localWorker is a worker that was started on this machine.
type localWorker struct {
	*child.Process
	name   string
	output *child.Tail
}

// failure says how a worker ended that has not begun yet, in its own last line.
func (l *localWorker) failure() error {
	line := fmt.Sprintf("worker %s ended at its start with code %d", l.name, l.ExitCode())
	for _, last := range l.output.Lines(1) {
		line += ": " + text.Line(last)
	}
	return errors.New(line)
}

// startWorkers starts workers on this machine. They end with this process.
func startWorkers(n int, hub *Hub) (list []localWorker, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{TokenVariable, AuthVariable, "REDLINE_NAME", "JOB_COMPLETION_INDEX"}, name)
	})
	env = append(env, TokenVariable+"="+hub.Token())
	for i := range n {
		one := localWorker{name: fmt.Sprintf("local-%d", i+1), output: &child.Tail{Max: 4 << 10}}
		one.Process, err = child.Start(child.Spec{Args: []string{self, "worker", "--nats", hub.URL(), "--name", one.name, "--once"}, Env: env, Output: one.output})
		if err != nil {
			return list, fmt.Errorf("worker %d could not be started: %w", i+1, err)
		}
		list = append(list, one)
	}
	return list, nil
}
