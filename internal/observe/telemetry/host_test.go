package telemetry

import (
	"runtime"
	"testing"
	"time"

	"redline/internal/clock"
)

func TestHostSeesItsOwnWork(t *testing.T) {
	c := clock.New()
	h := WatchHost(c)
	start := c.Now()
	for busyUntil := processCPU() + 60*time.Millisecond; processCPU() < busyUntil; {
	}
	runtime.GC()
	end := c.Now()
	h.Stop()
	use := h.Over(start, end)
	if use.CPU < 60*time.Millisecond {
		t.Errorf("CPU %v, but 60ms were burnt", use.CPU)
	}
	if use.Share <= 0 || use.Share > 1.1 {
		t.Errorf("share of all cores %v, want within (0, 1]", use.Share)
	}
	if use.GCPause <= 0 {
		t.Error("a collection ran, but no pause was seen")
	}
	if use.ClockStep > time.Second {
		t.Errorf("clock step %v on a clock that nobody set", use.ClockStep)
	}
}

func TestOverTakesTheSamplesAround(t *testing.T) {
	ms := time.Millisecond
	h := &Host{clock: clock.New(), samples: []hostSample{
		{at: 0, cpu: 0, pause: 9 * ms}, {at: 10, cpu: 1 * ms, pause: 8 * ms}, {at: 20, cpu: 3 * ms, pause: 1 * ms},
		{at: 30, cpu: 7 * ms, pause: 2 * ms}, {at: 40, cpu: 15 * ms, pause: 7 * ms}}}
	for _, tt := range []struct {
		name       string
		start, end int64
		cpu, pause time.Duration
	}{
		{"between samples", 15, 25, 6 * ms, 2 * ms},
		{"on samples", 10, 30, 6 * ms, 2 * ms},
		{"all", 0, 40, 15 * ms, 8 * ms},
		{"beyond the last", 35, 90, 8 * ms, 7 * ms},
		{"after the last", 80, 90, 0, 0},
	} {
		use := h.Over(tt.start, tt.end)
		if use.CPU != tt.cpu || use.GCPause != tt.pause {
			t.Errorf("%s: CPU %v and pause %v, want %v and %v", tt.name, use.CPU, use.GCPause, tt.cpu, tt.pause)
		}
	}
}

func TestLongestPauseCountsOnlyWhatGrew(t *testing.T) {
	edges := []float64{0, 0.001, 0.01, 0.1}
	before := []uint64{5, 0, 3}
	for _, tt := range []struct {
		name string
		now  []uint64
		want time.Duration
	}{
		{"nothing new", []uint64{5, 0, 3}, 0},
		{"a short one", []uint64{6, 0, 3}, time.Millisecond},
		{"a middle one", []uint64{9, 1, 3}, 10 * time.Millisecond},
		{"a long one", []uint64{5, 0, 4}, 100 * time.Millisecond},
	} {
		if got := maxPause(before, tt.now, edges); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := maxPause(nil, []uint64{1, 0, 0}, edges); got != time.Millisecond {
		t.Errorf("with nothing before: %v, want 1ms", got)
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	samples := []int64{10, 20, 20, 30}
	for _, c := range []struct {
		name        string
		start, end  int64
		first, last int
	}{
		{"on samples", 10, 30, 0, 3},
		{"between samples", 15, 25, 0, 3},
		{"the last of two at once", 20, 30, 2, 3},
		{"no wider than needed", 10, 20, 0, 1},
		{"before them all", 1, 5, 0, 0},
		{"after them all", 40, 50, 3, 3},
		{"backwards", 30, 10, 3, 3},
	} {
		first, last := around(len(samples), func(i int) int64 { return samples[i] }, c.start, c.end)
		if first != c.first || last != c.last {
			t.Errorf("%s: %d to %d, want %d to %d", c.name, first, last, c.first, c.last)
		}
	}
}
