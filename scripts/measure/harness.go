//go:build linux

package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"redline/docs/pages"
	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/store"
	"redline/internal/text"
)

// harness is what every measurement shares: the program to measure, the page to
// write, a directory of its own, and the runs that must not be shown.
type harness struct {
	*flag.FlagSet
	redline string
	version string // as redline names itself
	page    string
	work    string // removed at the end
	began   string // the load average before the first run
	invalid []string
}

func newHarness(name, page string) *harness {
	h := &harness{FlagSet: flag.NewFlagSet(name, flag.ExitOnError), began: loadAverage()}
	h.StringVar(&h.redline, "redline", "bin/redline", "program to measure")
	h.StringVar(&h.page, "out", page, "page to write")
	h.StringVar(&h.work, "dir", "", "directory for files of runs, which may be large (default: the system's)")
	return h
}

// run reads the flags, finds the program, and makes the measurement.
func (h *harness) run(measure func() error, args []string) (err error) {
	_ = h.Parse(args) // it exits
	if h.redline, err = filepath.Abs(h.redline); err != nil {
		return err
	}
	version, err := exec.Command(h.redline, "version").Output()
	if err != nil && h.page != "" {
		return fmt.Errorf("%s version: %w: build it with make build, or name it with -redline", h.redline, err)
	}
	h.version = firstLine(version)
	if h.work, err = os.MkdirTemp(h.work, "measure-"+h.Name()); err != nil {
		return err
	}
	defer os.RemoveAll(h.work)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		_ = os.RemoveAll(h.work)
		os.Exit(130) // what was started ends with this process
	}()
	return measure()
}

// origin says by what, when and where a page was measured.
func (h *harness) origin() string {
	return fmt.Sprintf("Measured %s with %s, by `make %s` on %s.\nLoad average as it began: %s.\n",
		time.Now().UTC().Format(time.DateOnly), h.version, h.Name(), machine(), h.began)
}

// writePage writes the whole page.
func (h *harness) writePage(title, body string) error {
	return h.write(func(string) (string, error) { return "# " + title + "\n\n" + h.origin() + "\n" + body, nil })
}

// writePart writes the part of the page between the marks of that name.
func (h *harness) writePart(mark, body string) error {
	return h.write(func(old string) (string, error) {
		return pages.Replace(old, mark, h.origin()+"\n"+strings.TrimRight(body, "\n")+"\n")
	})
}

// write shows what was measured, and changes the page unless a run behind it is
// invalid.
func (h *harness) write(change func(old string) (string, error)) error {
	old, err := os.ReadFile(h.page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	page, err := change(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", h.page, err)
	}
	if len(h.invalid) > 0 {
		fmt.Print(page)
		return fmt.Errorf("%s is not written, because %s: measure again on a machine that does nothing else\n  %s",
			h.page, text.Plural(len(h.invalid), "run behind it is invalid", "runs behind it are invalid"), strings.Join(h.invalid, "\n  "))
	}
	return os.WriteFile(h.page, []byte(page), 0o644)
}

// outcome is a run of redline that came to a result, valid or not.
type outcome struct {
	*result.Result
	point *result.Point
	dir   *store.Dir
	usage
}

// drive runs redline and reads its result. It has to be valid.
func (h *harness) drive(args ...string) (*outcome, error) { return h.driveAt(place{}, args...) }

func (h *harness) driveAt(at place, args ...string) (*outcome, error) {
	f, err := h.tryAt(at, args...)
	if err == nil {
		h.demandValid(f.Result, shellWords(args))
	}
	return f, err
}

// demandValid keeps the page from being written where a run is not valid.
func (h *harness) demandValid(r *result.Result, what string) {
	if r.Verdict.Valid != result.Valid {
		h.invalid = append(h.invalid, what+": "+strings.Join(r.Verdict.Reasons, "; "))
	}
}

// tryAt is driveAt for runs that are disturbed on purpose and say so on the page.
func (h *harness) tryAt(at place, args ...string) (*outcome, error) {
	out, err := os.MkdirTemp(h.work, "run")
	if err != nil {
		return nil, err
	}
	u, err := h.finish(at, append([]string{"run", "--quiet", "--force", "--out", out}, args...)...)
	if err != nil {
		return nil, err
	}
	f, err := h.readRun(out)
	if err == nil {
		f.usage = u
	}
	return f, err
}

// readRun reads what came of a run, or of several.
func (h *harness) readRun(path string) (f *outcome, err error) {
	f = &outcome{}
	if f.dir, err = store.Open(path); err != nil {
		return nil, err
	}
	if f.Result, err = f.dir.Result(); err != nil {
		return nil, err
	}
	if len(f.Points) == 0 {
		return nil, fmt.Errorf("%s: nothing was measured", path)
	}
	f.point = &f.Points[0]
	return f, nil
}

// checks names the checks of validity that the run did not pass.
func (f *outcome) checks() string {
	var failed []string
	for _, c := range f.Verdict.Checks {
		if !c.OK {
			failed = append(failed, c.Name+" "+c.Figure)
		}
	}
	return cmp.Or(strings.Join(failed, "; "), "sound")
}

// latency is a percentile of a figure, in ms.
func (f *outcome) latency(figure, key string) float64 {
	v, _ := f.point.Latency.Of(figure).Get(key)
	return v
}

// coalescedShare is the share of output events with merged timestamps.
func (f *outcome) coalescedShare() (float64, error) {
	events, coalesced := 0, 0
	for r, err := range f.dir.Records() {
		if err != nil {
			return 0, err
		}
		events += r.ChunkCount()
		coalesced += r.Coalesced
	}
	return float64(coalesced) / float64(max(1, events)), nil
}

// usage is what a process took, and how it ended.
type usage struct {
	exit int
	cpu  time.Duration
	mb   int64
}

// finish runs redline to its end. Exit codes from 3 on are verdicts.
func (h *harness) finish(at place, args ...string) (usage, error) {
	cmd := at.command(append([]string{h.redline}, args...)...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	cmd.Stderr = os.Stderr
	return finishCommand(cmd)
}

func finishCommand(cmd *exec.Cmd) (usage, error) {
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return usage{}, err
	}
	u := usage{cmd.ProcessState.ExitCode(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10}
	if errors.As(err, new(*exec.ExitError)) && u.exit > 2 {
		err = nil
	}
	return u, err
}

// rounds makes every variant once in each round, and begins each round with
// another one. What came of them is in the order of the variants.
func rounds[V, R any](n int, variants []V, one func(V) (R, error)) ([][]R, error) {
	all := make([][]R, len(variants))
	for round := range n {
		for i := range variants {
			k := (round + i) % len(variants)
			r, err := one(variants[k])
			if err != nil {
				return nil, fmt.Errorf("round %d: %w", round+1, err)
			}
			all[k] = append(all[k], r)
		}
	}
	return all, nil
}

// spread is the median of a figure over runs, with the range, for a table.
func spread[R any](runs []R, digits int, figure func(R) float64) string {
	values := valuesOf(runs, figure)
	if len(values) == 0 {
		return "–"
	}
	number := func(v float64) string { return fmt.Sprintf("%.*f", digits, v) }
	return fmt.Sprintf("%s (%s–%s)", number(stats.Median(values)), number(slices.Min(values)), number(slices.Max(values)))
}

// valuesOf gives a figure of each run.
func valuesOf[R any](runs []R, figure func(R) float64) (values []float64) {
	for _, r := range runs {
		values = append(values, figure(r))
	}
	return values
}

// shellWords writes arguments as a shell reads them.
func shellWords(args []string) string { return strings.Join(text.Each(args, text.Shell), " ") }

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}
