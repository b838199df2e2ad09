package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"redline/internal/judge/slo"
	"redline/internal/show/document"
	"redline/internal/text"
)

// Panel is what a screen shows of several runs beside the present one.
type Panel int

// The panels: the stages in their order; the curve of levels by their load; two
// servers side by side.
const (
	listPanel Panel = iota
	CurvePanel
	SidesPanel
)

// EndedStage is a stage that is over, as the panels show it.
type EndedStage struct {
	Name string
	// Text is the stage in one line, with its name.
	Text string
	// Side is which of two servers answered.
	Side string
	// Measures says that figures are taken from it; Valid that they count.
	Measures, Valid bool
	// Why says why it does not count.
	Why string
	// Load is the rate or concurrency that was asked for, 0 where there is none.
	Load float64
	// The figures are NaN where they were not measured.
	Served, TokensPerS, TTFTp50, TTFTp99, TPOTp50, Failed float64
	// Objective is the first objective on a latency, with its figure and limit
	// in ms; "" where there is none.
	Objective    string
	Value, Limit float64
	Standing     slo.Standing
}

// experiment is the panel of several runs.
func (p *picture) experiment() (section, bool) {
	if p.stage == nil {
		return section{}, false
	}
	draw := map[Panel]func(int) []string{listPanel: p.list, CurvePanel: p.curve, SidesPanel: p.sideBySide}[p.panel]
	want := map[Panel]int{listPanel: len(p.ended) + 1 + len(p.stage.Next), CurvePanel: len(p.ended) + 2, SidesPanel: 9}[p.panel]
	least := min(want, 8)
	if p.panel == SidesPanel && slices.ContainsFunc(p.ended, func(e EndedStage) bool { return !e.Valid }) {
		least = want
	}
	return section{3, least, min(want, 16), true, draw}, true
}

// list is the stages in their order: some that are done, the present one, and
// those that follow.
func (p *picture) list(height int) []string {
	var rows []string
	for _, e := range p.ended {
		mark, tone := "✓ ", toneOf(e.Standing)
		if e.Standing == slo.Missed || !e.Valid {
			mark, tone = "✗ ", document.Bad
		}
		rows = append(rows, p.paint(tone, mark)+shorten(e.Text, p.width-2))
	}
	now := len(rows)
	if !p.stage.ended {
		rows = append(rows, p.paint(document.Bold, "▶ "+shorten(p.stage.Name, p.width-2)))
	}
	for _, name := range p.stage.Next {
		rows = append(rows, "· "+shorten(name, p.width-2))
	}
	first := min(max(now-(height-1)/2, 0), max(len(rows)-height, 0))
	return rows[first:min(first+height, len(rows))]
}

// curve is the levels by their load, with a bar for the latency that matters.
func (p *picture) curve(height int) []string {
	levels := slices.Clone(p.ended)
	levels = slices.DeleteFunc(levels, func(e EndedStage) bool { return !e.Measures || e.Load == 0 })
	slices.SortStableFunc(levels, func(a, b EndedStage) int { return cmp.Compare(a.Load, b.Load) })
	name, longest := "ttft p99, ms", 0.0
	for _, e := range levels {
		if e.Objective != "" {
			name = e.Objective
		}
		if v := e.matters(); v > longest {
			longest = v
		}
	}
	const load, served, tokens, figure = 10, 9, 10, 10
	rows := []string{}
	at := 0 // where the present level belongs
	for i, e := range levels {
		if p.stage.Load >= e.Load {
			at = i + 1
		}
		bar, mark := "", ""
		if !e.Valid {
			mark = " not valid"
		}
		room := p.width - load - served - tokens - figure - 2 - len(mark)
		if v := e.matters(); v > 0 && longest > 0 && room > 4 {
			bar = "  " + p.paint(toneOf(e.Standing), strings.Repeat("█", max(int(math.Round(v/longest*float64(room))), 1)))
		}
		rows = append(rows, document.PadLeft(text.Digits(e.Load, 4), load)+document.PadLeft(figureOr(e.Served), served)+
			document.PadLeft(figureOr(e.TokensPerS), tokens)+p.paint(toneOf(e.Standing), document.PadLeft(figureOr(e.matters()), figure))+mark+bar)
	}
	if p.stage.Load > 0 && !p.stage.ended {
		rows = slices.Insert(rows, at, p.paint(document.Bold, "▶"+document.PadLeft(text.Digits(p.stage.Load, 4), load-1)+
			document.PadLeft(text.Figure(p.now.RequestsPerS), served)+document.PadLeft(text.Figure(p.now.TokensPerS), tokens)+"  now"))
	}
	head := document.PadLeft(p.stage.loadName(), load) + document.PadLeft("served/s", served) + document.PadLeft("tokens/s", tokens) + "  " + name
	height--
	first := min(max(at-height/2, 0), max(len(rows)-height, 0))
	return append([]string{head}, rows[first:min(first+height, len(rows))]...)
}

