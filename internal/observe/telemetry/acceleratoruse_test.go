package telemetry

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
)

// readingOfWatts is a reading of devices that draw so many watts.
func readingOfWatts(at int64, watts ...float64) AcceleratorReading {
	r := AcceleratorReading{At: at, Source: "nvidia-smi"}
	for _, w := range watts {
		r.Devices = append(r.Devices, DeviceReading{Watts: &w})
	}
	return r
}

// readingOfJoules is a reading of one device's energy counter.
func readingOfJoules(at int64, joules, watts float64) AcceleratorReading {
	return AcceleratorReading{At: at, Source: "dcgm", Devices: []DeviceReading{{Joules: &joules, Watts: &watts}}}
}

func TestEnergy(t *testing.T) {
	t.Parallel()
	failure := AcceleratorReading{At: 3 * second, Source: "nvidia-smi", Failed: "gone"}
	for _, c := range []struct {
		name            string
		readings        []AcceleratorReading
		start, end      int64
		joules, covered float64 // joules of -1 for none
	}{
		{"constant power", []AcceleratorReading{readingOfWatts(0, 100), readingOfWatts(5*second, 100), readingOfWatts(10*second, 100)}, 0, 10 * second, 1000, 10},
		{"a ramp: the trapezoid", []AcceleratorReading{readingOfWatts(0, 0), readingOfWatts(10*second, 200)}, 0, 10 * second, 1000, 10},
		// From 2 s to 4 s the ramp goes from 40 to 80 W: 60 W for two seconds.
		{"ends between readings", []AcceleratorReading{readingOfWatts(0, 0), readingOfWatts(10*second, 200)}, 2 * second, 4 * second, 120, 2},
		{"two devices", []AcceleratorReading{readingOfWatts(0, 100, 300), readingOfWatts(second, 200, 400)}, 0, second, 500, 1},
		{"a failure in between", []AcceleratorReading{readingOfWatts(0, 100), failure, readingOfWatts(6*second, 100)}, 0, 6 * second, 600, 6},
		{"a device without power", []AcceleratorReading{{At: 0, Devices: []DeviceReading{{Watts: new(100.0)}, {}}}, {At: second, Devices: []DeviceReading{{Watts: new(100.0)}, {}}}}, 0, second, -1, 0},
		// Nine of ten seconds are known: the tenth counts like them.
		{"the end is missing", []AcceleratorReading{readingOfWatts(0, 100), readingOfWatts(9*second, 100)}, 0, 10 * second, 1000, 9},
		{"half is missing", []AcceleratorReading{readingOfWatts(0, 100), readingOfWatts(5*second, 100)}, 0, 10 * second, -1, 5},
		{"a long gap", []AcceleratorReading{readingOfWatts(0, 100), readingOfWatts(second, 100), readingOfWatts(2*second, 100), readingOfWatts(32*second, 900), readingOfWatts(33*second, 100)}, 0, 33 * second, -1, 3},
		{"readings a minute apart", []AcceleratorReading{readingOfWatts(0, 100), readingOfWatts(60*second, 100), readingOfWatts(120*second, 100)}, 0, 120 * second, 12000, 120},
		{"one reading", []AcceleratorReading{readingOfWatts(second, 100)}, 0, 2 * second, -1, 0},
		{"none", nil, 0, second, -1, 0},
		{"a counter outweighs power", []AcceleratorReading{readingOfJoules(0, 5000, 1), readingOfJoules(10*second, 6000, 1)}, 0, 10 * second, 1000, 10},
		{"its ends between readings", []AcceleratorReading{readingOfJoules(0, 5000, 1), readingOfJoules(10*second, 6000, 1)}, 2 * second, 4 * second, 200, 2},
		// The exporter looks every 10 s: pages in between repeat the last count.
		{"a counter that is seldom looked at", []AcceleratorReading{readingOfJoules(0, 1000, 9), readingOfJoules(5*second, 1000, 9), readingOfJoules(10*second, 2000, 9),
			readingOfJoules(15*second, 2000, 9), readingOfJoules(20*second, 3000, 9)}, 5 * second, 15 * second, 1000, 10},
		{"a counter that began anew: power", []AcceleratorReading{readingOfJoules(0, 9000, 100), readingOfJoules(5*second, 10, 100), readingOfJoules(10*second, 20, 100)}, 0, 10 * second, 1000, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			use := AcceleratorOver(c.readings, c.start, c.end)
			got := -1.0
			if use.Joules != nil {
				got = *use.Joules
			}
			if math.Abs(got-c.joules) > 1e-6 || math.Abs(use.CoveredS-c.covered) > 1e-9 {
				t.Errorf("%v J over %v s, want %v over %v", got, use.CoveredS, c.joules, c.covered)
			}
		})
	}
}

func TestAcceleratorsOverAWindow(t *testing.T) {
	t.Parallel()
	device := func(busy, clock, watts, heat float64, held ...string) DeviceReading {
		return DeviceReading{Utilization: &busy, MemoryTime: new(0.2), DRAMActive: new(0.6), TensorActive: new(0.1), MemoryMB: new(1000.0),
			ClockMHz: &clock, MemoryClockMHz: new(3201.0), Watts: &watts, TemperatureC: &heat, Throttles: true, Throttled: held}
	}
	readings := []AcceleratorReading{
		{At: 0, Source: "dcgm", Idle: true, Board: &AcceleratorBoard{Names: []string{"H", "H"}, MemoryMB: 2000}, Devices: []DeviceReading{device(0.9, 1000, 100, 30), device(0.1, 1000, 100, 30)}},
		{At: 1 * second, Source: "dcgm", Idle: true, Devices: []DeviceReading{device(0.05, 1000, 100, 30), device(0.02, 1000, 100, 30)}},
		{At: 2 * second, Source: "dcgm", Devices: []DeviceReading{device(1, 1000, 300, 60, "sw_power_cap"), device(0.8, 1200, 500, 70)}},
		{At: 3 * second, Source: "exporter", Failed: "no page"},
		{At: 4 * second, Source: "dcgm", Devices: []DeviceReading{device(0.9, 1400, 400, 64, "sw_power_cap", "hw_thermal_slowdown"), device(0.9, 1600, 400, 66)}},
		{At: 9 * second, Source: "dcgm", Devices: []DeviceReading{device(0, 1, 1, 99)}},
	}
	got := AcceleratorOver(readings, 2*second, 4*second)
	want := AcceleratorUse{Source: "dcgm", Devices: 2, Names: []string{"H", "H"}, Samples: 2, Failure: "no page", CoveredS: 2,
		IdleUtilization: new(0.05), Utilization: &Gauge{0.9, 1}, MemoryTime: &Gauge{0.2, 0.2}, DRAMActive: &Gauge{0.6, 0.6}, TensorActive: &Gauge{0.1, 0.1},
		MemoryMB: &Gauge{1000, 1000}, MemoryTotalMB: new(2000.0), ClockMHz: &Gauge{1300, 1600}, MemoryClockMHz: &Gauge{3201, 3201},
		Throttled: map[string]float64{"sw_power_cap": 0.5, "hw_thermal_slowdown": 0.25}, TemperatureC: &Gauge{68, 70}, Watts: &Gauge{800, 800}, Joules: new(1600.0)}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	expect.Same(t, want, got, near)
}
