package compare

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

func p99Of(p99 float64) *metric.Dist {
	return &metric.Dist{N: 1000, P: map[string]float64{"p99": p99}}
}

// run is a sound run at 10 requests per second with a ttft p99, of which parts
// show an error of 0.5 %; the changes make it another.
func run(id string, ttft float64, changes ...func(*result.Result)) *result.Result {
	rate := 10.0
	r := &result.Result{ID: id, Seed: uint64(len(id)) * 7, Plan: map[string]any{"workload": "chat"},
		Workload: result.Workload{Name: "chat", Tokenizer: "o200k_base", Arrival: "Poisson"},
		Model:    result.Model{Name: "llama-3.1-8b"}, Engine: result.Engine{Name: "vLLM", Version: "0.11", API: "openai-chat"},
		Verdict: result.Verdict{Valid: "yes"},
		Points:  []result.Point{{Load: result.Load{Mode: "open", Rate: &rate}}}}
	p := &r.Points[0]
	p.Latency.TTFTDue, p.StandardErrors = p99Of(ttft), metric.StandardErrors{"ttft:p99": 0.005}
	p.Window = metric.Window{StartS: 10, EndS: 70}
	for _, change := range changes {
		change(r)
	}
	return r
}

// runsOf are as many runs as values, with seeds of their own.
func runsOf(side string, values ...float64) []*result.Result {
	var runs []*result.Result
	for i, v := range values {
		runs = append(runs, run(fmt.Sprint(side, i), v, func(r *result.Result) { r.Seed = uint64(1 + i) }))
	}
	return runs
}

func one(r *result.Result) []*result.Result { return []*result.Result{r} }

// The expected figures are those of scipy 1.17.1 on the logarithms:
//
//	r = stats.ttest_ind(b, a, equal_var=False); r.pvalue, r.confidence_interval(0.95)
//	stats.mannwhitneyu(a, b, method='exact').pvalue
func TestSetsOfRunsGiveTheFiguresOfAnotherProgram(t *testing.T) {
	t.Parallel()
	got := must.Get(Runs(runsOf("a", 100, 104, 98, 101, 103), runsOf("b", 110, 109, 114, 107), Options{}))(t)
	want := &Comparison{result.Comparison{Way: "stored", Alpha: 0.05, Test: "Welch's t-test on logarithms of runs, Holm over metrics",
		A:        Side{Name: "a0", Runs: []string{"a0", "a1", "a2", "a3", "a4"}, Model: "llama-3.1-8b", Engine: "vLLM 0.11"},
		B:        Side{Name: "b0", Runs: []string{"b0", "b1", "b2", "b3"}, Model: "llama-3.1-8b", Engine: "vLLM 0.11"},
		Standing: slo.Worse, Verdict: "B is worse: ttft:p99 slower by 8.7%",
		Metrics: []Metric{{Name: "ttft:p99", Unit: "ms", A: new(101.17742043971711), B: new(109.97069076735886),
			Ratio: new(1.086909414071106), Interval: &[2]float64{1.0428980783018573, 1.132778071966547},
			P: new(0.002520987163783642), PHolm: new(0.002520987163783642), WilcoxonP: new(0.015873015873015872),
			Effect: new(3.340192127300909), Standing: slo.Worse, Verdict: "slower by 8.7%", Tail: true}}}}
	expect.Same(t, want, got, nineDigits, cmpopts.IgnoreFields(Metric{}, "Detectable"))
	if d := got.Metrics[0].Detectable; d == nil || *d < 0.02 || *d > 0.087 {
		t.Errorf("detectable %v: want one between half a standard error and what was called", d)
	}
}

