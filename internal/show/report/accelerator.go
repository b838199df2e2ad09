package report

import (
	"cmp"
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
	memory := ""
	if u.MemoryMB != nil && u.MemoryTotalMB != nil {
		memory = inUnit(figure(u.MemoryMB.Max/1024), "of"+hard+figure(*u.MemoryTotalMB/1024)+hard+"GiB")
	}
	if u.JoulesPerOutputToken != nil {
		p.shows("joules_per_output_token")
	}
	parts := present(ifKnown(u.Utilization, func(g telemetry.Gauge) string { return percent(g.Mean) + " busy" }),
		ifKnown(u.DRAMActive, func(g telemetry.Gauge) string { return percent(g.Mean) + " memory bandwidth" }),
		memory, ifKnown(u.Watts, func(g telemetry.Gauge) string { return power(g.Mean) }),
		ifKnown(u.JoulesPerOutputToken, func(v float64) string { return inUnit(figure(v), "J/token") }))
	text := deviceNames(u) + ": " + strings.Join(parts, ", ")
	if held := throttleText(u.Throttled); held != "" {
		text += "; " + held + listInBrackets(ifKnown(u.ClockMHz, func(g telemetry.Gauge) string { return inUnit(figure(g.Mean), "MHz") + " mean" }),
			ifKnown(u.TemperatureC, func(g telemetry.Gauge) string { return trimNumber(figure(g.Max)) + hard + "°C at most" }))
	}
	p.Field("accelerator", text+p.markOn("accelerator"))
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
	if watts >= 1e6 {
		return inUnit(figure(watts/1e6), "MW")
	}
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

// throttleText is "power-capped 12% of the time".
func throttleText(throttled map[string]float64) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(throttled)) {
		if throttled[reason] < toldThrottle {
			continue
		}
		word := cmp.Or(heldWords[reason], clean(reason))
		if strings.Contains(reason, "thermal") {
			word = heldWords["prochot"]
		}
		parts = append(parts, word+" "+percent(throttled[reason]))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " of the time"
}
