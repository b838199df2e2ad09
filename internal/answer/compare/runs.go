package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/stats"
	"redline/internal/text"
)

// Runs judges runs that were made before: one of each side, or sets of them. A
// repeated run is a set.
//
// Sets are told apart by the spread between their runs: Welch's t on the
// logarithms decides, the rank-sum test stands beside it. A single run does
// not show how far the next one would lie, so two of them differ only where
// the difference exceeds both what parts of the runs differ by and the
// spread of Options.History or, without one, the tolerance; they agree where the
// same evidence bounds the difference by the tolerance, and where both are of
// the same records. What is not valid of a run, or was cut short, is shown and
// not judged. The error is an *Incomparable where the runs cannot be compared.
func Runs(a, b []*result.Result, o Options) (*Comparison, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, errors.New("compare: each side needs at least one run")
	}
	c := &Comparison{result.Comparison{Way: wayStored, Alpha: alpha, Metrics: []Metric{}}}
	if x, y := a[0].WorkingSet, b[0].WorkingSet; x != nil && y != nil && x.Cliff != nil && y.Cliff != nil {
		c.Cliffs = &[2]result.Cliff{*x.Cliff, *y.Cliff}
	}
	c.A, a = side(a), separate(a)
	c.B, b = side(b), separate(b)
	o.History = separate(o.History)
	all := slices.Concat(a, b)
	spoilt, err := c.vet(all, o)
	if err != nil {
		return nil, err
	}
	c.seeds(a, b)
	c.lengths(all)
	history := c.history(a[0], all, o)
	c.Test = testName(len(a), len(b), len(history))
	if len(a) == 1 && len(b) == 1 && sameRequests(&a[0].Points[0], &b[0].Points[0]) {
		c.Test = "paired t-test on tenths of the window, which sent the same requests in both runs; tails and shares: " + c.Test
	}
	found, err := c.pairs(a, b, history, o)
	if err != nil {
		return nil, err
	}
	if len(a) == 1 && len(b) == 1 && len(a[0].Points) == 1 {
		found = o.addJobs(found, [][2]Jobs{{o.JobsA, o.JobsB}}, o.tolerance())
	}
	counted, shown := spoilt.split(found)
	c.judge(counted, o)
	c.show(shown, func(e evidence) string { return spoilt.metrics[e.Name] })
	c.weighQuality(qualities(a), qualities(b), o)
	switch {
	case len(counted) == 0 && len(shown) > 0:
		c.Invalid = append(c.Invalid, "no figure of the runs counts")
		c.unjudge(c.Invalid[0])
	case len(spoilt.whole) > 0 && !o.Anyway:
		c.unjudge(strings.Join(spoilt.whole, "; "))
	}
	c.Shapes = shapes(valuesOfAll(a), valuesOfAll(b))
	c.Differences = differences(addsOfAll(a), addsOfAll(b), false)
	c.Flags = flagPairs(a[0].Engine.Flags, b[0].Engine.Flags)
	return c, nil
}

// split parts evidence that counts from what is only shown.
func (s flaws) split(found []evidence) (counted, shown []evidence) {
	for _, e := range found {
		if _, is := s.metrics[e.Name]; is {
			shown = append(shown, e)
		} else {
			counted = append(counted, e)
		}
	}
	return counted, shown
}

func valuesOfAll(runs []*result.Result) []Values {
	var list []Values
	for _, r := range runs {
		if len(r.Points) == 1 {
			list = append(list, ValuesOf(&r.Points[0], Means...))
		}
	}
	return list
}

func testName(a, b, history int) string {
	switch {
	case a > 1 && b > 1:
		return "Welch's t-test on logarithms of runs, Holm over metrics"
	case a > 1 || b > 1:
		return "t-test of one run against the variation between the others, on logarithms, Holm over metrics"
	case history > 0:
		return fmt.Sprintf("t-test on the halves, quarters and sessions of each run, and against the variation between %d earlier runs, Holm over metrics", history)
	}
	return "t-test on the halves, quarters and sessions of each run, differences within the tolerance ignored, Holm over metrics"
}

func side(runs []*result.Result) Side {
	first := runs[0]
	s := Side{Name: first.Label, Model: first.Model.Name, Engine: first.Engine.Name, URL: first.Engine.URL}
	if first.Engine.Version != "" {
		s.Engine += " " + first.Engine.Version
	}
	s.Name = cmp.Or(s.Name, name(first))
	var curves []*result.Distributions
	for _, r := range separate(runs) {
		s.Runs = append(s.Runs, name(r))
		if len(r.Points) == 1 { // of several loads none stands for all
			curves = append(curves, r.Points[0].Distributions)
		}
	}
	if len(curves) == len(s.Runs) {
		s.Distributions = meanCurves(curves)
	}
	return s
}

