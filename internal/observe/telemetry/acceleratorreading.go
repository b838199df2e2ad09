package telemetry

import "strings"

// AcceleratorReading is one look at the server's accelerators, all at about
// the same moment.
type AcceleratorReading struct {
	// At is when it arrived, from the run's origin.
	At int64 `json:"-"`
	// Source is where it was read: "nvidia-smi", "dcgm", "amd-smi".
	Source string `json:"source"`
	// Idle says that the load had not begun: what the devices did then was not
	// for us.
	Idle bool `json:"idle,omitempty"`
	// Failed says why there is nothing.
	Failed string `json:"failed,omitempty"`
	// Board is what the devices are; it stands in the first reading and in
	// those that differ from the one before.
	Board *AcceleratorBoard `json:"board,omitempty"`
	// Devices is what each did, in the order of their indices.
	Devices []DeviceReading `json:"devices,omitempty"`
}

// AcceleratorBoard is what the devices are, as their tool tells it.
type AcceleratorBoard struct {
	// Names holds the name of each device.
	Names []string `json:"names,omitempty"`
	// MemoryMB is the memory of the smallest device.
	MemoryMB float64 `json:"memory_mb,omitempty"`
	Driver   string  `json:"driver,omitempty"`
	CUDA     string  `json:"cuda,omitempty"`
}

// DeviceReading is what one accelerator did. What its tool does not tell is
// nil.
type DeviceReading struct {
	// Utilization is the share of time in which a kernel ran, 0 to 1.
	Utilization *float64 `json:"utilization,omitempty"`
	// MemoryTime is the share of time in which memory was read or written, 0
	// to 1. It says nothing of how much.
	MemoryTime *float64 `json:"memory_time,omitempty"`
	// DRAMActive is the share of cycles in which memory moved data.
	DRAMActive *float64 `json:"dram_active,omitempty"`
	// TensorActive is the share of cycles in which matrix units worked.
	TensorActive *float64 `json:"tensor_active,omitempty"`
	MemoryMB     *float64 `json:"memory_mb,omitempty"`
	ClockMHz     *float64 `json:"clock_mhz,omitempty"`
	// MemoryClockMHz is the clock of the memory.
	MemoryClockMHz *float64 `json:"memory_clock_mhz,omitempty"`
	TemperatureC   *float64 `json:"temperature_c,omitempty"`
	Watts          *float64 `json:"watts,omitempty"`
	// Joules counts energy since some moment before the run.
	Joules *float64 `json:"joules,omitempty"`
	// Throttled names what held the clock back: "sw_power_cap".
	Throttled []string `json:"throttled,omitempty"`
	// Throttles says whether the tool reports that at all.
	Throttles bool `json:"throttles,omitempty"`
}

// clockEvents are the reasons of NVIDIA's driver for a lower clock that slow a
// busy device down against its will, by their bit. Idling and clocks that an
// administrator set are not among them.
var clockEvents = []struct {
	Bit  uint64
	Name string
}{
	{0x04, "sw_power_cap"},
	{0x08, "hw_slowdown"},
	{0x20, "sw_thermal_slowdown"},
	{0x40, "hw_thermal_slowdown"},
	{0x80, "hw_power_brake_slowdown"},
}

// hardwareCauses are the bits that say why hw_slowdown is set.
const hardwareCauses = 0x40 | 0x80

// ThrottledBy names the reasons in a mask of clock events. The general slowdown
// of the hardware is left out where its cause is there too.
func ThrottledBy(mask uint64) []string {
	if mask&hardwareCauses != 0 {
		mask &^= 0x08
	}
	var names []string
	for _, e := range clockEvents {
		if mask&e.Bit != 0 {
			names = append(names, e.Name)
		}
	}
	return names
}

// ThrottleCause says in a word or two what a reason of any vendor comes down
// to.
func ThrottleCause(reason string) string {
	switch {
	case reason == "sw_power_cap" || reason == "ppt":
		return "their power cap"
	case reason == "hw_power_brake_slowdown":
		return "the power supply"
	case reason == "prochot" || strings.Contains(reason, "thermal"):
		return "heat"
	}
	return "the hardware"
}
