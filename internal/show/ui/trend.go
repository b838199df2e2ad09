package ui

import (
	"fmt"
	"slices"
	"strings"

	"redline/internal/text"
)

// trend is the throughput of a run beside that of the runs of its series before
// it.
type trend struct {
	Number string
	Count  int    // runs that are drawn
	Points string // of a line 80 wide and 20 high; "" where there is one run
}

const mostDrawn = 30

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
			drawn := values[max(0, len(values)-mostDrawn):]
			one.Trend = &trend{Number: text.Number(v), Count: len(drawn), Points: drawnLine(drawn, slices.Min(drawn))}
		}
	}
}

// drawnLine puts values side by side, with low at the bottom.
func drawnLine(values []float64, low float64) string {
	if len(values) < 2 {
		return ""
	}
	high := slices.Max(values)
	var line strings.Builder
	for i, v := range values {
		height := 0.5
		if high > low {
			height = (v - low) / (high - low)
		}
		fmt.Fprintf(&line, "%.1f,%.1f ", 1+78*float64(i)/float64(len(values)-1), 18-16*height)
	}
	return strings.TrimSpace(line.String())
}
