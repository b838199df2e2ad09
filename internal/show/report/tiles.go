package report

import (
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/show/objective"
	"redline/internal/text"
)

// tiles are the few numbers of a result that are read first.
func (p *page) tiles(r *result.Result) {
	switch {
	case r.Limit != nil:
		p.limitTiles(r)
	case r.Curve == nil && r.Comparison == nil && len(r.Stages) == 0 && len(r.Points) == 1:
		p.pointTiles(&r.Points[0])
	}
	for i := range p.Tiles {
		if p.invalid {
			p.Tiles[i].Remark = unproven
		}
	}
}

func (p *page) limitTiles(r *result.Result) {
	l := r.Limit
	switch l.Standing {
	case result.LimitAtLeast:
		p.Tile("limit", "≥"+hard+loadNumber(l.Rate, l.RateUnit()), l.RateUnit(), unmissedPhrase(l))
	case result.LimitBelow:
		p.Tile("limit", "<"+hard+loadNumber(l.Interval[1], l.RateUnit()), l.RateUnit(), "missed even there")
	default:
		p.Tile("limit", loadNumber(l.Rate, l.RateUnit()), l.RateUnit(), "90% interval "+loadInterval(l.Interval, l.RateUnit()))
	}
	if name, stat, op, ok := objective.Parts(l.Binding); ok {
		_, limit, _ := strings.Cut(l.Binding, op)
		p.Tile("is missed first", name+hard+text.Percentile(stat), "", joinDots(op+hard+limit, edgeOf(r)))
	}
	if l.Standing != result.LimitBelow {
		if l.Held != nil {
			p.Tile("held", loadNumber(l.Held.Rate, l.RateUnit()), l.RateUnit(), "for "+inMinutes(l.Held.Seconds))
		} else {
			p.Tile("held", absent, "", confirmation(l))
		}
	}
	if g := l.BestGoodput; g != nil {
		p.Tile("best goodput", figure(g.Requests), "requests/s", "at "+trimNumber(figure(g.Rate))+" asked")
	}
	if c := l.MinCost; c != nil {
		p.Tile("least cost", amount(1000*c.PerRequest, currency(r)), "", "per 1,000 good requests")
	}
}

func (p *page) pointTiles(point *result.Point) {
	l := &point.Latency
	p.latencyTile("ttft", l.JudgedDist("ttft"))
	p.latencyTile("tpot", l.TPOT)
	if l.JudgedDist("ttft") == nil {
		p.latencyTile("e2e", l.JudgedDist("e2e"))
	}
	if point.Throughput.Output > 0 {
		p.Tile("output", figure(point.Throughput.Output), "tokens/s", "")
	}
	if g := point.Goodput; g != nil {
		p.Tile("goodput", figure(g.Requests), requestWord(point)+"s/s", percent(g.Fraction)+goodOf(point))
	}
	if j := point.Jobs; j != nil {
		p.Tile(jobWord(point)+"s", figure(j.PerHour), jobWord(point)+"s/h", figure(j.LiveMean)+" live on average")
	}
	u := point.Accelerator
	if u == nil || u.Samples == 0 {
		return
	}
	remark := deviceNames(u)
	if u.Utilization != nil {
		remark += ", " + percent(u.Utilization.Mean) + " busy"
	}
	if u.JoulesPerOutputToken != nil {
		p.Tile("energy", figure(*u.JoulesPerOutputToken), "J/token", remark)
	} else if u.Watts != nil {
		p.Tile("power", figure(u.Watts.Mean), "W", remark)
	}
}

// latencyTile is a p99.
func (p *page) latencyTile(name string, d *metric.Dist) {
	const key = "p99"
	v, ok := percentile(d, key)
	if !ok {
		return
	}
	remark := ""
	if ci, drawn := d.CI[key]; drawn {
		remark = "95% interval " + intervalText(ci)
	} else if !d.IsFirm(key) {
		remark = "low confidence"
	}
	p.Tile(name+" "+key, figure(v), "ms", remark)
}
