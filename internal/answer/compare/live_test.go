package compare

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/text"
)

// nineDigits compares figures as closely as two programs agree that search for
// a root.
var nineDigits = cmpopts.EquateApprox(1e-9, 0)

// roundsOf pairs the values of one metric, A and B first in turn.
func roundsOf(name string, a, b []float64) []Round {
	rounds := make([]Round, len(a))
	for i := range a {
		rounds[i] = Round{First: firstOf(i), A: Values{name: a[i]}, B: Values{name: b[i]}}
	}
	return rounds
}

func with(rounds []Round, name string, a, b []float64) []Round {
	for i := range rounds {
		rounds[i].A[name], rounds[i].B[name] = a[i], b[i]
	}
	return rounds
}

func over(unit float64, values ...float64) []float64 {
	for i := range values {
		values[i] /= unit
	}
	return values
}

// The expected figures are those of scipy 1.17.1 on d = log(b/a), and on b − a
// for the share:
//
//	r = stats.ttest_1samp(d, 0); r.pvalue, r.confidence_interval(0.95)
//	stats.wilcoxon(d, method='exact').pvalue; by counting all signs for the share, which has ties
//	brentq over 1 - nct.cdf(t, 7, x/sd*sqrt(8)) + nct.cdf(-t, 7, …) - 0.8, t = t.ppf(1 - 0.025/2, 7)
func TestLiveGivesTheFiguresOfAnotherProgram(t *testing.T) {
	t.Parallel()
	rounds := roundsOf("tpot:p50", []float64{10.0, 10.4, 9.8, 10.2, 10.1, 9.9, 10.3, 10.0},
		[]float64{10.5, 10.8, 10.4, 10.6, 10.7, 10.3, 10.9, 10.6})
	with(rounds, "good:fraction", over(64, 60, 61, 60, 62, 61, 63, 60, 62), over(64, 61, 60, 62, 62, 60, 63, 63, 60))
	a, b := Side{Name: "old", URL: "http://a"}, Side{Name: "new", URL: "http://b"}
	got := Live(rounds, Options{A: a, B: b})
	want := &Comparison{result.Comparison{Way: "live", A: a, B: b, Rounds: 8, Alpha: 0.05,
		Test:     "paired t-test on log ratios of rounds, Holm over metrics",
		Standing: slo.Worse, Verdict: "B is worse: tpot:p50 slower by 5.1%",
		Metrics: []Metric{
			{Name: "tpot:p50", Unit: "ms", A: new(10.085714551440656), B: new(10.598348670729772), Ratio: new(1.0508277441994325),
				Interval: &[2]float64{1.0423849469304847, 1.0593389239080293},
				P:        new(1.7429027363719413e-06), PHolm: new(2 * 1.7429027363719413e-06), WilcoxonP: new(0.0078125),
				Effect: new(5.138098026106371), Detectable: new(0.013005685780503288),
				Standing: slo.Worse, Verdict: "slower by 5.1%"},
			{Name: "good:fraction", Unit: "fraction", A: new(0.955078125), B: new(0.958984375), Difference: new(0.00390625),
				Interval: &[2]float64{-0.01789620795223916, 0.02570870795223916},
				P:        new(0.6845283355605284), PHolm: new(0.6845283355605284), WilcoxonP: new(0.8125),
				Effect: new(0.14978617237881953), Detectable: new(0.03492403374867032),
				Standing: slo.Same, Verdict: "no difference larger than 2.6 points"},
		}}}
	ignoreDrawn := cmpopts.IgnoreFields(Metric{}, "Bootstrap")
	expect.Same(t, want, got, nineDigits, ignoreDrawn)
	for _, m := range got.Metrics {
		// Two ways to the same interval do not lie far apart.
		width := m.Interval[1] - m.Interval[0]
		for i := range 2 {
			if math.Abs(m.Bootstrap[i]-m.Interval[i]) > width/5 {
				t.Errorf("%s: by drawing rounds %v, by t %v", m.Name, *m.Bootstrap, *m.Interval)
			}
		}
	}
}

