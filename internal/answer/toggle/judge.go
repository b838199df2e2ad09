package toggle

import (
	"fmt"
	"math"
	"slices"
	"strings"

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

// place is the curve at one prompt length, in logarithms.
type place struct{ x, y, low, high, strictLow, strictHigh float64 }

// sign is −1 where the optimization pays, 1 where it hurts, 0 where that is
// open.
func (p place) sign() int {
	switch {
	case p.high < 0:
		return -1
	case p.low > 0:
		return 1
	}
	return 0
}

// certain reports whether the sign stands even if so many lengths are looked at.
func (p place) certain() bool { return p.strictHigh < 0 || p.strictLow > 0 }

// judge says what the toggle does to one metric; it is false where no request
// has it.
func judge(name string, batches [][]Request, over [2]int, tolerance float64) (result.ToggleMetric, bool) {
	var sampled [][]sample
	var all []Request
	for _, batch := range batches {
		var list []sample
		for _, r := range batch {
			if a, b := r.With[name], r.Without[name]; a > 0 && b > 0 {
				list = append(list, sample{math.Log(float64(max(1, r.Context))), math.Log(a / b)})
			}
		}
		if len(list) > 0 {
			sampled = append(sampled, list)
		}
		all = append(all, batch...)
	}
	pair, n := pairOf(all, name)
	m := result.ToggleMetric{Name: name, TogglePair: pair, Standing: slo.Undecided}
	if n == 0 {
		return m, false
	}
	overall(&m, sampled)
	if len(sampled) < minBatches {
		m.Verdict = tooFew
		return m, true
	}
	decide(&m, sampled, over, tolerance)
	return m, true
}

// overall is the mean change of a request, whatever its length.
func overall(m *result.ToggleMetric, batches [][]sample) {
	sum, n := 0.0, 0
	for _, batch := range batches {
		for _, s := range batch {
			sum, n = sum+s.y, n+1
		}
	}
	m.Change = math.Expm1(sum / float64(n))
	f, ok := fitTo(batches, nil, true)
	if !ok {
		return
	}
	y, doubt := f.at(0)
	reach := doubt * stats.StudentQuantile((1+level)/2, float64(len(batches)-1))
	m.Interval = &[2]float64{math.Expm1(y - reach), math.Expm1(y + reach)}
}

// decide looks along the prompt lengths.
func decide(m *result.ToggleMetric, batches [][]sample, over [2]int, tolerance float64) {
	f, ok := bestFit(batches)
	if !ok {
		m.Verdict = "too close to call: the requests do not determine a curve"
		return
	}
	places := along(f, over, len(batches))
	step := max(1, (len(places)-1)/(curvePoints-1))
	for i := 0; i < len(places); i += step {
		p := places[i]
		m.Curve = append(m.Curve, result.TogglePoint{Tokens: math.Exp(p.x), Change: math.Expm1(p.y),
			Interval: [2]float64{math.Expm1(p.low), math.Expm1(p.high)}})
	}
	if within(places, math.Log1p(tolerance)) {
		m.Standing = slo.Same
		m.Verdict = "makes no difference: less than " + text.Percent(tolerance) + " at any length"
		return
	}
	runs := decidedRuns(places)
	var out []result.ToggleRegion
	for _, r := range runs {
		out = append(out, result.ToggleRegion{From: math.Exp(places[r.first].x), To: math.Exp(places[r.last].x), Standing: standingOf[r.sign]})
	}
	m.Regions = out
	m.Thresholds = thresholds(places, runs)
	m.Standing, m.Verdict = stand(m, places, runs)
}

// along gives the curve at lengths evenly spaced in proportion. A band for all
// of them together needs a stricter level than each alone: at least as many
// lengths as the curve has coefficients, and those between them, can go wrong on
// their own.
func along(f *fit, over [2]int, batches int) []place {
	freedom := float64(batches - 1)
	usual := stats.StudentQuantile((1+level)/2, freedom)
	strict := stats.StudentQuantile(1-(1-level)/4/float64(len(f.whole)), freedom)
	from, to := math.Log(float64(max(1, over[0]))), math.Log(float64(max(1, over[1])))
	n := gridPoints
	if from == to {
		n = 1
	}
	places := make([]place, n)
	for i := range places {
		x := from
		if n > 1 {
			x += (to - from) * float64(i) / float64(n-1)
		}
		y, doubt := f.at(x)
		places[i] = place{x, y, y - usual*doubt, y + usual*doubt, y - strict*doubt, y + strict*doubt}
	}
	return places
}

// within reports whether the whole curve lies inside a band around no change.
func within(places []place, tolerance float64) bool {
	return !slices.ContainsFunc(places, func(p place) bool { return !(p.low > -tolerance && p.high < tolerance) })
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
		sure = sure || p.certain()
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

func stand(m *result.ToggleMetric, places []place, runs []run) (standing slo.Standing, words string) {
	all := span(math.Exp(places[0].x), math.Exp(places[len(places)-1].x))
	switch len(runs) {
	case 0:
		if m.Interval == nil {
			return slo.Undecided, "undecided"
		}
		return slo.Undecided, fmt.Sprintf("too close to call: on average between %s and %s", change(m.Interval[0]), change(m.Interval[1]))
	case 1:
		r, word := runs[0], standingOf[runs[0].sign]
		if r.first == 0 && r.last == len(places)-1 {
			if r.sign > 0 {
				return word, "hurts at all lengths (" + all + "): never pays"
			}
			return word, "pays at all lengths (" + all + ")"
		}
		where := span(math.Exp(places[r.first].x), math.Exp(places[r.last].x))
		return word, string(word) + " at " + where + ", too close to call elsewhere"
	}
	parts := text.Each(m.Thresholds, func(t result.Threshold) string {
		return fmt.Sprintf("%s from %s tokens (%s)", t.Then, text.Short(t.Tokens), span(t.Interval[0], t.Interval[1]))
	})
	return slo.Depends, strings.Join(parts, ", ") + ", " + string(standingOf[runs[0].sign]) + " below"
}

func change(share float64) string {
	if share < 0 {
		return text.RoughPercent(-share) + " faster"
	}
	return text.RoughPercent(share) + " slower"
}

func span(from, to float64) string { return text.Short(from) + "–" + text.Short(to) }