// longerBy is from which ratio on the lengths of two windows are worth a word.
const longerBy = 1.5

// lengths warns of windows that differ much in length.
func (c *Comparison) lengths(runs []*result.Result) {
	shortest, longest := math.Inf(1), 0.0
	for _, r := range runs {
		length := r.Points[0].Window.Seconds()
		shortest, longest = min(shortest, length), max(longest, length)
	}
	if longest > longerBy*shortest {
		c.warn("window", "the windows last from %s to %s s: the shorter ones saw fewer of the rare slow requests", text.Rough(shortest), text.Rough(longest))
	}
}

// history are the earlier runs that are like the first one, without those that
// are compared.
func (c *Comparison) history(first *result.Result, compared []*result.Result, o Options) []*result.Result {
	var kept []*result.Result
	left := 0
	for _, r := range o.History {
		if slices.ContainsFunc(compared, func(x *result.Result) bool { return x == r || x.ID != "" && x.ID == r.ID }) {
			continue
		}
		_, grave := flawOf(r)
		if grave || len(new(Comparison).liken([]*result.Result{first, r})) > 0 {
			left++
			continue
		}
		kept = append(kept, r)
	}
	if left > 0 {
		c.warn("", "%d of %d earlier runs are not comparable and do not count", left, len(o.History))
	}
	if n := len(kept); n > 0 && n < minEarlier {
		c.warn("", "of %d earlier runs the spread is not known; it takes %d", n, minEarlier)
		return nil
	}
	return kept
}

// pairs gives the evidence of every metric at every point that all runs have.
func (c *Comparison) pairs(a, b []*result.Result, history []*result.Result, o Options) ([]evidence, error) {
	var found []evidence
	common := 0
	inA, inB, before := matches(a[0], a), matches(a[0], b), matches(a[0], history)
	for i := range a[0].Points {
		if len(inA[i]) < len(a) || len(inB[i]) < len(b) {
			continue
		}
		name := ""
		if len(a[0].Points) > 1 {
			name = place(a[0], i)
		}
		common++
		if !o.Anyway && len(c.Invalid) == 0 && slices.ContainsFunc(slices.Concat(inA[i], inB[i]), leftOut) {
			c.warn("", "%s is left out, because it is not valid on one of the sides", name)
			continue
		}
		found = append(found, c.evidence(inA[i], inB[i], name, before[i], o)...)
	}
	apart := fmt.Sprintf("load: %s against %s", strings.Join(loadsMissingIn(nil, a[0]), " and "), strings.Join(loadsMissingIn(nil, b[0]), " and "))
	switch {
	case common == 0 && o.Anyway && onePoint(a) && onePoint(b):
		c.force(apart)
		return c.evidence(firstPoints(a), firstPoints(b), "", nil, o), nil
	case common == 0:
		return nil, &Incomparable{Reasons: []string{apart}}
	}
	for _, only := range []struct {
		side  string
		loads []string
	}{{"A", loadsMissingIn(slices.Concat(a, b), a[0])}, {"B", loadsMissingIn(slices.Concat(b, a), b[0])}} {
		if len(only.loads) > 0 {
			c.warn("", "not compared, because only %s has it: %s", only.side, strings.Join(only.loads, ", "))
		}
	}
	return found, nil
}

// evidence tests the metrics that both sides have, beside what earlier runs had;
// goodput only where it means the same.
func (c *Comparison) evidence(a, b []*result.Point, load string, earlier []*result.Point, o Options) []evidence {
	var found []evidence
	for _, f := range judgedCriteria(o.Figures) {
		va, vb := valuesOf(f, a), valuesOf(f, b)
		switch {
		case len(va) == 0 && len(vb) == 0:
			continue
		case len(va) == 0 || len(vb) == 0:
			c.warn(f.Place(), "%s: measured on one side only", f.name)
			continue
		case f.name == "good:fraction" && objectivesOf(a[0]) != objectivesOf(b[0]):
			c.warn(f.Place(), "the objectives differ (%s against %s), so goodput is not compared", objectivesOf(a[0]), objectivesOf(b[0]))
			continue
		}
		var e evidence
		if len(a) == 1 && len(b) == 1 {
			e = f.single(a[0], b[0], valuesOf(f, earlier), o)
			e.equal = e.equal || a[0].Requests.Due > 0 && reflect.DeepEqual(a[0].Summary, b[0].Summary) // of the same records
		} else {
			e = f.testSets(va, vb, o)
		}
		e.load = load
		e.addMachines(a, b)
		found = append(found, e)
	}
	if hasFailures(a) || hasFailures(b) {
		c.warn("requests", "more than 1%% of the requests failed: latencies are those of the others, and look better for it")
	}
	return found
}

