// Package chart draws: it takes lines of points, bounds and marks, a map of
// counts, or parts of a whole, and gives a picture, as SVG for a page and for a
// file, as numbers for a script, or as text for a terminal. It knows no result and
// no unit: what a number means and how it is written is told to it. Equal charts
// give equal pictures.
package chart

import (
	"math"
	"slices"
	"strings"
)

// Chart is a picture to be drawn. Title and Description are its alternative in
// words for whoever cannot see it.
type Chart struct {
	// Name is that of its file, "ttft-over-time"; empty where the title serves.
	Name        string
	Title       string
	Description string
	X, Y        Axis
	// Spans are stretches of the X axis, such as a warm-up.
	Spans []Span
	// Heat is a map of counts, Parts are parts of a whole side by side; a chart
	// with one of them has no lines.
	Heat  *Heat
	Parts []Part
	// Lines come first to last by weight: the first is what the chart is about.
	Lines []Line
	// Bounds are horizontal, such as an objective.
	Bounds []Bound
	// Marks are vertical, such as a limit.
	Marks []Mark
	// Hollow says what a hollow point is; empty means an exploratory one.
	Hollow string
	// Still charts have lines that do not go from left to right: a script cannot
	// read them off at an X.
	Still bool
}

// Axis says how one direction is divided.
type Axis struct {
	Label string
	// Log divides by ratios; values at or below 0 are not drawn then.
	Log bool
	// Free lets a linear axis begin above 0. Least is the least that it then
	// spans, as a share of its values, so that noise does not look like change.
	Free    bool
	MinSpan float64
	// Ticks are where numbers stand; empty where round ones serve.
	Ticks []float64
	// Format writes a tick.
	Format func(float64) string
}

// Line is points that belong together, by ascending X.
type Line struct {
	Name   string
	Points []Point
	// Sign is the letter by which text shows a full point, and in small a
	// hollow one, or a sign that both have; text shows a line after the first only with a sign.
	Sign rune
	// Loose points are not joined; those of a trail are nothing but joined, and
	// dashed. A plain line is nothing but joined, too: it has many points.
	Loose, Trail, Plain bool
	// Role is what the line is about, and gives it its color, the same in every
	// chart: "ttft", "running". Weight 0 is the strongest line of its role.
	Role   string
	Weight int
}

// Span is a stretch of the X axis that is not what the chart is about.
type Span struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Text string  `json:"text"`
}

// Point is one measured place.
type Point struct {
	X, Y float64
	// Low and High bound Y; both 0 where it has no interval.
	Low, High float64
	// Hollow marks an exploratory point.
	Hollow bool
	// Text says the point in words, Label stands beside it.
	Text, Label string
}

// Bound is a value that Y should not cross.
type Bound struct {
	Y    float64
	Text string
	// Plain bounds are no limits, such as no change.
	Plain bool
}

// Mark is a place on the X axis, with an interval where Low and High are not
// both 0.
type Mark struct {
	X, Low, High float64
	Text         string
	// Faint marks are hints, such as a knee.
	Faint bool
}

// Empty reports whether there is nothing to draw.
func (c *Chart) Empty() bool { return len(c.values()) == 0 && len(c.Parts) == 0 }

// ends are the names of the lines as they stand beside their ends, each without the
// remark behind it; nil where one line, many of them or their points have no need or
// no room for that.
func (c *Chart) ends() []string {
	const limit, longest = 5, 14
	names, drawn := make([]string, len(c.Lines)), 0
	for i, l := range c.Lines {
		if l.Loose || l.Trail || len(l.Points) == 0 {
			continue
		}
		name := l.Name
		for _, remark := range []string{",", ":", " of "} {
			name, _, _ = strings.Cut(name, remark)
		}
		labeled := slices.ContainsFunc(l.Points, func(p Point) bool { return p.Label != "" })
		if labeled || l.Sign != 0 || len([]rune(name)) > longest || slices.Contains(names, name) {
			return nil
		}
		names[i] = name
		drawn++
	}
	if drawn < 2 || drawn > limit {
		return nil
	}
	return names
}

// Words are what the picture shows, from end to end of each line.
func (c *Chart) Words() string {
	var said []string
	for _, l := range c.Lines {
		if len(l.Points) > 0 {
			said = append(said, l.Name+" from "+l.Points[0].Text+", to "+l.Points[len(l.Points)-1].Text)
		}
	}
	for _, b := range c.Bounds {
		said = append(said, b.Text)
	}
	for _, m := range c.Marks {
		said = append(said, m.Text)
	}
	return strings.Join(said, "; ")
}

