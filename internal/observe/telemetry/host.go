// Package telemetry gathers gauges while a run goes on, of this machine and of
// the server. It takes a clock and a way to fetch the server's metrics page,
// and gives what was used over a stretch of time and a log of what was seen.
// It judges nothing, and knows neither the load nor the requests.
package telemetry

import (
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"redline/internal/clock"
	"redline/internal/holdup"
)

// gcPauses is the runtime's histogram of stops of the whole program.
const gcPauses = "/sched/pauses/total/gc:seconds"

// Cores is how many cores this process may use, as the runtime found them at
// the start: a program may ask for more threads than that later.
var Cores = runtime.GOMAXPROCS(0)

// sampleEvery is how often the host is looked at.
const sampleEvery = 250 * time.Millisecond

// machineEvery is after how many samples the whole machine is looked at, which
// costs more, and a line is logged.
const machineEvery = 4

// Host watches this process, its CPU, garbage collector, scheduler and clock,
// and the machine it runs on.
type Host struct {
	clock   *clock.Clock
	log     *Log
	machine *machine
	stop    chan struct{}
	done    sync.WaitGroup
	mu      sync.Mutex
	samples []hostSample
	wide    []machineSample
	logged  int64     // up to where lines were logged
	pauses  []uint64  // the runtime's counts at the last sample
	delays  []uint64  // likewise
	edges   []float64 // of the runtime's buckets of delays

	pulses      func()             // ends them; nil where nothing watches for hold-ups
	recorders   []*holdup.Recorder // recorders that detect hold-ups
	takenCounts []int              // of each, how many were taken over
	holdups     []holdup.Holdup
	guest       bool // the machine is a virtual one
	stealing    bool // its host was seen to take cores away, and so counts it
}

type hostSample struct {
	at    int64
	cpu   time.Duration
	pause time.Duration // the longest since the sample before
	// delays is what the scheduler's histogram gained since the sample before.
	delays []growth
}

// HostUse is what this process used over a stretch of time, and what happened
// on its machine meanwhile.
type HostUse struct {
	// Wall is the time between the samples that were compared.
	Wall time.Duration `json:"wall_ns"`
	// CPU is this process's time on all cores together.
	CPU time.Duration `json:"cpu_ns"`
	// Share is its part of all cores that the process may use.
	Share float64 `json:"cpu_share"`
	// GCPause is the longest stop by the garbage collector, as an upper bound.
	GCPause time.Duration `json:"gc_pause_ns"`
	// SchedP99 is how long goroutines that could run waited for a thread, as
	// an upper bound.
	SchedP99 time.Duration `json:"sched_p99_ns"`
	// SchedMax is the longest such wait, as an upper bound.
	SchedMax time.Duration `json:"sched_max_ns"`
	// ClockStep is the largest step of the real-time clock since the start.
	ClockStep time.Duration `json:"clock_step_ns"`
	holdup.Watch
	MachineUse
}

// WatchHost samples until Stop.
func WatchHost(c *clock.Clock) *Host { return WatchHostTo(c, nil, nil) }

// WatchHostTo samples until Stop and logs a line every second, with the
// hold-ups that it finds and those that engine has, which may be nil.
func WatchHostTo(c *clock.Clock, log *Log, engine *holdup.Recorder) *Host {
	h := &Host{clock: c, log: log, machine: newMachine(os.DirFS("/")), stop: make(chan struct{})}
	if _, mono := c.Origin(); mono != 0 { // a virtual clock is never held up
		own := &holdup.Recorder{}
		h.pulses, h.recorders = startPulses(c, own), []*holdup.Recorder{own}
		// A virtual machine, whose host may take its cores away.
		h.guest = strings.Contains(h.machine.text("proc/cpuinfo"), "hypervisor")
	}
	if engine != nil {
		h.recorders = append(h.recorders, engine)
	}
	for _, f := range h.recorders {
		h.takenCounts = append(h.takenCounts, f.Len())
	}
	h.sample()
	h.look()
	h.done.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-tick.C:
				c.Reanchor()
				h.sample()
				if n%machineEvery == 0 {
					h.look()
				}
			case <-h.stop:
				return
			}
		}
	})
	return h
}

// Stop takes a last sample and ends the watch.
func (h *Host) Stop() {
	close(h.stop)
	h.done.Wait()
	if h.pulses != nil {
		h.pulses()
	}
	h.sample()
	h.look()
}

// look takes a sample of the whole machine and logs what was used since the
// one before.
func (h *Host) look() {
	wide := h.machine.read(h.clock.Now())
	h.mu.Lock()
	h.wide = append(h.wide, wide)
	since, first := h.logged, len(h.wide) == 1
	h.logged = wide.at
	fresh := h.takeHoldups()
	h.mu.Unlock()
	if h.log != nil && !first {
		use := h.Over(since, wide.at)
		use.Holdups = fresh
		h.log.Add(Line{At: wide.at, Host: &use})
	}
}

