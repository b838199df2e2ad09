package listing

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"redline/internal/answer/pareto"
	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/show/document"
	"redline/internal/show/export"
	"redline/internal/show/report"
	"redline/internal/text"
)

// FrontFormat is one way of showing frontiers.
type FrontFormat struct {
	Name  string
	Write func(w io.Writer, fronts []*pareto.Front, o document.TerminalOptions) error
}

// FrontFormats lists the formats of frontiers.
var FrontFormats = []FrontFormat{
	{"terminal", func(w io.Writer, fronts []*pareto.Front, o document.TerminalOptions) error {
		return document.Terminal(w, frontiers(fronts, false), o)
	}},
	{"json", frontsJSON},
	{"csv", frontsCSV},
	{"markdown", func(w io.Writer, fronts []*pareto.Front, _ document.TerminalOptions) error {
		return document.Markdown(w, frontiers(fronts, true), 2)
	}},
	{"html", func(w io.Writer, fronts []*pareto.Front, _ document.TerminalOptions) error {
		return document.HTML(w, frontiers(fronts, true))
	}},
}

// MaxSeries is how many series have a letter of their own.
const MaxSeries = 26

// Frontiers is a page of them.
func Frontiers(fronts []*pareto.Front) *document.Document { return frontiers(fronts, true) }

// frontiers has every one of them; where the series are named in full, its table
// needs no picture beside it.
func frontiers(fronts []*pareto.Front, named bool) *document.Document {
	b := &document.Builder{}
	for _, f := range fronts {
		names := make([]string, len(f.Series))
		for i, name := range f.Series {
			names[i] = document.Shorten(name, 60)
		}
		b.Title = "frontier of " + joinNames(names)
		word, tone, why := frontHeadline(f)
		b.Headline(word, tone, why)
		b.Section(f.Y.Title + " against " + f.X.Title)
		b.Add(document.Charts{frontChart(f)})
		front(b, f, named)
	}
	return &b.Document
}

func frontsJSON(w io.Writer, fronts []*pareto.Front, _ document.TerminalOptions) error {
	return export.WriteJSON(w, map[string]any{"pareto": append([]*pareto.Front{}, fronts...)})
}

// joinNames joins names as a sentence does; many of them are counted.
func joinNames(names []string) string {
	const limit = 4
	if len(names) > limit {
		return text.Plural(len(names), "series", "series")
	}
	return text.List(names)
}

// frontHeadline answers which series is worth running where.
func frontHeadline(f *pareto.Front) (word string, tone document.Tone, why string) {
	word, tone = "FRONTIER · ", document.Met
	counted := 0
	for _, p := range f.Points {
		if p.Standing != pareto.LeftOut {
			counted++
		}
	}
	on := len(f.Frontier())
	share := text.Count(on) + " of " + text.Plural(counted, "point")
	figures := f.X.Title + " and " + f.Y.Title
	switch {
	case on == 0:
		return "NO FRONTIER · ", document.Open, "no point can be compared with another by " + figures + ": " + f.Points[0].Why
	case len(f.Series) == 1:
		return word, tone, share + " cannot be beaten in both " + figures
	case len(f.Held) == 1:
		return word, tone, seriesName(f, f.Held[0].Series) + " is best throughout: all " + text.Plural(on, "point") + " of the frontier of " + figures + " are its own"
	}
	return word, tone, stretches(f) + "; " + share + " cannot be beaten in both that and " + f.Y.Title
}

func seriesName(f *pareto.Front, series int) string {
	return string(letter(series)) + " (" + document.Shorten(f.Series[series], 40) + ")"
}

// stretches says which series is best where; of a frontier in many pieces,
// how many points each series holds.
func stretches(f *pareto.Front) string {
	const limit = 4
	var parts []string
	if len(f.Held) > limit {
		points := make([]int, len(f.Series))
		for _, s := range f.Held {
			points[s.Series] += s.Points
		}
		for i, n := range points {
			if n > 0 {
				parts = append(parts, seriesName(f, i)+" holds "+text.Count(n))
			}
		}
		return strings.Join(parts, ", ")
	}
	for i, s := range f.Held {
		where := bestWhere(f, i)
		if i == 0 {
			parts = append(parts, seriesName(f, s.Series)+" is best "+where+" "+f.X.Title)
			continue
		}
		parts = append(parts, seriesName(f, s.Series)+" "+where)
	}
	return strings.Join(parts, ", ")
}

// bestWhere says where a stretch is best, by the steps of the frontier: up to the
// most X that it gives, or, where less of X is better, from the least that it needs;
// until the next stretch in either way.
func bestWhere(f *pareto.Front, i int) string {
	if f.X.More {
		return "up to " + text.Number(f.Held[i].To)
	}
	return "from " + text.Number(f.Held[i].From)
}

func letter(series int) rune { return rune('A' + series%MaxSeries) }

