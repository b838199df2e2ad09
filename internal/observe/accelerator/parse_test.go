package accelerator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
)

func TestExporterPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file string
		want telemetry.AcceleratorReading
	}{
		{"dcgm.txt", telemetry.AcceleratorReading{Source: "dcgm",
			Board: &telemetry.AcceleratorBoard{Names: []string{"NVIDIA H200", "NVIDIA H200"}, MemoryMB: 143771, Driver: "580.1"},
			Devices: []telemetry.DeviceReading{
				{Utilization: new(0.98), MemoryTime: new(0.4), DRAMActive: new(0.61), TensorActive: new(0.12), MemoryMB: new(120000.0), ClockMHz: new(1755.0),
					MemoryClockMHz: new(3201.0), TemperatureC: new(61.0), Watts: new(612.5), Joules: new(15152422.938), Throttles: true},
				{Utilization: new(0.97), DRAMActive: new(0.59), ClockMHz: new(1485.0), TemperatureC: new(64.0), Watts: new(687.5), Joules: new(15200000.0),
					Throttles: true, Throttled: []string{"sw_power_cap"}},
			}}},
		// Two slices of one device: it draws its power once, and their memory
		// adds up.
		{"mig.txt", telemetry.AcceleratorReading{Source: "dcgm",
			Board:   &telemetry.AcceleratorBoard{Names: []string{"NVIDIA A100"}, MemoryMB: 40000},
			Devices: []telemetry.DeviceReading{{Utilization: new(0.4), MemoryMB: new(10000.0), Watts: new(240.0)}}}},
		{"amd-exporter.txt", telemetry.AcceleratorReading{Source: "amd-exporter",
			Board: &telemetry.AcceleratorBoard{Names: []string{"Instinct MI300X", "Instinct MI300X"}, MemoryMB: 196592, Driver: "6.12"},
			Devices: []telemetry.DeviceReading{
				{Utilization: new(0.94), MemoryTime: new(0.61), MemoryMB: new(183265.0), ClockMHz: new(1533.0), MemoryClockMHz: new(1292.0), TemperatureC: new(76.0), Watts: new(748.0)},
				{Utilization: new(0.96), Watts: new(752.0)},
			}}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			got := must.Get(readPage(testdata(t, c.file)))(t)
			expect.Same(t, c.want, got, near)
		})
	}
}

// near lets products of decimals differ in their last digit.
var near = cmp.Comparer(func(a, b float64) bool { return a == b || a-b < 1e-9*a && b-a < 1e-9*a })

func TestPagesOfNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "<html>", "vllm:num_requests_running 3\n", "DCGM_FI_DEV_GPU_UTIL 3\n", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} NaN\n",
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 9223372036854775794\n", "gpu_temperature_limit 3\n"} {
		if got, err := readPage([]byte(text)); err == nil {
			t.Errorf("%q makes %+v", text, got)
		}
	}
}

// Devices of several hosts on one page stay apart.
func TestDevicesOfSeveralHosts(t *testing.T) {
	t.Parallel()
	got := must.Get(readPage([]byte(`DCGM_FI_DEV_POWER_USAGE{gpu="10",Hostname="a"} 1
DCGM_FI_DEV_POWER_USAGE{gpu="0",Hostname="b"} 4
DCGM_FI_DEV_POWER_USAGE{gpu="2",Hostname="a"} 2
`)))(t)
	var watts []float64
	for _, d := range got.Devices {
		watts = append(watts, *d.Watts)
	}
	expect.Same(t, []float64{2, 1, 4}, watts)
}

func TestAMDTool(t *testing.T) {
	t.Parallel()
	static := `[{"gpu": 0, "asic": {"market_name": "Instinct MI300X"}, "driver": {"version": "6.12.12"}},
		{"gpu": 1, "asic": {"market_name": "N/A"}}]`
	got := must.Get(amdReading(testdata(t, "amd-smi.json"), []byte(static)))(t)
	want := telemetry.AcceleratorReading{Source: "amd-smi",
		Board: &telemetry.AcceleratorBoard{Names: []string{"Instinct MI300X"}, MemoryMB: 196592, Driver: "6.12.12"},
		Devices: []telemetry.DeviceReading{
			{Utilization: new(0.94), MemoryTime: new(0.61), MemoryMB: new(17153.0), ClockMHz: new(2050.0), MemoryClockMHz: new(1300.0), TemperatureC: new(71.0),
				Watts: new(612.0), Joules: new(12345.5), Throttles: true, Throttled: []string{"ppt"}},
			{Utilization: new(0.0), MemoryMB: new(284.0), TemperatureC: new(38.0)},
		}}
	expect.Same(t, want, got, near)
	// The list alone, as other releases write it, says the same.
	bare := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(testdata(t, "amd-smi.json"))), `{"gpu_data":`), "}")
	if again, err := amdReading([]byte(bare), []byte(static)); err != nil || !cmp.Equal(got, again) {
		t.Errorf("without a frame: %v", err)
	}
	for _, text := range []string{"", "{}", "[]", "null", `{"gpu_data": 3}`, "ERROR: no devices", `[3]`} {
		if got, err := amdReading([]byte(text), nil); err == nil {
			t.Errorf("%q makes %+v", text, got)
		}
	}
}

func FuzzExporterPage(f *testing.F) {
	for _, name := range []string{"dcgm.txt", "mig.txt", "amd-exporter.txt"} {
		f.Add(testdata(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := readPage(text); err == nil && len(got.Devices) == 0 {
			t.Error("a reading of no device")
		}
	})
}

func FuzzAMDTool(f *testing.F) {
	f.Add(testdata(f, "amd-smi.json"), []byte(`[{"gpu":0,"asic":{"market_name":"x"}}]`))
	f.Fuzz(func(t *testing.T, metric, static []byte) {
		if got, err := amdReading(metric, static); err == nil && len(got.Devices) == 0 {
			t.Error("a reading of no device")
		}
	})
}
