package report

import (
	"math"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/show/document"
)

// workingSetHeadline says how many sessions the cache holds, and what more cost.
func workingSetHeadline(r *result.Result) headline {
	w := r.WorkingSet
	if w.Cliff == nil {
		tone := unset
		if len(w.Levels) > 1 {
			tone = met
		}
		return headline{"WORKING SET: ", tone, clean(w.Verdict)}
	}
	why := clean(w.Verdict)
	if each := w.SessionTokens; each > 0 {
		low, high := each*float64(w.Cliff.Held), each*float64(w.Cliff.Fallen)
		why += " (" + rough(low) + " to " + rough(high) + " tokens" + ifKnown(w.RoomTokens, func(room float64) string {
			return "; by its metrics it has room for " + rough(room)
		}) + ")"
	}
	return headline{"CLIFF: ", met, joinDots(why, cliffCost(r))}
}

// rough is a number of tokens with three digits.
func rough(tokens float64) string {
	digits := math.Pow(10, max(0, math.Floor(math.Log10(max(1, tokens)))-2))
	return count(int(math.Round(tokens/digits) * digits))
}

// cliffCost is what the first level beyond the cliff costs against the last before.
func cliffCost(r *result.Result) string {
	before, after := r.WorkingSet.PointOf(r, r.WorkingSet.Cliff.Held), r.WorkingSet.PointOf(r, r.WorkingSet.Cliff.Fallen)
	if before == nil || after == nil {
		return ""
	}
	change := func(name, unit string, of func(*result.Point) (float64, bool)) string {
		a, known := of(before)
		b, also := of(after)
		if !known || !also {
			return ""
		}
		return name + " " + figure(a) + " → " + figure(b) + unit
	}
	ttft := func(stat string) func(*result.Point) (float64, bool) {
		return func(p *result.Point) (float64, bool) { return percentile(p.Latency.JudgedDist("ttft"), stat) }
	}
	costs := present(change("ttft p50", "", ttft("p50")), change("p99", " ms", ttft("p99")),
		change("output", " tokens/s", func(p *result.Point) (float64, bool) { return p.Throughput.Output, p.Throughput.Output > 0 }))
	if a, b := costCell(nil, before), costCell(nil, after); a != absent && b != absent {
		costs = append(costs, "a million output tokens "+a+" → "+b)
	}
	return strings.Join(costs, ", ")
}

// cliffChange is how many live sessions B's cache holds against A's, and what each GiB of
// host memory that it has more holds.
func cliffChange(a, b result.Cliff) string {
	span := func(c result.Cliff) string { return count(c.Held) + " to " + count(c.Fallen) }
	low, high := float64(b.Held)/float64(a.Fallen), float64(b.Fallen)/float64(a.Held)
	more, gib := "", 0.0
	if a.HostGiB != nil && b.HostGiB != nil {
		gib = *b.HostGiB - *a.HostGiB
	}
	switch least := b.Held - a.Fallen; {
	case gib > 0:
		more = figure(max(0, float64(least)/gib)) + " to " + figure(max(0, float64(b.Fallen-a.Held)/gib)) + " for each of the " + figure(gib) + " GiB of host memory that B has more"
	case least > 0:
		more = count(least) + " more at least: divide by the memory that B has more"
	}
	return joinDots("A holds "+span(a)+" live sessions, B "+span(b), figure(low)+" to "+figure(high)+" times as many", more, when(b.Fallen < a.Held, "fewer"))
}

// workingSetPoints are the points of the levels that exist.
func workingSetPoints(r *result.Result) (list []int) {
	if r.WorkingSet == nil {
		return nil
	}
	for _, l := range r.WorkingSet.Levels {
		if l.Point != nil && *l.Point >= 0 && *l.Point < len(r.Points) {
			list = append(list, *l.Point)
		}
	}
	return list
}

// workingSet writes a row for each number of live sessions.
func (p *page) workingSet(r *result.Result) {
	points := workingSetPoints(r)
	if len(points) == 0 {
		return
	}
	w := r.WorkingSet
	if p.room == whole {
		p.Add(document.Charts(workingSetCharts(r)))
	}
	t := document.NewTable(right("sessions"), right("tokens").Optional(5), right("hits"))
	for _, l := range w.Levels {
		if l.Point != nil && *l.Point >= 0 && *l.Point < len(r.Points) {
			t.Add(count(l.Sessions), rough(float64(l.Sessions)*w.SessionTokens), ifKnown(l.Hits, percent2))
		}
	}
	p.addFigures(t, r, points, true)
	p.Add(t)
	p.Note(joinDots("the same load at every level: "+loadPhrase(&r.Points[points[0]]), "sessions come back in turn, to "+rough(w.SessionTokens)+" tokens with message and reply",
		latencyOrigin(r, points)))
	switch w.Eviction {
	case result.EvictsLRU:
		p.Field("eviction", "as of the least recently used: beyond the cliff, sessions that come back in turn find nothing")
	case result.EvictsOther:
		p.Field("eviction", "not of the least recently used: beyond the cliff, sessions that come back in turn still find some of theirs")
	}
}

// workingSetCharts draw hits and the median time to the first token over sessions.
func workingSetCharts(r *result.Result) []chart.Chart {
	w := r.WorkingSet
	sessions := chart.Axis{Label: "live sessions", Log: true, Format: tick}
	hits := chart.Chart{Title: "Prefix cache hits", X: sessions, Y: chart.Axis{Label: "share of prompt tokens, %", Format: tick}, Description: clean(w.Verdict)}
	first := chart.Chart{Title: "Time to first token", X: sessions, Y: chart.Axis{Label: "ttft p50, ms", Format: tick}, Description: clean(w.Verdict)}
	var shares, times chart.Line
	for _, l := range w.Levels {
		x := float64(l.Sessions)
		if l.Hits != nil {
			shares.Points = append(shares.Points, chart.Point{X: x, Y: 100 * *l.Hits, Text: count(l.Sessions) + " sessions: " + percent2(*l.Hits)})
		}
		if point := w.PointOf(r, l.Sessions); point != nil {
			if v, ok := percentile(point.Latency.JudgedDist("ttft"), "p50"); ok {
				times.Points = append(times.Points, chart.Point{X: x, Y: v, Text: count(l.Sessions) + " sessions: " + figure(v) + " ms"})
			}
		}
	}
	if len(shares.Points) < 2 {
		return nil
	}
	hits.Lines, first.Lines = []chart.Line{shares}, []chart.Line{times}
	if c := w.Cliff; c != nil {
		hits.Marks = []chart.Mark{{X: math.Sqrt(float64(c.Held) * float64(c.Fallen)), Low: float64(c.Held), High: float64(c.Fallen), Text: "cliff"}}
	}
	return []chart.Chart{hits, first}
}
