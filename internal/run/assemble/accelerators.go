package assemble

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

const (
	// foreignLoad is the utilization before the load above which somebody else
	// is at work.
	foreignLoad = 0.1
	// throttledFrom is the share of time from which on a lowered clock is told.
	throttledFrom = 0.05
)

// IsSimulated reports whether an engine computes on no device: the embedded one,
// and redline sim on its own.
func IsSimulated(e result.Engine) bool { return e.Embedded || e.Name == SimName || e.Name == simOwner }

// SimName is what reports call the embedded engine, and simOwner who owns the
// models of redline sim, by their list.
const (
	SimName  = "redline sim"
	simOwner = "redline"
)

// nameHardware fills in what the devices' tool tells and the plan does not. A
// simulated engine's hardware is what it simulates.
func nameHardware(res *result.Result, readings []telemetry.AcceleratorReading) {
	board := telemetry.BoardBy(readings, math.MaxInt64)
	if board == nil || IsSimulated(res.Engine) {
		return
	}
	devices := 0
	for _, r := range readings {
		devices = max(devices, len(r.Devices))
	}
	h := &res.Hardware
	h.Accelerator = cmp.Or(h.Accelerator, strings.Join(slices.Compact(slices.Sorted(slices.Values(board.Names))), ", "))
	h.Count, h.MemoryMB = cmp.Or(h.Count, devices), cmp.Or(h.MemoryMB, int(board.MemoryMB))
	h.Driver, h.CUDA = cmp.Or(h.Driver, board.Driver), cmp.Or(h.CUDA, board.CUDA)
}

// acceleratorFigures is what a reader misses where nobody watched the devices.
const acceleratorFigures = "accelerator utilisation and power"

// useAccelerators adds what the devices did over the window to a point, and
// says what of it weakens the figures beside it.
func useAccelerators(res *result.Result, point *result.Point, readings []telemetry.AcceleratorReading, start, end int64) {
	if len(readings) == 0 {
		if !IsSimulated(res.Engine) {
			res.Unknown = append(res.Unknown, acceleratorFigures)
		}
		return
	}
	use := telemetry.AcceleratorOver(readings, start, end)
	use.JoulesPerOutputToken = price.Energy(point, use.Joules)
	point.Accelerator = &use
	res.Warnings = append(res.Warnings, acceleratorWarnings(&use, IsSimulated(res.Engine))...)
}

// meanPower is the mean power of the devices over the window, nil where it was not
// measured.
func (in Run) meanPower(res *result.Result) *float64 {
	if len(in.Accelerators) == 0 || IsSimulated(res.Engine) || in.End <= in.Start {
		return nil
	}
	use := telemetry.AcceleratorOver(in.Accelerators, in.Start, in.End)
	if use.Joules == nil {
		return nil
	}
	return new(*use.Joules / (float64(in.End-in.Start) / 1e9))
}

func acceleratorWarnings(use *telemetry.AcceleratorUse, simulated bool) []result.Warning {
	var all []result.Warning
	add := func(figure, text string, arguments ...any) {
		all = append(all, result.Warning{Figure: figure, Text: fmt.Sprintf(text, arguments...)})
	}
	if simulated {
		add("accelerator", "the simulated engine uses no accelerator: these devices serve somebody else, or nobody")
	}
	if idle := use.IdleUtilization; idle != nil && *idle > foreignLoad && !simulated {
		add("accelerator", "an accelerator was %s busy before the load began: it serves somebody else too, and latencies include that load", text.RoughPercent(*idle))
	}
	for _, reason := range slices.Sorted(maps.Keys(use.Throttled)) {
		if share := use.Throttled[reason]; share >= throttledFrom && !simulated {
			add("accelerator", "latencies are those of accelerators whose clock was held back by %s (%s) %.0f%% of the time",
				telemetry.ThrottleCause(reason), reason, 100*share)
		}
	}
	if use.Samples == 0 && use.Failure != "" {
		add("accelerator", "no reading of the accelerators in the window: %s", use.Failure)
	} else if use.Watts != nil && use.Joules == nil {
		add("accelerator", "only %.0f s of the window lie between readings of the accelerators: too few for an energy", use.CoveredS)
	}
	return all
}
