package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"redline/internal/answer/pareto"
	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// FrontFormat is one way of showing frontiers.
type FrontFormat struct {
	Name  string
	Write func(w io.Writer, fronts []*pareto.Front, o TerminalOptions) error
}

// FrontFormats lists the formats of frontiers.
var FrontFormats = []FrontFormat{
	{"terminal", frontsTerminal},
	{"json", frontsJSON},
	{"csv", frontsCSV},
	{"markdown", frontsMarkdown},
	{"html", frontsHTML},
}

// MostSeries is how many series have a letter of their own.
const MostSeries = 26

var errNoFront = errors.New("report: there is no point with both figures to show")

func frontsTerminal(w io.Writer, fronts []*pareto.Front, o TerminalOptions) error {
	if len(fronts) == 0 {
		return errNoFront
	}
	p := newPage(&result.Result{}, o)
	for _, f := range fronts {
		p.gap()
		h := frontHeadline(f)
		p.hang(p.paint(h.tone, h.word), h.why)
		p.gap()
		c := frontChart(f)
		c.Y.Label = "↑ " + c.Y.Label
		for _, line := range c.Text(min(p.width, plotColumns), plotRows) {
			p.line(line)
		}
		p.gap()
		p.front(f)
	}
	_, err := io.WriteString(w, p.text.String())
	return err
}

func frontsJSON(w io.Writer, fronts []*pareto.Front, _ TerminalOptions) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(map[string]any{"pareto": append([]*pareto.Front{}, fronts...)})
}

// frontSection is a frontier as Markdown and HTML show it.
func frontSection(f *pareto.Front) section {
	p := newPage(&result.Result{}, TerminalOptions{})
	p.width, p.kept = unbounded, &[]piece{}
	p.front(f)
	return section{title: f.Y.Title + " against " + f.X.Title, parts: *p.kept, charts: []chart.Chart{frontChart(f)}}
}

func frontsMarkdown(w io.Writer, fronts []*pareto.Front, _ TerminalOptions) error {
	if len(fronts) == 0 {
		return errNoFront
	}
	var m markdown
	m.block("## " + escaped(frontsTitle(fronts)))
	for _, f := range fronts {
		h := frontHeadline(f)
		m.block("**" + escaped(strings.TrimRight(h.word, " ·")) + "** " + escaped(h.why))
		m.section(frontSection(f))
	}
	_, err := io.WriteString(w, strings.TrimRight(m.out.String(), "\n")+"\n")
	return err
}