func TestSingleRunsDifferOnlyBeyondTheirPartsAndTheSpread(t *testing.T) {
	t.Parallel()
	calm := runsOf("h", 100, 101, 99, 100.5, 99.5, 100.2)
	wild := runsOf("h", 100, 120, 84, 108, 93, 115)
	vague := func(r *result.Result) { r.Points[0].StandardErrors = metric.StandardErrors{"ttft:p99": 0.03} }
	weak := func(r *result.Result) { r.Points[0].StandardErrors = nil }
	for _, c := range []struct {
		what     string
		b        *result.Result
		o        Options
		standing slo.Standing
		verdict  string
	}{
		{"12% beyond a tolerance of 5%", run("b", 112), Options{}, slo.Worse, "slower by 12%"},
		{"12% faster", run("b", 88), Options{}, slo.Better, "faster by 12%"},
		{"4%, within the tolerance", run("b", 104), Options{}, slo.Undecided, "too close to call: slower by 4%, within the tolerance of 5%"},
		{"4% beyond a tolerance of 3%", run("b", 104), Options{Tolerance: 0.03}, slo.Worse, "slower by 4%"},
		{"12% of a run whose parts differ", run("b", 112, vague), Options{}, slo.Undecided,
			// 60 s · (4.303 · hypot(0.005, 0.03) / ln 1.12)², where 4.303 is Student's at 2 degrees of freedom.
			"too close to call: slower by 12%, which is not more than parts of the runs differ by; runs of about 80 s would decide it"},
		{"12% of a run without parts", run("b", 112, weak), Options{}, slo.Undecided,
			"no difference shown: a single run without its requests does not show how far it could be off; repeat it"},
		{"4% among calm runs", run("b", 104), Options{History: calm}, slo.Worse, "slower by 4%"},
		{"4% among calm runs, of which 5% do not matter", run("b", 104), Options{History: calm, Tolerance: 0.05}, slo.Undecided,
			"too close to call: slower by 4%, within the tolerance of 5%"},
		{"12% among wild runs", run("b", 112), Options{History: wild}, slo.Undecided,
			"too close to call: slower by 12%, which is not more than the runs and the spread of earlier ones leave open"},
		{"12% of a run without parts among calm ones", run("b", 112, weak), Options{History: calm}, slo.Worse, "slower by 12%"},
		{"nothing without a history", run("b", 100), Options{}, slo.Same, "no difference larger than 3.1%"},
		{"nothing of a run whose parts differ", run("b", 100, vague), Options{}, slo.Undecided, "too close to call: no difference seen, but one may be hidden"},
		{"nothing among calm runs", run("b", 100), Options{History: calm}, slo.Same, "no difference larger than 3.1%"},
		{"12% and two earlier runs", run("b", 112), Options{History: wild[:2]}, slo.Worse, "slower by 12%"},
	} {
		got, err := Runs(one(run("a", 100)), one(c.b), c.o)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if m := got.Metrics[0]; m.Standing != c.standing || m.Verdict != c.verdict {
			t.Errorf("%s: %s, %q; want %s, %q", c.what, m.Standing, m.Verdict, c.standing, c.verdict)
		}
		if got.worse() != (c.standing == slo.Worse) {
			t.Errorf("%s: a regression: %v", c.what, got.worse())
		}
	}
}

func TestOneRunAgainstASet(t *testing.T) {
	t.Parallel()
	set := runsOf("a", 100, 101, 99, 100.5, 99.5, 100.2)
	for _, c := range []struct {
		ttft float64
		want slo.Standing
	}{{100.4, slo.Same}, {105, slo.Worse}, {95, slo.Better}} {
		got := must.Get(Runs(set, one(run("b", c.ttft)), Options{}))(t)
		back := must.Get(Runs(one(run("b", c.ttft)), set, Options{}))(t)
		if got.Standing != c.want || *got.Metrics[0].P-*back.Metrics[0].P > 1e-12 {
			t.Errorf("%v ms: %s, want %s; p %v, the other way round %v", c.ttft, got.Standing, c.want, *got.Metrics[0].P, *back.Metrics[0].P)
		}
	}
}

// withCounts gives a run counts of requests, a throughput and replies.
func withCounts(due, failed int, good, output float64) func(*result.Result) {
	return func(r *result.Result) {
		p := &r.Points[0]
		p.Requests = metric.Requests{Due: due, OK: due - failed, Failed: failed}
		p.Goodput = &metric.Goodput{Fraction: good}
		p.Throughput.Output = output
		p.StandardErrors = metric.StandardErrors{"ttft:p99": 0.005, "throughput": 0.003, "good:fraction": 0.002, "error:rate": 0.002}
		p.Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", N: due}}
	}
}

func TestSingleRunsAreJudgedByTheirParts(t *testing.T) {
	t.Parallel()
	a := run("a", 100, withCounts(2000, 0, 0.99, 4000))
	for _, c := range []struct {
		what string
		b    func(*result.Result)
		want map[string]slo.Standing
	}{
		{"the same", withCounts(2000, 0, 0.99, 4000), map[string]slo.Standing{"throughput": slo.Same, "good:fraction": slo.Same, "error:rate": slo.Same}},
		{"3% errors", withCounts(2000, 60, 0.96, 4000), map[string]slo.Standing{"throughput": slo.Same, "good:fraction": slo.Same, "error:rate": slo.Worse}},
		{"two errors", withCounts(2000, 2, 0.99, 4000), map[string]slo.Standing{"throughput": slo.Same, "good:fraction": slo.Same, "error:rate": slo.Undecided}},
		{"a tenth less throughput", withCounts(2000, 0, 0.99, 3500), map[string]slo.Standing{"throughput": slo.Worse, "good:fraction": slo.Same, "error:rate": slo.Same}},
		{"a tenth less good", withCounts(2000, 0, 0.87, 4000), map[string]slo.Standing{"throughput": slo.Same, "good:fraction": slo.Worse, "error:rate": slo.Same}},
	} {
		got := must.Get(Runs(one(a), one(run("b", 100, c.b)), Options{}))(t)
		standings := map[string]slo.Standing{}
		for name := range c.want {
			standings[name] = findMetric(t, got, name).Standing
		}
		expect.NoDiff(t, cmp.Diff(c.want, standings), "%s (-want +got)", c.what)
	}
}