// jitter are ten factors around 1 that average out, so far from it.
func jitter(size float64) []float64 {
	values := make([]float64, DefaultRounds)
	for i, z := range []float64{1, 0.9, -0.5, -0.9, 0.3, 0.4, -1, -0.7, 0.7, -0.2} {
		values[i] = math.Exp(size * z)
	}
	return values
}

func scale(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}

func TestLiveSaysInWordsHowBStands(t *testing.T) {
	t.Parallel()
	level := func(v float64) []float64 { return scale(jitter(0), v) }
	for _, c := range []struct {
		what, metric string
		a, b         []float64
		standing     slo.Standing
		verdict      string
		regressed    bool
	}{
		{"a latency that grows", "ttft:p99", level(200), scale(jitter(0.01), 210), slo.Worse, "slower by 5%", true},
		{"a latency that shrinks", "ttft:p99", level(200), scale(jitter(0.01), 180), slo.Better, "faster by 10%", false},
		{"a latency of another order", "ttft:p99", level(17800), scale(jitter(0.01), 14), slo.Better, "1,271 times faster", false},
		{"a throughput that shrinks", "throughput", level(3000), scale(jitter(0.01), 2700), slo.Worse, "lower by 10%", true},
		{"a throughput that grows", "throughput", level(3000), scale(jitter(0.01), 3300), slo.Better, "higher by 10%", false},
		{"errors where there were none", "error:rate", level(0), scale(jitter(0.1), 0.02), slo.Worse, "higher by 2 points", true},
		{"goodput lost", "good:fraction", level(0.99), scale(jitter(0.01), 0.89), slo.Worse, "lower by 10 points", true},
		{"hardly any spread and no shift", "e2e:p50", level(900), scale(jitter(0.01), 900), slo.Same, "no difference larger than 0.54%", false},
		{"much spread and no shift", "e2e:p50", level(900), scale(jitter(0.2), 900), slo.Undecided, "", false},
		{"the same values", "e2e:p50", level(900), level(900), slo.Same, "no difference at all", false},
	} {
		got := Live(roundsOf(c.metric, c.a, c.b), Options{})
		m := got.Metrics[0]
		if m.Standing != c.standing || c.verdict != "" && m.Verdict != c.verdict || got.worse() != c.regressed {
			t.Errorf("%s: %s, %q, regressed %v; want %s, %q, %v", c.what, m.Standing, m.Verdict, got.worse(), c.standing, c.verdict, c.regressed)
		}
		if got.Standing != c.standing {
			t.Errorf("%s: over all %s, want %s", c.what, got.Standing, c.standing)
		}
	}
}

func TestAnUndecidedMetricSaysWhatWouldHaveShown(t *testing.T) {
	t.Parallel()
	got := Live(roundsOf("e2e:p50", scale(jitter(0), 900), scale(jitter(0.2), 905)), Options{}).Metrics[0]
	if got.Detectable == nil || !strings.HasPrefix(got.Verdict, "too close to call: slower by 0.5") ||
		!strings.HasSuffix(got.Verdict, "from about "+text.RoughPercent(*got.Detectable)+" on it would have shown") {
		t.Errorf("verdict %q, detectable %v", got.Verdict, got.Detectable)
	}
}

func TestAMixedAnswerIsARegression(t *testing.T) {
	t.Parallel()
	rounds := roundsOf("ttft:p50", scale(jitter(0), 100), scale(jitter(0.01), 110))
	with(rounds, "tpot:p50", scale(jitter(0), 20), scale(jitter(0.01), 18))
	got := Live(rounds, Options{})
	const want = "B is worse in ttft:p50 slower by 10%; better in tpot:p50 faster by 10%"
	if got.Standing != slo.Mixed || !got.worse() || got.Verdict != want {
		t.Errorf("%s, %q; want mixed, %q", got.Standing, got.Verdict, want)
	}
}

