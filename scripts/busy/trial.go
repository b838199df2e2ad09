//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"redline/internal/run/store"
	"redline/internal/stats"
	"redline/scripts/truth"
)

// timeout bounds a run, whatever disturbs it.
const timeout = 5 * time.Minute

// compare makes a run against a server that keeps the truth.
func (h *harness) compare(ctx context.Context, s seat, t trial, o *outcome) error {
	dir, err := os.MkdirTemp(h.keep, "busy")
	if err != nil {
		return err
	}
	defer func() {
		if h.keep != "" && o.outside() {
			fmt.Fprintf(os.Stderr, "%s: a true value lies outside the ends: kept in %s\n", t, dir)
			return
		}
		os.RemoveAll(dir)
	}()
	server, err := truth.Start(dir, func(port, file string) *exec.Cmd {
		cmd := place{Cores: s.server}.command(append([]string{h.redline, "sim", "--listen", "127.0.0.1:" + port, "--truth", file}, t.load.server...)...)
		cmd.Stderr = h.log
		return cmd
	})
	if err != nil {
		return err
	}
	defer server.Kill()
	out := filepath.Join(dir, "run")
	if err := h.disturbed(ctx, s, t, o, dir, append(t.arguments(), "--url", server.URL, "--out", out)); err != nil || o.Unavailable != "" {
		return err
	}
	lines, err := server.Stop()
	if err != nil {
		return err
	}
	run, err := store.Open(out)
	if err != nil {
		return nil // its exit code says why there is none
	}
	if err := o.fill(run, lines); err != nil {
		return err
	}
	return o.judge(run, h.limits(t))
}

// first makes the README's first command.
func (h *harness) first(ctx context.Context, s seat, t trial, o *outcome) error {
	dir, err := os.MkdirTemp("", "busy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := h.disturbed(ctx, s, t, o, dir, []string{"run", "--out", "run"}); err != nil {
		return err
	}
	run, err := store.Open(filepath.Join(dir, "run"))
	if err != nil {
		return nil // its exit code says why there is none
	}
	_, err = o.read(run)
	return err
}

// disturbed runs redline to its end, in dir, beside what disturbs it.
func (h *harness) disturbed(ctx context.Context, s seat, t trial, o *outcome, dir string, args []string) error {
	where := place{Cores: s.client}
	if t.setting.quota > 0 {
		group, remove, err := quotaGroup(t.setting.quota, 2)
		if err != nil {
			o.Unavailable = err.Error()
			return nil
		}
		defer remove()
		where.Cgroup = group
	}
	stop, err := occupy(where, t.setting.loops)
	if err != nil {
		return err
	}
	defer stop()
	cmd := where.command(append([]string{h.redline}, args...)...)
	cmd.Dir, cmd.Stderr = dir, h.log
	if t.noStamps {
		cmd.Env = append(os.Environ(), "REDLINE_NO_KERNEL_STAMPS=1")
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	over, end := context.WithTimeout(ctx, timeout)
	context.AfterFunc(over, func() { _ = cmd.Process.Kill() }) // it may have ended
	stopped := make(chan float64)
	go func() { stopped <- freeze(over, cmd.Process, t) }()
	err = cmd.Wait()
	late := over.Err() != nil
	end()
	o.Stopped = <-stopped
	if late {
		return fmt.Errorf("interrupted, or not ended after %v", timeout)
	}
	if o.Exit = cmd.ProcessState.ExitCode(); errors.As(err, new(*exec.ExitError)) {
		return nil
	}
	return err
}

// occupy starts busy loops.
func occupy(where place, loops int) (stop func(), err error) {
	var list []*exec.Cmd
	stop = func() {
		for _, l := range list {
			_ = l.Process.Kill()
			_ = l.Wait()
		}
	}
	for range loops {
		l := where.command(self, spin)
		if err := l.Start(); err != nil {
			stop()
			return nil, err
		}
		list = append(list, l)
	}
	return stop, nil
}

// freeze stops a process again and again until the context ends, for the
// setting's share of the time. It gives the share for which it was stopped.
func freeze(ctx context.Context, p *os.Process, t trial) (share float64) {
	if t.setting.stopped == 0 {
		return 0
	}
	const shortest, longest = float64(time.Millisecond), float64(50 * time.Millisecond)
	random := stats.Rand(t.seed(), "freezer", 0)
	running := (shortest + longest) / 2 * (1 - t.setting.stopped) / t.setting.stopped
	pause := func(ns float64) {
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(ns)):
		}
	}
	began, stopped := time.Now(), time.Duration(0)
	for ctx.Err() == nil {
		pause(running * stats.Exponential(random))
		at := time.Now()
		if p.Signal(syscall.SIGSTOP) != nil {
			break // it has ended
		}
		pause(shortest + (longest-shortest)*random.Float64())
		_ = p.Signal(syscall.SIGCONT)
		stopped += time.Since(at)
	}
	return stopped.Seconds() / time.Since(began).Seconds()
}