// withLoads gives a run points at these rates, all with its own figures.
func withLoads(rates ...float64) func(*result.Result) {
	return func(r *result.Result) {
		first := r.Points[0]
		r.Points = nil
		for _, rate := range rates {
			p := first
			p.Load.Rate = &rate
			r.Points = append(r.Points, p)
		}
	}
}

func TestCurvesAreComparedWhereTheirLoadsMeet(t *testing.T) {
	t.Parallel()
	got := must.Get(Runs(one(run("a", 100, withLoads(5, 10, 20))), one(run("b", 120, withLoads(10.02, 20, 40))), Options{}))(t)
	const verdict = "B is worse: ttft:p99 at 10/s slower by 20%, ttft:p99 at 20/s slower by 20%"
	if got.Verdict != verdict {
		t.Errorf("verdict %q, want %q", got.Verdict, verdict)
	}
	var warned []string
	for _, w := range got.Warnings {
		warned = append(warned, w.Text)
	}
	want := []string{"not compared, because only A has it: 5/s", "not compared, because only B has it: 40/s"}
	expect.NoDiff(t, cmp.Diff(want, warned[max(0, len(warned)-2):]), "warnings (-want +got)")
	_, err := Runs(one(run("a", 100, withLoads(5))), one(run("b", 120, withLoads(10))), Options{})
	var refused *Incomparable
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "load: 5/s against 10/s") {
		t.Errorf("other loads: error %v", err)
	}
	forced, err := Runs(one(run("a", 100, withLoads(5))), one(run("b", 120, withLoads(10))), Options{Anyway: true})
	if err != nil || forced.Standing != slo.Worse {
		t.Errorf("other loads, forced: %+v, error %v", forced, err)
	}
}

func TestASideWithoutRunsIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := Runs(nil, one(run("b", 1)), Options{}); err == nil {
		t.Error("no error without a run")
	}
}

// worse reports whether B is worse in any metric: a regression.
func (c *Comparison) worse() bool { return c.Standing == slo.Worse || c.Standing == slo.Mixed }

// A figure whose own interval excludes zero, and that the other figures leave open, says
// so, and runs of the length that it names decide it.
func TestAFigureThatWouldCountByItselfSaysWhatDecides(t *testing.T) {
	t.Parallel()
	// The standard error falls with the root of the length.
	runs := func(length float64) *Comparison {
		of := func(id string, ttft float64) []*result.Result {
			return one(run(id, ttft, withCounts(2000, 0, 0.99, 4000), func(r *result.Result) {
				p := &r.Points[0]
				p.Window.EndS, p.StandardErrors["ttft:p99"] = p.Window.StartS+length, 0.04*math.Sqrt(60/length)
			}))
		}
		return must.Get(Runs(of("a", 100), of("b", 145), Options{}))(t)
	}
	short := runs(60)
	open := findMetric(t, short, "ttft:p99")
	if want := "not proven: ttft:p99 slower by 45% (runs of about "; !strings.Contains(short.Verdict, want) {
		t.Errorf("%s, %q: want %q in it", short.Standing, short.Verdict, want)
	}
	var family, seconds int
	words := regexp.MustCompile(`^too close to call: slower by 45%: by itself it would count \(p=[0-9.]+\), but of (\d) figures compared one may differ so by chance; runs of about (\d+) s would decide it$`)
	if found := words.FindStringSubmatch(open.Verdict); found != nil {
		family, seconds = must.Get(strconv.Atoi(found[1]))(t), must.Get(strconv.Atoi(found[2]))(t)
	}
	if open.Interval[0] <= 1 || family < 2 || seconds <= 60 {
		t.Fatalf("%q, interval %v: want one beyond 1, the figures compared and a longer run", open.Verdict, open.Interval)
	}
	for length, want := range map[int]slo.Standing{seconds * 9 / 10: slo.Undecided, seconds * 11 / 10: slo.Worse} {
		if got := findMetric(t, runs(float64(length)), "ttft:p99"); got.Standing != want {
			t.Errorf("runs of %d s: %s, %q; want %s", length, got.Standing, got.Verdict, want)
		}
	}
}