func TestLiveWarns(t *testing.T) {
	t.Parallel()
	flat, wide := scale(jitter(0), 100), scale(jitter(0.02), 100)
	few := roundsOf("ttft:p50", flat[:4], wide[:4])
	skipped := roundsOf("ttft:p50", flat, wide)
	skipped[3].Skip = "A: lag p99 7 ms"
	oneFirst := roundsOf("ttft:p50", flat, wide)
	for i := range oneFirst {
		oneFirst[i].First = "A"
	}
	missing := roundsOf("ttft:p50", flat, wide)
	delete(missing[2].B, "ttft:p50")
	ordered := roundsOf("ttft:p50", flat, scale(jitter(0.001), 100))
	for i := range ordered {
		if ordered[i].First == "B" {
			ordered[i].B["ttft:p50"] *= 1.1
		}
	}
	// Half of the rounds carry the whole difference: t calls it (p 0.02), and
	// the ranks of the falling ones, 4 and 5, do not (p 0.064).
	halves := roundsOf("ttft:p50", flat, []float64{101, 106, 101.1, 106.1, 101.2, 106.2, 98.7, 106.3, 106.4, 98.6})
	for _, c := range []struct {
		what    string
		rounds  []Round
		counted int
		want    []result.Warning
	}{
		{"nothing", roundsOf("ttft:p50", flat, wide), 10, nil},
		{"few rounds", few, 4, []result.Warning{{Text: "too few rounds: 4; from 8 on the signed-rank test stands beside the t test"}}},
		{"a round that does not count", skipped, 9, []result.Warning{{Text: "round 4 does not count: A: lag p99 7 ms"}}},
		{"A always first", oneFirst, 10, []result.Warning{{Text: "A and B did not come first equally often: what changes over a round favours one of them"}}},
		{"a figure is missing", missing, 10, []result.Warning{{Figure: "latency.ttft_due_ms.p50",
			Text: "ttft:p50: measured on both sides in only 9 of 10 rounds"}}},
		{"the order matters", ordered, 10, []result.Warning{{Figure: "latency.ttft_due_ms.p50", Text: "ttft:p50: whether A or B came first mattered"}}},
		{"the tests disagree", halves, 10, []result.Warning{{Figure: "latency.ttft_due_ms.p50",
			Text: "ttft:p50: the test on ranks does not confirm the difference (p 0.064): it may rest on a few values"}}},
	} {
		got := Live(c.rounds, Options{})
		if got.Rounds != c.counted {
			t.Errorf("%s: %d rounds, want %d", c.what, got.Rounds, c.counted)
		}
		byBeginning := cmp.Comparer(func(x, y result.Warning) bool {
			return x.Figure == y.Figure && x.Text != "" && y.Text != "" && (strings.HasPrefix(x.Text, y.Text) || strings.HasPrefix(y.Text, x.Text))
		})
		expect.NoDiff(t, cmp.Diff(c.want, got.Warnings, byBeginning), "%s (-want +got)", c.what)
	}
}

func TestFewRoundsHaveNoRanks(t *testing.T) {
	t.Parallel()
	flat, wide := scale(jitter(0), 100), scale(jitter(0.02), 105)
	for n, ranked := range map[int]bool{7: false, 8: true} {
		m := Live(roundsOf("ttft:p50", flat[:n], wide[:n]), Options{}).Metrics[0]
		if (m.WilcoxonP != nil) != ranked {
			t.Errorf("%d rounds: signed-rank p %v, want one: %v", n, m.WilcoxonP, ranked)
		}
	}
	one := Live(roundsOf("ttft:p50", flat[:1], wide[:1]), Options{})
	if m := one.Metrics[0]; m.Standing != slo.Undecided || m.Verdict != "no difference shown: one round has no spread" || m.P != nil {
		t.Errorf("one round: %+v", m)
	}
	if none := Live(nil, Options{}); none.Standing != slo.Undecided || none.worse() {
		t.Errorf("no rounds: %+v", none)
	}
}

