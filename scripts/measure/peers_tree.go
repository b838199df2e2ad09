//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"redline/internal/child"
)

// tick is the unit in which Linux tells CPU times to programs.
const tick = 10 * time.Millisecond

// footprint is what was seen of a tool's processes.
type footprint struct {
	samples   []cpuSample
	memory    int64 // largest sum of proportional set sizes, bytes
	processes int   // most at once
}

// cpuSample is the CPU time that the processes had used at one moment.
type cpuSample struct {
	at  int64 // ns of the real-time clock
	cpu time.Duration
}

// whole is the CPU time from start to end.
func (f *footprint) whole() time.Duration { return f.samples[len(f.samples)-1].cpu }

// perToken is the CPU time in µs between the first token and the last, over their
// number: a tool's start is not its load.
func (f *footprint) perToken(s service) float64 {
	return float64((f.cpuAt(s.last) - f.cpuAt(s.first)).Nanoseconds()) / 1e3 / float64(s.tokens)
}

// cpuAt interpolates between samples.
func (f *footprint) cpuAt(at int64) time.Duration {
	for i := 1; i < len(f.samples); i++ {
		a, b := f.samples[i-1], f.samples[i]
		if at < b.at {
			share := float64(max(0, at-a.at)) / float64(b.at-a.at)
			return a.cpu + time.Duration(share*float64(b.cpu-a.cpu))
		}
	}
	return f.whole()
}

// watch runs a tool to its end and looks at its processes all the while, five
// times a second, and once a second at their memory. This process has to be the
// parent of descendants whose own parent has ended, so that none escapes.
func watch(command *exec.Cmd, server int) (f footprint, err error) {
	output := &child.Tail{Max: 4096}
	command.Stdout, command.Stderr = output, output
	before := childrenCPU()
	if err := command.Start(); err != nil {
		return f, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for n := 0; ; n++ {
		// Reaped processes count through their parents.
		s := cpuSample{time.Now().UnixNano(), childrenCPU() - before}
		tree, memory := descendants(server), int64(0)
		for _, p := range tree {
			s.cpu += p.cpu
			if n%5 == 0 {
				memory += proportionalSize(p.pid)
			}
		}
		f.samples = append(f.samples, s)
		f.memory, f.processes = max(f.memory, memory), max(f.processes, len(tree))
		select {
		case err := <-ended:
			reap(server)
			f.samples = append(f.samples, cpuSample{time.Now().UnixNano(), childrenCPU() - before})
			// redline's exit codes from 3 on are verdicts.
			if command.ProcessState.ExitCode() > 2 && filepath.Base(command.Path) == "redline" {
				err = nil
			}
			if err != nil {
				err = fmt.Errorf("%w: %s", err, strings.Join(output.Lines(1), ""))
			}
			return f, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// childrenCPU is that of all children that were waited for, and theirs.
func childrenCPU() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r) // it cannot fail
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// reap waits for adopted processes, and ends those that are left after 5 s.
func reap(server int) {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := descendants(server)
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			if p.parent == os.Getpid() {
				_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
			}
			if time.Now().After(deadline) {
				_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended
			}
		}
	}
}

type process struct {
	pid, parent int
	cpu         time.Duration // its own and that of children it has waited for
}

// descendants lists the processes below this one, but for the server.
func descendants(server int) (found []process) {
	children := map[int][]process{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is sound
	for _, path := range paths {
		b, _ := os.ReadFile(path) // it may have ended meanwhile
		if p, ok := parseStat(string(b)); ok && p.pid != server {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	for queue := []int{os.Getpid()}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			found, queue = append(found, p), append(queue, p.pid)
		}
	}
	return found
}

// parseStat reads a line of /proc/PID/stat. The name in parentheses may hold
// anything, so fields are counted from behind it.
func parseStat(line string) (p process, ok bool) {
	var state string
	var skipped int64
	var ticks [4]int64 // utime, stime, cutime, cstime
	shut := strings.LastIndexByte(line, ')')
	if _, err := fmt.Sscan(line, &p.pid); err != nil || shut < 0 {
		return process{}, false
	}
	into := []any{&state, &p.parent}
	for range 9 {
		into = append(into, &skipped)
	}
	if _, err := fmt.Sscan(line[shut+1:], append(into, &ticks[0], &ticks[1], &ticks[2], &ticks[3])...); err != nil {
		return process{}, false
	}
	p.cpu = time.Duration(ticks[0]+ticks[1]+ticks[2]+ticks[3]) * tick
	return p, true
}

// proportionalSize is a process's memory, with pages that are shared divided
// among those who share them; 0 where it has ended.
func proportionalSize(pid int) int64 { return memoryOf(pid, "smaps_rollup", "Pss:") }

// memoryOf reads a size in kB from a file about a process, 0 where it has ended.
func memoryOf(pid int, file, name string) (size int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	_, rest, _ := strings.Cut(string(text), name)
	_, _ = fmt.Sscan(rest, &size)
	return size << 10
}
