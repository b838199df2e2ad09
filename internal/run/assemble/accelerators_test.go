package assemble

import (
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
)

func TestAcceleratorWarnings(t *testing.T) {
	t.Parallel()
	const second = int64(1e9)
	busy := func(at int64, idle bool, share, watts float64, held ...string) telemetry.AcceleratorReading {
		return telemetry.AcceleratorReading{At: at * second, Source: "nvidia-smi", Idle: idle,
			Devices: []telemetry.DeviceReading{{Utilization: &share, Watts: &watts, Throttles: true, Throttled: held}}}
	}
	gone := telemetry.AcceleratorReading{At: second, Source: "nvidia-smi", Failed: "nvidia-smi: ended"}
	for _, c := range []struct {
		name     string
		readings []telemetry.AcceleratorReading
		engine   result.Engine
		want     []string
	}{
		{"all is well", []telemetry.AcceleratorReading{busy(0, true, 0.1, 100), busy(1, false, 0.9, 100), busy(5, false, 0.9, 100)}, result.Engine{}, nil},
		{"somebody else", []telemetry.AcceleratorReading{busy(0, true, 0.34, 100), busy(5, false, 0.9, 100)}, result.Engine{},
			[]string{"an accelerator was 34% busy before the load began: it serves somebody else too, and latencies include that load"}},
		{"power and heat", []telemetry.AcceleratorReading{busy(0, false, 0.9, 100, "sw_power_cap"), busy(5, false, 0.9, 100, "hw_thermal_slowdown", "sw_power_cap")}, result.Engine{}, []string{
			"latencies are those of accelerators whose clock was held back by heat (hw_thermal_slowdown) 50% of the time",
			"latencies are those of accelerators whose clock was held back by their power cap (sw_power_cap) 100% of the time"}},
		{"no reading", []telemetry.AcceleratorReading{gone}, result.Engine{}, []string{"no reading of the accelerators in the window: nvidia-smi: ended"}},
		{"too few readings", []telemetry.AcceleratorReading{busy(0, false, 0.9, 100), busy(1, false, 0.9, 100)}, result.Engine{},
			[]string{"only 1 s of the window lie between readings of the accelerators: too few for an energy"}},
		{"simulated", []telemetry.AcceleratorReading{busy(0, true, 0.9, 100, "sw_power_cap"), busy(5, false, 0.9, 100)}, result.Engine{Embedded: true},
			[]string{"the simulated engine uses no accelerator: these devices serve somebody else, or nobody"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, point := &result.Result{Engine: c.engine}, &result.Point{}
			useAccelerators(res, point, c.readings, 0, 5*second)
			var got []string
			for _, w := range res.Warnings {
				got = append(got, w.Text)
			}
			expect.Same(t, c.want, got)
		})
	}
}

// 100 W for five seconds are 500 J; 200 tokens/s make 1,000 tokens of them.
func TestJoulesPerToken(t *testing.T) {
	t.Parallel()
	reading := func(at int64) telemetry.AcceleratorReading {
		return telemetry.AcceleratorReading{At: at, Source: "dcgm", Devices: []telemetry.DeviceReading{{Watts: new(100.0)}}}
	}
	point := &result.Point{Cost: &result.Cost{}, Summary: metric.Summary{Window: metric.Window{StartS: 1, EndS: 6}, Throughput: metric.Throughput{Output: 200}}}
	res := &result.Result{}
	useAccelerators(res, point, []telemetry.AcceleratorReading{reading(1e9), reading(6e9)}, 1e9, 6e9)
	if got := point.Accelerator.JoulesPerOutputToken; got == nil || *got != 0.5 || *point.Cost.JoulesPerOutput != *got {
		t.Errorf("%v, want 0.5 in both places", got)
	}
	idle := &result.Point{}
	useAccelerators(res, idle, []telemetry.AcceleratorReading{reading(1e9), reading(6e9)}, 1e9, 6e9)
	if idle.Accelerator.JoulesPerOutputToken != nil {
		t.Error("energy over no token")
	}
	useAccelerators(res, point, nil, 1e9, 6e9)
	expect.Same(t, []string{acceleratorFigures}, res.Unknown)
}

func TestHardwareByItsTool(t *testing.T) {
	t.Parallel()
	seen := []telemetry.AcceleratorReading{{Board: &telemetry.AcceleratorBoard{Names: []string{"NVIDIA H200", "NVIDIA H200"}, MemoryMB: 143771, Driver: "580.1", CUDA: "13.0"},
		Devices: make([]telemetry.DeviceReading, 2)}}
	res := &result.Result{}
	nameHardware(res, seen)
	expect.Same(t, result.Hardware{Accelerator: "NVIDIA H200", Count: 2, MemoryMB: 143771, Driver: "580.1", CUDA: "13.0"}, res.Hardware)
	// What the plan says stands, and a simulated engine has what it simulates.
	res = &result.Result{Hardware: result.Hardware{Accelerator: "8xH200", Driver: "mine"}}
	nameHardware(res, seen)
	expect.Same(t, result.Hardware{Accelerator: "8xH200", Count: 2, MemoryMB: 143771, Driver: "mine", CUDA: "13.0"}, res.Hardware)
	res = &result.Result{Engine: result.Engine{Embedded: true}, Hardware: result.Hardware{Accelerator: "H100", Count: 1}}
	nameHardware(res, seen)
	expect.Same(t, result.Hardware{Accelerator: "H100", Count: 1}, res.Hardware)
}