// anyRounds draws rounds with a latency, a rate and a share.
func anyRounds(t *rapid.T, value *rapid.Generator[float64]) []Round {
	rounds := make([]Round, rapid.IntRange(0, 12).Draw(t, "rounds"))
	for i := range rounds {
		rounds[i] = Round{First: firstOf(i), A: Values{}, B: Values{}}
		for _, name := range []string{"ttft:p50", "throughput", "error:rate"} {
			rounds[i].A[name], rounds[i].B[name] = value.Draw(t, name), value.Draw(t, name)
		}
	}
	return rounds
}

// TestSwappedSidesAreJudgedAlike holds whatever the values are.
func TestSwappedSidesAreJudgedAlike(t *testing.T) {
	t.Parallel()
	mirror := map[slo.Standing]slo.Standing{slo.Better: slo.Worse, slo.Worse: slo.Better, slo.Same: slo.Same, slo.Mixed: slo.Mixed, slo.Undecided: slo.Undecided}
	rapid.Check(t, func(t *rapid.T) {
		rounds := anyRounds(t, rapid.Float64Range(0.5, 1))
		swapped := make([]Round, len(rounds))
		for i, r := range rounds {
			swapped[i] = Round{First: map[string]string{"A": "B", "B": "A"}[r.First], A: r.B, B: r.A}
		}
		ab, ba := Live(rounds, Options{}), Live(swapped, Options{})
		if ba.Standing != mirror[ab.Standing] {
			t.Fatalf("A against B %s, B against A %s", ab.Standing, ba.Standing)
		}
		for i, m := range ab.Metrics {
			n := ba.Metrics[i]
			if m.Ratio != nil && math.Abs(*m.Ratio**n.Ratio-1) > 1e-9 {
				t.Fatalf("%s: ratios %v and %v", m.Name, *m.Ratio, *n.Ratio)
			}
			if diff := cmp.Diff(m.PHolm, n.PHolm, nineDigits); diff != "" {
				t.Fatalf("%s: p (-AB +BA):\n%s", m.Name, diff)
			}
		}
	})
}

// TestAnyRoundsMakeADocument feeds what broken stages might give.
func TestAnyRoundsMakeADocument(t *testing.T) {
	t.Parallel()
	odd := rapid.OneOf(rapid.Float64Range(-1, 2), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 1e-300}))
	rapid.Check(t, func(t *rapid.T) {
		must.Get(json.Marshal(Live(anyRounds(t, odd), Options{})))(t)
	})
}

// A figure whose own interval excludes no difference, and which the number of figures
// leaves open, says so and not that it may be chance.
func TestAMetricThatWouldCountByItself(t *testing.T) {
	t.Parallel()
	apart := scale(jitter(0.1), 1070)
	rounds := roundsOf("tpot:p50", scale(jitter(0), 1000), apart)
	own := Live(rounds, Options{}).Metrics[0]
	names := []string{"ttft:p50", "ttft:p99", "tpot:p99", "itl:p99", "e2e:p50", "e2e:p99"}
	for _, name := range names {
		with(rounds, name, scale(jitter(0), 900), scale(jitter(0.2), 905))
	}
	all := Live(rounds, Options{})
	i := slices.IndexFunc(all.Metrics, func(m Metric) bool { return m.Name == "tpot:p50" })
	m := all.Metrics[i]
	if own.Standing != slo.Worse || m.Standing != slo.Undecided || m.Interval[0] <= 1 || *m.P > alpha || *m.PHolm <= alpha {
		t.Fatalf("by itself %s, among %d %s: interval %v, p %v and %v", own.Standing, len(all.Metrics), m.Standing, *m.Interval, *m.P, *m.PHolm)
	}
	if !strings.Contains(m.Verdict, "by itself it would count") || !strings.Contains(m.Verdict, "of 7 figures") || strings.Contains(m.Verdict, "may be chance") {
		t.Errorf("verdict %q", m.Verdict)
	}
}
