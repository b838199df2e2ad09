//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit in which Linux tells CPU times to programs.
const tick = 10 * time.Millisecond

const (
	cpuEvery    = 200 * time.Millisecond
	memoryEvery = 5 // samples of CPU
	lingering   = 5 * time.Second
)

// adoptOrphans makes this process the parent of descendants whose own parent
// has ended, so that none escapes the count.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl: %w", err)
	}
	return nil
}

// sample is the CPU time that a tool's processes had used at one moment.
type sample struct {
	at  int64 // ns of the real-time clock
	cpu time.Duration
}

// watched is what was seen of a tool's processes.
type watched struct {
	samples []sample
	total   time.Duration // CPU of the whole tree from start to end
	memory  int64         // largest sum of proportional set sizes, bytes
	most    int           // processes at once
}

// use is what a tool cost.
type use struct {
	whole, loaded time.Duration // CPU: from start to end; while there was load
	memory        int64
	processes     int
}

func (u use) perToken(tokens int) float64 {
	return float64(u.loaded.Nanoseconds()) / 1e3 / float64(tokens)
}

// watch runs a tool to its end and looks at its processes all the while.
func watch(command *exec.Cmd, server int, log string) (*watched, error) {
	f, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	command.Stdout, command.Stderr = f, f
	spent := childrenCPU()
	if err := command.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	w := &watched{}
	for n := 0; ; n++ {
		w.look(server, spent, n%memoryEvery == 0)
		select {
		case err := <-ended:
			reap(server)
			w.total = childrenCPU() - spent
			w.samples = append(w.samples, sample{time.Now().UnixNano(), w.total})
			return w, outcomeOf(err, log)
		case <-time.After(cpuEvery):
		}
	}
}

// outcomeOf tells a run that failed from one that calls itself invalid, which
// is redline's exit code 5.
func outcomeOf(err error, log string) error {
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) && exit.ExitCode() == 5 {
		return nil
	}
	text, _ := os.ReadFile(log)
	return fmt.Errorf("%w: %s", err, lastLine(text))
}

// look takes one sample. Reaped processes count through their parents.
func (w *watched) look(server int, spent time.Duration, memory bool) {
	s := sample{at: time.Now().UnixNano(), cpu: childrenCPU() - spent}
	tree := descendants(server)
	var bytes int64
	for _, p := range tree {
		s.cpu += p.cpu
		if memory {
			bytes += proportionalSize(p.pid)
		}
	}
	w.samples = append(w.samples, s)
	w.memory = max(w.memory, bytes)
	w.most = max(w.most, len(tree))
}

// over gives the cost, with the CPU of the time between the first token
// and the last told apart: a tool's start is not its load.
func (w *watched) over(s service) use {
	return use{whole: w.total, loaded: w.cpuAt(s.last) - w.cpuAt(s.first), memory: w.memory, processes: w.most}
}

// cpuAt interpolates between samples.
func (w *watched) cpuAt(at int64) time.Duration {
	for i := 1; i < len(w.samples); i++ {
		a, b := w.samples[i-1], w.samples[i]
		if at < b.at {
			share := float64(max(0, at-a.at)) / float64(b.at-a.at)
			return a.cpu + time.Duration(share*float64(b.cpu-a.cpu))
		}
	}
	return w.samples[len(w.samples)-1].cpu
}

// childrenCPU is that of all children that were waited for, and theirs.
func childrenCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// reap waits for adopted processes, and ends those that linger.
func reap(server int) {
	deadline := time.Now().Add(lingering)
	for {
		left := descendants(server)
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			if p.parent == os.Getpid() {
				syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
			}
			if time.Now().After(deadline) {
				syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

type process struct {
	pid, parent int
	cpu         time.Duration // its own and that of children it has waited for
}

// descendants lists the processes below this one, but for the server.
func descendants(server int) []process {
	children := map[int][]process{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		if p, ok := parseStat(string(b)); ok && p.pid != server {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var found []process
	queue := []int{os.Getpid()}
	for len(queue) > 0 {
		for _, p := range children[queue[0]] {
			found = append(found, p)
			queue = append(queue, p.pid)
		}
		queue = queue[1:]
	}
	return found
}

// parseStat reads a line of /proc/PID/stat. The name in parentheses may hold
// anything, so fields are counted from behind it.
func parseStat(line string) (process, bool) {
	open, shut := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 1 || shut < open {
		return process{}, false
	}
	fields := strings.Fields(line[shut+1:])
	if len(fields) < 15 {
		return process{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line[:open]))
	parent, err2 := strconv.Atoi(fields[1])
	if err != nil || err2 != nil {
		return process{}, false
	}
	p := process{pid: pid, parent: parent}
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return process{}, false
		}
		p.cpu += time.Duration(ticks) * tick
	}
	return p, true
}

// proportionalSize is a process's memory, with pages that are shared divided
// among those who share them; 0 where it has ended.
func proportionalSize(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
