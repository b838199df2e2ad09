package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"redline/internal/child"
	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
	"redline/internal/text"
	"redline/internal/workers/bus"
	"redline/internal/workers/crew"
)

const workerHelp = `Send a share of the load that a conductor leads: any command that measures,
called with --workers N on this or another machine. A worker waits at a NATS
server, is claimed by one conductor at a time, and is free again when that is
done. All of them have to be of the same version, and share a join token:
REDLINE_JOIN_TOKEN in the environment of each. What a NATS server of your own
asks for (a token, user:password, or the path of a credentials file) is
REDLINE_NATS_AUTH.

docs/reference/WORKERS.md says what is exact about it; redline kube prints the
manifests for Kubernetes.`

const workerExamples = `  redline worker --nats nats://10.0.0.7:4222
  redline worker --nats tls://conductor:4222 --name zone-a-1
  redline worker --once   # address from REDLINE_NATS; ends with its conductor`

const (
	// joinToken is the variable with what conductor and workers share, natsAuth
	// the one with what a NATS server of the user's own asks for.
	joinToken = "REDLINE_JOIN_TOKEN"
	natsAuth  = "REDLINE_NATS_AUTH"
)

func (p *process) workerCommand() *cobra.Command {
	c := &cobra.Command{Use: "worker", SuggestFor: []string{"agent", "slave", "join", "node"}, Short: "send a share of a load that another redline leads",
		Long: workerHelp, Example: workerExamples, Args: noArguments}
	var url, name, keep string
	var once bool
	c.Flags().StringVar(&url, "nats", "", "NATS server to wait at, or several of a cluster with commas between them: nats://host:4222 (default: REDLINE_NATS)")
	c.Flags().StringVar(&name, "name", "", "what the worker is called (default: REDLINE_NAME, or the machine's name)")
	c.Flags().StringVar(&keep, "keep", "", "write the complete records of what this worker sends to DIR/RUN-NAME.jsonl, whatever the run keeps (--token-times)")
	c.Flags().BoolVar(&once, "once", false, "end when the first conductor is done")
	c.RunE = func(c *cobra.Command, _ []string) error {
		url = cmp.Or(url, p.env("REDLINE_NATS"))
		if url == "" {
			return usage("--nats: want the URL of a NATS server: the one that redline run --workers … --nats-listen prints")
		}
		if err := config.NATSAddress(url); err != nil {
			return usage("--nats: %v", err)
		}
		if err := p.checkToken(); err != nil {
			return err
		}
		if name = p.workerName(name); len(name) > maxNameLen {
			return usage("--name: want a name of at most %d bytes, got %d", maxNameLen, len(name))
		}
		if c.Flags().Changed("keep") {
			if keep == "" {
				return usage("--keep: want a directory, got \"\"; leave the flag out to keep no records")
			}
			if err := store.Writable(keep); err != nil {
				return fmt.Errorf("--keep: %w; choose a directory that this worker may write to", err)
			}
		}
		return p.work(c.Context(), url, &crew.Worker{Clock: clock.New(), Keep: keep, Name: name, Pace: p.doctorPace}, once)
	}
	return c
}

// maxNameLen is how long a worker's name may be: it is part of file names, and
// of lines on a screen.
const maxNameLen = 100

func (p *process) env(name string) string {
	value, _ := p.lookupEnv(name)
	return value
}

// checkToken refuses join tokens that two sides would hardly have in common: a
// file's last line break is soon part of one.
func (p *process) checkToken() error {
	token := p.env(joinToken)
	if strings.ContainsFunc(token, unicode.IsControl) || strings.TrimSpace(token) != token {
		return usage("%s: want a join token without control characters and line breaks, and without spaces around it, such as one of `openssl rand -hex 16`", joinToken)
	}
	return nil
}

// workerName tells workers of one machine, or of one Kubernetes job, apart.
func (p *process) workerName(given string) string {
	name := cmp.Or(given, p.env("REDLINE_NAME"))
	if name == "" {
		name, _ = os.Hostname()
		name = cmp.Or(name, "worker")
	}
	// The pods of an indexed job have host names that end with it.
	if index := p.env("JOB_COMPLETION_INDEX"); index != "" && !strings.HasSuffix(name, "-"+index) {
		name += "-" + index
	}
	return name
}

// work joins, and does what conductors ask until it is stopped or, with once,
// released.
func (p *process) work(ctx context.Context, url string, w *crew.Worker, once bool) error {
	ctx, cancel := p.stoppable(ctx)
	defer cancel()
	if p.hurry != nil {
		p.hurry()
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(p.stderr, "redline worker: "+p.line(fmt.Sprintf(format, args...)))
	}
	host, _ := os.Hostname()
	member, err := bus.Join(ctx, bus.Options{URL: url, Token: p.env(joinToken), Auth: p.env(natsAuth), Say: say})
	if err != nil {
		return ignoreIfCanceled(ctx, err)
	}
	defer member.Close()
	w.Outlet, w.Say = member.Outlet, say
	if once {
		go func() {
			defer cancel()
			w.Serve(ctx)
		}()
	}
	say("%s waits for work at %s", w.Name, url)
	hello := crew.Hello{ID: store.NewID(), Name: w.Name, Host: host, Version: version, Cores: runtime.NumCPU(), Files: client.FileLimit()}
	err = member.Serve(ctx, hello, w.Owner, w.Answer)
	w.Release()
	return ignoreIfCanceled(ctx, err)
}

