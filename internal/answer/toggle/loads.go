package toggle

import (
	"fmt"
	"math"
	"slices"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// OverLoads says of each optimization that was measured at several loads from which
// of them on it no longer pays.
func OverLoads(list []result.Toggle) []result.ToggleLoads {
	var out []result.ToggleLoads
	for _, t := range list {
		if t.Load == nil {
			continue
		}
		if n := len(out); n == 0 || out[n-1].Name != t.Name {
			out = append(out, result.ToggleLoads{Name: t.Name, By: t.Load.Axis()})
		}
		one := &out[len(out)-1]
		for _, m := range t.Metrics {
			i := slices.IndexFunc(one.Metrics, func(l result.ToggleLoadMetric) bool { return l.Name == m.Name })
			if i < 0 {
				i, one.Metrics = len(one.Metrics), append(one.Metrics, result.ToggleLoadMetric{Name: m.Name})
			}
			if m.Interval != nil {
				one.Metrics[i].Points = append(one.Metrics[i].Points, result.ToggleLoadPoint{Load: t.Load.Amount(), Change: m.Change, Interval: *m.Interval, Standing: meanStanding(*m.Interval)})
			}
		}
	}
	for i := range out {
		for k := range out[i].Metrics {
			m := &out[i].Metrics[k]
			standOverLoads(m, loadUnit(out[i].By))
			out[i].Verdict = m.Name + " " + m.Verdict // the last is the whole answer's time
		}
	}
	return out
}

func loadUnit(by string) string {
	if by == "rate" {
		return "requests/s"
	}
	return "in flight"
}

// meanStanding is what an interval of the mean change says.
func meanStanding(interval [2]float64) slo.Standing {
	switch {
	case interval[1] < 0:
		return slo.Pays
	case interval[0] > 0:
		return slo.Hurts
	}
	return slo.Undecided
}

// standOverLoads looks for the load at which what pays begins to hurt, or the other
// way round: between the last level that says the one and the first that says the
// other. Where the levels go back and forth there is no such load.
func standOverLoads(m *result.ToggleLoadMetric, unit string) {
	var decided []result.ToggleLoadPoint
	turns := 0
	for _, p := range m.Points {
		if p.Standing == slo.Undecided {
			continue
		}
		if n := len(decided); n > 0 && decided[n-1].Standing != p.Standing {
			turns++
			before := decided[n-1]
			m.Threshold = &result.LoadThreshold{Load: crossing(before, p), Interval: [2]float64{before.Load, p.Load}, Then: p.Standing}
		}
		decided = append(decided, p)
	}
	at := func(load float64) string { return text.Number(load) + " " + unit }
	switch {
	case len(decided) == 0:
		m.Standing, m.Verdict = slo.Undecided, "too close to call at every load"
	case turns > 1:
		m.Standing, m.Threshold, m.Verdict = slo.Depends, nil, "pays at some loads and hurts at others, with no load that divides them"
	case turns == 1:
		words := map[slo.Standing]string{slo.Hurts: "stops paying", slo.Pays: "begins to pay"}
		m.Standing = slo.Depends
		m.Verdict = fmt.Sprintf("%s at %s (between %s and %s)", words[m.Threshold.Then], at(m.Threshold.Load), text.Number(m.Threshold.Interval[0]), text.Number(m.Threshold.Interval[1]))
	default:
		first, last := decided[0], decided[len(decided)-1]
		m.Standing = first.Standing
		m.Verdict = fmt.Sprintf("%s at %s", first.Standing, at(last.Load))
		if len(decided) > 1 {
			m.Verdict = fmt.Sprintf("%s from %s to %s", first.Standing, text.Number(first.Load), at(last.Load))
		}
		if len(decided) < len(m.Points) {
			m.Verdict += ", too close to call at other loads"
		}
	}
}

// crossing is the load at which the straight line between two changes has none, in
// the logarithm of the load.
func crossing(a, b result.ToggleLoadPoint) float64 {
	x, y := math.Log(a.Load), math.Log(b.Load)
	return math.Exp(x + (y-x)*a.Change/(a.Change-b.Change))
}
