package telemetry

import (
	"slices"
	"time"
)

// Bounds of what an integral is taken over.
const (
	// maxGap is how far apart two samples of power may lie for the time
	// between them to count as known, where they are not all that far apart.
	maxGap = 10 * time.Second
	// minCovered is the share of a stretch that must be known.
	minCovered = 0.8
)

// energy is an integral of power.
type energy struct {
	covered time.Duration
	joules  *float64
}

// sample is one value of a series over time.
type sample struct {
	at int64
	v  float64
}

// energyOver takes the energy of a stretch from the devices' own counters, and
// where those do not cover it, from their power. The part of the stretch that
// is not covered counts as if it were like the rest.
func energyOver(readings []AcceleratorReading, start, end int64) energy {
	counted, covered := counterGrowth(dropRepeats(seriesOf(readings, func(d *DeviceReading) *float64 { return d.Joules })), start, end)
	power := seriesOf(readings, func(d *DeviceReading) *float64 { return d.Watts })
	drawn, known := area(power, start, end)
	if enough(covered, start, end) {
		return energy{max(covered, known), new(counted * float64(end-start) / float64(covered))}
	}
	if enough(known, start, end) {
		return energy{known, new(drawn * float64(end-start) / float64(known))}
	}
	return energy{max(covered, known), nil}
}

func enough(covered time.Duration, start, end int64) bool {
	return covered > 0 && float64(covered) >= minCovered*float64(end-start)
}

// seriesOf adds up a value over the devices of each reading that has it of all.
func seriesOf(readings []AcceleratorReading, of func(*DeviceReading) *float64) []sample {
	var series []sample
	for _, r := range readings {
		if v := total(r.Devices, of); r.Failed == "" && v != nil {
			series = append(series, sample{r.At, *v})
		}
	}
	return series
}

// dropRepeats leaves out the samples of a counter that repeat the one before: an
// exporter that looks every half minute shows an old count until then.
func dropRepeats(counter []sample) []sample {
	var out []sample
	for i, s := range counter {
		if i == 0 || s.v != counter[i-1].v {
			out = append(out, s)
		}
	}
	return out
}

// counterGrowth is by how much a counter grew in a stretch, and the part of it that
// this is known of. A count that falls has restarted.
func counterGrowth(counter []sample, start, end int64) (grown float64, covered time.Duration) {
	for i := 1; i < len(counter); i++ {
		a, b := counter[i-1], counter[i]
		from, to := max(a.at, start), min(b.at, end)
		if from >= to || b.v < a.v {
			continue
		}
		grown += (b.v - a.v) * float64(to-from) / float64(b.at-a.at)
		covered += time.Duration(to - from)
	}
	return grown, covered
}

// area is the integral of a series over a stretch by the trapezoid rule, per
// second, and the part of the stretch that lies between samples.
func area(series []sample, start, end int64) (sum float64, covered time.Duration) {
	widest := gapOf(series)
	for i := 1; i < len(series); i++ {
		a, b := series[i-1], series[i]
		from, to := max(a.at, start), min(b.at, end)
		if from >= to || b.at-a.at > widest {
			continue
		}
		at := func(t int64) float64 { return a.v + (b.v-a.v)*float64(t-a.at)/float64(b.at-a.at) }
		sum += (at(from) + at(to)) / 2 * time.Duration(to-from).Seconds()
		covered += time.Duration(to - from)
	}
	return sum, covered
}

// gapOf is how far apart two samples may lie: thrice what is usual in the
// series, and never less than maxGap.
func gapOf(series []sample) int64 {
	if len(series) < 2 {
		return int64(maxGap)
	}
	gaps := make([]int64, 0, len(series)-1)
	for i := 1; i < len(series); i++ {
		gaps = append(gaps, series[i].at-series[i-1].at)
	}
	slices.Sort(gaps)
	return max(int64(maxGap), 3*gaps[len(gaps)/2])
}
