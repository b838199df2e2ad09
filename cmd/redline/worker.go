package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
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
			return usage("--nats: expected the URL of a NATS server: the one that redline run --workers … --nats-listen prints")
		}
		if err := config.NATSAddress(url); err != nil {
			return usage("--nats: %v", err)
		}
		if err := p.checkToken(); err != nil {
			return err
		}
		if name = p.workerName(name); len(name) > maxNameLen {
			return usage("--name: expected a name of at most %d bytes, got %d", maxNameLen, len(name))
		}
		if c.Flags().Changed("keep") {
			if keep == "" {
				return usage("--keep: expected a directory, got \"\"; leave the flag out to keep no records")
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
	token := p.env(bus.TokenVariable)
	if strings.ContainsFunc(token, unicode.IsControl) || strings.TrimSpace(token) != token {
		return usage("%s: expected a join token without control characters and line breaks, and without spaces around it, such as one of `openssl rand -hex 16`", bus.TokenVariable)
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
	member, err := bus.Join(ctx, bus.Options{URL: url, Token: p.env(bus.TokenVariable), Auth: p.env(bus.AuthVariable), Say: say})
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
	if err := p.checkToken(); err != nil {
		return nil, nil, err
	}
	ctx, stop := p.stoppable(ctx)
	defer stop()
	o := bus.Options{URL: w.NATS, Listen: w.Listen, Token: p.env(bus.TokenVariable), Auth: p.env(bus.AuthVariable), Say: say, Came: came}
	if memo != nil {
		return bus.Resume(ctx, o, memo)
	}
	return bus.Muster(ctx, o, w.Count, w.Wait, version)
}
