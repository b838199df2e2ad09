package toggle

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"redline/internal/answer/compare"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/stats"
	"redline/internal/text"
)

// gridPoints is how finely prompt lengths are looked at, curvePoints how many of
// them the document keeps.
const (
	gridPoints  = 241
	curvePoints = 25
)

// place is the curve at one prompt length, in logarithms, and how far its interval
// reaches: usually, and where so many lengths are looked at. down and up are by how
// much it may be lower or higher without what the machine did.
type place struct{ x, y, reach, strictReach, down, up float64 }

// sign is −1 where the optimization pays, 1 where it hurts, 0 where that is
// open.
func (p place) sign() int {
	switch {
	case p.y+p.up < -p.reach:
		return -1
	case p.y-p.down > p.reach:
		return 1
	}
	return 0
}

// isSure reports whether that holds where so many lengths are looked at.
func (p place) isSure() bool { return p.y+p.up < -p.strictReach || p.y-p.down > p.strictReach }

// decide looks along the prompt lengths.
func decide(m *result.ToggleMetric, batches [][]sample, over [2]int, tolerance, alpha, moves float64) {
	f, ok := bestFit(batches)
	if !ok {
		m.Verdict = "too close to call: the requests do not determine a curve"
		return
	}
	places := along(f, batches, over, alpha, moves)
	step := max(1, (len(places)-1)/(curvePoints-1))
	for i := 0; i < len(places); i += step {
		p := places[i]
		m.Curve = append(m.Curve, result.TogglePoint{Tokens: math.Exp(p.x), Change: math.Expm1(p.y),
			Interval: [2]float64{math.Expm1(p.y - p.down - p.reach), math.Expm1(p.y + p.up + p.reach)}})
	}
	band := math.Log1p(tolerance)
	if !slices.ContainsFunc(places, func(p place) bool { return !(max(p.y+p.up, p.down-p.y)+p.reach < band) }) {
		m.Standing = slo.Same
		m.Verdict = "makes no difference: less than " + text.Percent(tolerance) + " at any length"
		return
	}
	runs := decidedRuns(places)
	for _, r := range runs {
		m.Regions = append(m.Regions, result.ToggleRegion{From: math.Exp(places[r.first].x), To: math.Exp(places[r.last].x), Standing: standingOf[r.sign]})
	}
	m.Thresholds = thresholds(places, runs)
	m.Standing, m.Verdict = stand(m, places, runs)
	if unmoved := text.Each(places, func(p place) place { p.down, p.up = 0, 0; return p }); len(runs) == 0 && len(decidedRuns(unmoved)) > 0 {
		m.Verdict += "; hold-ups of the machine leave it open"
	}
}

// along gives the curve at lengths evenly spaced in proportion. A band for all
// of them together needs a stricter level than each alone: at least as many
// lengths as the curve has coefficients, and those between them, can go wrong on
// their own.
func along(f *fit, batches [][]sample, over [2]int, alpha, moves float64) []place {
	freedom := float64(len(batches) - 1)
	usual := stats.StudentQuantile(1-alpha/2, freedom)
	strict := stats.StudentQuantile(1-alpha/4/float64(len(f.whole)), freedom)
	low := f.refit(batches, func(s sample) float64 { return s.y - s.down })
	high := f.refit(batches, func(s sample) float64 { return s.y + s.up })
	from, to := math.Log(float64(max(1, over[0]))), math.Log(float64(max(1, over[1])))
	places := make([]place, gridPoints)
	if from == to {
		places = places[:1]
	}
	for i := range places {
		x := from + (to-from)*float64(i)/(gridPoints-1)
		y, doubt := f.at(x)
		lowest, _ := low.at(x)
		highest, _ := high.at(x)
		places[i] = place{x, y, math.Hypot(usual*doubt, moves), math.Hypot(strict*doubt, moves), max(y-lowest, 0), max(highest-y, 0)}
	}
	return places
}

// run is a stretch of places with one sign; places in between may be open.
type run struct{ first, last, sign int }

// decidedRuns gives the stretches, of which each is certain somewhere.
func decidedRuns(places []place) []run {
	var runs []run
	begun, sure := run{first: -1}, false
	end := func() {
		if begun.first >= 0 && sure {
			if n := len(runs); n > 0 && runs[n-1].sign == begun.sign {
				runs[n-1].last = begun.last
			} else {
				runs = append(runs, begun)
			}
		}
	}
	for i, p := range places {
		sign := p.sign()
		if sign == 0 {
			continue
		}
		if begun.first < 0 || sign != begun.sign {
			end()
			begun, sure = run{first: i, sign: sign}, false
		}
		begun.last = i
		sure = sure || p.isSure()
	}
	end()
	return runs
}

var standingOf = map[int]slo.Standing{-1: slo.Pays, 1: slo.Hurts}

// thresholds lie between two stretches of opposite sign. Every length in between
// at which no change is as likely as not is part of the interval: so it holds the
// true one as often as the curve's own interval holds the curve.
func thresholds(places []place, runs []run) []result.Threshold {
	var out []result.Threshold
	for i := 1; i < len(runs); i++ {
		before, after := runs[i-1], runs[i]
		low, high := places[before.last].x, places[after.first].x
		crossing := (low + high) / 2
		for k := before.last; k < after.first; k++ {
			a, b := places[k], places[k+1]
			if a.y*b.y <= 0 && a.y != b.y {
				crossing = a.x + (b.x-a.x)*a.y/(a.y-b.y)
				break
			}
		}
		out = append(out, result.Threshold{Tokens: math.Exp(crossing), Interval: [2]float64{math.Exp(low), math.Exp(high)}, Then: standingOf[after.sign]})
	}
	return out
}

// maxShownChange is the largest end of an interval that tells anybody anything.
const maxShownChange = 4

// stand words what the stretches say.
func stand(m *result.ToggleMetric, places []place, runs []run) (standing slo.Standing, words string) {
	span := func(from, to float64) string { return text.Short(from) + "–" + text.Short(to) }
	switch len(runs) {
	case 0:
		if widest := math.Log1p(maxShownChange); math.Log1p(m.Interval[1]) > widest || math.Log1p(m.Interval[0]) < -widest {
			return slo.Undecided, "too close to call: the rounds differ too much to say by how much; more of them may tell (--rounds)"
		}
		return slo.Undecided, fmt.Sprintf("too close to call: on average between %s and %s",
			compare.Words(m.Name, math.Log1p(m.Interval[0])), compare.Words(m.Name, math.Log1p(m.Interval[1])))
	case 1:
		r, word := m.Regions[0], m.Regions[0].Standing
		where := span(r.From, r.To)
		switch {
		case where != span(math.Exp(places[0].x), math.Exp(places[len(places)-1].x)):
			return word, string(word) + " at " + where + ", too close to call elsewhere"
		case word == slo.Hurts:
			return word, "hurts at all lengths (" + where + "): never pays"
		}
		return word, "pays at all lengths (" + where + ")"
	}
	parts := text.Each(m.Thresholds, func(t result.Threshold) string {
		return fmt.Sprintf("%s from %s tokens (%s)", t.Then, text.Short(t.Tokens), span(t.Interval[0], t.Interval[1]))
	})
	return slo.Depends, strings.Join(parts, ", ") + ", " + string(m.Regions[0].Standing) + " below"
}
