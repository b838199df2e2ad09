package chart

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// TestOddNumbers: whatever numbers a chart is given, the pictures are whole and
// have none that cannot be drawn.
func TestOddNumbers(t *testing.T) {
	t.Parallel()
	for _, n := range []float64{0, -1, 1e308, -1e308, 5e-324, math.Inf(1), math.NaN()} {
		for _, log := range []bool{false, true} {
			c := &Chart{X: Axis{Log: log}, Y: Axis{Log: log}, Bounds: []Bound{{Y: n}}, Spans: []Span{{From: 0, To: n}},
				Marks: []Mark{{X: n}, {X: 1, Low: n, High: 2}},
				Lines: []Line{{Points: []Point{{X: 1, Y: 2}, {X: n, Y: 3}, {X: 2, Y: n}, {X: 3, Y: 4, Low: n, High: 5}}}}}
			if svg := c.SVG("x", Size{600, 300}); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("%g, log %v: %s", n, log, svg)
			}
			if _, err := json.Marshal(c.Data()); err != nil {
				t.Errorf("%g, log %v: %v", n, log, err)
			}
			if rows := c.Text(80, 10); len(rows) < 10 {
				t.Errorf("%g, log %v: %d rows", n, log, len(rows))
			}
		}
	}
}
