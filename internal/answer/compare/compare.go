// Package compare says whether B differs from A: of two stored runs, of two
// sets of runs, or of rounds in which both answered the same requests in turn.
// It takes results, or the figures of rounds, and gives a verdict per metric
// and over all, each with the test behind it; and of repeated runs, how far
// they lie apart. It runs nothing, reads no file and no clock.
package compare

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/stats"
	"redline/internal/text"
)

// What Options leave open.
const (
	DefaultRounds    = 10
	DefaultTolerance = 0.05
	// defaultChangeThreshold is the least difference that is worth a verdict, where
	// several runs show how far runs lie apart.
	defaultChangeThreshold = 0.01
)

const (
	// alpha is the chance that A against A calls any metric different, and Level
	// that of the intervals.
	alpha, Level = 0.05, 1 - alpha
	// power is the chance with which the smallest detectable effect would have
	// been called.
	power = 0.8
)

// Options says how to judge. The zero value works.
type Options struct {
	// Figures are judged beside those that every comparison judges.
	Figures []string
	// Tolerance is the relative difference that does not matter, whatever its
	// chance; 0 means 0.05, and 0.01 to call a difference that rounds or sets
	// of runs show.
	// Shares of errors, which start near nothing, are held to a tenth of it as
	// an absolute difference.
	Tolerance float64
	// History holds earlier runs of the same kind: what two single runs may
	// differ by anyway.
	History []*result.Result
	// Anyway judges what is invalid or not comparable; the comparison says so.
	Anyway bool
	// Seed makes the resampling of intervals repeatable.
	Seed uint64
	// A and B name the sides of a live comparison.
	A, B Side
	// JobsA and JobsB are those of two single runs, nil where they have none.
	JobsA, JobsB Jobs
	// share is how much of alpha one of several looks at the same rounds may spend;
	// 0 means all of it.
	share float64
}

func (o Options) shareOfAlpha() float64 { return cmp.Or(o.share, 1) }

// testMean tests values against none. Its chance and its interval are corrected for the
// looks at them, so that they hold for all looks together.
func (o Options) testMean(values []float64) stats.TTest {
	t := stats.OneSampleT(values, 1-alpha*o.shareOfAlpha())
	t.P = min(t.P/o.shareOfAlpha(), 1)
	return t
}

func (o Options) tolerance() float64       { return cmp.Or(o.Tolerance, DefaultTolerance) }
func (o Options) changeThreshold() float64 { return cmp.Or(o.Tolerance, defaultChangeThreshold) }

// The plain data is that of the document; here it is made.
type (
	// Side is one of the two.
	Side = result.Side
	// Metric is one figure of both sides.
	Metric = result.Change
)

// The ways to compare.
const (
	wayStored = "stored"
	wayLive   = "live"
)

// Comparison is B against A as the document has it, on its way.
type Comparison struct{ result.Comparison }

// conclude words the answer over all metrics.
func (c *Comparison) conclude() {
	by := map[slo.Standing][]string{}
	var tails, same, suspects, others []string
	largest := 0.0 // of figures that are the same
	for _, m := range c.Metrics {
		said := label(&m)
		if m.Standing == slo.Better || m.Standing == slo.Worse {
			said += " " + m.Verdict
		}
		openTail, bound := m.Tail && m.Standing == slo.Undecided, ""
		if within := farthest(&m); within > 0 && within <= maxDetectable {
			bound = " (within " + text.RoughPercent(within) + ")"
		}
		switch {
		case m.Suspicion != "":
			suspects = append(suspects, said+" "+m.Suspicion)
		case openTail:
			tails = append(tails, said+bound)
		case m.Standing == slo.Undecided:
			others = append(others, said+bound)
		}
		if openTail {
			continue
		}
		by[m.Standing] = append(by[m.Standing], said)
		if m.Standing != slo.Same || m.Ratio == nil {
			continue
		}
		same = append(same, said)
		if m.Verdict != sameRecords {
			largest = max(largest, farthest(&m))
		}
	}
	worse, better := strings.Join(by[slo.Worse], ", "), strings.Join(by[slo.Better], ", ")
	// Shares of errors alone do not make two servers the same.
	open := len(by[slo.Undecided]) > 0 || len(same) == 0 && len(tails)+len(suspects) > 0
	others = append(others, tails...)
	switch {
	case worse != "" && better != "":
		c.Standing, c.Verdict = slo.Mixed, "B is worse in "+worse+"; better in "+better
	case worse != "":
		c.Standing, c.Verdict = slo.Worse, "B is worse: "+worse
	case better != "":
		c.Standing, c.Verdict = slo.Better, "B is better: "+better
	case open || len(c.Metrics) == 0:
		c.Standing, c.Verdict = slo.Undecided, "no difference shown"
		if len(suspects) > 0 {
			c.Verdict, suspects = notProven+strings.Join(suspects, "; "), nil
		}
		if largest > 0 {
			c.Verdict += "; the same within " + text.RoughPercent(largest) + ": " + strings.Join(same, ", ")
		}
	case largest == 0:
		c.Standing, c.Verdict = slo.Same, sameRecords
	default:
		c.Standing, c.Verdict = slo.Same, "no difference larger than "+text.RoughPercent(largest)
		if len(suspects)+len(others) > 0 {
			c.Verdict += " in " + strings.Join(same, ", ")
		}
	}
	if len(suspects) > 0 {
		c.Verdict += "; " + notProven + strings.Join(suspects, "; ")
	}
	if len(others) > 0 {
		c.Verdict += "; " + tooClose + strings.Join(others, ", ")
	}
}

// farthest is how far a ratio may lie from one by its interval, 0 where that is not known.
func farthest(m *Metric) float64 {
	if m.Ratio == nil || m.Interval == nil {
		return 0
	}
	return max(math.Abs(m.Interval[0]-1), math.Abs(m.Interval[1]-1))
}

// notProven begins the verdict of a comparison in which nothing is shown, but some
// figure would count by itself.
const notProven = "not proven: "

// tooClose begins the verdict of a figure that is tested and undecided.
const tooClose = "too close to call: "

// sameRecords is the verdict on what never differed.
const sameRecords = "no difference at all"

// unjudge leaves the figures and takes every verdict back.
func (c *Comparison) unjudge(why string) {
	for i := range c.Metrics {
		m := &c.Metrics[i]
		m.Standing, m.Verdict, m.P, m.PHolm, m.Suspicion = slo.Undecided, "not judged", nil, nil, ""
	}
	c.Standing, c.Verdict = slo.Undecided, "not judged: "+why
}

func label(m *Metric) string {
	if m.Load == "" {
		return m.Name
	}
	return m.Name + " at " + m.Load
}

func (c *Comparison) warn(figure, format string, args ...any) {
	c.Warnings = append(c.Warnings, result.Warning{Figure: figure, Text: fmt.Sprintf(format, args...)})
}

func interval(lo, hi float64) *[2]float64 {
	if stats.Finite(lo) == nil || stats.Finite(hi) == nil {
		return nil
	}
	return &[2]float64{lo, hi}
}
