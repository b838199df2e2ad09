//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// seat is the cores of one run. The server has none of its own where it is
// nil: both may use all there are.
type seat struct{ server, client []int }

// layout divides cores among runs side by side, each with so many, and leaves
// one to this process where it can. 0 needed means that a run takes all.
func layout(cores []int, needed, parallel int) ([]seat, error) {
	if len(cores) < needed || needed == 0 {
		if parallel > 1 {
			return nil, fmt.Errorf("-parallel %d: a run takes all of %d cores", parallel, len(cores))
		}
		return []seat{{}}, nil
	}
	if parallel == 0 {
		parallel = max(1, (len(cores)-1)/needed)
	}
	if parallel*needed > len(cores) {
		return nil, fmt.Errorf("-parallel %d: a run takes %d cores, and there are %d", parallel, needed, len(cores))
	}
	var seats []seat
	for i := range parallel {
		own := cores[i*needed : (i+1)*needed]
		seats = append(seats, seat{own[:needed-2], own[needed-2:]})
	}
	return seats, nil
}

// place is where a process runs.
type place struct {
	Cores  []int  // none: all
	Cgroup string // directory of its control group, "" for this process's own
}

// enter as the first argument makes this program take a place and become
// another one; spin makes it a busy loop.
const enter, spin = "-enter", "-spin"

// self is this program, whatever becomes of its file.
const self = "/proc/self/exe"

// play takes the role that the arguments name, and returns if they name none.
func play(args []string) {
	switch {
	case len(args) > 3 && args[0] == enter:
		fmt.Fprintln(os.Stderr, "busy:", become(args[1], args[2], args[3:]))
		os.Exit(127)
	case len(args) > 0 && args[0] == spin:
		for {
		}
	}
}

// command gives a command that will run in this place. It dies with this
// process, also while it is stopped.
func (p place) command(args ...string) *exec.Cmd {
	var list []string
	for _, core := range p.Cores {
		list = append(list, strconv.Itoa(core))
	}
	cmd := exec.Command(self, append([]string{enter, strings.Join(list, ","), p.Cgroup}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// become takes a place and runs a program in it. It returns only if it cannot.
func become(cores, cgroup string, args []string) error {
	runtime.LockOSThread() // what follows is this thread's, and so the new program's
	if cores != "" {
		var set unix.CPUSet
		for text := range strings.SplitSeq(cores, ",") {
			core, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			set.Set(core)
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("sched_setaffinity: %w", err)
		}
	}
	if cgroup != "" {
		if err := os.WriteFile(filepath.Join(cgroup, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return err
		}
	}
	// redline asks for a priority above ordinary work. Without this privilege it
	// does not get it, and competes with busy loops as their equal.
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_NICE, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("prctl: %w", err)
	}
	return syscall.Exec(args[0], args, os.Environ())
}

// quotaGroup makes a control group whose processes may use that much of some
// cores. remove is called once they have ended.
func quotaGroup(share float64, cores int) (dir string, remove func(), err error) {
	const period = 100_000 // µs
	quota := strconv.Itoa(int(share * float64(cores) * period))
	base, files := "/sys/fs/cgroup", map[string]string{"cpu.max": fmt.Sprintf("%s %d", quota, period)}
	if controllers, err := os.ReadFile(filepath.Join(base, "cgroup.controllers")); errors.Is(err, fs.ErrNotExist) {
		base, files = filepath.Join(base, "cpu"), map[string]string{"cpu.cfs_period_us": strconv.Itoa(period), "cpu.cfs_quota_us": quota}
	} else if err != nil || !strings.Contains(string(controllers), "cpu ") {
		return "", nil, fmt.Errorf("%s: no cpu controller", base)
	} else if err := os.WriteFile(filepath.Join(base, "cgroup.subtree_control"), []byte("+cpu"), 0); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(base, "redline-busy"); err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.Remove(dir) } // one that is still in use stays, and does nothing
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0); err != nil {
			remove()
			return "", nil, err
		}
	}
	return dir, remove, nil
}
