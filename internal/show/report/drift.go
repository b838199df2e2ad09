package report

import (
	"math"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// drift says which figures moved over a long window, and by how much a minute.
func (p *page) drift(point *result.Point) {
	if len(point.Drift) == 0 {
		return
	}
	var moved, still []string
	for _, d := range point.Drift {
		if d.Drifts {
			moved = append(moved, driftText(d))
		} else {
			still = append(still, driftName(d.Figure))
		}
	}
	if len(moved) == 0 && p.room&brief > 0 {
		return
	}
	if len(moved) == 0 {
		p.Field("drift", "none in "+seconds(point.Window.Seconds())+": "+strings.Join(still, ", "))
		return
	}
	p.Field("drift", when(point == p.sustained, "at "+LoadAsked(point)+": ")+paint(weak, strings.Join(moved, ", ")+when(len(still) > 0 && p.room >= explained, "; no drift of "+strings.Join(still, ", "))))
}

// driftText is one figure's drift: "ttft p50 rose 0.8%/min (p = 0.001)".
func driftText(d metric.Drift) string {
	verb, unit, sure := "rose ", "%/min", "="+hard+figure(d.P)
	if d.PerMinute < 0 {
		verb = "fell "
	}
	if d.Figure == "prefix_hit_rate" {
		unit = hard + "points/min"
	}
	if d.P < 0.001 {
		sure = "<" + hard + "0.001"
	}
	return driftName(d.Figure) + hard + verb + figure(100*math.Abs(d.PerMinute)) + unit + " (p" + hard + sure + ")"
}

func driftName(name string) string {
	if name == "prefix_hit_rate" {
		return "prefix hits"
	}
	return strings.Replace(name, "_", hard, 1)
}
