package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/listen"
	"redline/internal/plan/config"
	"redline/internal/run/watch"
)

const watchHelp = `Run plans on schedules and alert when something changes.

The watch file names plans, their schedules, and where alerts go: a command, a
webhook, Prometheus. Alerts: missed (an objective), drift (a series changed to a
worse level), invalid, failed. Each alert is sent once when it starts and once
when it ends, also across restarts. Runs go one at a time, with the same
requests every time, so that any difference comes from the server.

Exit code: 0 when stopped; with --once that of the worst run, 4 for drift.`

const watchExamples = `  redline watch watch.yaml
  redline watch watch.yaml --once   # every schedule once, now: for cron and CI
  redline watch watch.yaml --once --only nightly
  redline watch watch.yaml --check  # check the files, say when they run`

func (p *process) watchCommand() *cobra.Command {
	c := &cobra.Command{Use: "watch FILE", Short: "run plans on schedules and alert on drift and missed objectives", Long: watchHelp, Example: watchExamples,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("redline watch needs one watch file; docs/guide/WATCHING.md shows one")
			}
			return nil
		}}
	once := c.Flags().Bool("once", false, "run every schedule once, now, and exit")
	only := c.Flags().String("only", "", "run only this schedule")
	check := c.Flags().Bool("check", false, "validate the file and its plans, print when they run, and stop")
	c.RunE = func(c *cobra.Command, args []string) error {
		spec, err := p.watchSpec(args[0], *only)
		if err != nil {
			return err
		}
		if *check {
			return p.showSchedules(spec)
		}
		return p.watch(c.Context(), spec, *once)
	}
	return c
}

// watchSpec reads a watch file and every plan that it names, so that a mistake
// shows now and not at three in the morning.
func (p *process) watchSpec(path, only string) (*watch.Spec, error) {
	spec := &watch.Spec{}
	doc, err := config.Read(path, "a watch file", spec, p.lookupEnv)
	if err != nil {
		return nil, err
	}
	p.mask = p.mask.With(doc.Secrets...)
	if err := spec.Complete(); err != nil {
		var m *watch.Mistake
		if errors.As(err, &m) {
			return nil, config.ErrorAt(path, nearestLine(doc.Lines, m.Key), "%s", m.Error())
		}
		return nil, err
	}
	var kept []watch.Schedule
	for i, s := range spec.Schedules {
		if only != "" && s.Name != only {
			continue
		}
		if !filepath.IsAbs(s.Plan) {
			s.Plan = filepath.Join(filepath.Dir(path), s.Plan)
		}
		if _, err := p.scheduledPlan(s); err != nil {
			return nil, fmt.Errorf("%s: %w", place(path, doc.Lines, fmt.Sprintf("schedules[%d].plan", i)), err)
		}
		kept = append(kept, s)
	}
	if len(kept) == 0 {
		return nil, usage("%s has no schedule %q", path, only)
	}
	spec.Schedules = kept
	return spec, nil
}

func place(path string, lines map[string]int, key string) string {
	if line := nearestLine(lines, key); line > 0 {
		return path + ":" + strconv.Itoa(line)
	}
	return path
}

// nearestLine is where a key was set, or the block that lacks it.
func nearestLine(lines map[string]int, key string) int {
	for key != "" {
		if line, ok := lines[key]; ok {
			return line
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return 0
}

func (p *process) scheduledPlan(s watch.Schedule) (*config.Config, error) {
	return p.resolve(config.Input{PlanPath: s.Plan, LookupEnv: p.lookupEnv, Command: s.Command, Seed: 1})
}

func (p *process) showSchedules(spec *watch.Spec) error {
	for _, s := range spec.Schedules {
		if _, err := fmt.Fprintf(p.stdout, "%s: redline %s --plan %s, next at %s\n", s.Name, s.Command, s.Plan,
			s.Next(time.Now()).Format("2006-01-02 15:04 MST")); err != nil {
			return err
		}
	}
	return nil
}

// watch runs until it is stopped, or once.
func (p *process) watch(ctx context.Context, spec *watch.Spec, once bool) error {
	say := func(format string, args ...any) {
		fmt.Fprintf(p.stderr, "%s %s\n", time.Now().Format(time.DateTime), p.line(fmt.Sprintf(format, args...)))
	}
	own, err := watch.Lock(spec.Runs)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		say("%v; make sure that no other watch uses it", err)
	case err != nil:
		return err
	default:
		defer own.Release()
	}
	state, problem := watch.LoadState(spec.Runs)
	if problem != nil {
		say("%v", problem)
	}
	w := &watch.Watcher{Spec: spec, Tell: spec.Alerts.Tellers(), Say: say, State: state,
		Run: func(ctx context.Context, s watch.Schedule, due time.Time) watch.Outcome {
			return p.scheduledRun(ctx, spec, s, due)
		}}
	ctx, cancel := p.stoppable(ctx)
	defer cancel()
	if once {
		return watchEnding(w.Once(ctx))
	}
	if spec.Listen != "" {
		end, err := serveMetrics(ctx, spec.Listen, w.Handler(), say)
		if err != nil {
			return err
		}
		defer end()
	}
	w.Loop(ctx)
	say("stopped")
	return nil
}

// serveMetrics answers on an address until it is ended.
func serveMetrics(ctx context.Context, address string, h http.Handler, say func(string, ...any)) (end func(), err error) {
	l, err := listen.Open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w, in the watch file", err)
	}
	say("metrics at http://%s/metrics", l.Addr())
	server := &http.Server{Handler: listen.Guard(l.Addr(), h), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // it ends with Close
	return func() { _ = server.Close() }, nil
}

// scheduledRun carries a plan out in a process of its own.
func (p *process) scheduledRun(ctx context.Context, spec *watch.Spec, s watch.Schedule, due time.Time) watch.Outcome {
	cfg, err := p.scheduledPlan(s)
	if err != nil {
		return watch.Outcome{Exit: exitError, Said: p.line(err.Error())}
	}
	var extra []string
	if cfg.Metadata["label"] == "" {
		extra = append(extra, "--label", s.Name)
	}
	if cfg.Defaulted("seed") {
		// The same requests every time: what differs is the server.
		extra = append(extra, "--seed", strconv.FormatUint(s.Seed(), 10))
	}
	o := spec.Carry(ctx, s, due, extra)
	o.Said = p.line(o.Said)
	return o
}

// watchEnding is how a single round ends: as its worst run did, drift as a
// regression.
func watchEnding(outcomes []watch.Outcome) error {
	worst := exitOK
	for _, o := range outcomes {
		code := o.Exit
		if !slices.Contains(precedence, code) {
			code = exitError // ended by a signal, or not at all
		}
		if o.HasDrifted() {
			code = worse(code, exitRegression)
		}
		worst = worse(worst, code)
	}
	if worst == exitOK {
		return nil
	}
	return &exitCodeError{worst, nil}
}
