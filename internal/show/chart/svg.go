package chart

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The margins around the plot, in the picture's own units.
const (
	left, right, top, floor = 60, 16, 36, 66
	letter                  = 6.6 // width of a character of a label
	legendRow               = 20
)

// Size is that of a picture in its own units, in which letters are 12 high. A
// page that shows it at that width in pixels shows its letters at that size.
type Size struct{ Width, Height int }

// SVG gives the picture as an element to put into a page. It holds no script,
// no style and no address; the page colors its classes: axis, grid, bound,
// mark, band, faint, line0, line1, … Labels have the class of what they label.
// The id names its text alternatives and must be unique on the page.
func (c *Chart) SVG(id string, size Size) string {
	if len(c.Parts) > 0 {
		return c.bar(id, size)
	}
	d := &drawing{x: newScale(c.places(), c.X), y: newScale(c.withNames(), c.Y), width: max(size.Width, 200), bottom: max(size.Height, 160) - floor}
	ends := c.ends()
	d.right = d.width - right
	for _, name := range ends {
		d.right = min(d.right, d.width-endGap-int(letter*float64(len([]rune(name)))))
	}
	legend := c.legend(d.width)
	below := floor
	if len(legend) > 0 {
		below += legend[len(legend)-1].row * legendRow
	}
	d.open(c, id, d.width, d.bottom+below)
	for _, s := range c.Spans {
		if s.drawable() {
			d.span(s)
		}
	}
	d.heat(c.Heat)
	d.axes(c)
	for _, m := range c.Marks {
		if m.drawable(c.X.Log) {
			d.mark(m)
		}
	}
	for _, b := range c.Bounds {
		if drawable(b.Y, d.y.log) {
			d.add(`<line class="%s" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, b.class(), left, d.right, d.py(b.Y), d.py(b.Y))
		}
	}
	for i := len(c.Lines) - 1; i >= 0; i-- {
		d.line(i, c.Lines[i], c.Y.Log)
	}
	for _, b := range c.Bounds {
		d.boundName(b)
	}
	d.ends(c, ends)
	d.names(legend)
	d.add(`</svg>`)
	return d.out.String()
}

// withNames are the values that the picture must hold, with room for the name of a
// bound above all lines.
func (c *Chart) withNames() []float64 {
	all := c.values()
	for _, b := range c.Bounds {
		if len(all) == 0 || !drawable(b.Y, c.Y.Log) || b.Y < slices.Max(all) {
			continue
		}
		if c.Y.Log {
			return append(all, 1.3*b.Y)
		}
		low := slices.Min(all)
		if !c.Y.Free {
			low = min(low, 0)
		}
		return append(all, b.Y+0.13*(b.Y-low))
	}
	return all
}

// drawing is an SVG in the making.
type drawing struct {
	out           strings.Builder
	x, y          scale
	width         int
	right, bottom int // where the plot ends
	labels        [][2]float64
}

// labelHeight is that of a line of text.
const labelHeight = 14

// label writes a text beside a point: above it to the right, or where another
// label is there, below it or to the left.
func (d *drawing) label(x, y float64, text string) {
	width := letter * float64(len([]rune(text)))
	places := [][2]float64{{x + 6, y - 7}, {x + 6, y + 16}, {x - 6 - width, y - 7}, {x - 6 - width, y + 16}}
	at := places[0]
	for _, place := range places {
		if !slices.ContainsFunc(d.labels, func(taken [2]float64) bool {
			return math.Abs(taken[0]-place[0]) < width && math.Abs(taken[1]-place[1]) < labelHeight
		}) {
			at = place
			break
		}
	}
	d.labels = append(d.labels, at)
	d.add(`<text class="label" x="%.1f" y="%.1f">%s</text>`, at[0], at[1], html.EscapeString(text))
}

// open begins the picture with its alternatives in words.
func (d *drawing) open(c *Chart, id string, width, height int) {
	d.add(`<svg class="chart" viewBox="0 0 %d %d" role="img" aria-labelledby="%s-title %s-desc">`, width, height, id, id)
	d.add(`<title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`, id, html.EscapeString(c.Title), id, html.EscapeString(c.Description))
}

func (d *drawing) add(format string, args ...any) {
	fmt.Fprintf(&d.out, format, args...)
	d.out.WriteByte('\n')
}

func (d *drawing) px(v float64) float64 { return left + float64(d.right-left)*d.x.at(v) }
func (d *drawing) py(v float64) float64 { return top + float64(d.bottom-top)*(1-d.y.at(v)) }

func (d *drawing) axes(c *Chart) {
	for _, v := range d.y.ticks {
		d.add(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, left, d.right, d.py(v), d.py(v))
		d.add(`<text class="axis" x="%d" y="%.1f" text-anchor="end">%s</text>`, left-8, d.py(v)+4, html.EscapeString(c.Y.format(v)))
	}
	free := float64(0)
	for _, v := range d.x.ticks {
		d.add(`<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`, d.px(v), d.px(v), d.bottom, d.bottom+5)
		label := c.X.format(v)
		half := letter * float64(len([]rune(label))) / 2
		at := min(d.px(v), float64(d.width)-half)
		if at-half < free {
			continue
		}
		free = at + half + letter/2
		d.add(`<text class="axis" x="%.1f" y="%d" text-anchor="middle">%s</text>`, at, d.bottom+19, html.EscapeString(label))
	}
	d.add(`<line class="frame" x1="%d" x2="%d" y1="%d" y2="%d"/>`, left, d.right, d.bottom, d.bottom)
	d.add(`<text class="axis name" x="%d" y="%d" text-anchor="end">%s</text>`, d.right, d.bottom+38, html.EscapeString(c.X.name()))
	d.add(`<text class="axis name" x="%d" y="%d">%s</text>`, 0, 14, html.EscapeString(c.Y.name()))
}

func (a Axis) format(v float64) string {
	if a.Format == nil {
		return fmt.Sprintf("%.4g", v)
	}
	return a.Format(v)
}

// mark draws a vertical line with its interval as a band. Its name stands above
// the plot, that of a faint one beside its line.
func (d *drawing) mark(m Mark) {
	class := "mark"
	if m.Faint {
		class = "mark faint"
	}
	if m.interval() {
		from, to := d.px(m.Low), d.px(m.High)
		d.add(`<rect class="band" x="%.1f" y="%d" width="%.1f" height="%d"/>`, from, top, max(to-from, 1), d.bottom-top)
	}
	d.add(`<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"><title>%s</title></line>`,
		class, d.px(m.X), d.px(m.X), top, d.bottom, html.EscapeString(m.Text))
	if m.Faint {
		d.add(`<text class="%s" x="%.1f" y="%d" text-anchor="end">%s</text>`, class, d.px(m.X)-6, d.bottom-8, html.EscapeString(m.Text))
		return
	}
	half := letter * float64(len([]rune(m.Text))) / 2
	at := min(max(d.px(m.X), left+half), float64(d.right)-half)
	d.add(`<text class="%s" x="%.1f" y="%d" text-anchor="middle">%s</text>`, class, at, top-6, html.EscapeString(m.Text))
}

// span shades a stretch, with its name above it.
func (d *drawing) span(s Span) {
	from, to := max(d.px(s.From), left), min(d.px(s.To), float64(d.right))
	if to <= from {
		return
	}
	name := html.EscapeString(s.Text)
	d.add(`<rect class="span" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s</title></rect>`, from, top, to-from, d.bottom-top, name)
	at, anchor := from, "start"
	if from+letter*float64(len([]rune(s.Text))) > float64(d.right) {
		at, anchor = float64(d.right), "end"
	}
	d.add(`<text class="span" x="%.1f" y="%d" text-anchor="%s">%s</text>`, at, top-6, anchor, name)
}

// boundName names a bound, over all lines.
func (d *drawing) boundName(b Bound) {
	if !drawable(b.Y, d.y.log) {
		return
	}
	y := d.py(b.Y) - 6
	if y < top+8 { // where names of spans and marks stand
		y += 20
	}
	d.add(`<text class="%s" x="%d" y="%.1f">%s</text>`, b.class(), left+8, y, html.EscapeString(b.Text))
}

func (b Bound) class() string {
	if b.Plain {
		return "bound faint"
	}
	return "bound"
}

func (d *drawing) line(i int, l Line, log bool) {
	var path strings.Builder
	for _, p := range l.Points {
		if drawable(p.X, d.x.log) && drawable(p.Y, log) {
			fmt.Fprintf(&path, " %.1f,%.1f", d.px(p.X), d.py(p.Y))
		}
	}
	d.add(`<g class="%s">`, lineClass(i, l))
	if !l.Loose {
		d.add(`<polyline points="%s"><title>%s</title></polyline>`, strings.TrimSpace(path.String()), html.EscapeString(l.Name))
	}
	for _, p := range l.Points {
		if drawable(p.X, d.x.log) && drawable(p.Y, log) && !l.Trail && !l.Plain {
			d.point(p, i, log)
			if l.Sign != 0 {
				d.add(`<text class="axis" x="%.1f" y="%.1f">%c</text>`, d.px(p.X)+7, d.py(p.Y)-5, l.Sign)
			}
		}
	}
	d.add(`</g>`)
}

// endGap is the room between the end of a line and its name.
const endGap = 8

// ends writes the names of lines beside their ends, none over another.
func (d *drawing) ends(c *Chart, names []string) {
	type end struct {
		line int
		x, y float64
	}
	var list []end
	for i, name := range names {
		for _, p := range slices.Backward(c.Lines[i].Points) {
			if name != "" && drawable(p.X, d.x.log) && drawable(p.Y, d.y.log) {
				list = append(list, end{i, d.px(p.X), d.py(p.Y) + 4})
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b end) int { return cmp.Compare(a.y, b.y) })
	for i := len(list) - 1; i >= 0; i-- { // upwards from the lowest that the plot holds
		list[i].y = min(list[i].y, float64(d.bottom-labelHeight*(len(list)-1-i)))
	}
	for i := range list {
		if i > 0 {
			list[i].y = max(list[i].y, list[i-1].y+labelHeight)
		}
		one := list[i]
		d.add(`<g class="%s"><text class="label" x="%.1f" y="%.1f">%s</text></g>`, lineClass(one.line, c.Lines[one.line]), one.x+endGap-2, one.y, html.EscapeString(names[one.line]))
	}
}

// lineClass names a line by its place, and one with a sign by that too.
func lineClass(i int, l Line) string {
	class := fmt.Sprintf("line%d", i)
	if l.Sign != 0 {
		class += fmt.Sprintf(" sign%c", l.Sign)
	}
	if l.Trail {
		class += " trail"
	}
	if l.Role != "" {
		class += fmt.Sprintf(" %s weight%d", l.Role, l.Weight)
	}
	return class
}

// point draws whiskers for the interval and a dot, which is hollow where the
// point only finds the way.
func (d *drawing) point(p Point, i int, log bool) {
	x, y := d.px(p.X), d.py(p.Y)
	if p.interval() && drawable(p.Low, log) && drawable(p.High, log) {
		low, high := d.py(p.Low), d.py(p.High)
		d.add(`<path class="whisker" d="M%.1f %.1fV%.1fM%.1f %.1fh8M%.1f %.1fh8"/>`, x, high, low, x-4, high, x-4, low)
	}
	class, radius := "dot", 4.5
	if p.Hollow {
		class = "dot hollow"
	}
	if i > 0 {
		radius = 3
	}
	d.add(`<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`, class, x, y, radius, html.EscapeString(p.Text))
	if p.Label != "" {
		d.label(x, y, p.Label)
	}
}

// entry is one name of the legend with its shape and its place.
type entry struct {
	class, shape, name string
	x                  float64
	row                int
}

const (
	dotShape    = `<circle class="dot" cx="%.1f" cy="%d" r="4.5"/>`
	hollowShape = `<circle class="dot hollow" cx="%.1f" cy="%d" r="4.5"/>`
	dashShape   = `<path class="whisker" d="M%.1f %dh12"/>`
	swatchShape = `<path class="swatch" d="M%.1f %dh10"/>`
)

// legend gives a name to every line, in as many rows as the width takes.
func (c *Chart) legend(width int) []entry {
	var list []entry
	hollow := false
	for i, l := range c.Lines {
		one := entry{class: lineClass(i, l), shape: dotShape, name: l.Name}
		if l.Sign != 0 {
			one.name = string(l.Sign) + " " + l.Name
		}
		if l.Trail || l.Plain {
			one.shape = dashShape
		}
		list = append(list, one)
		hollow = hollow || slices.ContainsFunc(l.Points, func(p Point) bool { return p.Hollow })
	}
	if hollow {
		list = append(list, entry{class: "line0", shape: hollowShape, name: c.hollowMeans()})
	}
	if c.Heat != nil {
		list = append(list, c.Heat.legend()...)
	}
	return placeEntries(list, width)
}

// placeEntries gives the names of a legend their places.
func placeEntries(list []entry, width int) []entry {
	x, row := 6.0, 0
	for i := range list {
		room := 16 + letter*float64(len([]rune(list[i].name))) + 20
		if x > 6 && x+room > float64(width) {
			x, row = 6, row+1
		}
		list[i].x, list[i].row = x, row
		x += room
	}
	return list
}

// names draws the legend under the plot.
func (d *drawing) names(legend []entry) {
	for _, e := range legend {
		y := d.bottom + 54 + e.row*legendRow
		d.add(`<g class="%s">%s</g>`, e.class, fmt.Sprintf(e.shape, e.x, y))
		d.add(`<text class="axis" x="%.1f" y="%d">%s</text>`, e.x+16, y+4, html.EscapeString(e.name))
	}
}
