package compare

import (
	"fmt"
	"math"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/stats"
	"redline/internal/text"
)

// evidence is what one metric's test found, on the figure's scale.
type evidence struct {
	criterion
	load string
	// a and b are the centres, on the scale.
	a, b float64
	// test is about b − a.
	test stats.TTest
	// se is the standard error behind the test, NaN where no repetition shows
	// it.
	se         float64
	bootstrap  [2]float64
	wilcoxon   float64
	detectable float64
	// bar must be exceeded beside the test, where one run alone would be too
	// sure of itself.
	bar float64
	// down and up are by how much the difference may be smaller and larger for
	// what the machines did that measured it.
	down, up float64
	// why words what keeps it undecided.
	why string
	// equal says that the two never differed at all.
	equal bool
	// seconds is the length of two single runs that their parts alone judge, of the
	// shorter one, else 0.
	seconds float64
	// family is how many figures the chance of this one is corrected for.
	family int
}

// emptyEvidence is evidence of a figure before any test.
func emptyEvidence(f criterion) evidence {
	unknown := math.NaN()
	return evidence{criterion: f, a: unknown, b: unknown, se: unknown, wilcoxon: unknown, detectable: unknown,
		bootstrap: [2]float64{unknown, unknown},
		test:      stats.TTest{Mean: unknown, P: unknown, Dz: unknown, Lo: math.Inf(-1), Hi: math.Inf(1)}}
}

// judge corrects the tests for their number and gives each its verdict.
func (c *Comparison) judge(found []evidence, o Options) {
	chances := make([]float64, len(found))
	tested := 0
	for i, e := range found {
		chances[i] = e.test.P
		if e.equal {
			// What never differed could not have been called: it is none of
			// the tests.
			chances[i] = math.NaN()
		}
		if !math.IsNaN(chances[i]) {
			tested++
		}
	}
	units := effectSizer{alpha * o.shareOfAlpha() / float64(max(tested, 1)), power, map[int]float64{}}
	for i, corrected := range stats.Holm(chances) {
		e := found[i]
		e.detectable, e.family = units.detectable(e), tested
		m := e.toMetric()
		m.P, m.PHolm = stats.Finite(chances[i]), stats.Finite(corrected)
		m.Standing, m.Verdict = e.verdict(corrected, o)
		m.Tail = e.isTail()
		if m.Standing == slo.Undecided && chances[i] <= alpha && corrected > alpha {
			m.Suspicion = e.suspicion()
		}
		if (m.Standing == slo.Better || m.Standing == slo.Worse) && e.wilcoxon > alpha {
			c.warn(e.Place(), "%s: the test on ranks does not confirm the difference (p %s): it may rest on a few values", label(&m), text.Digits(e.wilcoxon, 2))
		}
		c.Metrics = append(c.Metrics, m)
	}
	c.conclude()
}

// effectSizer finds what tests could have seen at the level that the first of
// them must reach. In units of the standard error that depends on the degrees
// of freedom alone, which the metrics of a comparison mostly share.
type effectSizer struct {
	alpha, power float64
	byRuns       map[int]float64
}

func (s effectSizer) detectable(e evidence) float64 {
	if !(e.se > 0) || !(e.test.Freedom >= 1) {
		return math.NaN()
	}
	n := int(e.test.Freedom) + 1
	if _, known := s.byRuns[n]; !known {
		s.byRuns[n] = stats.MinEffect(n, math.Sqrt(float64(n)), s.alpha, s.power)
	}
	return s.byRuns[n] * e.se
}

func (e evidence) toMetric() Metric {
	if e.equal {
		e.test.Lo, e.test.Hi = 0, 0
	}
	m := Metric{Name: e.name, Load: e.load, Unit: string(e.Unit), A: stats.Finite(e.fromScale(e.a)), B: stats.Finite(e.fromScale(e.b)),
		Interval:  interval(e.fromScale(e.test.Lo), e.fromScale(e.test.Hi)),
		Bootstrap: interval(e.fromScale(e.bootstrap[0]), e.fromScale(e.bootstrap[1])),
		WilcoxonP: stats.Finite(e.wilcoxon), Effect: stats.Finite(e.test.Dz), Detectable: stats.Finite(e.relative(e.detectable))}
	step := stats.Finite(e.fromScale(e.test.Mean))
	if e.Share() {
		m.Difference = step
	} else {
		m.Ratio = step
	}
	return m
}

