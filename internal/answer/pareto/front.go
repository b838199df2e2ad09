package pareto

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// Series is what one line of a picture shows: a sweep, or several runs of one
// configuration.
type Series struct {
	Name string
	Runs []*result.Result
}

// The standings of a point.
const (
	OnFrontier = "frontier"
	Dominated  = "dominated"
	// LeftOut is a point that may not be compared with others: it neither is
	// on the frontier nor dominates.
	LeftOut = "left out"
)

// Point is one measured load, weighed.
type Point struct {
	// Series is an index into the front's.
	Series int `json:"series"`
	// Run is the id of its run, Name that of its stage.
	Run  string      `json:"run"`
	Name string      `json:"name,omitempty"`
	Load result.Load `json:"load"`
	X    float64     `json:"x"`
	Y    float64     `json:"y"`
	// Probe says that it was measured for less than a minute.
	Probe bool `json:"exploratory,omitempty"`
	// Objectives is where those of the point stand together.
	Objectives slo.Standing `json:"objectives"`
	Standing   string       `json:"outcome"`
	// By is the index of the point that dominates this one; Why says what
	// keeps one out.
	By  *int   `json:"dominated_by,omitempty"`
	Why string `json:"why,omitempty"`
}

// Stretch is a part of the frontier that one series holds, by ascending X.
type Stretch struct {
	Series int     `json:"series"`
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Points int     `json:"points"`
}

// Front is every point of several series in two figures, and the frontier.
type Front struct {
	X      Figure   `json:"x"`
	Y      Figure   `json:"y"`
	Series []string `json:"series"`
	// Points come series by series, by ascending load.
	Points []Point `json:"points"`
	// Held are the stretches of the frontier.
	Held []Stretch `json:"held"`
	// Notes say what the picture rests on.
	Notes []string `json:"notes,omitempty"`
}

// Of weighs the points of series by a pair of figures. Points that do not have
// both figures are not in it.
func Of(series []Series, pair Pair) *Front {
	f := &Front{X: pair.X, Y: pair.Y, Points: []Point{}, Held: []Stretch{}}
	perInstance(series, f)
	inCurrency(series, f)
	for i, s := range series {
		f.Series = append(f.Series, s.Name)
		if !f.take(i, s) {
			f.Notes = append(f.Notes, fmt.Sprintf("%s has no point with both %s and %s", s.Name, f.X.Name, f.Y.Name))
		}
	}
	f.readmit()
	f.judge()
	f.hold()
	f.Notes = append(f.Notes, differences(series)...)
	f.Notes = append(f.Notes, f.questionNotes(series)...)
	return f
}

// perInstance takes the number of accelerators out of every series where one
// of them does not tell it, so that all are counted alike.
func perInstance(series []Series, f *Front) {
	unknown := slices.IndexFunc(series, func(s Series) bool {
		return slices.ContainsFunc(s.Runs, func(r *result.Result) bool { return r.Hardware.Count < 1 })
	})
	if unknown < 0 || f.X.Name != perAccelerator && f.Y.Name != perAccelerator {
		return
	}
	for _, axis := range []*Figure{&f.X, &f.Y} {
		if axis.Name == perAccelerator {
			whole, _ := Find("throughput")
			axis.Title, axis.of = "tokens/s/instance", whole.of
		}
	}
	f.Notes = append(f.Notes, fmt.Sprintf("how many accelerators %s ran on is not known: tokens/s are of the whole instance, for every series alike; "+
		"metadata.hardware of a plan tells it: 4 × H100", series[unknown].Name))
}

// inCurrency names the currency of costs, dollars where nothing is said. Where
// there are several, a note says so.
func inCurrency(series []Series, f *Front) {
	name := "USD"
	for _, s := range series {
		for _, r := range s.Runs {
			if said := currency(r); said != "" {
				name = said
			}
		}
	}
	for _, axis := range []*Figure{&f.X, &f.Y} {
		if axis.of.Figure != nil && axis.of.Unit.Money() {
			axis.Unit, axis.Title = name, name+" "+axis.Title
		}
	}
}

// take adds the points of a series and says whether there are any.
func (f *Front) take(i int, s Series) bool {
	from := len(f.Points)
	for _, r := range s.Runs {
		for _, at := range alike(r) {
			p := &r.Points[at]
			x, known := f.X.read(r, p)
			y, too := f.Y.read(r, p)
			if !known || !too {
				continue
			}
			standing, why := admit(r, p)
			f.Points = append(f.Points, Point{Series: i, Run: r.ID, Name: p.Name, Load: p.Load, X: x, Y: y, Probe: p.Probe,
				Objectives: slo.Overall(p.Objectives), Standing: standing, Why: why})
		}
	}
	slices.SortStableFunc(f.Points[from:], func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Load.Amount(), b.Load.Amount()), strings.Compare(a.Run, b.Run))
	})
	return len(f.Points) > from
}

