package chart

import (
	"slices"

	"redline/internal/text"
)

// Data is a chart as a script draws it: numbers of five digits at most, with the
// names of its lines' classes, from which the page gives them their colors.
type Data struct {
	X      DataAxis    `json:"x"`
	Y      DataAxis    `json:"y"`
	Xs     [][]float64 `json:"xs"` // of the lines, each list once
	Lines  []DataLine  `json:"lines"`
	Bounds []DataBound `json:"bounds,omitempty"`
	Marks  []DataMark  `json:"marks,omitempty"`
	Spans  []Span      `json:"spans,omitempty"`
	Hollow string      `json:"hollow,omitempty"` // what a hollow point is, where there are any
}

// DataAxis is an axis; Texts are the words of its Ticks.
type DataAxis struct {
	Label   string    `json:"label"`
	Log     bool      `json:"log,omitempty"`
	Free    bool      `json:"free,omitempty"`
	MinSpan float64   `json:"least,omitempty"`
	Ticks   []float64 `json:"ticks,omitempty"`
	Texts   []string  `json:"texts,omitempty"`
}

// DataLine is a line: Xs numbers the list of its places.
type DataLine struct {
	Name   string       `json:"name"`
	End    string       `json:"end,omitempty"` // its name beside its end
	Class  string       `json:"class"`
	Xs     int          `json:"xs"`
	Ys     []float64    `json:"ys"`
	Ranges [][2]float64 `json:"ranges,omitempty"` // of each point; [0, 0] is none
	Hollow []int        `json:"hollow,omitempty"` // points that are
	Labels []string     `json:"labels,omitempty"` // beside each point
	Weight int          `json:"weight,omitempty"`
	Loose  bool         `json:"loose,omitempty"`
	Dots   bool         `json:"dots,omitempty"`
	Trail  bool         `json:"trail,omitempty"`
}

// DataBound is a horizontal line.
type DataBound struct {
	Y     float64 `json:"y"`
	Text  string  `json:"text"`
	Plain bool    `json:"plain,omitempty"`
}

// DataMark is a vertical line, with a band where it has one.
type DataMark struct {
	X     float64     `json:"x"`
	Band  *[2]float64 `json:"band,omitempty"`
	Text  string      `json:"text"`
	Faint bool        `json:"faint,omitempty"`
}

// Data gives the chart to a script; nil where it has nothing to add to the
// picture: maps and bars, and lines that turn back.
func (c *Chart) Data() *Data {
	if c.Still || c.Heat != nil || len(c.Parts) > 0 || c.Empty() {
		return nil
	}
	d := &Data{X: c.X.data(), Y: c.Y.data()}
	for _, s := range c.Spans {
		if s.drawable() {
			d.Spans = append(d.Spans, s)
		}
	}
	ends := c.ends()
	for i, l := range c.Lines {
		end := ""
		if ends != nil {
			end = ends[i]
		}
		d.add(c, i, l, end)
	}
	for _, b := range c.Bounds {
		if drawable(b.Y, c.Y.Log) {
			d.Bounds = append(d.Bounds, DataBound{short(b.Y), b.Text, b.Plain})
		}
	}
	for _, m := range c.Marks {
		if !m.drawable(c.X.Log) {
			continue
		}
		one := DataMark{X: short(m.X), Text: m.Text, Faint: m.Faint}
		if m.interval() {
			one.Band = &[2]float64{short(m.Low), short(m.High)}
		}
		d.Marks = append(d.Marks, one)
	}
	return d
}

func (d *Data) add(c *Chart, i int, l Line, end string) {
	one := DataLine{Name: l.Name, End: end, Class: lineClass(i, l), Weight: l.Weight, Loose: l.Loose, Dots: !l.Plain && !l.Trail, Trail: l.Trail}
	if l.Sign != 0 {
		one.Name = string(l.Sign) + " " + l.Name
	}
	var xs []float64
	ranged, labeled := false, false
	for _, p := range l.Points {
		if !drawable(p.X, c.X.Log) || !drawable(p.Y, c.Y.Log) {
			continue
		}
		if p.Hollow {
			one.Hollow, d.Hollow = append(one.Hollow, len(xs)), c.hollowMeans()
		}
		label := p.Label
		if label == "" && l.Sign != 0 {
			label = string(l.Sign)
		}
		one.Labels, labeled = append(one.Labels, label), labeled || label != ""
		xs, one.Ys = append(xs, short(p.X)), append(one.Ys, short(p.Y))
		span := [2]float64{}
		if p.interval() && drawable(p.Low, c.Y.Log) && drawable(p.High, c.Y.Log) {
			span, ranged = [2]float64{short(p.Low), short(p.High)}, true
		}
		one.Ranges = append(one.Ranges, span)
	}
	if len(xs) == 0 {
		return
	}
	if !ranged {
		one.Ranges = nil
	}
	if !labeled {
		one.Labels = nil
	}
	if one.Xs = slices.IndexFunc(d.Xs, func(known []float64) bool { return slices.Equal(known, xs) }); one.Xs < 0 {
		one.Xs = len(d.Xs)
		d.Xs = append(d.Xs, xs)
	}
	d.Lines = append(d.Lines, one)
}

func (a Axis) data() DataAxis {
	d := DataAxis{Label: a.name(), Log: a.Log, Free: a.Free, MinSpan: a.MinSpan}
	for _, v := range a.Ticks {
		d.Ticks = append(d.Ticks, short(v))
		d.Texts = append(d.Texts, a.format(v))
	}
	return d
}

func short(v float64) float64 { return text.Round(v, 5) }
