package telemetry

import "time"

// add joins the stretch that followed. Times and counts add up, shares are
// means over the time, and of bounds the largest stands: for SchedP99 that can
// be more than the p99 of the two stretches together, and never less.
func (u *HostUse) add(next HostUse) {
	if u.Wall == 0 {
		*u = next
		return
	}
	m := meanBy{float64(u.Wall), float64(next.Wall)}
	u.Share = m.of(u.Share, next.Share)
	u.MachineShare = m.ofPointers(u.MachineShare, next.MachineShare)
	u.StealShare = m.ofPointers(u.StealShare, next.StealShare)
	u.Cores = m.each(u.Cores, next.Cores)
	u.Wall += next.Wall
	u.CPU += next.CPU
	u.GCPause = max(u.GCPause, next.GCPause)
	u.SchedP99 = max(u.SchedP99, next.SchedP99)
	u.SchedMax = max(u.SchedMax, next.SchedMax)
	u.ClockStep = max(u.ClockStep, next.ClockStep)
	u.ThermalThrottles = addCounts(u.ThermalThrottles, next.ThermalThrottles)
	u.QuotaThrottles = addCounts(u.QuotaThrottles, next.QuotaThrottles)
	u.QuotaHeld = addCounts(u.QuotaHeld, next.QuotaHeld)
	if u.OpenFiles == nil || next.OpenFiles != nil && *next.OpenFiles > *u.OpenFiles {
		u.OpenFiles = next.OpenFiles
	}
	u.FileLimit = next.FileLimit
}

// addCounts adds two counts, of which neither may be missing.
func addCounts[T uint64 | time.Duration](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	return plus(a, *b)
}

// meanBy weighs two values.
type meanBy struct{ a, b float64 }

func (m meanBy) of(a, b float64) float64 { return (a*m.a + b*m.b) / (m.a + m.b) }

func (m meanBy) ofPointers(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(m.of(*a, *b))
}

func (m meanBy) each(a, b []float64) []float64 {
	if len(a) == 0 || len(a) != len(b) {
		return nil
	}
	means := make([]float64, len(a))
	for i := range a {
		means[i] = m.of(a[i], b[i])
	}
	return means
}
