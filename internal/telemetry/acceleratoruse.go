package telemetry

// AcceleratorUse is what the server's accelerators did over a stretch of time.
// What their tool does not tell is nil.
type AcceleratorUse struct {
	// Source is where it was read: "nvidia-smi", "dcgm", "amd-smi".
	Source  string   `json:"source"`
	Devices int      `json:"devices"`
	Names   []string `json:"names,omitempty"`
	Samples int      `json:"samples"`
	// Failure is why samples are missing, the last reason.
	Failure string `json:"failure,omitempty"`

	// Utilization is the share of time in which a kernel ran, 0 to 1, mean and
	// maximum over devices and samples.
	Utilization *Gauge `json:"utilization,omitempty"`
	// DRAMActive is the share of cycles in which memory moved data: the only
	// direct sight of bandwidth.
	DRAMActive *Gauge `json:"dram_active,omitempty"`
	// TensorActive is the share of cycles in which matrix units worked.
	TensorActive *Gauge `json:"tensor_active,omitempty"`
	// MemoryMB is memory in use on one device, MemoryTotalMB what it has.
	MemoryMB      *Gauge   `json:"memory_mb,omitempty"`
	MemoryTotalMB *float64 `json:"memory_total_mb,omitempty"`
	// ClockMHz is the clock of the compute units.
	ClockMHz *Gauge `json:"clock_mhz,omitempty"`
	// Throttled is the share of samples by reason: "sw_power_cap".
	Throttled map[string]float64 `json:"throttled,omitempty"`
	// TemperatureC is the hottest device's.
	TemperatureC *Gauge `json:"temperature_c,omitempty"`
	// Watts is the power of all devices together, Joules its integral over the
	// stretch.
	Watts  *Gauge   `json:"watts,omitempty"`
	Joules *float64 `json:"joules,omitempty"`
}
