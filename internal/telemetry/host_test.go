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

func TestLongestPauseCountsOnlyWhatGrew(t *testing.T) {
	edges := []float64{0, 0.001, 0.01, 0.1}
	first := hostSample{pauses: []uint64{5, 0, 3}, edges: edges}
	for _, tt := range []struct {
		name string
		last []uint64
		want time.Duration
	}{
		{"nothing new", []uint64{5, 0, 3}, 0},
		{"a short one", []uint64{6, 0, 3}, time.Millisecond},
		{"a middle one", []uint64{9, 1, 3}, 10 * time.Millisecond},
		{"a long one", []uint64{5, 0, 4}, 100 * time.Millisecond},
	} {
		if got := longestPause(first, hostSample{pauses: tt.last, edges: edges}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
