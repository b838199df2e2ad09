package compare

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

// qualities are those of every point of some runs.
func qualities(runs []*result.Result) []*result.Quality {
	var list []*result.Quality
	for _, r := range runs {
		for i := range r.Points {
			list = append(list, r.Points[i].Quality)
		}
	}
	return list
}

const qualityMetric = "quality"

// qualityPhases are the phases that are compared, with the names of their
// metrics.
var qualityPhases = []struct{ phase, name string }{{result.Alone, qualityMetric}, {result.UnderLoad, qualityMetric + " under load"}}

// weighQuality pairs the answers to the same questions: McNemar's exact test
// decides, and Tango's interval bounds the difference. Both sides were asked
// one and the same set, so questions that both answered alike say nothing.
func (c *Comparison) weighQuality(a, b []*result.Quality, o Options) {
	a, b = nonNil(a), nonNil(b)
	switch {
	case len(a) == 0 && len(b) == 0:
		return
	case len(a) == 0 || len(b) == 0:
		c.warn(qualityMetric, "golden questions were asked on one side only: quality is not compared")
		return
	case slices.ContainsFunc(slices.Concat(a, b), func(q *result.Quality) bool { return q.Hash != a[0].Hash }):
		c.warn(qualityMetric, "the sides were asked different golden sets: quality is not compared")
		return
	}
	var pairs []pairCounts
	var chances []float64
	for _, p := range qualityPhases {
		if one := pairUp(outcomes(a, p.phase), outcomes(b, p.phase)); one.n > 0 {
			one.name = p.name
			pairs, chances = append(pairs, one), append(chances, one.chance()/o.shareOfAlpha())
		}
	}
	for i, corrected := range stats.Holm(chances) {
		c.Metrics = append(c.Metrics, pairs[i].metric(corrected))
	}
	if len(pairs) > 0 {
		c.conclude()
		c.join()
	}
}

func nonNil(list []*result.Quality) []*result.Quality {
	return slices.DeleteFunc(slices.Clone(list), func(q *result.Quality) bool { return q == nil })
}

// outcomes says of each question whether it was answered rightly in a phase,
// more often than not where it was asked several times.
func outcomes(list []*result.Quality, phase string) map[string]bool {
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, q := range list {
		for i := range q.Outcomes {
			if score := q.Outcomes[i].Of(phase); score != nil {
				sums[q.Outcomes[i].Item] += *score
				counts[q.Outcomes[i].Item]++
			}
		}
	}
	right := map[string]bool{}
	for item, n := range counts {
		right[item] = sums[item]/n >= 0.5
	}
	return right
}

// pairCounts is how two sides answered the same questions.
type pairCounts struct {
	name                  string
	n, both, onlyA, onlyB int
}

func pairUp(a, b map[string]bool) pairCounts {
	var p pairCounts
	for item, inA := range a {
		inB, known := b[item]
		if !known {
			continue
		}
		p.n++
		switch {
		case inA && inB:
			p.both++
		case inA:
			p.onlyA++
		case inB:
			p.onlyB++
		}
	}
	return p
}

// chance is McNemar's, NaN where no question was answered differently: that
// could not have been called and is none of the tests.
func (p pairCounts) chance() float64 {
	if p.onlyA+p.onlyB == 0 {
		return math.NaN()
	}
	return stats.McNemar(p.onlyA, p.onlyB)
}

func (p pairCounts) metric(corrected float64) Metric {
	n := float64(p.n)
	difference := float64(p.onlyB-p.onlyA) / n
	lo, hi := stats.PairedShares(p.n, p.onlyB, p.onlyA, Level)
	m := Metric{Name: p.name, Unit: "fraction", A: new(float64(p.both+p.onlyA) / n), B: new(float64(p.both+p.onlyB) / n),
		Difference: &difference, Interval: interval(lo, hi), P: stats.Finite(p.chance()), PHolm: stats.Finite(corrected)}
	differed := fmt.Sprintf("of %d questions A alone was right in %d and B alone in %d", p.n, p.onlyA, p.onlyB)
	switch {
	case p.onlyA+p.onlyB == 0:
		m.Standing, m.Verdict = slo.Same, fmt.Sprintf("no question of %d was answered differently", p.n)
	case corrected <= alpha && difference < 0:
		m.Standing, m.Verdict = slo.Worse, text.Units(text.Rough(-100*difference), "point")+" worse"
	case corrected <= alpha:
		m.Standing, m.Verdict = slo.Better, text.Units(text.Rough(100*difference), "point")+" better"
	default:
		m.Standing, m.Verdict = slo.Undecided, "too close to call: "+differed+", which may be chance"
	}
	return m
}

// join puts speed and quality into one sentence: what is faster and worse is
// no win.
func (c *Comparison) join() {
	var faster, quality, worse *Metric
	for i := range c.Metrics {
		m := &c.Metrics[i]
		switch {
		case !strings.HasPrefix(m.Name, qualityMetric):
			if m.Standing == slo.Better && faster == nil {
				faster = m
			}
		case m.Standing == slo.Worse:
			worse = m
		case quality == nil || m.Standing == slo.Undecided:
			quality = m
		}
	}
	switch {
	case faster == nil:
	case worse != nil:
		c.Verdict = fmt.Sprintf("%s %s, %s %s: not a win. %s", label(faster), faster.Verdict, worse.Name, worse.Verdict, c.Verdict)
	case quality != nil && quality.Standing == slo.Undecided:
		c.Verdict += "; whether answers are as right is not decided"
	case quality != nil && quality.Standing == slo.Same:
		c.Verdict += "; answers are as right"
	}
}
