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

	"redline/internal/text"
)

// place is where a process runs.
type place struct {
	cores  []int  // none: all
	cgroup string // directory of its control group, "" for this process's own
	// priority is ordinary where it is "": redline then raises its own. equal
	// keeps it from that, so that it competes with others as their equal; low is
	// that of work that may wait.
	priority string
}

const equal, low = "equal", "low"

// command gives a command that will run in this place. It dies with this
// process, also while it is stopped.
func (p place) command(args ...string) *exec.Cmd {
	if p.cgroup != "" {
		args = append([]string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, p.cgroup}, args...)
	}
	switch {
	case p.priority == low:
		args = append([]string{"nice", "-n", "10"}, args...)
	case p.priority == equal && os.Geteuid() == 0: // without this privilege it cannot raise its priority
		args = append([]string{"setpriv", "--bounding-set=-sys_nice"}, args...)
	}
	if len(p.cores) > 0 {
		args = append([]string{"taskset", "-c", strings.Join(text.Each(p.cores, strconv.Itoa), ",")}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// onCores is a place on some cores, or on all where the machine has fewer.
func onCores(first, last int) (p place) {
	for core := first; core <= last && last < runtime.NumCPU(); core++ {
		p.cores = append(p.cores, core)
	}
	return p
}

// halves gives the client and the server half of the cores each, where there are
// enough; else both have all.
func halves() (client, server place) {
	if n := runtime.NumCPU(); n >= 4 {
		client, server = onCores(0, n/2-1), onCores(n/2, n-1)
	}
	return client, server
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
	if dir, err = os.MkdirTemp(base, "redline-measure"); err != nil {
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

// cores are those that this process may use.
func cores() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var list []int
	for i := 0; len(list) < set.Count(); i++ {
		if set.IsSet(i) {
			list = append(list, i)
		}
	}
	return list, nil
}

var busyLoop = []string{"sh", "-c", "while :; do :; done"}

// occupy starts busy loops.
func occupy(at place, loops int) (stop func(), err error) {
	var list []*exec.Cmd
	stop = func() {
		for _, l := range list {
			_ = l.Process.Kill()
			_ = l.Wait()
		}
	}
	for range loops {
		l := at.command(busyLoop...)
		if err := l.Start(); err != nil {
			stop()
			return nil, err
		}
		list = append(list, l)
	}
	return stop, nil
}
