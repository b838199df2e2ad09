package compare

import (
	"maps"
	"math"
	"slices"
	"strings"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/stats"
	"redline/internal/text"
)

const (
	// minForRanks is where the signed-rank test begins to have a say: eight
	// rounds that all agree reach a P of 0.8 %, which leaves room for one that
	// does not.
	minForRanks = 8
	// minPerOrder is how many rounds of each order it takes to see whether
	// the order matters.
	minPerOrder = 3
	orderAlpha  = 0.01
	resamples   = 2000
)

// TurnAt is the n-th turn of two sides that answer the same requests: its round, and
// whose it is. Each begins every other round, so that what drifts slowly meets both
// alike.
func TurnAt(n int) (round, side int) { return n / 2, (n + n/2) % 2 }

// Round is one pair of stages in which both sides answered the same requests.
type Round struct {
	// First is the side that answered first, "A" or "B".
	First string `json:"first"`
	A     Values `json:"a"`
	B     Values `json:"b"`
	EndsA Ends   `json:"ends_a,omitempty"`
	EndsB Ends   `json:"ends_b,omitempty"`
	// QualityA and QualityB are how right the answers were, nil where nobody
	// asked.
	QualityA *result.Quality `json:"-"`
	QualityB *result.Quality `json:"-"`
	// CurvesA and CurvesB are the distributions of their latencies.
	CurvesA *result.Distributions `json:"-"`
	CurvesB *result.Distributions `json:"-"`
	// AddsA and AddsB are means in their units.
	AddsA *Adds `json:"-"`
	AddsB *Adds `json:"-"`
	// Pairs are what the same requests took on both sides, by Pair.
	Pairs [len(pairedTimes)]*[3]float64 `json:"-"`
	// JobsA and JobsB are the agents' jobs of the round, nil where it has none.
	JobsA Jobs `json:"-"`
	JobsB Jobs `json:"-"`
	// FlagsA and FlagsB are what their servers were started with.
	FlagsA map[string]string `json:"-"`
	FlagsB map[string]string `json:"-"`
	// Spoilt are the metrics of the round that do not count, such as "ttft",
	// and why.
	Spoilt map[string]string `json:"spoilt,omitempty"`
	// Skip says why the round does not count: one of its stages was not valid.
	Skip string `json:"skip,omitempty"`
}

// Live judges rounds in which A and B took turns. A round pairs two stages
// that saw the same requests at nearly the same time, so each metric is tested
// on the differences within rounds: Student's t on the logarithms of B/A
// decides, the signed-rank test stands beside it.
func Live(rounds []Round, o Options) *Comparison {
	c, _ := judgeRounds(rounds, o)
	return c
}

// judgeRounds also gives what the tests found.
func judgeRounds(rounds []Round, o Options) (c *Comparison, found []evidence) {
	c = &Comparison{result.Comparison{Way: wayLive, A: o.A, B: o.B, Alpha: alpha, Metrics: []Metric{},
		Test: "paired t-test on log ratios of rounds, Holm over metrics"}}
	counted := c.countedRounds(rounds)
	c.Rounds = len(counted)
	if c.Rounds == 0 {
		counted = ignoreSpoiled(slices.DeleteFunc(slices.Clone(rounds), func(r Round) bool { return len(r.A) == 0 || len(r.B) == 0 })) // shown, and said to be not valid
	}
	if n := c.Rounds; n < minForRanks && o.share == 0 {
		c.warn("", "too few rounds: %d; from %d on the signed-rank test stands beside the t test", n, minForRanks)
	}
	var shown []evidence
	var orders []float64
	for _, f := range judgedCriteria(o.Figures) {
		e, order, measured := f.testPairs(counted, o)
		if measured {
			found, orders = append(found, e), append(orders, order)
		} else if e, _, spoilt := f.testPairs(ignoreSpoiled(counted), o); spoilt {
			shown = append(shown, e)
		}
		c.warnMissing(f, counted)
	}
	var jobs [][2]Jobs
	for _, r := range counted {
		if len(r.Spoilt) == 0 {
			jobs = append(jobs, [2]Jobs{r.JobsA, r.JobsB})
		}
	}
	if len(jobs) > 1 {
		found = o.addJobs(found, jobs, o.changeThreshold())
	}
	c.judge(found, o)
	c.show(shown, func(evidence) string { return "it was spoiled in every round" })
	var qa, qb []*result.Quality
	var curvesA, curvesB []*result.Distributions
	var valuesA, valuesB []Values
	var addsA, addsB []*Adds
	for _, r := range counted {
		if len(r.Spoilt) == 0 {
			addsA, addsB = append(addsA, r.AddsA), append(addsB, r.AddsB)
		}
		valuesA, valuesB = append(valuesA, r.A), append(valuesB, r.B)
		qa, qb = append(qa, r.QualityA), append(qb, r.QualityB)
		c.Flags = flagPairs(r.FlagsA, r.FlagsB)
		curvesA, curvesB = append(curvesA, r.CurvesA), append(curvesB, r.CurvesB)
	}
	c.A.Distributions, c.B.Distributions = meanCurves(curvesA), meanCurves(curvesB)
	c.Shapes = shapes(valuesA, valuesB)
	c.Differences = append(pairedDifferences(counted), differences(addsA, addsB, true)...)
	c.weighQuality(qa, qb, o)
	if c.Rounds == 0 {
		c.unjudge("no round was valid on both sides")
		return c, found
	}
	for i, p := range stats.Holm(orders) {
		if p <= orderAlpha {
			c.warn(found[i].Place(), "%s: whether A or B came first mattered (p %s): allow a longer pause between the stages", found[i].name, text.Digits(p, 2))
		}
	}
	return c, found
}

