package compare

import (
	"fmt"
	"math"
	"slices"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// Decide judges by figures that were named before anything was run, in their
// order: the first that moved by more than its tolerance decides, and one that may
// be chance leaves it open. What was named beforehand needs no correction for the
// other figures.
func Decide(metrics []Metric, named []string, tolerance func(figure string) float64) (standing slo.Standing, why string) {
	for _, name := range named {
		i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name })
		if i < 0 {
			continue
		}
		if standing, why := decideBy(&metrics[i], tolerance(name)); standing != slo.Same {
			return standing, why
		}
	}
	return slo.Same, "nothing that counts moved by more than " + text.Percent(tolerance(""))
}

// decideBy judges one figure by itself.
func decideBy(m *Metric, tolerance float64) (slo.Standing, string) {
	step, words := move(m)
	words = m.Name + " " + words
	switch s, _ := figure.Parse(m.Name, figure.Compare); {
	case math.Abs(step) <= tolerance:
		return slo.Same, ""
	case m.P == nil:
		return slo.Undecided, words + ", but the runs are too short to show how sure that is"
	case *m.P > alpha:
		return slo.Undecided, words + ", which may be chance (" + chance(*m.P) + ")"
	case step > 0 == s.More:
		return slo.Better, words + " (" + chance(*m.P) + ")"
	}
	return slo.Worse, words + " (" + chance(*m.P) + ")"
}

// move is the relative change of a figure, or the difference of a share, also in
// words: "+18%, from 12.1 to 14.3 ms". What was not measured did not move.
func move(m *Metric) (step float64, words string) {
	switch {
	case m.A == nil || m.B == nil || m.Difference == nil && m.Ratio == nil:
		return 0, "not measured"
	case m.Difference != nil:
		return *m.Difference, fmt.Sprintf("%s points, from %s to %s", text.SignedNumber(100**m.Difference), text.Percent(*m.A), text.Percent(*m.B))
	}
	step = *m.Ratio - 1
	if times := max(*m.Ratio, 1 / *m.Ratio); m.Unit == string(figure.Milliseconds) && times >= manyTimes {
		word := "faster"
		if step > 0 {
			word = "slower"
		}
		return step, fmt.Sprintf("from %s to %s, %s times %s", text.Time(*m.A), text.Time(*m.B), text.Rough(times), word)
	}
	return step, fmt.Sprintf("%s%%, from %s to %s %s", text.SignedNumber(100*step), text.Number(*m.A), text.Number(*m.B), m.Unit)
}

func chance(p float64) string {
	if p < 0.001 {
		return "p<0.001"
	}
	return "p=" + text.Digits(p, 2)
}

// Apart is how far runs of one plan lie apart, by figure: the largest relative
// difference, or difference of shares, between any two of them.
func Apart(runs []*result.Result, also []string) map[string]float64 {
	var points []*result.Point
	for _, r := range runs {
		if len(r.Points) > 0 {
			points = append(points, &r.Points[0])
		}
	}
	apart := map[string]float64{}
	for _, f := range judgedCriteria(also) {
		if s, ok := f.spreadOf(points); ok {
			apart[f.name] = f.relative(f.toScale(s.Max) - f.toScale(s.Min))
		}
	}
	return apart
}