// frontChart draws every point, and the frontier as the steps between what was
// measured: in between nothing is claimed but what the next point gives.
func frontChart(f *pareto.Front) chart.Chart {
	c := chart.Chart{Title: "every point, and the frontier", Hollow: "not on it",
		X: frontAxis(f.X), Y: frontAxis(f.Y), Lines: []chart.Line{{Name: "frontier", Trail: true, Points: steps(f)}}}
	for i, name := range f.Series {
		c.Lines = append(c.Lines, chart.Line{Name: document.Shorten(name, 40), Sign: letter(i), Loose: true})
	}
	for _, p := range f.Points {
		l := &c.Lines[p.Series+1]
		load := report.LoadAsked(&result.Point{Load: p.Load})
		if load != "" {
			load = "at " + load
		}
		said := f.Series[p.Series] + " " + load + ": " + text.Figure(p.X) + " " + f.X.Title + "; " + text.Figure(p.Y) + " " + f.Y.Title + "; " + standingOf(f, p)
		l.Points = append(l.Points, chart.Point{X: p.X, Y: p.Y, Hollow: p.Standing != pareto.OnFrontier, Text: document.PlainSpaces(text.Line(said))})
	}
	c.Lines = slices.DeleteFunc(c.Lines, func(l chart.Line) bool { return len(l.Points) == 0 })
	_, _, why := frontHeadline(f)
	c.Description = document.PlainSpaces(why) + ". The table below has every point."
	return c
}

// frontAxis names an axis by what it shows and which way is better.
func frontAxis(f pareto.Figure) chart.Axis {
	better := ", more is better"
	if !f.More {
		better = ", less is better"
	}
	return chart.Axis{Label: f.Title + better, Format: text.Number, Free: f.Name == "quality"}
}

// steps are the corners of the frontier by ascending X.
func steps(f *pareto.Front) []chart.Point {
	var path []chart.Point
	for n, i := range f.Frontier() {
		p := chart.Point{X: f.Points[i].X, Y: f.Points[i].Y}
		if n > 0 {
			before := path[len(path)-1]
			corner := chart.Point{X: before.X, Y: p.Y} // between the two only this one gives so much X
			if !f.X.More {
				corner = chart.Point{X: p.X, Y: before.Y}
			}
			path = append(path, corner)
		}
		path = append(path, p)
	}
	return path
}

// front writes every point with where it stands, and what all rests on.
func front(p *document.Builder, f *pareto.Front, named bool) {
	t := document.NewTable(document.Left("points"), document.Left(loadHead(f)), document.Decimal(f.X.Title), document.Decimal(f.Y.Title), document.Left("objectives").Optional(1), document.Prose("verdict"))
	for _, one := range f.Points {
		load := report.FullSign
		if one.Probe {
			load = report.HollowSign
		}
		sign, color := string(letter(one.Series)), document.Good
		if one.Standing != pareto.OnFrontier {
			sign, color = strings.ToLower(sign), document.Plain
		}
		if named {
			sign += " " + text.Line(f.Series[one.Series]) // a terminal names them under its picture
		}
		t.Add(sign, load+" "+report.LoadFigure(&result.Point{Load: one.Load}), text.Figure(one.X), text.Figure(one.Y), report.Standing(one.Objectives), document.Paint(color, standingOf(f, one)))
	}
	p.Add(t)
	if slices.ContainsFunc(f.Points, func(one pareto.Point) bool { return one.Probe }) {
		p.Note(report.HollowSign + " " + report.ProbeLevel)
	}
	for _, note := range f.Notes {
		p.Field("note", text.Line(note))
	}
}

// loadHead is the unit of the loads, where all have one.
func loadHead(f *pareto.Front) string {
	switch {
	case !slices.ContainsFunc(f.Points, func(p pareto.Point) bool { return p.Load.Rate == nil }):
		return "requests/s"
	case !slices.ContainsFunc(f.Points, func(p pareto.Point) bool { return p.Load.Rate != nil || p.Load.Concurrency == nil }):
		return "in flight"
	}
	return "load"
}

func standingOf(f *pareto.Front, p pareto.Point) string {
	switch {
	case p.Standing == pareto.LeftOut:
		return "left out: " + p.Why
	case p.Why != "":
		return p.Why
	case p.By != nil:
		by := f.Points[*p.By]
		return "beaten by " + string(letter(by.Series)) + " at " + report.LoadFigure(&result.Point{Load: by.Load})
	}
	return "on the frontier"
}

var frontColumns = []string{"x_name", "y_name", "series", "run", "name", "rate", "concurrency", "x", "x_unit", "y", "y_unit", "probe", "objectives", "standing",
	"dominated_by_run", "dominated_by_rate", "dominated_by_concurrency", "why"}

func frontsCSV(w io.Writer, fronts []*pareto.Front, _ document.TerminalOptions) error {
	rows := [][]string{frontColumns}
	load := func(l result.Load) (rate, concurrency string) {
		if l.Rate != nil {
			rate = text.Plain(*l.Rate)
		}
		if l.Concurrency != nil {
			concurrency = strconv.Itoa(*l.Concurrency)
		}
		return rate, concurrency
	}
	for _, f := range fronts {
		for _, p := range f.Points {
			rate, concurrency := load(p.Load)
			row := []string{f.X.Name, f.Y.Name, export.CSVText(f.Series[p.Series]), export.CSVText(p.Run), export.CSVText(p.Name), rate, concurrency,
				text.Plain(p.X), f.X.Unit, text.Plain(p.Y), f.Y.Unit, strconv.FormatBool(p.Probe), string(p.Objectives), p.Standing, "", "", "", p.Why}
			if p.By != nil {
				by := f.Points[*p.By]
				row[14] = export.CSVText(by.Run)
				row[15], row[16] = load(by.Load)
			}
			rows = append(rows, row)
		}
	}
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(rows); err != nil {
		return fmt.Errorf("write the frontier as CSV: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}
