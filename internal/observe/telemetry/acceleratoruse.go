package telemetry

import "slices"

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
	// CoveredS is the part of the stretch that lies between samples that are
	// near enough to each other, in seconds.
	CoveredS float64 `json:"covered_s"`

	// IdleUtilization is the busiest device's utilization right before the
	// load, when nothing was asked of it by us.
	IdleUtilization *float64 `json:"idle_utilization,omitempty"`
	// Utilization is the share of time in which a kernel ran, 0 to 1, mean and
	// maximum over devices and samples.
	Utilization *Gauge `json:"utilization,omitempty"`
	// MemoryTime is the share of time in which memory was read or written. It
	// says nothing of how much, so it is no sight of bandwidth.
	MemoryTime *Gauge `json:"memory_time,omitempty"`
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
	// MemoryClockMHz is the clock of the memory.
	MemoryClockMHz *Gauge `json:"memory_clock_mhz,omitempty"`
	// Throttled is the share of samples by reason: "sw_power_cap". It is absent
	// where nothing held the devices back, and where it is unknown.
	Throttled map[string]float64 `json:"throttled,omitempty"`
	// TemperatureC is the hottest device's.
	TemperatureC *Gauge `json:"temperature_c,omitempty"`
	// Watts is the power of all devices together, Joules its integral over the
	// stretch.
	Watts  *Gauge   `json:"watts,omitempty"`
	Joules *float64 `json:"joules,omitempty"`
	// JoulesPerOutputToken is filled in by whoever counts the tokens of the
	// same stretch.
	JoulesPerOutputToken *float64 `json:"joules_per_output_token,omitempty"`
}

// AcceleratorOver gives what the devices did between two offsets. Readings are
// in the order of their times.
func AcceleratorOver(readings []AcceleratorReading, start, end int64) AcceleratorUse {
	var use AcceleratorUse
	var inside []AcceleratorReading
	for _, r := range readings {
		if use.Source == "" || r.Failed == "" {
			use.Source = r.Source
		}
		switch {
		case r.Failed != "" && r.At <= end:
			use.Failure = r.Failed
		case r.Failed == "" && r.At >= start && r.At <= end:
			inside = append(inside, r)
			use.Devices = max(use.Devices, len(r.Devices))
		}
	}
	if board := BoardBy(readings, end); board != nil {
		use.Names = board.Names
		if board.MemoryMB > 0 {
			use.MemoryTotalMB = &board.MemoryMB
		}
	}
	use.Samples = len(inside)
	use.IdleUtilization = idleUtilization(readings)
	use.gauges(inside)
	use.Throttled = throttledShare(inside)
	e := energyOver(readings, start, end)
	use.CoveredS, use.Joules = e.covered.Seconds(), e.joules
	return use
}

// BoardBy is what the devices are, by the latest word up to a moment; a word
// that came later is better than none.
func BoardBy(readings []AcceleratorReading, end int64) *AcceleratorBoard {
	var board *AcceleratorBoard
	for _, r := range readings {
		if r.Board != nil && (board == nil || r.At <= end) {
			board = r.Board
		}
	}
	return board
}

// idleUtilization is of the last reading before the load: earlier ones may
// still hold what was asked to find the server.
func idleUtilization(readings []AcceleratorReading) *float64 {
	var busiest *float64
	for _, r := range readings {
		if !r.Idle || r.Failed != "" {
			continue
		}
		busiest = nil
		for _, d := range r.Devices {
			if d.Utilization != nil && (busiest == nil || *d.Utilization > *busiest) {
				busiest = d.Utilization
			}
		}
	}
	return busiest
}

func (u *AcceleratorUse) gauges(inside []AcceleratorReading) {
	each := func(of func(*DeviceReading) *float64) *Gauge {
		var values []float64
		for _, r := range inside {
			values = append(values, knownValues(r.Devices, of)...)
		}
		return gaugeOf(values)
	}
	u.Utilization = each(func(d *DeviceReading) *float64 { return d.Utilization })
	u.MemoryTime = each(func(d *DeviceReading) *float64 { return d.MemoryTime })
	u.DRAMActive = each(func(d *DeviceReading) *float64 { return d.DRAMActive })
	u.TensorActive = each(func(d *DeviceReading) *float64 { return d.TensorActive })
	u.MemoryMB = each(func(d *DeviceReading) *float64 { return d.MemoryMB })
	u.ClockMHz = each(func(d *DeviceReading) *float64 { return d.ClockMHz })
	u.MemoryClockMHz = each(func(d *DeviceReading) *float64 { return d.MemoryClockMHz })
	var hottest, watts []float64
	for _, r := range inside {
		if all := knownValues(r.Devices, func(d *DeviceReading) *float64 { return d.TemperatureC }); len(all) > 0 {
			hottest = append(hottest, slices.Max(all))
		}
		if w := total(r.Devices, func(d *DeviceReading) *float64 { return d.Watts }); w != nil {
			watts = append(watts, *w)
		}
	}
	u.TemperatureC, u.Watts = gaugeOf(hottest), gaugeOf(watts)
}

// Power is what all devices drew at that look, and how busy they were on
// average; nil where it is unknown.
func (r AcceleratorReading) Power() (watts, utilization *float64) {
	var u AcceleratorUse
	u.gauges([]AcceleratorReading{r})
	return u.Watts.mean(), u.Utilization.mean()
}

// knownValues gives the values of the devices that have one.
func knownValues(devices []DeviceReading, of func(*DeviceReading) *float64) []float64 {
	var values []float64
	for i := range devices {
		if v := of(&devices[i]); v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// total adds up a value of all devices. A sum with a part missing is none.
func total(devices []DeviceReading, of func(*DeviceReading) *float64) *float64 {
	values := knownValues(devices, of)
	if len(values) == 0 || len(values) < len(devices) {
		return nil
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	return &sum
}

// throttledShare counts each reason over devices and samples.
func throttledShare(inside []AcceleratorReading) map[string]float64 {
	told, by := 0, map[string]float64{}
	for _, r := range inside {
		for _, d := range r.Devices {
			if !d.Throttles {
				continue
			}
			told++
			for _, reason := range d.Throttled {
				by[reason]++
			}
		}
	}
	if told == 0 {
		return nil
	}
	for reason := range by {
		by[reason] /= float64(told)
	}
	return by
}
