package report

import (
	"cmp"
	"math"
	"redline/internal/judge/slo"
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/show/document"
)

// toggleName is an optimization as people call it.
func toggleName(name string) string { return clean(strings.ReplaceAll(name, "_", " ")) }

// toggleMetric is the one that decides: the last, which is the whole answer's
// time.
func toggleMetric(t *result.Toggle) *result.ToggleMetric {
	if len(t.Metrics) == 0 {
		return nil
	}
	return &t.Metrics[len(t.Metrics)-1]
}

// toggleWords are the answer about a single optimization.
var toggleWords = map[slo.Standing]string{slo.Pays: "PAYS: ", slo.Hurts: "HURTS: ", slo.Same: "NO DIFFERENCE: ", slo.Depends: "DEPENDS: "}

// togglesHeadline says of each optimization what it does to the whole answer.
func togglesHeadline(list []result.Toggle, loads []result.ToggleLoads) headline {
	var parts []string
	tone := unset
	for _, l := range loads {
		parts, tone = append(parts, toggleName(l.Name)+": "+clean(l.Verdict)), met
	}
	if len(loads) > 0 {
		return headline{"AT SEVERAL LOADS: ", tone, strings.Join(parts, "; ")}
	}
	word := "WITH AND WITHOUT: "
	for i := range list {
		part := toggleName(list[i].Name) + ": " + clean(list[i].Verdict)
		if m := toggleMetric(&list[i]); m != nil {
			if m.Standing != slo.Undecided {
				tone = met
			}
			if len(m.Curve) > 0 && (m.Standing == slo.Pays || m.Standing == slo.Hurts) {
				part += ", " + signed(m.Change) + " on average"
			}
			if len(list) == 1 && toggleWords[m.Standing] != "" {
				word = toggleWords[m.Standing]
			}
		}
		parts = append(parts, part)
	}
	return headline{word, tone, strings.Join(parts, "; ")}
}

// toggles writes what each optimization does, and to whom.
func (p *page) toggles(r *result.Result) {
	if p.room == whole {
		p.Add(document.Charts(toggleCharts(r.Toggles)))
	}
	p.toggleLoads(r)
	for i := range r.Toggles {
		t := &r.Toggles[i]
		if t.Load == nil || p.room == whole {
			p.toggleMetrics(t)
			p.toggleBuckets(t)
		}
		if t.Ended != "" {
			p.Note("ended " + clean(t.Ended))
		}
		for _, text := range t.Skipped {
			p.Note("left out: " + clean(text))
		}
		p.warn(t.Warnings)
	}
}

// toggleLoads writes what each optimization does at several loads.
func (p *page) toggleLoads(r *result.Result) {
	for _, l := range r.ToggleLoads {
		unit := "requests/s"
		if l.By != "rate" {
			unit = "in flight"
		}
		t := document.NewTable(right(unit))
		var loads []float64
		for _, m := range l.Metrics {
			for _, point := range m.Points {
				if !slices.Contains(loads, point.Load) {
					loads = append(loads, point.Load)
				}
			}
		}
		slices.Sort(loads)
		for _, load := range loads {
			t.Add(trimNumber(figure(load)))
		}
		for k, m := range l.Metrics {
			t.AddColumn(right(clean(m.Name)).Optional(len(l.Metrics)-1-k), absent, func(row int) string {
				i := slices.IndexFunc(m.Points, func(point result.ToggleLoadPoint) bool { return point.Load == loads[row] })
				if i < 0 {
					return absent
				}
				point := m.Points[i]
				return paint(standingTones[point.Standing], signedNumber(100*point.Change)+"% ("+signedNumber(100*point.Interval[0])+" … "+signedNumber(100*point.Interval[1])+")")
			})
		}
		p.Add(document.Heading(toggleName(l.Name) + ": change of a request's time, with against without"))
		p.Add(t)
		for _, m := range l.Metrics {
			p.Field(clean(m.Name), clean(m.Verdict))
		}
	}
}

