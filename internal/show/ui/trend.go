package ui

import (
	"fmt"
	"slices"
	"strings"
)

// trend is the throughput of a run beside that of the runs of its series before
// it; nil where it is the only one.
type trend struct {
	Count  int    // runs that are drawn
	Points string // of a line 80 wide and 20 high
}

const maxDrawn = 30

// trends adds them to the runs that are shown; all are the newest first.
func trends(all, shown []*run) {
	series := map[string][]float64{}
	for _, one := range slices.Backward(all) {
		if one.Entry == nil || !one.Entry.Sound() {
			continue
		}
		v, known := one.Entry.Values["throughput"]
		if !known {
			continue
		}
		values := append(series[one.Entry.Series], v)
		series[one.Entry.Series] = values
		if slices.Contains(shown, one) {
			one.Trend = newTrend(values)
		}
	}
}

// newTrend draws the last of some values, the lowest at the bottom.
func newTrend(values []float64) *trend {
	values = values[max(0, len(values)-maxDrawn):]
	if len(values) < 2 {
		return nil
	}
	low, high := slices.Min(values), slices.Max(values)
	var line strings.Builder
	for i, v := range values {
		height := 0.5
		if high > low {
			height = (v - low) / (high - low)
		}
		fmt.Fprintf(&line, "%.1f,%.1f ", 1+78*float64(i)/float64(len(values)-1), 18-16*height)
	}
	return &trend{len(values), strings.TrimSpace(line.String())}
}
