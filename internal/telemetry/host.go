// Package telemetry gathers gauges while a run goes on. It takes a clock and
// gives what was used over a stretch of time; it judges nothing.
package telemetry

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"redline/internal/clock"
)

// gcPauses is the runtime's histogram of stops of the whole program.
const gcPauses = "/sched/pauses/total/gc:seconds"

// sampleEvery is how often the host is looked at.
const sampleEvery = 250 * time.Millisecond

// Host watches this process: its CPU, its garbage collector, its clock.
type Host struct {
	clock   *clock.Clock
	stop    chan struct{}
	done    sync.WaitGroup
	mu      sync.Mutex
	samples []hostSample
}

type hostSample struct {
	at     int64
	cpu    time.Duration
	pauses []uint64
	edges  []float64
}

// HostUse is what this process used over a stretch of time.
type HostUse struct {
	CPU       time.Duration // of all cores together
	Share     float64       // of all cores
	GCPause   time.Duration // the longest, as an upper bound
	ClockStep time.Duration // the largest since the start
}

// WatchHost samples until Stop.
func WatchHost(c *clock.Clock) *Host {
	h := &Host{clock: c, stop: make(chan struct{})}
	h.sample()
	h.done.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.Reanchor()
				h.sample()
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
	h.sample()
}

func (h *Host) sample() {
	read := []metrics.Sample{{Name: gcPauses}}
	metrics.Read(read)
	s := hostSample{at: h.clock.Now(), cpu: processCPU()}
	if read[0].Value.Kind() == metrics.KindFloat64Histogram {
		pauses := read[0].Value.Float64Histogram()
		s.pauses, s.edges = pauses.Counts, pauses.Buckets
	}
	h.mu.Lock()
	h.samples = append(h.samples, s)
	h.mu.Unlock()
}

// Over gives what was used between two offsets, to the nearest samples around
// them.
func (h *Host) Over(start, end int64) HostUse {
	h.mu.Lock()
	defer h.mu.Unlock()
	first, last := h.samples[0], h.samples[len(h.samples)-1]
	for _, s := range h.samples {
		if s.at <= start {
			first = s
		}
	}
	for i := len(h.samples) - 1; i >= 0 && h.samples[i].at >= end; i-- {
		last = h.samples[i]
	}
	use := HostUse{CPU: last.cpu - first.cpu, GCPause: longestPause(first, last), ClockStep: h.clock.LargestStep()}
	if wall := last.at - first.at; wall > 0 {
		use.Share = float64(use.CPU) / float64(wall) / float64(runtime.NumCPU())
	}
	return use
}

// longestPause is the upper edge of the highest bucket that grew.
func longestPause(first, last hostSample) time.Duration {
	for i := len(last.pauses) - 1; i >= 0; i-- {
		if i < len(first.pauses) && last.pauses[i] == first.pauses[i] {
			continue
		}
		edge := last.edges[i+1]
		if math.IsInf(edge, 1) {
			edge = last.edges[i]
		}
		return time.Duration(edge * float64(time.Second))
	}
	return 0
}
