package chart

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The signs of a picture in text. Later ones in this list are drawn over
// earlier ones.
const (
	signEmpty   = ' '
	signBand    = '░'
	signKnee    = '┊'
	signMark    = '│'
	signBound   = '┄'
	signTrail   = '·'
	signWhisker = '╎'
	signHollow  = '○'
	signDot     = '●'
)

const minColumns, minRows = 20, 4

// Text gives the picture of the first line, and of those with a sign, as rows of text, at most width
// columns wide, with height rows of plot between its axes; below it stands
// what the signs mean.
func (c *Chart) Text(width, height int) []string {
	first := *c
	first.Lines = nil
	for i, l := range c.Lines {
		if i == 0 || l.Sign != 0 {
			first.Lines = append(first.Lines, l)
		}
	}
	if len(first.Lines) > 0 && len(first.Lines) < len(c.Lines) && !strings.HasPrefix(c.Y.Label, first.Lines[0].Name) {
		first.Y.Label = first.Lines[0].Name + " of " + c.Y.Label
	}
	return first.text(width, height)
}

func (c *Chart) text(width, height int) []string {
	if c.Empty() {
		return nil
	}
	x, y := newScale(c.places(), c.X), newScale(c.values(), c.Y)
	margin := 0
	for _, v := range y.ticks {
		margin = max(margin, utf8.RuneCountInString(c.Y.format(v)))
	}
	g := &grid{cells: make([][]rune, max(height, minRows))}
	for i := range g.cells {
		g.cells[i] = []rune(strings.Repeat(string(signEmpty), max(width-margin-2, minColumns)))
	}
	for _, m := range c.Marks {
		g.mark(m, x)
	}
	for _, b := range c.Bounds {
		if drawable(b.Y, c.Y.Log) {
			row := g.cells[g.row(y.at(b.Y))]
			copy(row, []rune(strings.Repeat(string(signBound), len(row))))
		}
	}
	for _, faint := range []bool{true, false} { // the strongest lines lie above the others
		for _, l := range c.Lines {
			if faint == (l.Weight > 0) {
				for i, p := range l.Points {
					switch {
					case !l.Trail:
						g.point(p, l.Sign, x, y)
					case i > 0:
						g.trail(l.Points[i-1], p, x, y)
					}
				}
			}
		}
	}
	rows := []string{c.Y.name()}
	rows = append(rows, g.withAxis(c.Y, y, margin)...)
	rows = append(rows, g.foot(c.X, x, margin)...)
	return append(rows, c.key(width, margin)...)
}

// grid is the plot without its axes.
type grid struct {
	cells [][]rune
}

func (g *grid) columns() int { return len(g.cells[0]) }

// row and column are where a share of the height and of the width lies.
func (g *grid) row(at float64) int {
	last := len(g.cells) - 1
	return last - min(max(int(math.Round(at*float64(last))), 0), last)
}

func (g *grid) column(at float64) int {
	last := g.columns() - 1
	return min(max(int(math.Round(at*float64(last))), 0), last)
}

func (g *grid) down(column, from, to int, sign rune) {
	for row := from; row <= to; row++ {
		g.cells[row][column] = sign
	}
}

func (g *grid) mark(m Mark, x scale) {
	last := len(g.cells) - 1
	if m.interval() {
		for column := g.column(x.at(m.Low)); column <= g.column(x.at(m.High)); column++ {
			g.down(column, 0, last, signBand)
		}
	}
	sign := signMark
	if m.Faint {
		sign = signKnee
	}
	g.down(g.column(x.at(m.X)), 0, last, sign)
}

// trail joins two points by a straight row of dots.
func (g *grid) trail(from, to Point, x, y scale) {
	for _, p := range []Point{from, to} {
		if !drawable(p.X, x.log) || !drawable(p.Y, y.log) {
			return
		}
	}
	steps := g.columns() + len(g.cells)
	for i := range steps + 1 {
		share := float64(i) / float64(steps)
		column := g.column(x.at(from.X)*(1-share) + x.at(to.X)*share)
		g.cells[g.row(y.at(from.Y)*(1-share)+y.at(to.Y)*share)][column] = signTrail
	}
}