// addMachines takes in what the machines of the two sides may have done, each
// side's in the mean over its points.
func (e *evidence) addMachines(a, b []*result.Point) {
	mean := func(points []*result.Point) (down, up float64) {
		for _, p := range points {
			v, _ := e.of(p)
			low, high, known := e.ends(p)
			d, u := e.slack(e.toScale(v), [2]float64{low, high}, known)
			down, up = down+d/float64(len(points)), up+u/float64(len(points))
		}
		return down, up
	}
	downA, upA := mean(a)
	downB, upB := mean(b)
	e.down, e.up = downB+upA, upB+downA
}

// leftOut reports whether a point of a valid run does not count in it.
func leftOut(p *result.Point) bool { return p.Invalid != "" }

// objectivesOf are a point's objectives in one order, whatever order the plan had.
func objectivesOf(p *result.Point) string {
	var texts []string
	for _, v := range p.Objectives {
		texts = append(texts, v.Objective)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func hasFailures(points []*result.Point) bool {
	return slices.ContainsFunc(points, func(p *result.Point) bool {
		return 100*(p.Requests.Failed+p.Requests.Rejected) > p.Requests.Due
	})
}

// valuesOf are the figure's values on its scale, of the points that have one.
func valuesOf(f criterion, points []*result.Point) []float64 {
	var values []float64
	for _, p := range points {
		if v, ok := f.of(p); ok {
			values = append(values, f.toScale(v))
		}
	}
	return values
}

// testSets tests two sets of runs, of which one may be a single run.
func (f criterion) testSets(a, b []float64, o Options) evidence {
	e := emptyEvidence(f)
	e.bar = f.scaledTolerance(o.changeThreshold())
	e.a, e.b = stats.Mean(a), stats.Mean(b)
	switch {
	case len(a) > 1 && len(b) > 1:
		e.test = stats.WelchT(a, b, Level)
		e.se = math.Sqrt(stats.Variance(a)/float64(len(a)) + stats.Variance(b)/float64(len(b)))
		if canCall(len(a), len(b)) {
			e.wilcoxon = stats.MannWhitney(a, b).P
		}
	case len(a) > 1 || len(b) > 1:
		known := a
		if len(b) > 1 {
			known = b
		}
		e.test, e.se = againstSpread(e.b-e.a, known, 1+1/float64(len(known)))
	default:
		e.test.Mean = e.b - e.a
	}
	e.equal = e.test.Mean == 0 && e.test.SD == 0
	e.why = "too few runs have it"
	if !math.IsNaN(e.test.P) {
		e.why = ""
	}
	return e
}

// againstSpread tests a difference against the spread between known runs; the
// difference has so many times the variance of one run.
func againstSpread(step float64, known []float64, times float64) (test stats.TTest, se float64) {
	sd := math.Sqrt(stats.Variance(known))
	se = sd * math.Sqrt(times)
	test = stats.TTest{Mean: step, SD: sd, Freedom: float64(len(known) - 1), T: step / se, Dz: step / sd}
	if step == 0 && se == 0 {
		test.T, test.Dz = 0, 0
	}
	test.P = 2 * stats.StudentCDF(-math.Abs(test.T), test.Freedom)
	reach := se * stats.StudentQuantile((1+Level)/2, test.Freedom)
	test.Lo, test.Hi = step-reach, step+reach
	return test, se
}

// canCall reports whether the rank-sum test of so many runs could reach alpha:
// where all of one side lie above all of the other.
func canCall(m, n int) bool {
	ways := 1.0
	for i := 1; i <= m; i++ {
		ways *= float64(n+i) / float64(i)
	}
	return 2/ways <= alpha
}

// Result is a document with the comparison alone, on the set-up of a run of B.
func (c *Comparison) Result(b *result.Result) *result.Result {
	res := *b
	res.Points, res.Stages, res.Curve, res.Limit, res.Checklist, res.Warnings = nil, nil, nil, nil, nil, nil
	if c.Standing != slo.Worse && c.Standing != slo.Mixed {
		res.Diagnosis = nil // there is nothing to explain
	}
	res.Comparison = &c.Comparison
	res.Verdict = result.Verdict{Valid: result.Valid, SLO: slo.None, Reasons: []string{}, Checks: []result.Check{}, Unchecked: []result.SkippedCheck{}}
	if len(c.Invalid) > 0 {
		res.Verdict.Valid, res.Verdict.Reasons = result.Invalid, c.Invalid
	}
	return &res
}
