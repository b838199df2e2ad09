package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"redline/internal/clock"
	"redline/internal/holdup"
)

// Pulses is how many threads watch for hold-ups, each on a core of its own. They
// sleep in system calls that the scheduler does not see.
func Pulses() int { return min(runtime.NumCPU(), maxPulses) }

const (
	maxPulses = 8
	// restful and eager are how often a pulse looks: seldom while nothing is
	// found, often for a while after something was.
	restful, eager = 4 * time.Millisecond, time.Millisecond
	eagerFor       = 2 * time.Second
	// queueRestful and queueEager are the same for the waits of all threads.
	queueRestful, queueEager = 50 * time.Millisecond, 10 * time.Millisecond
	// rescan is how often the list of threads is read again.
	rescan = time.Second
)

// pulses are threads that sleep to absolute times and note when they woke late,
// and a look at how long every thread waits for a core.
type pulses struct {
	clock    *clock.Clock
	recorder *holdup.Recorder
	stopped  atomic.Bool
	eager    atomic.Int64 // until when to look often
	done     sync.WaitGroup
	mu       sync.Mutex
	own      map[string]bool // threads of the pulses themselves
}

// startPulses watches until stop is called. It gives nil where the system does
// not say how long threads wait.
func startPulses(c *clock.Clock, found *holdup.Recorder) (stop func()) {
	if _, err := os.ReadFile("/proc/thread-self/schedstat"); err != nil {
		return nil
	}
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil || allowed.Count() == 0 {
		return nil
	}
	p := &pulses{clock: c, recorder: found, own: map[string]bool{}}
	for i, cpu := range spreadOver(allowed, Pulses()) {
		p.done.Go(func() { p.watch(cpu, int64(i)) })
	}
	p.done.Go(p.watchQueues)
	return func() {
		p.stopped.Store(true)
		p.done.Wait()
	}
}

// spreadOver picks up to n of the cores of a set, evenly.
func spreadOver(set unix.CPUSet, n int) []int {
	var all []int
	for cpu := 0; len(all) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	n = min(n, len(all))
	var some []int
	for i := range n {
		some = append(some, all[i*len(all)/n])
	}
	return some
}

// watch is one pulse. Its thread ends with it, because it is tied to a core.
func (p *pulses) watch(cpu int, number int64) {
	runtime.LockOSThread()
	stat, err := os.Open("/proc/thread-self/schedstat")
	if err != nil {
		return
	}
	defer stat.Close()
	p.mu.Lock()
	p.own[strconv.Itoa(unix.Gettid())] = true
	p.mu.Unlock()
	var core unix.CPUSet
	core.Set(cpu)
	_ = unix.SchedSetaffinity(0, &core)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	_, mono := p.clock.Origin()
	before, woke := waitTime(stat), p.clock.Now()
	due := woke + number*int64(restful)/maxPulses // not all at once
	for !p.stopped.Load() {
		due = max(due+int64(p.every(restful, eager)), woke)
		until := unix.NsecToTimespec(mono + due)
		// Raw, so that what is measured is the kernel and not Go's scheduler.
		for p.clock.Now() < due {
			_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&until)), 0, 0, 0)
		}
		now, queued := p.clock.Now(), waitTime(stat)
		p.note(woke, due, now, queued-before)
		before, woke = queued, now
	}
}

// every is how long a look follows another.
func (p *pulses) every(restful, eager time.Duration) time.Duration {
	if p.clock.Now() < p.eager.Load() {
		return eager
	}
	return restful
}

// note takes in a wake-up that was due at due and came at now, after one at
// last. The thread could run all along but for the time that it was queued: by
// the rest the kernel itself was late.
func (p *pulses) note(last, due, now, queued int64) {
	if now-due < holdup.Floor {
		return
	}
	p.eager.Store(now + int64(eagerFor))
	p.recorder.Add(holdup.Holdup{Kind: holdup.Threads, Start: last, End: now, Lead: due - last})
	if kernel := now - due - queued; kernel >= holdup.Floor {
		p.recorder.Add(holdup.Holdup{Kind: holdup.Machine, Start: last, End: due + kernel, Lead: due - last})
	}
}

// waitTime is how long a thread has waited for a core since it began, by its
// schedstat.
func waitTime(stat *os.File) int64 {
	var text [64]byte
	n, err := stat.ReadAt(text[:], 0)
	if n == 0 && err != nil {
		return 0
	}
	fields := bytes.Fields(text[:n])
	if len(fields) < 2 {
		return 0
	}
	ns, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return ns
}

// threadWait is a thread whose waits are followed.
type threadWait struct {
	stat   *os.File
	waited int64
}

// watchQueues follows how long threads wait for a core. The kernel adds a wait
// to a thread's account when it is over.
func (p *pulses) watchQueues() {
	threads := map[string]*threadWait{}
	defer func() {
		for _, t := range threads {
			t.stat.Close()
		}
	}()
	var listed, last int64
	for !p.stopped.Load() {
		now := p.clock.Now()
		if listed == 0 || now-listed >= int64(rescan) {
			p.follow(threads)
			listed = now
		}
		longest := int64(0)
		for _, t := range threads {
			sum := waitTime(t.stat)
			longest = max(longest, sum-t.waited)
			t.waited = max(sum, t.waited)
		}
		now = p.clock.Now()
		if last != 0 && longest >= holdup.Floor {
			p.eager.Store(now + int64(eagerFor))
			p.recorder.Add(holdup.Holdup{Kind: holdup.Queue, Start: last, End: now, Lead: max(now-last-longest, 0)})
		}
		last = now
		time.Sleep(p.every(queueRestful, queueEager))
	}
}

// follow opens the accounts of threads that are new and closes those of threads
// that have ended.
func (p *pulses) follow(threads map[string]*threadWait) {
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	alive := map[string]bool{}
	for _, entry := range list {
		id := entry.Name()
		alive[id] = true
		if threads[id] != nil || p.own[id] {
			continue
		}
		if stat, err := os.Open(filepath.Join("/proc/self/task", id, "schedstat")); err == nil {
			threads[id] = &threadWait{stat, waitTime(stat)}
		}
	}
	for id, t := range threads {
		if !alive[id] {
			t.stat.Close()
			delete(threads, id)
		}
	}
}
