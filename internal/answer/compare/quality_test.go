package compare

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// withAnswers gives a run the answers to a set of n questions: right is who of
// them was answered rightly.
func withAnswers(n int, right func(i int) bool) func(*result.Result) {
	return func(r *result.Result) {
		q := &result.Quality{Hash: "h", Items: n}
		for i := range n {
			score := 0.0
			if right(i) {
				score = 1
			}
			q.Outcomes = append(q.Outcomes, result.QualityOutcome{Item: fmt.Sprint(i), Alone: &score})
		}
		r.Points[0].Quality = q
	}
}

func below(limit int) func(int) bool { return func(i int) bool { return i < limit } }

func qualityOf(t *testing.T, c *Comparison) Metric {
	t.Helper()
	for _, m := range c.Metrics {
		if m.Name == "quality" {
			return m
		}
	}
	t.Fatalf("quality was not compared: %+v", c.Warnings)
	return Metric{}
}

func TestQualityIsPairedQuestionByQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		a, b     func(int) bool
		standing slo.Standing
		p        float64 // of McNemar's exact test, NaN for none
		verdict  string
	}{
		// 10 only in A: 2/2^10.
		{"ten lost", below(95), below(85), slo.Worse, 2.0 / 1024, "10 points worse"},
		{"ten won", below(85), below(95), slo.Better, 2.0 / 1024, "10 points better"},
		{"none", below(90), below(90), slo.Same, math.NaN(), "no question of 100 was answered differently"},
		// 3 only in A: 2/2^3.
		{"three lost", below(93), below(90), slo.Undecided, 0.25, "too close to call: of 100 questions A alone was right in 3 and B alone in 0, which may be chance"},
		{"as many each way", below(50), func(i int) bool { return i >= 10 && i < 60 }, slo.Undecided, 1,
			"too close to call: of 100 questions A alone was right in 10 and B alone in 10, which may be chance"},
	} {
		got := must.Get(Runs(one(run("a", 100, withAnswers(100, c.a))), one(run("b", 100, withAnswers(100, c.b))), Options{}))(t)
		m := qualityOf(t, got)
		p := math.NaN()
		if m.P != nil {
			p = *m.P
		}
		if m.Standing != c.standing || m.Verdict != c.verdict || math.Abs(p-c.p) > 1e-12 || math.IsNaN(p) != math.IsNaN(c.p) {
			t.Errorf("%s: %s, %q, p %v", c.name, m.Standing, m.Verdict, p)
		}
		if m.Interval[0] > *m.Difference || m.Interval[1] < *m.Difference {
			t.Errorf("%s: %v is not within %v", c.name, *m.Difference, *m.Interval)
		}
	}
}

// Faster and worse is no win, and faster with as right answers says so.
func TestSpeedAndQualityMakeOneVerdict(t *testing.T) {
	t.Parallel()
	slow := runsOf("a", 100, 104, 98, 101, 103)
	fast := func(right func(int) bool) []*result.Result {
		runs := runsOf("b", 88, 90, 87, 89)
		for _, r := range runs {
			withAnswers(100, right)(r)
		}
		return runs
	}
	for _, r := range slow {
		withAnswers(100, below(95))(r)
	}
	for _, c := range []struct {
		right    func(int) bool
		standing slo.Standing
		want     string
	}{
		{below(85), slo.Mixed, "faster by 13%, quality 10 points worse: not a win."},
		{below(95), slo.Better, "; answers are as right"},
		{below(92), slo.Better, "; whether answers are as right is not decided"},
	} {
		got := must.Get(Runs(slow, fast(c.right), Options{}))(t)
		if got.Standing != c.standing || !strings.Contains(got.Verdict, c.want) {
			t.Errorf("got %s: %s\nwant %s: %s", got.Standing, got.Verdict, c.standing, c.want)
		}
	}
}

func TestUnlikeSetsAreNotPaired(t *testing.T) {
	t.Parallel()
	other := func(r *result.Result) { r.Points[0].Quality.Hash = "other" }
	for _, c := range []struct {
		b    *result.Result
		want string
	}{
		{run("b", 100, withAnswers(10, below(5)), other), "different golden sets"},
		{run("b", 100), "on one side only"},
	} {
		got, err := Runs(one(run("a", 100, withAnswers(10, below(5)))), one(c.b), Options{})
		if err != nil || !strings.Contains(fmt.Sprint(got.Warnings), c.want) {
			t.Errorf("%v, %v; want %s", got.Warnings, err, c.want)
		}
	}
	alone, err := Runs(one(run("a", 100)), one(run("b", 100)), Options{})
	if err != nil || strings.Contains(fmt.Sprint(alone.Metrics, alone.Warnings), "quality") {
		t.Errorf("runs without questions: %+v, %v", alone, err)
	}
}

// Rounds of a live comparison are pooled: a question counts as it was answered
// most of the time.
func TestRoundsArePairedToo(t *testing.T) {
	t.Parallel()
	round := func(right func(int) bool) *result.Quality {
		r := run("x", 1)
		withAnswers(50, right)(r)
		return r.Points[0].Quality
	}
	rounds := []Round{
		{First: "A", QualityA: round(below(50)), QualityB: round(below(20))},
		{First: "B", QualityA: round(below(40)), QualityB: round(below(40))},
		{First: "A", QualityA: round(below(50)), QualityB: round(below(40)), Skip: "not valid"},
	}
	m := qualityOf(t, Live(rounds, Options{}))
	// A is right in 50 (a half counts), B in 40.
	if *m.A != 1 || *m.B != 0.8 || m.Standing != slo.Worse {
		t.Errorf("%+v", m)
	}
}