// Times judges rounds by times that stand in no table of figures, in milliseconds and
// in the order of their names.
func Times(rounds []Round, names []string, o Options) *Comparison {
	c := &Comparison{result.Comparison{Way: wayLive, A: o.A, B: o.B, Alpha: alpha, Metrics: []Metric{},
		Test: "paired t-test on log ratios of rounds, Holm over metrics"}}
	counted := c.countedRounds(rounds)
	c.Rounds = len(counted)
	var found []evidence
	for _, name := range names {
		f := criterion{figure.Statistic{Figure: &figure.Figure{Name: name, Unit: figure.Milliseconds}}, name}
		if e, _, measured := f.testPairs(counted, o); measured {
			found = append(found, e)
		}
		c.warnMissing(f, counted)
	}
	c.judge(found, o)
	return c
}

// ignoreSpoiled are rounds of which every metric counts.
func ignoreSpoiled(rounds []Round) []Round {
	rounds = slices.Clone(rounds)
	for i := range rounds {
		rounds[i].Spoilt = nil
	}
	return rounds
}

// show adds metrics that do not count, without a verdict.
func (c *Comparison) show(found []evidence, why func(evidence) string) {
	for _, e := range found {
		m := e.toMetric()
		m.Standing, m.Verdict = slo.Undecided, "not judged: "+why(e)
		c.Metrics = append(c.Metrics, m)
	}
	c.conclude()
}

// countedRounds are the rounds that are judged; it warns of those that are not, and
// of an order that favours one side.
func (c *Comparison) countedRounds(rounds []Round) []Round {
	var counted []Round
	lead := 0
	for i, r := range rounds {
		if r.Skip != "" {
			c.warn("", "round %d does not count: %s", i+1, r.Skip)
			continue
		}
		by := map[string][]string{}
		for _, metric := range slices.Sorted(maps.Keys(r.Spoilt)) {
			by[r.Spoilt[metric]] = append(by[r.Spoilt[metric]], metric)
		}
		for _, why := range slices.Sorted(maps.Keys(by)) {
			c.warn("", "round %d does not count for %s: %s", i+1, strings.Join(by[why], ", "), why)
		}
		counted = append(counted, r)
		switch r.First {
		case "A":
			lead++
		case "B":
			lead--
		}
	}
	if lead < -1 || lead > 1 {
		c.warn("", "A and B did not come first equally often: what changes over a round favours one of them")
	}
	return counted
}

// warnMissing warns of rounds that lack a metric which others have. Of those in
// which it is spoiled countedRounds has warned.
func (c *Comparison) warnMissing(f criterion, rounds []Round) {
	both, either, all := 0, 0, 0
	for _, r := range rounds {
		if f.isSpoiled(r) {
			continue
		}
		all++
		if f.in(r.A) || f.in(r.B) {
			either++
		}
		if f.countsOnBoth(r) {
			both++
		}
	}
	if both < either || either > 0 && either < all {
		c.warn(f.Place(), "%s: measured on both sides in only %d of %d rounds", f.name, both, all)
	}
}

func (f criterion) isSpoiled(r Round) bool {
	metric, _, _ := strings.Cut(f.name, ":")
	_, spoilt := r.Spoilt[metric]
	return spoilt
}

func (f criterion) countsOnBoth(r Round) bool { return !f.isSpoiled(r) && f.in(r.A) && f.in(r.B) }

func (f criterion) in(v Values) bool {
	value, ok := v[f.name]
	return ok && f.usable(value)
}

// testPairs tests one metric over the rounds that have it; order is the chance
// that the order within rounds made no difference.
func (f criterion) testPairs(rounds []Round, o Options) (e evidence, order float64, measured bool) {
	e, order = emptyEvidence(f), math.NaN()
	var a, b, steps []float64
	byFirst := map[string][]float64{}
	for _, r := range rounds {
		if !f.countsOnBoth(r) {
			continue
		}
		a, b = append(a, f.toScale(r.A[f.name])), append(b, f.toScale(r.B[f.name]))
		step := b[len(b)-1] - a[len(a)-1]
		steps = append(steps, step)
		byFirst[r.First] = append(byFirst[r.First], step)
	}
	if len(steps) == 0 {
		return e, order, false
	}
	for _, r := range rounds {
		if f.countsOnBoth(r) {
			endsA, knownA := r.EndsA[f.name]
			endsB, knownB := r.EndsB[f.name]
			e.addSlack(f.toScale(r.A[f.name]), f.toScale(r.B[f.name]), endsA, endsB, knownA, knownB, len(steps))
		}
	}
	e.a, e.b = stats.Mean(a), stats.Mean(b)
	e.test = o.testMean(steps)
	e.se = e.test.SD / math.Sqrt(float64(len(steps)))
	e.equal = e.test.Mean == 0 && e.test.SD == 0
	e.bar = f.scaledTolerance(o.changeThreshold())
	e.why = "one round has no spread"
	if len(steps) > 1 {
		e.why = ""
		e.bootstrap[0], e.bootstrap[1] = stats.ExpandedBootstrap(steps, stats.Mean, Level, resamples,
			stats.Rand(o.Seed, "compare "+f.name, 0))
	}
	if len(steps) >= minForRanks {
		e.wilcoxon = stats.SignedRank(steps).P
	}
	if first, second := byFirst["A"], byFirst["B"]; len(first) >= minPerOrder && len(second) >= minPerOrder {
		order = stats.WelchT(second, first, Level).P
	}
	return e, order, true
}
