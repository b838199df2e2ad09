package compare

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/text"
)

// Values are the figures of one run or one side of a round by their names:
// "ttft:p99" in milliseconds, "throughput" in tokens/s, shares as fractions.
// What was not measured is absent.
type Values map[string]float64

// ValuesOf gives the figures of a point that comparisons judge, and those asked
// for beside them.
func ValuesOf(p *result.Point, also ...string) Values {
	values := Values{}
	for _, f := range judgedCriteria(also) {
		if v, ok := f.of(p); ok {
			values[f.name] = v
		}
	}
	return values
}

// Ends are the lowest and the highest that figures can have been without what the
// machine that measured them did, by their names; what is not there is as it was
// measured.
type Ends map[string][2]float64

// EndsOf gives the ends of the figures that ValuesOf gives.
func EndsOf(p *result.Point, also ...string) Ends { return endsOf(judgedCriteria(also), p) }

func endsOf(list []criterion, p *result.Point) (ends Ends) {
	for _, f := range list {
		if low, high, ok := f.ends(p); ok {
			if ends == nil {
				ends = Ends{}
			}
			ends[f.name] = [2]float64{low, high}
		}
	}
	return ends
}

// ends are those of the figure of a point, where they are not its value.
func (f criterion) ends(p *result.Point) (low, high float64, ok bool) {
	v, ok := f.of(p)
	if !ok || !f.Spread() {
		return 0, 0, false
	}
	low, high, ok = f.Dist(p).Ends(f.Stat)
	if !ok || low == v && high == v || !f.usable(low) {
		return 0, 0, false
	}
	return low, high, true
}

// slack is by how much a figure on its scale may lie lower and higher.
func (f criterion) slack(v float64, ends [2]float64, known bool) (down, up float64) {
	if !known {
		return 0, 0
	}
	return max(v-f.toScale(ends[0]), 0), max(f.toScale(ends[1])-v, 0)
}

// criterion is one figure that is judged.
type criterion struct {
	figure.Statistic
	name string
}

// judgedCriteria are the metrics that every comparison judges, and those asked for
// beside them, in the order of the table of figures.
func judgedCriteria(also []string) []criterion {
	var list []criterion
	for _, f := range figure.All {
		for _, stat := range f.Compared {
			list = append(list, criterionOf(f, stat))
		}
	}
	for _, text := range also {
		s, err := figure.Parse(text, figure.Compare)
		known := slices.ContainsFunc(list, func(m criterion) bool { return m.name == s.String() })
		if err == nil && !known {
			list = append(list, criterion{s, s.String()})
		}
	}
	return list
}

func criterionOf(f *figure.Figure, stat string) criterion {
	s := figure.Statistic{Figure: f, Stat: cmp.Or(stat, f.Stat)}
	return criterion{s, s.String()}
}

// of is the figure of a point, where it can be put on the scale.
func (f criterion) of(in ...any) (float64, bool) {
	v, ok := f.Read(in...)
	return v, ok && f.usable(v)
}

// pointError is how far an equal run may lie from a point, by what the point alone
// shows: a standard error on the scale, and its degrees of freedom.
func (f criterion) pointError(p *result.Point) (se, freedom float64, ok bool) {
	name := f.name
	if f.Interval == figure.ByReplies {
		name = "throughput" // prices are by what came in the window
	}
	se, ok = p.StandardErrors[name]
	return se, float64(f.Parts() - 1), ok
}

// toScale puts a value on the scale on which two are subtracted: logarithms
// make a ratio a difference.
func (f criterion) toScale(v float64) float64 { return f.unlessShare(math.Log, v) }

func (f criterion) fromScale(v float64) float64 { return f.unlessShare(math.Exp, v) }

// unlessShare leaves shares as they are: they are subtracted themselves.
func (f criterion) unlessShare(change func(float64) float64, v float64) float64 {
	if f.Share() {
		return v
	}
	return change(v)
}

// isTail reports whether it is a percentile that few requests lie beyond: no run of minutes bounds
// it as it bounds a median.
func (f criterion) isTail() bool {
	_, share, err := figure.Percentile(f.Stat)
	return f.Spread() && err == nil && share > 0.5
}

// usable reports whether the value can be put on the scale.
func (f criterion) usable(v float64) bool {
	return stats.Finite(v) != nil && (f.Share() || v > 0)
}

// scaledTolerance is the difference on the scale that does not matter. A tenth of
// the tolerance in errors is as grave as the whole of it in latency.
func (f criterion) scaledTolerance(tolerance float64) float64 {
	if f.Share() && !f.More {
		return tolerance / 10
	}
	return f.unlessShare(math.Log1p, tolerance)
}

// relative takes a difference on the scale to the one that is shown.
func (f criterion) relative(step float64) float64 { return f.unlessShare(math.Expm1, step) }

func (f criterion) word(step float64) string {
	switch up := step > 0; {
	case f.Unit == figure.Milliseconds && up:
		return "slower"
	case f.Unit == figure.Milliseconds:
		return "faster"
	case up:
		return "higher"
	}
	return "lower"
}

// direction words how B differs: "slower by 12%", and from ten times on "1,270
// times faster".
func (f criterion) direction(step float64) string {
	if times := math.Exp(math.Abs(step)); !f.Share() && times >= manyTimes {
		return text.Rough(times) + " times " + f.word(step)
	}
	return f.word(step) + " by " + f.show(f.relative(step))
}

// Words say how a figure differs by a step of its logarithm.
func Words(name string, step float64) string {
	s, _ := figure.Parse(name, figure.Compare)
	return criterion{s, name}.direction(step)
}

// manyTimes is the ratio from which on a percentage says little.
const manyTimes = 10

func (f criterion) show(relative float64) string {
	if f.Share() {
		return text.Rough(100*math.Abs(relative)) + " points"
	}
	return text.RoughPercent(math.Abs(relative))
}