// matters is the latency that the first objective is about, else the p99 of ttft.
func (e EndedStage) matters() float64 {
	if e.Objective != "" {
		return e.Value
	}
	return e.TTFTp99
}

// sideBySide is both servers side by side, each by the mean of its rounds that
// count.
func (p *picture) sideBySide(height int) []string {
	names := []string{"A", "B"}
	if p.stage.Side == "on" || p.stage.Side == "off" {
		names = []string{"off", "on"}
	}
	const label, difference = 12, 11
	column := max(min((p.width-label-difference)/2, 34), 10)
	head := document.PadRight("", label)
	for i, name := range names {
		title := "  " + name
		if name == p.stage.Side && !p.stage.ended {
			title = "▶ " + name
		}
		if p.sides[i] != "" {
			title += " " + p.sides[i]
		}
		head += document.PadLeft(shorten(title, column-1), column)
	}
	rows := []string{p.paint(document.Bold, head) + document.PadLeft(names[1]+" − "+names[0], difference)}
	for _, f := range []struct {
		name string
		of   func(EndedStage) float64
	}{
		{"rounds", nil},
		{"ttft p50 ms", func(e EndedStage) float64 { return e.TTFTp50 }},
		{"ttft p99 ms", func(e EndedStage) float64 { return e.TTFTp99 }},
		{"tpot p50 ms", func(e EndedStage) float64 { return e.TPOTp50 }},
		{"served/s", func(e EndedStage) float64 { return e.Served }},
		{"tokens/s", func(e EndedStage) float64 { return e.TokensPerS }},
		{"failed", func(e EndedStage) float64 { return e.Failed }},
	} {
		row := document.PadRight(f.name, label)
		var values [2]float64
		for i, name := range names {
			var shown string
			values[i], shown = p.sideFigure(name, f.of)
			row += document.PadLeft(shown, column)
		}
		if f.of != nil && values[0] > 0 && values[1] > 0 {
			row += document.PadLeft(text.SignedNumber(100*(values[1]/values[0]-1))+"%", difference)
		}
		rows = append(rows, row)
	}
	if a, b := p.spoiledRounds(names[0]), p.spoiledRounds(names[1]); a+b > 0 {
		rows = slices.Insert(rows, 2, p.paint(document.Bad, document.PadRight("not valid", label)+document.PadLeft(text.Count(a), column)+document.PadLeft(text.Count(b), column)))
	}
	return rows[:min(height, len(rows))]
}

// sideFigure is the mean of a figure over the rounds of one side, and how many
// rounds count where there is none.
func (p *picture) sideFigure(side string, of func(EndedStage) float64) (value float64, shown string) {
	sum, n := 0.0, 0
	for _, e := range p.ended {
		if e.Side != side || !e.Valid || of != nil && math.IsNaN(of(e)) {
			continue
		}
		n++
		if of != nil {
			sum += of(e)
		}
	}
	if of == nil {
		return float64(n), text.Count(n)
	}
	if n == 0 {
		return math.NaN(), "–"
	}
	return sum / float64(n), figureOr(sum / float64(n))
}

// spoiledRounds counts the rounds of one side that do not count.
func (p *picture) spoiledRounds(side string) (n int) {
	for _, e := range p.ended {
		if e.Side == side && !e.Valid {
			n++
		}
	}
	return n
}

// helpSections say what the keys do and what the figures mean.
func (p *picture) helpSections() []section {
	const keyWidth, maxWidth = 12, 75
	var rows []string
	for _, k := range [][2]string{
		{"q, Ctrl-C", "stop sending, wait for requests in flight, report"}, {"", "again: stop at once"},
		{"p", "freeze the screen; the run continues"}, {"?", "this help"},
	} {
		key := k[0]
		for _, line := range document.Wrap(k[1], max(p.width-keyWidth, keyWidth)) {
			rows, key = append(rows, fmt.Sprintf("%-*s%s", keyWidth, key, line)), ""
		}
	}
	rows = append(rows, "")
	rows = append(rows, document.Wrap("Rates and sparklines look back 5 s. Percentiles and the distribution cover "+
		"the warm-up while it lasts, then the measured window so far; times count from when a request was due. "+
		"Within limits or over so far is the figure of this moment and no verdict: the report decides. "+
		"Open objectives need more requests to be called met or missed; a run without a length continues. "+
		"--progress line shows one line instead, --quiet nothing.", min(p.width, maxWidth))...)
	text := section{1, 1, len(rows), true, func(height int) []string { return fill(rows, height) }}
	return []section{fixedSection(0, false, p.head()[0]), text, fixedSection(2, false, p.keys())}
}