// alike are the points of a run that carried one kind of work: the levels
// of its curve, all repeats together, or everything.
func alike(r *result.Result) []int {
	var list []int
	switch {
	case r.Curve != nil:
		list = slices.Clone(r.Curve.Points)
		if r.Sustained != nil && !slices.Contains(list, *r.Sustained) {
			list = append(list, *r.Sustained)
		}
	case r.Repeats != nil && r.Repeats.Point != nil:
		list = []int{*r.Repeats.Point}
	default:
		for i := range r.Points {
			list = append(list, i)
		}
	}
	return slices.DeleteFunc(list, func(i int) bool { return i < 0 || i >= len(r.Points) })
}

// admit says whether a point may be compared with others. Under overload a
// server's throughput is real, but its latency is that of no load that lasts, and
// where many requests never ended, it is only that of the others.
func admit(r *result.Result, p *result.Point) (standing, why string) {
	switch {
	case p.Invalid != "":
		return LeftOut, "not valid: " + p.Invalid
	case r.Verdict.Valid == result.Invalid:
		return LeftOut, "the run is not valid"
	case p.Window.Overload != nil && *p.Window.Overload:
		return LeftOut, "overload: the queue grew"
	case p.Requests.ManyUnfinished():
		return LeftOut, text.RoughPercent(p.Requests.UnfinishedShare()) + " of its requests never ended"
	}
	return OnFrontier, ""
}

// readmit takes every point where none may be compared with others: a picture
// of what is not valid says more than none.
func (f *Front) readmit() {
	if len(f.Points) == 0 || slices.ContainsFunc(f.Points, func(p Point) bool { return p.Standing != LeftOut }) {
		return
	}
	for i := range f.Points {
		f.Points[i].Standing = OnFrontier
	}
	f.Notes = append(f.Notes, "no point is valid, without overload and finished: the frontier is that of all points, and no claim")
}

// judge finds the frontier among the points that are admitted.
func (f *Front) judge() {
	var places []Place
	var at []int
	for i, p := range f.Points {
		if p.Standing == OnFrontier {
			places, at = append(places, Place{toward(f.X, p.X), toward(f.Y, p.Y)}), append(at, i)
		}
	}
	for i, by := range frontier(places) {
		if by >= 0 {
			f.Points[at[i]].Standing, f.Points[at[i]].By = Dominated, &at[by]
		}
	}
}

// toward turns a figure so that more of it is better.
func toward(f Figure, v float64) float64 {
	if f.More {
		return v
	}
	return -v
}

// Frontier lists the points on the frontier by ascending X.
func (f *Front) Frontier() []int {
	var list []int
	for i, p := range f.Points {
		if p.Standing == OnFrontier {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(f.Points[i].X, f.Points[j].X) })
	return list
}

// hold says which series holds which part of the frontier.
func (f *Front) hold() {
	for _, i := range f.Frontier() {
		p := f.Points[i]
		if last := len(f.Held) - 1; last >= 0 && f.Held[last].Series == p.Series {
			f.Held[last].To = p.X
			f.Held[last].Points++
			continue
		}
		f.Held = append(f.Held, Stretch{Series: p.Series, From: p.X, To: p.X, Points: 1})
	}
}

// differences name what makes points of several runs not comparable.
func differences(series []Series) []string {
	var notes []string
	for _, one := range []struct {
		what string
		of   func(*result.Result) string
	}{
		{"workloads", func(r *result.Result) string { return r.Workload.Name }},
		{"currencies", currency},
		{"golden sets", goldenSet},
	} {
		var seen []string
		for _, s := range series {
			for _, r := range s.Runs {
				if v := one.of(r); v != "" && !slices.Contains(seen, v) {
					seen = append(seen, v)
				}
			}
		}
		if len(seen) > 1 {
			notes = append(notes, "not alike: "+one.what+" are "+strings.Join(seen, ", "))
		}
	}
	return notes
}

// questionNotes say of how many questions the quality on an axis is, and when they
// were asked.
func (f *Front) questionNotes(series []Series) []string {
	if f.X.Name != wholeQuality && f.Y.Name != wholeQuality {
		return nil
	}
	var notes []string
	for _, s := range series {
		for _, r := range s.Runs {
			for _, at := range alike(r) {
				q := r.Points[at].Quality
				phase := q.Whole()
				if phase == nil {
					continue
				}
				note := fmt.Sprintf("quality of %s is of %d of the %d questions of %s, asked %s", s.Name, phase.Covered, q.Items, q.Set, strings.ReplaceAll(phase.Phase, "_", " "))
				if !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
		}
	}
	return notes
}

func currency(r *result.Result) string {
	for _, p := range r.Points {
		if p.Cost != nil && p.Cost.Currency != "" {
			return p.Cost.Currency
		}
	}
	return ""
}

func goldenSet(r *result.Result) string {
	for _, p := range r.Points {
		if p.Quality != nil {
			return p.Quality.Set
		}
	}
	return ""
}

// Fronts are the frontiers of some pairs that have points.
func Fronts(series []Series, pairs []Pair) []*Front {
	var fronts []*Front
	for _, pair := range pairs {
		if front := Of(series, pair); len(front.Points) > 0 {
			fronts = append(fronts, front)
		}
	}
	return fronts
}
