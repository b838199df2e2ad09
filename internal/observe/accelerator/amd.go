package accelerator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"redline/internal/observe/telemetry"
)

// amdThrottles are the limits whose violation amd-smi tells, by what their
// keys begin with.
var amdThrottles = []string{"ppt", "prochot", "socket_thermal", "vr_thermal", "hbm_thermal"}

// parseAMD reads what amd-smi metric --json says. Releases differ in the frame
// around the devices and in how they write a value, so both are taken as they
// come.
func parseAMD(text []byte) ([]row, error) {
	devices, err := amdDevices(text)
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(devices))
	for i, d := range devices {
		rows[i] = row{index: i}
		if n := d.number("gpu"); n != nil {
			rows[i].index = int(*n)
		}
		out := &rows[i].device
		out.Utilization = percentOf(d.number("usage", "gfx_activity"))
		out.MemoryTime = percentOf(d.number("usage", "umc_activity"))
		out.Watts = either(d.number("power", "socket_power"), d.number("power", "current_socket_power"), d.number("power", "average_socket_power"))
		out.Joules = d.number("energy", "total_energy_consumption")
		out.TemperatureC = either(d.number("temperature", "hotspot"), d.number("temperature", "edge"))
		out.MemoryMB = d.number("mem_usage", "used_vram")
		if total := d.number("mem_usage", "total_vram"); total != nil {
			rows[i].memoryMB = *total
		}
		out.ClockMHz, out.MemoryClockMHz = d.clock("gfx"), d.clock("mem")
		out.Throttled, out.Throttles = d.throttleReasons()
	}
	return rows, nil
}

// nameAMD adds what amd-smi static --json says of the same devices.
func nameAMD(rows []row, static []byte) {
	devices, err := amdDevices(static)
	if err != nil {
		return
	}
	for i, d := range devices {
		index := i
		if n := d.number("gpu"); n != nil {
			index = int(*n)
		}
		for j := range rows {
			if rows[j].index == index {
				rows[j].name, rows[j].driver = d.text("asic", "market_name"), d.text("driver", "version")
			}
		}
	}
}

type amdDevice map[string]any

func amdDevices(text []byte) ([]amdDevice, error) {
	var framed struct {
		Devices []amdDevice `json:"gpu_data"`
	}
	var bare []amdDevice
	if json.Unmarshal(text, &bare) != nil {
		if err := json.Unmarshal(text, &framed); err != nil {
			return nil, fmt.Errorf("answers what is no JSON of devices: %w", err)
		}
		bare = framed.Devices
	}
	if len(bare) == 0 {
		return nil, errors.New("names no device")
	}
	return bare, nil
}

func (d amdDevice) at(path ...string) any {
	var v any = map[string]any(d)
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// number reads a value that stands alone or beside its unit.
func (d amdDevice) number(path ...string) *float64 { return amdNumber(d.at(path...)) }

func amdNumber(v any) *float64 {
	if m, ok := v.(map[string]any); ok {
		v = m["value"]
	}
	switch v := v.(type) {
	case float64:
		return &v
	case string:
		if n, ok := decimal(v); ok {
			return &n
		}
	}
	return nil
}

func (d amdDevice) text(path ...string) string {
	if s, ok := d.at(path...).(string); ok && s != "N/A" {
		return s
	}
	return ""
}

// clock is the mean over the parts of a device.
func (d amdDevice) clock(prefix string) *float64 {
	clocks, _ := d.at("clock").(map[string]any)
	var sum, n float64
	for _, name := range slices.Sorted(maps.Keys(clocks)) {
		if !strings.HasPrefix(strings.ToLower(name), prefix) {
			continue
		}
		if v := d.number("clock", name, "clk"); v != nil {
			sum, n = sum+*v, n+1
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / n)
}

func (d amdDevice) throttleReasons() (reasons []string, told bool) {
	for _, name := range amdThrottles {
		switch v := d.at("throttle", name+"_violation_status").(type) {
		case bool:
			told = true
			if v {
				reasons = append(reasons, name)
			}
		case string:
			told = told || v != "N/A"
			if strings.EqualFold(v, "ACTIVE") || strings.EqualFold(v, "TRUE") {
				reasons = append(reasons, name)
			}
		}
	}
	return reasons, told
}

func percentOf(v *float64) *float64 {
	if v == nil {
		return nil
	}
	return new(*v / 100)
}

func either(values ...*float64) *float64 {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// amdReading puts both answers together.
func amdReading(metric, static []byte) (telemetry.AcceleratorReading, error) {
	rows, err := parseAMD(metric)
	if err != nil {
		return telemetry.AcceleratorReading{}, err
	}
	nameAMD(rows, static)
	return readingOf(telemetry.AcceleratorAMD, rows), nil
}
