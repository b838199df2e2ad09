package report

import (
	"maps"
	"slices"
	"strings"

	"redline/internal/observe/telemetry"
)

// toldThrottle is the share of time from which on a lowered clock is worth a
// word.
const toldThrottle = 0.005

// acceleratorUse shows in one line what the server's devices did: how busy they
// were, what they drew, and what held them back.
func (p *page) acceleratorUse(u *telemetry.AcceleratorUse) {
	if u == nil || u.Samples == 0 {
		return
	}
	var parts []string
	add := func(known bool, text func() string) {
		if known {
			parts = append(parts, text())
		}
	}
	add(u.Utilization != nil, func() string { return percent(u.Utilization.Mean) + " busy" })
	add(u.DRAMActive != nil, func() string { return percent(u.DRAMActive.Mean) + " memory bandwidth" })
	add(u.MemoryMB != nil && u.MemoryTotalMB != nil, func() string {
		return inUnit(figure(u.MemoryMB.Max/1024), "of"+hard+figure(*u.MemoryTotalMB/1024)+hard+"GiB")
	})
	add(u.Watts != nil, func() string { return power(u.Watts.Mean) })
	add(u.JoulesPerOutputToken != nil, func() string {
		p.shows("joules_per_output_token")
		return inUnit(figure(*u.JoulesPerOutputToken), "J/token")
	})
	text := deviceNames(u) + ": " + strings.Join(parts, ", ")
	if held := heldBack(u.Throttled); held != "" {
		text += "; " + held + state(u)
	}
	p.field("accelerator", text+p.markOn("accelerator"))
}

// deviceNames is "8 × H200".
func deviceNames(u *telemetry.AcceleratorUse) string {
	names := slices.Compact(slices.Sorted(slices.Values(u.Names)))
	for i, name := range names {
		names[i] = clean(strings.TrimPrefix(strings.TrimPrefix(name, "NVIDIA "), "AMD "))
	}
	if len(names) == 0 {
		names = []string{clean(u.Source)}
	}
	return count(u.Devices) + hard + "×" + hard + strings.Join(names, ", ")
}

// power writes watts as people say them.
func power(watts float64) string {
	if watts >= 1000 {
		return inUnit(figure(watts/1000), "kW")
	}
	return inUnit(figure(watts), "W")
}

// heldWords say what a reason did to a device.
var heldWords = map[string]string{
	"sw_power_cap": "power-capped", "ppt": "power-capped", "hw_power_brake_slowdown": "power-braked",
	"hw_slowdown": "slowed down", "prochot": "slowed by heat",
}

// heldBack is "power-capped 12% of the time".
func heldBack(throttled map[string]float64) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(throttled)) {
		if throttled[reason] < toldThrottle {
			continue
		}
		word := heldWords[reason]
		if word == "" && strings.Contains(reason, "thermal") {
			word = "slowed by heat"
		}
		if word == "" {
			word = clean(reason)
		}
		parts = append(parts, word+" "+percent(throttled[reason]))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " of the time"
}

// state is what devices come to that were held back.
func state(u *telemetry.AcceleratorUse) string {
	var parts []string
	if u.ClockMHz != nil {
		parts = append(parts, inUnit(figure(u.ClockMHz.Mean), "MHz")+" mean")
	}
	if u.TemperatureC != nil {
		parts = append(parts, trimmed(figure(u.TemperatureC.Max))+hard+"°C at most")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// acceleratorTiles are the numbers of the devices that a reader takes along.
func acceleratorTiles(u *telemetry.AcceleratorUse) []tile {
	if u == nil || u.Samples == 0 {
		return nil
	}
	remark := deviceNames(u)
	if u.Utilization != nil {
		remark += ", " + percent(u.Utilization.Mean) + " busy"
	}
	if u.JoulesPerOutputToken != nil {
		return []tile{{"energy", figure(*u.JoulesPerOutputToken), "J/token", remark}}
	}
	if u.Watts != nil {
		return []tile{{"power", figure(u.Watts.Mean), "W", remark}}
	}
	return nil
}
