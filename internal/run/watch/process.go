package watch

import (
	"cmp"
	"context"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"redline/internal/child"
	"redline/internal/run/history"
	"redline/internal/store"
)

// grace is how long a run may take to keep what it has once it is interrupted.
var grace = 30 * time.Second

// Seed is the same for every run of a schedule.
func (s Schedule) Seed() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Name)) // it never fails
	return h.Sum64() >> 11
}

// Carry runs a schedule's plan in a process of its own, so that whatever
// happens to a run does not happen to the watch.
func (spec *Spec) Carry(ctx context.Context, s Schedule, due time.Time, extra []string) Outcome {
	self, err := os.Executable()
	if err != nil {
		return Outcome{Exit: 1, Said: err.Error()}
	}
	dir := filepath.Join(spec.Runs, due.UTC().Format("20060102-150405")+"-"+s.Name)
	args := append([]string{self, s.Command, "--plan", s.Plan, "--out", dir, "--force", "--quiet"}, extra...)
	said := &child.Tail{Max: 1 << 14}
	run, err := child.Start(child.Spec{Args: args, Output: said})
	if err != nil {
		return Outcome{Exit: 1, Said: err.Error()}
	}
	defer run.Stop(0) // it has had its time
	select {
	case <-run.Done():
	case <-ctx.Done():
		run.Interrupt() // it keeps what it has
		select {
		case <-run.Done():
		case <-time.After(grace):
		}
		return Outcome{Exit: exitStopped, Dir: filepath.ToSlash(dir)}
	}
	o := Outcome{Exit: run.ExitCode(), Dir: filepath.ToSlash(dir)}
	for _, line := range said.Lines(50) {
		if line, ok := strings.CutPrefix(line, "redline: "); ok {
			o.Said = line
		}
	}
	spec.read(ctx, dir, &o)
	return o
}

// read adds to an outcome what its run left behind.
func (spec *Spec) read(ctx context.Context, dir string, o *Outcome) {
	d, err := store.Open(dir)
	if err != nil {
		o.Dir = ""
		return
	}
	if res, err := d.Result(); err == nil {
		o.Reasons, o.TooFew = res.Verdict.Reasons, history.IsTooFew(res)
	}
	ix, err := history.Open(ctx, spec.Runs)
	if err != nil {
		o.Said = cmp.Or(o.Said, err.Error())
		return
	}
	defer ix.Close()
	e, err := ix.Find(ctx, filepath.Base(dir))
	if err != nil || !e.Sound() {
		return
	}
	o.Values = e.Values
	if drift, err := ix.Drift(ctx, e); err == nil {
		o.Drift = drift
	}
}