// ignoreIfCanceled is no error where the user wanted the end.
func ignoreIfCanceled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// crew gives the workers that the plan asks for, nil where this process sends the
// load itself; done lets them go. A memo has it take over those of a conductor
// that is gone.
func (p *process) crew(ctx context.Context, cfg *config.Config, memo []byte, say func(string, ...any), came func(have, want int)) (all measure.Crew, done func(), err error) {
	if cfg.Workers.Count == 0 {
		return nil, func() {}, nil
	}
	gathered, done, err := p.gather(ctx, cfg.Workers, memo, say, came)
	if err != nil {
		return nil, nil, err
	}
	return gathered, done, nil
}

// gather opens the way to workers and waits for them.
func (p *process) gather(ctx context.Context, w config.Workers, memo []byte, say func(string, ...any), came func(have, want int)) (all *crew.Crew, done func(), err error) {
	if memo != nil && w.NATS == "" {
		return nil, nil, errors.New("its NATS server was part of the conductor and ended with it: give --nats to runs that are to outlive one")
	}
	if memo != nil && p.env(joinToken) == "" {
		return nil, nil, fmt.Errorf("it needs the join token that it was started with: give that as %s", joinToken)
	}
	if err := p.checkToken(); err != nil {
		return nil, nil, err
	}
	ctx, stop := p.stoppable(ctx)
	defer stop()
	hub, err := bus.Open(ctx, bus.Options{URL: w.NATS, Listen: w.Listen, Token: p.env(joinToken), Auth: p.env(natsAuth), Say: say, Came: came})
	if err != nil {
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	var local []localWorker
	if came != nil && memo == nil {
		came(0, w.Count)
	}
	if memo != nil {
		all, err = crew.Resume(ctx, memo, hub, hub.Link)
	} else {
		all, local, err = p.meet(ctx, w, hub, say)
	}
	end := func() {
		if all != nil {
			all.Release()
		}
		for _, one := range local {
			one.Stop(2 * time.Second)
		}
		hub.Close()
	}
	if err != nil {
		end()
		return nil, nil, cmp.Or(ctx.Err(), err)
	}
	return all, end, nil
}

// meet starts workers, or says how to, and claims as many as are wanted.
func (p *process) meet(ctx context.Context, w config.Workers, hub *bus.Hub, say func(string, ...any)) (all *crew.Crew, local []localWorker, err error) {
	switch {
	case w.NATS == "" && w.Listen == "":
		local, err = p.startWorkers(w.Count, hub)
	case p.env(joinToken) == "":
		say("waiting for %s; on each machine: %s=%s redline worker --nats %s", text.Plural(w.Count, "worker"), joinToken, hub.Token(), hub.URL())
	default:
		say("waiting for %s; on each machine: redline worker --nats %s", text.Plural(w.Count, "worker"), hub.URL())
	}
	if err != nil {
		return nil, local, err
	}
	wait, cancel := context.WithTimeout(ctx, w.Wait)
	defer cancel()
	wait, fail := context.WithCancelCause(wait)
	defer fail(nil)
	for _, one := range local {
		go func() {
			select {
			case <-one.Done():
				fail(one.failure())
			case <-wait.Done():
			}
		}()
	}
	claim := conductorName()
	links, err := hub.Gather(wait, w.Count, claim, version)
	if err != nil {
		return nil, local, err
	}
	all = crew.New(claim, links, hub)
	for _, one := range local {
		go func() {
			<-one.Done()
			all.ReportExit(one.name, fmt.Sprintf("its process ended with code %d,", one.ExitCode()))
		}()
	}
	return all, local, nil
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

// conductorName is how this process is called by a worker that it has claimed.
func conductorName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("redline on %s, process %d, since %s", host, os.Getpid(), time.Now().UTC().Format(time.RFC3339))
}

// startWorkers starts workers on this machine. They end with this process.
func (p *process) startWorkers(n int, hub *bus.Hub) (list []localWorker, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := os.Environ()
	for _, name := range []string{joinToken, natsAuth, "REDLINE_NAME", "JOB_COMPLETION_INDEX"} {
		env = dropVariable(env, name)
	}
	env = append(env, joinToken+"="+hub.Token())
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

// dropVariable is an environment without one variable.
func dropVariable(env []string, name string) (rest []string) {
	for _, v := range env {
		if !strings.HasPrefix(v, name+"=") {
			rest = append(rest, v)
		}
	}
	return rest
}
