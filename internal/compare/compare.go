// Package compare says whether B differs from A: of two stored runs, of two
// sets of runs, or of rounds in which both answered the same requests in turn.
// It takes results, or the figures of rounds, and gives a verdict per metric
// and over all, each with the test behind it; and of repeated runs, how far
// they lie apart. It runs nothing, reads no file and no clock.
package compare

import (
	"fmt"
	"math"
	"strings"

	"redline/internal/result"
)

// What Options leave open.
const (
	DefaultRounds    = 10
	defaultAlpha     = 0.05
	defaultPower     = 0.8
	defaultTolerance = 0.05
)

// Options says how to judge. The zero value works.
type Options struct {
	// Alpha is the chance that A against A calls any metric different; 0 means
	// 0.05.
	Alpha float64
	// Power is the chance with which the smallest detectable effect would have
	// been called; 0 means 0.8.
	Power float64
	// Tolerance is the relative difference that does not matter; 0 means 0.05.
	// Shares of errors, which start near nothing, are held to a tenth of it as
	// an absolute difference.
	Tolerance float64
	// History holds earlier runs of the same kind: what two single runs may
	// differ by anyway.
	History []*result.Result
	// Anyway compares what is not comparable, with a warning.
	Anyway bool
	// Seed makes the resampling of intervals repeatable.
	Seed uint64
	// A and B name the sides of a live comparison.
	A, B Side
}

func (o Options) alpha() float64     { return orDefault(o.Alpha, defaultAlpha) }
func (o Options) power() float64     { return orDefault(o.Power, defaultPower) }
func (o Options) tolerance() float64 { return orDefault(o.Tolerance, defaultTolerance) }
func (o Options) level() float64     { return 1 - o.alpha() }

func orDefault(value, fallback float64) float64 {
	if value > 0 {
		return value
	}
	return fallback
}

// Standing is where B stands against A.
type Standing string

// The standings. Mixed is only that of a whole comparison.
const (
	Better    Standing = "better"
	Worse     Standing = "worse"
	Same      Standing = "same"
	Mixed     Standing = "mixed"
	Undecided Standing = "undecided"
)

// The ways to compare.
const (
	WayStored = "stored"
	WayLive   = "live"
)

// Comparison is B against A.
type Comparison struct {
	Way string `json:"way"` // "stored" or "live"
	A   Side   `json:"a"`
	B   Side   `json:"b"`
	// Rounds counts those of a live comparison that were judged.
	Rounds int `json:"rounds,omitempty"`
	// Test names what decided.
	Test     string   `json:"test"`
	Alpha    float64  `json:"alpha"`
	Metrics  []Metric `json:"metrics"`
	Standing Standing `json:"standing"`
	// Verdict is the answer in words.
	Verdict  string           `json:"verdict"`
	Warnings []result.Warning `json:"warnings,omitempty"`
}

// Side is one of the two.
type Side struct {
	Name   string   `json:"name"`
	Runs   []string `json:"runs,omitempty"` // ids
	Model  string   `json:"model,omitempty"`
	Engine string   `json:"engine,omitempty"`
	URL    string   `json:"url,omitempty"`
}

// Metric is one figure of both sides. What could not be computed is absent.
type Metric struct {
	// Name is that of an objective: "ttft:p99" is in its due form.
	Name string `json:"name"`
	// Load is the point's, where the runs have several.
	Load string `json:"load,omitempty"`
	Unit string `json:"unit"`
	// A and B are the means of the runs or rounds: geometric where the two are
	// compared by their ratio, so that B/A is the ratio.
	A *float64 `json:"a,omitempty"`
	B *float64 `json:"b,omitempty"`
	// Ratio is B/A. Shares are compared by their Difference B − A instead.
	Ratio      *float64 `json:"ratio,omitempty"`
	Difference *float64 `json:"difference,omitempty"`
	// Interval bounds the ratio, or the difference of shares, by the test;
	// Bootstrap does by drawing rounds again.
	Interval  *[2]float64 `json:"interval,omitempty"`
	Bootstrap *[2]float64 `json:"bootstrap,omitempty"`
	// P is that of the test, PHolm corrected for all metrics; WilcoxonP is the
	// signed-rank test's over rounds, the rank-sum test's over sets of runs.
	P         *float64 `json:"p,omitempty"`
	PHolm     *float64 `json:"p_holm,omitempty"`
	WilcoxonP *float64 `json:"wilcoxon_p,omitempty"`
	// Effect is Cohen's: the mean difference in standard deviations.
	Effect *float64 `json:"effect,omitempty"`
	// Detectable is the smallest relative difference, or difference of shares,
	// that so many runs or rounds would probably have shown.
	Detectable *float64 `json:"detectable,omitempty"`
	Standing   Standing `json:"standing"`
	// Verdict is the answer in words: "slower by 5.1 %".
	Verdict string `json:"verdict"`
}

// Worse reports whether B is worse in any metric: a regression.
func (c *Comparison) Worse() bool { return c.Standing == Worse || c.Standing == Mixed }

// conclude words the answer over all metrics.
func (c *Comparison) conclude() {
	by := map[Standing][]string{}
	largest := 0.0
	for _, m := range c.Metrics {
		said := m.label()
		if m.Standing == Better || m.Standing == Worse {
			said += " " + m.Verdict
		}
		by[m.Standing] = append(by[m.Standing], said)
		if m.Ratio != nil && m.Interval != nil {
			largest = max(largest, farthest(*m.Interval, 1))
		}
	}
	worse, better := strings.Join(by[Worse], ", "), strings.Join(by[Better], ", ")
	open := strings.Join(by[Undecided], ", ")
	switch {
	case worse != "" && better != "":
		c.Standing, c.Verdict = Mixed, "B is worse in "+worse+"; better in "+better
	case worse != "":
		c.Standing, c.Verdict = Worse, "B is worse: "+worse
	case better != "":
		c.Standing, c.Verdict = Better, "B is better: "+better
	case open != "" || len(c.Metrics) == 0:
		c.Standing, c.Verdict = Undecided, "no difference shown"
	default:
		c.Standing, c.Verdict = Same, "no difference larger than "+percent(largest)
	}
	if open != "" {
		c.Verdict += "; undecided: " + open
	}
}

func (m *Metric) label() string {
	if m.Load == "" {
		return m.Name
	}
	return m.Name + " at " + m.Load
}

func (c *Comparison) warn(figure, format string, args ...any) {
	c.Warnings = append(c.Warnings, result.Warning{Figure: figure, Text: fmt.Sprintf(format, args...)})
}

// farthest is how far an interval reaches from where nothing differs.
func farthest(interval [2]float64, from float64) float64 {
	return max(math.Abs(interval[0]-from), math.Abs(interval[1]-from))
}

// finite is a number that a document can carry; no other is.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func interval(lo, hi float64) *[2]float64 {
	if finite(lo) == nil || finite(hi) == nil {
		return nil
	}
	return &[2]float64{lo, hi}
}
