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
	length := seconds(windowLength(point))
	if len(moved) == 0 {
		p.field("drift", "none in "+length+": "+strings.Join(still, ", "))
		return
	}
	text := strings.Join(moved, ", ")
	if len(still) > 0 {
		text += "; no drift of " + strings.Join(still, ", ")
	}
	p.field("drift", p.paint(weak, text))
}

// driftText is one figure's drift: "ttft p50 rose 0.8%/min (p = 0.001)".
func driftText(d metric.Drift) string {
	verb := "rose "
	if d.PerMinute < 0 {
		verb = "fell "
	}
	unit := "%/min"
	if d.Figure == "prefix_hit_rate" {
		unit = hard + "points/min"
	}
	chance := "p" + hard + "=" + hard + figure(d.P)
	if d.P < 0.001 {
		chance = "p" + hard + "<" + hard + "0.001"
	}
	return driftName(d.Figure) + hard + verb + figure(100*math.Abs(d.PerMinute)) + unit + " (" + chance + ")"
}

func driftName(name string) string {
	if name == "prefix_hit_rate" {
		return "prefix hits"
	}
	return strings.Replace(name, "_", hard, 1)
}