func frontsHTML(w io.Writer, fronts []*pareto.Front, _ TerminalOptions) error {
	if len(fronts) == 0 {
		return errNoFront
	}
	s := sheet{Title: frontsTitle(fronts), Style: template.CSS(pageCSS)}
	for i, f := range fronts {
		h := frontHeadline(f)
		s.Headlines = append(s.Headlines, sheetLine{toneClass(h.tone), strings.TrimRight(h.word, " ·"), h.why})
		s.Sections = append(s.Sections, newSheetSection(frontSection(f), "s"+strconv.Itoa(i)))
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, s); err != nil {
		return fmt.Errorf("report: write the frontier as HTML: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func frontsTitle(fronts []*pareto.Front) string {
	return "frontier of " + plainSpaces(listed(seriesNames(fronts[0])))
}

func seriesNames(f *pareto.Front) []string {
	names := make([]string, len(f.Series))
	for i, name := range f.Series {
		names[i] = shortened(name, 60)
	}
	return names
}

// listed joins names as a sentence does; many of them are counted.
func listed(names []string) string {
	const most = 4
	if len(names) > most {
		return text.Plural(len(names), "series", "series")
	}
	return text.List(names)
}

// frontHeadline answers which series is worth running where.
func frontHeadline(f *pareto.Front) headline {
	word := "FRONTIER · "
	counted := 0
	for _, p := range f.Points {
		if p.Standing != pareto.LeftOut {
			counted++
		}
	}
	on := len(f.Frontier())
	share := count(on) + " of " + plural(counted, "point")
	figures := f.X.Title + " and " + f.Y.Title
	switch {
	case on == 0:
		return headline{"NO FRONTIER · ", unset, "no point may be held against another by " + figures + ": " + f.Points[0].Why}
	case len(f.Series) == 1:
		return headline{word, met, share + " cannot be beaten in both " + figures}
	case len(f.Held) == 1:
		return headline{word, met, held(f, f.Held[0].Series) + " is best throughout: all " + plural(on, "point") + " of the frontier of " + figures + " are its own"}
	}
	return headline{word, met, stretches(f) + "; " + share + " cannot be beaten in both that and " + f.Y.Title}
}

func held(f *pareto.Front, series int) string {
	return string(letter(series)) + " (" + shortened(f.Series[series], 40) + ")"
}

// stretches says which series is best where; of a frontier in many pieces,
// how many points each series holds.
func stretches(f *pareto.Front) string {
	const most = 4
	var parts []string
	if len(f.Held) > most {
		points := make([]int, len(f.Series))
		for _, s := range f.Held {
			points[s.Series] += s.Points
		}
		for i, n := range points {
			if n > 0 {
				parts = append(parts, held(f, i)+" holds "+count(n))
			}
		}
		return strings.Join(parts, ", ")
	}
	for i, s := range f.Held {
		from, to := trimmed(figure(s.From)), trimmed(figure(s.To))
		where := "from " + from + " to " + to
		switch {
		case i == 0:
			where = "up to " + to
		case i == len(f.Held)-1:
			where = "from " + from + " on"
		case from == to:
			where = "at " + from
		}
		if i == 0 {
			parts = append(parts, held(f, s.Series)+" is best "+where+" "+f.X.Title)
			continue
		}
		parts = append(parts, held(f, s.Series)+" "+where)
	}
	return strings.Join(parts, ", ")
}

func letter(series int) rune { return rune('A' + series%MostSeries) }

// plotColumns is how wide a picture in text is at most.
const plotColumns = 80

// frontChart draws every point, and the frontier as the steps between what was
// measured: in between nothing is claimed but what the next point gives.
func frontChart(f *pareto.Front) chart.Chart {
	c := chart.Chart{Title: "every point, and the frontier", Hollow: "not on it",
		X: frontAxis(f.X), Y: frontAxis(f.Y), Lines: []chart.Line{{Name: "frontier", Trail: true, Points: steps(f)}}}
	for i, name := range f.Series {
		c.Lines = append(c.Lines, chart.Line{Name: shortened(name, 40), Sign: letter(i), Loose: true})
	}
	for _, p := range f.Points {
		l := &c.Lines[p.Series+1]
		text := f.Series[p.Series] + " " + frontPlace(p) + ": " + figure(p.X) + " " + f.X.Title + "; " + figure(p.Y) + " " + f.Y.Title + "; " + standingOf(f, p)
		l.Points = append(l.Points, chart.Point{X: p.X, Y: p.Y, Hollow: p.Standing != pareto.OnFrontier, Text: plainSpaces(clean(text))})
	}
	c.Lines = slices.DeleteFunc(c.Lines, func(l chart.Line) bool { return len(l.Points) == 0 })
	c.Description = plainSpaces(frontHeadline(f).why) + ". The table below has every point."
	return c
}

// frontAxis names an axis by what it shows and which way is better.
func frontAxis(f pareto.Figure) chart.Axis {
	better := ", more is better"
	if !f.More {
		better = ", less is better"
	}
	return chart.Axis{Label: f.Title + better, Format: tick, Free: f.Name == "quality"}
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
func (p *page) front(f *pareto.Front) {
	t := table{columns: []column{{head: cell{text: "points", tone: bold}}, {head: cell{text: loadHead(f)}},
		{head: cell{text: f.X.Title}, align: alignPoint}, {head: cell{text: f.Y.Title}, align: alignPoint},
		{head: cell{text: "objectives"}, optional: 1}, {head: cell{text: "standing"}, align: alignProse}}}
	for _, one := range f.Points {
		sign, colour := string(letter(one.Series)), good
		if one.Standing != pareto.OnFrontier {
			sign, colour = strings.ToLower(sign), plain
		}
		objectives := one.Objectives
		if objectives == "none" {
			objectives = ""
		}
		if p.kept != nil {
			sign += " " + clean(f.Series[one.Series]) // a terminal names them under its picture
		}
		t.rows = append(t.rows, []cell{{text: indent + sign}, {text: frontLoad(one)},
			{text: figure(one.X)}, {text: figure(one.Y)}, {text: string(objectives)}, {text: standingOf(f, one), tone: colour}})
	}
	p.write(t.withoutEmpty())
	if slices.ContainsFunc(f.Points, func(one pareto.Point) bool { return one.Probe }) {
		p.hang(indent, hollowSign+" "+probeLevel)
	}
	for _, note := range f.Notes {
		p.field("note", clean(note))
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

// frontLoad is the load of a point under the head of its column.
func frontLoad(p pareto.Point) string {
	sign := fullSign
	if p.Probe {
		sign = hollowSign
	}
	return sign + " " + loadFigure(&result.Point{Load: p.Load})
}

func standingOf(f *pareto.Front, p pareto.Point) string {
	switch {
	case p.Standing == pareto.LeftOut:
		return "left out: " + p.Why
	case p.Why != "":
		return p.Why
	case p.By != nil:
		by := f.Points[*p.By]
		return "beaten by " + string(letter(by.Series)) + " at " + loadFigure(&result.Point{Load: by.Load})
	}
	return "on the frontier"
}

func frontPlace(p pareto.Point) string {
	if load := loadAsked(&result.Point{Load: p.Load}); load != "" {
		return "at " + load
	}
	return ""
}

var frontColumns = []string{"x_name", "y_name", "series", "run", "name", "rate", "concurrency", "x", "x_unit", "y", "y_unit", "probe", "objectives", "standing",
	"dominated_by_run", "dominated_by_rate", "dominated_by_concurrency", "why"}

func frontsCSV(w io.Writer, fronts []*pareto.Front, _ TerminalOptions) error {
	rows := [][]string{frontColumns}
	for _, f := range fronts {
		for _, p := range f.Points {
			rate, concurrency := loadColumns(p.Load)
			row := []string{f.X.Name, f.Y.Name, csvText(f.Series[p.Series]), csvText(p.Run), csvText(p.Name), rate, concurrency,
				number(p.X), f.X.Unit, number(p.Y), f.Y.Unit, strconv.FormatBool(p.Probe), string(p.Objectives), p.Standing, "", "", "", p.Why}
			if p.By != nil {
				by := f.Points[*p.By]
				row[14] = csvText(by.Run)
				row[15], row[16] = loadColumns(by.Load)
			}
			rows = append(rows, row)
		}
	}
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(rows); err != nil {
		return fmt.Errorf("report: write the frontier as CSV: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func loadColumns(l result.Load) (rate, concurrency string) {
	return placed(l, "rate"), placed(l, "concurrency")
}