// values are the heights that the picture must hold.
func (c *Chart) values() []float64 {
	var all []float64
	for _, l := range c.Lines {
		for _, p := range l.Points {
			all = append(all, p.Y)
			if p.interval() {
				all = append(all, p.Low, p.High)
			}
		}
	}
	if c.Heat != nil {
		all = append(all, c.Heat.Edges...)
	}
	if len(all) > 0 {
		for _, b := range c.Bounds {
			all = append(all, b.Y)
		}
	}
	return slices.DeleteFunc(all, func(v float64) bool { return !drawable(v, c.Y.Log) })
}

func (c *Chart) places() []float64 {
	var all []float64
	for _, l := range c.Lines {
		for _, p := range l.Points {
			all = append(all, p.X)
		}
	}
	for _, m := range c.Marks {
		all = append(all, m.X)
		if m.interval() {
			all = append(all, m.Low, m.High)
		}
	}
	for _, s := range c.Spans {
		all = append(all, s.From, s.To)
	}
	if h := c.Heat; h != nil {
		all = append(all, h.X, h.X+h.Width*float64(h.columns()))
	}
	return slices.DeleteFunc(all, func(v float64) bool { return !drawable(v, c.X.Log) })
}

func (p Point) interval() bool { return p.Low != 0 || p.High != 0 }

func (m Mark) interval() bool { return m.Low != 0 || m.High != 0 }

func (m Mark) drawable(log bool) bool {
	return drawable(m.X, log) && (!m.interval() || drawable(m.Low, log) && drawable(m.High, log))
}

func (s Span) drawable() bool { return drawable(s.From, false) && drawable(s.To, false) }

// name is an axis's label, and how it is divided where that is not even.
func (a Axis) name() string {
	if a.Log && a.Label != "" {
		return a.Label + " (logarithmic)"
	}
	return a.Label
}

// hollowMeans says what a hollow point is.
func (c *Chart) hollowMeans() string {
	if c.Hollow != "" {
		return c.Hollow
	}
	return "exploratory, under a minute"
}

// vast is beyond what any chart has: an axis to its square is still a number.
const vast = 1e100

func drawable(v float64, log bool) bool {
	return math.Abs(v) < vast && (!log || v > 1/vast)
}

// scale maps values to 0 … 1.
type scale struct {
	low, high float64
	log       bool
	ticks     []float64
}

// newScale holds all values; one that is linear begins at 0 or below, unless
// it is free.
func newScale(values []float64, a Axis) scale {
	if len(values) == 0 {
		values = []float64{1}
	}
	s := scale{low: slices.Min(values), high: slices.Max(values), log: a.Log}
	if len(a.Ticks) > 0 {
		s.ticks = slices.DeleteFunc(slices.Clone(a.Ticks), func(v float64) bool { return v < s.low || v > s.high })
		return s
	}
	if a.Log {
		s.low, s.high = s.low/1.25, s.high*1.25
		if s.ticks = logTicks(s.low, s.high); len(s.ticks) < 2 {
			s.ticks = evenTicks(s.low, s.high)
		}
		return s
	}
	if few := a.MinSpan * (s.high + s.low) / 2; a.Free && s.high-s.low < few {
		s.low, s.high = (s.high+s.low-few)/2, (s.high+s.low+few)/2
	}
	if room := (s.high - s.low) / 4; a.Free && room > 0 {
		s.low = s.low - min(room, max(s.low, 0))
	} else {
		s.low = min(s.low, 0)
	}
	if s.high-s.low < 1/vast {
		s.high = s.low + 1
	}
	step := niceStep((s.high - s.low) / 6)
	s.low, s.high = math.Floor(s.low/step)*step, s.high+(s.high-s.low)*0.04
	for i := 0; s.low+float64(i)*step <= s.high; i++ {
		s.ticks = append(s.ticks, s.low+float64(i)*step)
	}
	return s
}

// at is where a value lies, 0 at the low end and 1 at the high one.
func (s scale) at(v float64) float64 {
	if s.log {
		v, low, high := math.Log(max(v, s.low)), math.Log(s.low), math.Log(s.high)
		return (v - low) / (high - low)
	}
	return (v - s.low) / (s.high - s.low)
}

// niceStep is the least of 1, 2, 5, 10, … that is not below step.
func niceStep(step float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= step*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// evenTicks are the multiples of a nice step between the two: within less than
// a factor of ten, powers of ten say too little.
func evenTicks(low, high float64) []float64 {
	step := niceStep((high - low) / 4)
	var ticks []float64
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// logTicks are 1, 2, 5 of each power of ten between the two, or the powers
// alone where that would be many.
func logTicks(low, high float64) []float64 {
	for _, steps := range [][]float64{{1, 2, 5}, {1}} {
		var ticks []float64
		for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power++ {
			for _, m := range steps {
				if v := m * math.Pow(10, power); v >= low && v <= high {
					ticks = append(ticks, v)
				}
			}
		}
		if len(ticks) >= 2 && len(ticks) <= 8 || len(steps) == 1 {
			return ticks
		}
	}
	return nil
}