// verdict weighs the corrected chance, the bar, and how far the interval
// reaches.
func (e evidence) verdict(p float64, o Options) (slo.Standing, string) {
	step := e.test.Mean
	switch {
	case e.equal:
		return slo.Same, sameRecords
	case math.IsNaN(p):
		return slo.Undecided, "no difference shown: " + e.why
	case p <= alpha && math.Abs(step) > e.bar && e.beyondMachine():
		standing := slo.Worse
		if step > 0 == e.More {
			standing = slo.Better
		}
		return standing, e.direction(step)
	}
	low, high := e.test.Lo-e.down, e.test.Hi+e.up
	if max(math.Abs(low), math.Abs(high)) <= e.scaledTolerance(o.tolerance()) {
		return slo.Same, "no difference larger than " + e.show(max(math.Abs(e.relative(low)), math.Abs(e.relative(high))))
	}
	return slo.Undecided, tooClose + e.doubt(p)
}

// beyondMachine reports whether the difference, as far as its interval reaches
// towards none, is more than what the machines that measured it may have made.
func (e evidence) beyondMachine() bool {
	if e.test.Mean > 0 {
		return e.down == 0 || e.test.Lo-e.down > 0
	}
	return e.up == 0 || e.test.Hi+e.up < 0
}

// addSlack takes in what the machines of one pair of figures may have done, of n
// pairs.
func (e *evidence) addSlack(a, b float64, endsA, endsB [2]float64, knownA, knownB bool, n int) {
	downA, upA := e.slack(a, endsA, knownA)
	downB, upB := e.slack(b, endsB, knownB)
	e.down += (downB + upA) / float64(n)
	e.up += (upB + downA) / float64(n)
}

// maxDetectable is a relative difference that nobody hopes to detect: a test that
// could see no less has too few rounds to say what it could.
const maxDetectable = 1

// doubt words what keeps the difference seen from being called.
func (e evidence) doubt(p float64) string {
	if e.test.Mean == 0 {
		return "no difference seen, but one may be hidden"
	}
	seen, length := e.wordChange(), e.decidingLength()
	if length != "" {
		length = "; " + length
	}
	switch {
	case p <= alpha && !e.beyondMachine():
		return seen + ", which the machine that measured it may have made"
	case p <= alpha:
		return seen + ", within the tolerance of " + e.show(e.relative(e.bar))
	case e.why != "":
		return seen + ", " + e.why + length
	case e.test.P <= alpha:
		return fmt.Sprintf("%s: by itself it would count (%s), but of %d figures compared one may differ so by chance%s", seen, chance(e.test.P), e.family, length)
	case stats.Finite(e.detectable) != nil && e.relative(e.detectable) <= maxDetectable:
		return fmt.Sprintf("%s may be chance; from about %s on it would have shown", seen, e.show(e.relative(e.detectable)))
	}
	return seen + " may be chance"
}

func (e evidence) wordChange() string {
	return e.word(e.test.Mean) + " by " + e.show(e.relative(e.test.Mean))
}

// suspicion is what was seen of a figure that would count by itself, and what would decide
// it.
func (e evidence) suspicion() string {
	if length := e.decidingLength(); length != "" {
		return e.wordChange() + " (" + length + ")"
	}
	return e.wordChange()
}

// maxDecidingSeconds is the longest run that is worth naming.
const maxDecidingSeconds = 3600

// decidingLength says how long two single runs must be for a difference as large as
// theirs to count among all figures compared: errors fall with the root of the length.
func (e evidence) decidingLength() string {
	short := stats.StudentQuantile(1-alpha/float64(2*e.family), e.test.Freedom) * e.se / math.Abs(e.test.Mean)
	if needed := short * short * e.seconds; needed > e.seconds && needed <= maxDecidingSeconds {
		return fmt.Sprintf("runs of about %s would decide it", text.About(time.Duration(needed*float64(time.Second))))
	}
	return ""
}