func (p *page) toggleMetrics(t *result.Toggle) {
	if len(t.Metrics) == 0 {
		p.Add(document.Headline{Word: toggleName(t.Name) + ": ", Tone: bold, Why: clean(t.Verdict)})
		return
	}
	grid := document.NewTable(left(toggleName(t.Name)), right("with"), right("without"), right("a request"), right("95% interval").Optional(1), prose(""))
	for i := range t.Metrics {
		m := &t.Metrics[i]
		bounds := cmp.Or(ifKnown(m.Interval, func(i [2]float64) string { return signedNumber(100*i[0]) + " … " + signedNumber(100*i[1]) + "%" }), absent)
		if with, without, known := m.At("p50"); known {
			grid.Add(clean(m.Name)+" p50, ms", figure(with), figure(without), "", "", "")
		}
		grid.Add(clean(m.Name)+" p95, ms", figure(m.WithMS), figure(m.WithoutMS), signedNumber(100*m.Change)+"%", bounds, paint(standingTones[m.Standing], clean(m.Verdict)))
	}
	p.Add(grid)
}

// toggleBuckets writes p50 and p95 of both sides by prompt length.
func (p *page) toggleBuckets(t *result.Toggle) {
	if len(t.Buckets) == 0 {
		return
	}
	p.toggleBucketsAt(t, "p50")
	p.toggleBucketsAt(t, "p95")
	p.Note(joinDots(plural(t.Requests, "request")+" answered on both sides", plural(t.Rounds, "round"),
		"ttft and e2e from due", "a request: the mean change of its time, with against without"))
}

func (p *page) toggleBucketsAt(t *result.Toggle, stat string) {
	grid := document.NewTable(left(stat+" with / without"), right("requests"))
	filled := false
	for i := range t.Metrics {
		grid.Columns = append(grid.Columns, right(clean(t.Metrics[i].Name)+", ms").Optional(len(t.Metrics)-1-i))
	}
	for _, b := range t.Buckets {
		row := []string{clean(b.Name), count(b.Requests)}
		for i := range t.Metrics {
			text := absent
			if with, without, known := b.Metrics[t.Metrics[i].Name].At(stat); known {
				text, filled = figure(with)+hard+"/"+hard+figure(without), true
			}
			row = append(row, text)
		}
		grid.Rows = append(grid.Rows, row)
	}
	if filled {
		p.Add(grid)
	}
}

// toggleCharts draw the change over prompt lengths.
func toggleCharts(list []result.Toggle) []chart.Chart {
	var charts []chart.Chart
	for i := range list {
		t := &list[i]
		c := chart.Chart{Title: toggleName(t.Name) + ": change of a request's time",
			X:      chart.Axis{Label: "prompt tokens", Log: true, Format: tick},
			Y:      chart.Axis{Label: "with against without, %", Format: tick},
			Bounds: []chart.Bound{{Y: 0, Text: "no change", Plain: true}}}
		for k := len(t.Metrics) - 1; k >= 0; k-- {
			if m := &t.Metrics[k]; len(m.Curve) > 1 && m.Name != "stall" {
				c.Lines = append(c.Lines, toggleLine(m))
			}
		}
		if m := toggleMetric(t); m != nil {
			for _, at := range m.Thresholds {
				c.Marks = append(c.Marks, chart.Mark{X: at.Tokens, Low: at.Interval[0], High: at.Interval[1],
					Text: clean(m.Name + " " + string(at.Then) + " from here")})
			}
		}
		if len(c.Lines) > 0 {
			c.Description = toggleName(t.Name) + " by prompt length: " + clean(t.Verdict)
			charts = append(charts, c)
		}
	}
	return charts
}

func toggleLine(m *result.ToggleMetric) chart.Line {
	line := chart.Line{Name: clean(m.Name)}
	for _, at := range m.Curve {
		line.Points = append(line.Points, chart.Point{X: at.Tokens, Y: 100 * at.Change, Low: 100 * at.Interval[0], High: 100 * at.Interval[1],
			Text: strconv.Itoa(int(math.Round(at.Tokens))) + " tokens: " + signedNumber(100*at.Change) + "%"})
	}
	return line
}