// takeHoldups takes over what was found since the last time. A machine that is
// not virtual never stands still, nor does one whose host counts the time that
// it takes and took none: this process was stopped then, which stops no kernel.
func (h *Host) takeHoldups() (fresh []holdup.Holdup) {
	stolen := h.guest && h.mayBeStolen()
	for i, f := range h.recorders {
		some := f.Since(h.takenCounts[i])
		h.takenCounts[i] += len(some)
		for _, one := range some {
			if one.Kind != holdup.Machine || stolen {
				fresh = append(fresh, one)
			}
		}
	}
	h.holdups = append(h.holdups, fresh...)
	return fresh
}

// mayBeStolen reports whether the host may have taken cores away over the last two
// looks.
func (h *Host) mayBeStolen() bool {
	last := h.wide[len(h.wide)-1].cores
	for _, c := range last {
		h.stealing = h.stealing || c.steal > 0
	}
	if !h.stealing {
		return true // nobody counts it
	}
	share := machineOver(h.wide[max(0, len(h.wide)-3):], 0, h.clock.Now()).StealShare
	return share == nil || *share > 0
}

// Holdups are those that were found so far.
func (h *Host) Holdups() holdup.Watch {
	h.mu.Lock()
	defer h.mu.Unlock()
	return holdup.Watch{Watched: h.pulses != nil, Holdups: slices.Clone(h.holdups)}
}

func (h *Host) sample() {
	read := []metrics.Sample{{Name: gcPauses}, {Name: schedDelays}}
	metrics.Read(read)
	s := hostSample{at: h.clock.Now(), cpu: processCPU()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if read[0].Value.Kind() == metrics.KindFloat64Histogram {
		seen := read[0].Value.Float64Histogram()
		s.pause = maxPause(h.pauses, seen.Counts, seen.Buckets)
		h.pauses = seen.Counts
	}
	if read[1].Value.Kind() == metrics.KindFloat64Histogram {
		seen := read[1].Value.Float64Histogram()
		s.delays = histogramGrowth(h.delays, seen.Counts)
		h.delays, h.edges = seen.Counts, seen.Buckets
	}
	h.samples = append(h.samples, s)
}

// HoldupShare is the share of the time up to the last look, and so long before it, in
// which the machine held this process up.
func (h *Host) HoldupShare(over time.Duration) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	from := h.logged - int64(over)
	first := len(h.holdups)
	for first > 0 && h.holdups[first-1].End > from {
		first--
	}
	line := holdup.NewTimeline(h.holdups[first:], holdup.Threads, holdup.Machine)
	return float64(line.HeldTime(from, h.logged)) / float64(over)
}

// Over gives what was used between two offsets, to the nearest samples around
// them.
func (h *Host) Over(start, end int64) HostUse {
	h.mu.Lock()
	defer h.mu.Unlock()
	first, last := around(len(h.samples), func(i int) int64 { return h.samples[i].at }, start, end)
	use := HostUse{CPU: h.samples[last].cpu - h.samples[first].cpu, ClockStep: h.clock.MaxStep()}
	use.Watched = h.pulses != nil
	var delays [][]growth
	for _, s := range h.samples[first+1 : last+1] {
		use.GCPause = max(use.GCPause, s.pause)
		delays = append(delays, s.delays)
	}
	use.SchedP99, use.SchedMax = delayPercentiles(delays, h.edges)
	use.MachineUse = machineOver(h.wide, start, end)
	use.Wall = time.Duration(h.samples[last].at - h.samples[first].at)
	if use.Wall > 0 {
		use.Share = float64(use.CPU) / float64(use.Wall) / float64(Cores)
	}
	return use
}

// around finds the last of n samples at or before start and the first at or
// after end, as far as there are such. It is asked for every line of a log, so
// it must not walk over a day of samples.
func around(n int, at func(int) int64, start, end int64) (first, last int) {
	first = max(0, sort.Search(n, func(i int) bool { return at(i) > start })-1)
	last = max(first, sort.Search(n, func(i int) bool { return at(i) >= end }))
	return first, min(last, n-1)
}

// maxPause is the upper edge of the highest bucket that grew.
func maxPause(before, now []uint64, edges []float64) time.Duration {
	for i := len(now) - 1; i >= 0; i-- {
		if i < len(before) && now[i] == before[i] || now[i] == 0 {
			continue
		}
		return upperEdge(edges, i)
	}
	return 0
}