func (g *grid) point(p Point, letter rune, x, y scale) {
	if !drawable(p.X, x.log) || !drawable(p.Y, y.log) {
		return
	}
	column := g.column(x.at(p.X))
	if p.interval() && drawable(p.Low, y.log) && drawable(p.High, y.log) {
		g.down(column, g.row(y.at(p.High)), g.row(y.at(p.Low)), signWhisker)
	}
	sign := signDot
	switch {
	case p.Hollow && letter != 0:
		sign = unicode.ToLower(letter)
	case p.Hollow:
		sign = signHollow
	case letter != 0:
		sign = letter
	}
	g.cells[g.row(y.at(p.Y))][column] = sign
}

// withAxis puts the Y axis and its ticks before the rows.
func (g *grid) withAxis(a Axis, y scale, margin int) []string {
	labels := make([]string, len(g.cells))
	for _, v := range y.ticks {
		if at := y.at(v); at >= 0 && at <= 1 {
			labels[g.row(at)] = a.format(v)
		}
	}
	rows := make([]string, len(g.cells))
	for i, cells := range g.cells {
		side := "│"
		if labels[i] != "" {
			side = "┤"
		}
		rows[i] = strings.TrimRight(padLeft(labels[i], margin)+side+string(cells), " ")
	}
	return rows
}

// foot is the X axis with its ticks; of labels that would touch, the later one
// is left out.
func (g *grid) foot(a Axis, x scale, margin int) []string {
	axis := []rune(strings.Repeat("─", g.columns()))
	labels := []rune(strings.Repeat(" ", g.columns()+1))
	free := 0
	for _, v := range x.ticks {
		at := x.at(v)
		if at < 0 || at > 1 {
			continue
		}
		column, text := g.column(at), []rune(a.format(v))
		axis[column] = '┬'
		from := min(max(column-len(text)/2, 0), len(labels)-len(text))
		if from < free {
			continue
		}
		copy(labels[from:], text)
		free = from + len(text) + 1
	}
	space := strings.Repeat(" ", margin)
	return []string{space + "└" + string(axis), space + " " + strings.TrimRight(string(labels), " "), padLeft(a.name(), margin+1+g.columns())}
}

// key says what the signs mean, wrapped to width.
func (c *Chart) key(width, margin int) []string {
	var parts []string
	for _, l := range c.Lines {
		parts = append(parts, c.keyOf(l)...)
	}
	for _, b := range c.Bounds {
		parts = append(parts, strings.Repeat(string(signBound), 2)+" "+b.Text)
	}
	for _, m := range c.Marks {
		sign := string(signMark)
		if m.Faint {
			sign = string(signKnee)
		}
		parts = append(parts, sign+" "+m.Text)
	}
	return packLines(parts, width, strings.Repeat(" ", margin+1))
}

// keyOf says what the signs of a line mean.
func (c *Chart) keyOf(l Line) []string {
	dots := slices.ContainsFunc(l.Points, func(p Point) bool { return !p.Hollow })
	hollow := slices.ContainsFunc(l.Points, func(p Point) bool { return p.Hollow })
	var parts []string
	switch {
	case l.Trail:
		return []string{strings.Repeat(string(signTrail), 2) + " " + l.Name}
	case l.Sign != 0 && hollow && unicode.IsLetter(l.Sign):
		return []string{string(l.Sign) + " " + l.Name + " (" + string(unicode.ToLower(l.Sign)) + ": " + c.hollowMeans() + ")"}
	case l.Sign != 0:
		return []string{string(l.Sign) + " " + l.Name}
	}
	if dots {
		parts = append(parts, string(signDot)+" "+l.Name)
	}
	if hollow && !dots && len(c.Lines) > 1 {
		parts = append(parts, string(signHollow)+" "+l.Name+", "+c.hollowMeans())
	} else if hollow {
		parts = append(parts, string(signHollow)+" "+c.hollowMeans())
	}
	return parts
}

// packLines joins parts into as few lines as fit.
func packLines(parts []string, width int, indent string) []string {
	var lines []string
	line := ""
	for _, part := range parts {
		switch {
		case line == "":
			line = indent + part
		case utf8.RuneCountInString(line)+3+utf8.RuneCountInString(part) <= width:
			line += "   " + part
		default:
			lines = append(lines, line)
			line = indent + part
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0)) + text
}
