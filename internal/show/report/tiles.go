package report

import (
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// tile is a number that is read first, with its name and a remark.
type tile struct{ Name, Number, Unit, Remark string }

// tiles are the few numbers of a result that a reader takes along.
func tiles(r *result.Result) []tile {
	switch {
	case r.Limit != nil:
		return limitTiles(r)
	case r.Curve != nil, r.Comparison != nil, len(r.Stages) > 0, len(r.Points) != 1:
		return nil
	}
	return pointTiles(&r.Points[0])
}

func limitTiles(r *result.Result) []tile {
	l := r.Limit
	list := []tile{limitTile(l)}
	if name, stat, op, ok := parts(l.Binding); ok {
		_, limit, _ := strings.Cut(l.Binding, op)
		list = append(list, tile{Name: "is missed first", Number: name + hard + percentileName(stat),
			Remark: joined(op+hard+limit, clean(l.Edge))})
	}
	if l.Standing == result.LimitFound || l.Standing == result.LimitWide {
		held := tile{Name: "held", Number: absent, Remark: confirmation(l)}
		if l.Held != nil {
			held.Number, held.Unit, held.Remark = figure(l.Held.Rate), "requests/s", "for "+inMinutes(l.Held.Seconds)
		}
		list = append(list, held)
	}
	if g := l.BestGoodput; g != nil {
		list = append(list, tile{"best goodput", figure(g.Requests), "requests/s", "at " + trimmed(figure(g.Rate)) + " asked"})
	}
	if c := l.LeastCost; c != nil {
		list = append(list, tile{"least cost", amount(1000*c.PerRequest, currency(r)), "", "per 1,000 good requests"})
	}
	return list
}

func limitTile(l *result.Limit) tile {
	t := tile{"limit", figure(l.Rate), "requests/s", "90% interval " + between(l.Interval)}
	switch l.Standing {
	case result.LimitAtLeast:
		t.Number, t.Remark = "≥"+hard+t.Number, unbroken
	case result.LimitBelow:
		t.Number, t.Remark = "<"+hard+figure(l.Interval[1]), "missed even there"
	}
	return t
}

func pointTiles(point *result.Point) []tile {
	l := &point.Latency
	list := []tile{}
	add := func(name string, d *metric.Dist, key string) {
		v, ok := percentile(d, key)
		if !ok {
			return
		}
		remark := "low confidence"
		if d.IsFirm(key) {
			remark = ""
		}
		if ci, drawn := d.CI[key]; drawn {
			remark = "95% interval " + between(ci)
		}
		list = append(list, tile{name + " " + key, figure(v), "ms", remark})
	}
	add("ttft", l.TTFTDue, "p99")
	add("tpot", l.TPOT, "p99")
	if l.TTFTDue == nil {
		add("e2e", l.E2EDue, "p99")
	}
	if point.Throughput.Output > 0 {
		list = append(list, tile{"output", figure(point.Throughput.Output), "tokens/s", ""})
	}
	if g := point.Goodput; g != nil {
		list = append(list, tile{"goodput", figure(g.Requests), "requests/s", percent(g.Fraction) + " of due"})
	}
	return append(list, acceleratorTiles(point.Accelerator)...)
}
