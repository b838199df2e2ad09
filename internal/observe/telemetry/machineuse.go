package telemetry

import (
	"math"
	"time"
)

// machineOver gives what happened between two offsets, to the nearest samples
// around them.
func machineOver(samples []machineSample, start, end int64) MachineUse {
	if len(samples) == 0 {
		return MachineUse{}
	}
	first, last := around(len(samples), func(i int) int64 { return samples[i].at }, start, end)
	a, b := samples[first], samples[last]
	use := MachineUse{ThermalThrottles: since(a.thermal, b.thermal), QuotaThrottles: since(a.quota, b.quota),
		QuotaHeld: since(a.held, b.held), FileLimit: b.limit}
	use.shares(a.cores, b.cores)
	for _, s := range samples[first : last+1] {
		if s.open != nil && (use.OpenFiles == nil || *s.open > *use.OpenFiles) {
			use.OpenFiles = s.open
		}
	}
	return use
}

// since is by how much a counter grew, nil where it is not known.
func since[T uint64 | time.Duration](before, now *T) *T {
	if before == nil || now == nil || *now < *before {
		return nil
	}
	return new(*now - *before)
}

// shares compares the cores' times. Where cores came or went between the two,
// nothing is said.
func (u *MachineUse) shares(before, now []coreTime) {
	if len(before) != len(now) {
		return
	}
	var all coreTime
	var busy []float64
	for i, n := range now {
		b := before[i]
		// Idle time is known to run backwards by a tick now and then.
		c := coreTime{subtract(n.busy, b.busy), subtract(n.steal, b.steal), subtract(n.total, b.total)}
		all = coreTime{all.busy + c.busy, all.steal + c.steal, all.total + c.total}
		busy = append(busy, share(c.busy, c.total))
	}
	if all.total == 0 {
		return
	}
	u.Cores = busy
	u.MachineShare = new(share(all.busy, all.total))
	u.StealShare = new(share(all.steal, all.total))
}

func subtract(a, b uint64) uint64 { return a - min(a, b) }

// share is rounded to what ticks of ten milliseconds can tell over minutes.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return math.Round(min(1, float64(part)/float64(whole))*1e4) / 1e4
}
