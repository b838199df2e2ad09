package account

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/judge/evidence"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/twin/process"
)

// The seeds of docs/measured/RATES.md: those that judge, those that the truth is found by,
// and those that show what a test could do which knows the process. The rule's
// constants were chosen on seeds below a million.
const firstJudged, firstTruth, firstKnown = 1_000_000, 2_000_000, 3_000_000

// missing and keeping are the limits: the truth over each of them. Where it is more
// than 1 the objective is missed.
var (
	missing = []float64{1.03, 1.1, 1.25, 1.5, 2, 3}
	keeping = []float64{0.33, 0.5, 0.7, 0.8, 0.9, 0.97}
)

// looks are the lengths at which a run that goes on until it is decided is judged.
var looks = []float64{60, 90, 134, 201, 300}

// untilDecided stands for their length.
const untilDecided = 0

// trial is a process whose verdicts are put to the test.
type trial struct {
	process.Process
	process.Truth
	// known is what a test at 300 s that knows the process would decide, in percent,
	// by ratio.
	known map[float64]float64
	rows  []*row
}

// row is a trial with one length of its windows.
type row struct {
	length float64
	runs   int
	cells  []*cell
	// intervals is how many windows gave an interval of the percentile, and covering
	// how many of those hold the truth.
	intervals, covering int
}

// cell is one limit, and how its verdicts came out.
type cell struct {
	ratio  float64 // truth over limit
	limit  float64 // seconds, or the rate
	share  float64 // the true share beyond it
	within float64 // the share allowed

	met, missed, early int // early: met by 90 s
	// misled counts verdicts whose bound lies on the wrong side of the truth.
	misled int
}

// wrong and right are the verdicts against and with the truth, in percent.
func (c *cell) wrong(runs int) float64 {
	if c.ratio > 1 {
		return percent(c.met, runs)
	}
	return percent(c.missed, runs)
}

func (c *cell) right(runs int) float64 { return percent(c.met+c.missed, runs) - c.wrong(runs) }

// clear reports whether at most a tenth, or at least ten times, the share allowed
// lies beyond.
func (c *cell) clear() bool { return c.share <= c.within/10 || c.share >= 10*c.within }

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }

// periods is how often clusters come in a window, of a run that ends when it is
// decided in the shortest.
func (t *trial) periods(r *row) float64 {
	if r.length == untilDecided {
		return looks[0] / t.Period
	}
	return r.length / t.Period
}

func newTrial(p process.Process, windows int, length float64) *trial {
	runs := make([][]process.Request, windows)
	each(windows, func(i uint64) { runs[i] = p.Play(firstTruth+i, length) })
	return &trial{Process: p, Truth: p.TruthOf(runs, length)}
}

func (t *trial) cells() []*cell {
	var list []*cell
	for _, ratio := range slices.Concat(missing, keeping) {
		c := &cell{ratio: ratio, limit: t.Value / ratio, share: t.Value, within: t.Value / ratio}
		if t.P > 0 {
			c.share, c.within = t.Beyond(c.limit), 1-t.P
		}
		list = append(list, c)
	}
	return list
}

// judge plays windows of several lengths, the shorter ones the beginning of the
// longer.
func (t *trial) judge(seeds int, lengths ...float64) {
	longest := looks[0]
	for _, length := range lengths {
		t.rows = append(t.rows, &row{length: length, runs: seeds, cells: t.cells()})
		longest = max(longest, length)
		if length == untilDecided {
			longest = max(longest, looks[len(looks)-1])
		}
	}
	var mu sync.Mutex
	each(seeds, func(i uint64) {
		run := t.Play(firstJudged+i, longest)
		for _, r := range t.rows {
			if r.length != untilDecided {
				t.look(r, run, r.cells, r.length, 0, &mu)
				continue
			}
			open := r.cells
			for _, length := range looks {
				open = t.look(r, run, open, length, looks[len(looks)-1], &mu)
			}
		}
	})
}

// look judges a window, counts the verdicts and gives the cells that are open.
func (t *trial) look(r *row, run []process.Request, cells []*cell, length, longest float64, mu *sync.Mutex) (open []*cell) {
	if len(cells) == 0 {
		return nil
	}
	verdicts, interval := t.verdicts(run, cells, length, longest)
	mu.Lock()
	defer mu.Unlock()
	if r.length != untilDecided && interval[1] > 0 {
		r.intervals++
		if interval[0] <= t.Value && t.Value <= interval[1] {
			r.covering++
		}
	}
	for i, v := range verdicts {
		c := cells[i]
		if v.Bound != nil && (v.Standing == slo.Met) == (*v.Bound/1e3 < t.Value) {
			c.misled++
		}
		switch v.Standing {
		case slo.Met:
			c.met++
			if length <= looks[1] {
				c.early++
			}
		case slo.Missed:
			c.missed++
		default:
			open = append(open, c)
		}
	}
	return open
}

// verdicts are those of one window, by the code that judges runs, and the interval
// of the percentile in seconds, 0 where none is given.
func (t *trial) verdicts(run []process.Request, cells []*cell, length, longest float64) (list []slo.Verdict, interval [2]float64) {
	const origin = second
	o := Options{Start: origin, End: origin + int64(length*second), AskedRate: t.Rate, MaxWindow: int64(longest * second)}
	for _, c := range cells {
		objective := slo.Objective{Metric: t.Metric, Stat: "rate", Limit: c.limit, Text: fmt.Sprintf("%s at %g", t.Metric, c.limit)}
		if t.P > 0 {
			objective.Stat, objective.P, objective.Limit = metric.PercentileKey(100*t.P), t.P, c.limit*second
		}
		o.Objectives = append(o.Objectives, objective)
	}
	v, s, err := collectForObjectives(record.FromList(t.records(run, length)), o)
	if err != nil {
		panic(err)
	}
	if list = v.verdicts(s); t.P > 0 && longest == 0 {
		own := judgedFigure[t.Metric]
		d := v.dist(func(e end) source { return v.of(own, everything, e) }, v.trust, func() *evidence.Sample {
			return v.sampleOf(everything, func(q *request) float64 { return q.figures[own] / 1e6 })
		})
		ci := d.CI[metric.PercentileKey(100*t.P)]
		interval = [2]float64{ci[0] / 1e3, ci[1] / 1e3}
	}
	return list, interval
}

// records are those of the requests due in a window, as the load engine would have
// written them.
func (t *trial) records(run []process.Request, length float64) []*record.Record {
	var list []*record.Record
	over := second + int64(length*second) + trialDrain
	for _, q := range run {
		if q.Due >= length {
			break
		}
		a := answer{due: second + int64(q.Due*second)}
		switch took := int64(q.Took * second); {
		case math.IsInf(q.Took, 1):
		case t.Metric == "tpot":
			// One token at once and ten more, each after so long.
			a.tokens, a.count = []int64{a.due + 1e6, a.due + 1e6 + 10*took}, 11
		default:
			a.tokens = []int64{a.due + took}
		}
		r := a.record(over)
		r.Session, r.Turn = q.Session, q.Turn
		if t.Metric == "reject" && len(a.tokens) == 0 {
			r.Outcome = llm.Rejected
		}
		list = append(list, r)
	}
	return list
}

// know finds what a test at 300 s would decide that knows how violations come: one
// whose critical numbers of violations are those of the process at its own limit.
func (t *trial) know(windows int) {
	const length, tail = 300, 0.05
	counts, limit := make([][]float64, windows), math.MaxFloat64
	cells := t.cells()
	if t.P > 0 {
		limit = t.Value
	}
	null, sizes := make([]float64, windows), make([]float64, windows)
	each(windows, func(i uint64) {
		run := t.Play(firstKnown+i, length)
		counts[i], sizes[i] = make([]float64, len(cells)), float64(len(run))
		for _, q := range run {
			if q.Took > limit {
				null[i]++
			}
			for k, c := range cells {
				if t.P > 0 && q.Took > c.limit || t.P == 0 && math.IsInf(q.Took, 1) {
					counts[i][k]++
				}
			}
		}
	})
	clustering, mean := stats.Variance(null)/stats.Mean(null), stats.Mean(sizes)
	slices.Sort(null)
	low, high := null[int(tail*float64(windows))], null[int((1-tail)*float64(windows))]
	t.known = map[float64]float64{}
	for k, c := range cells {
		if t.P == 0 {
			// A server at the limit has as many violations as are allowed, clustered alike.
			allowed := c.within * mean
			reach := stats.NormalQuantile(1-tail) * math.Sqrt(allowed*clustering)
			low, high = allowed-reach, allowed+reach
		}
		decided := 0
		for i := range counts {
			if n := counts[i][k]; c.ratio > 1 && n > high || c.ratio < 1 && n < low {
				decided++
			}
		}
		t.known[c.ratio] = percent(decided, windows)
	}
}

// outcome is what a row comes to, in percent.
type outcome struct {
	wrongMet, wrongMissed, worst float64
	clear                        float64 // the least over the limits that are
	clearCells                   int
	power                        float64 // over that of a test which knows the process, where that has any
	powerCells                   int
	misled                       float64 // bounds on the wrong side, under generous limits
	intervals, covering          float64 // windows that give one, and the share of those that hold the truth
}

func (t *trial) outcome(r *row) outcome {
	s := outcome{clear: 100}
	for _, c := range r.cells {
		wrong, right := c.wrong(r.runs), c.right(r.runs)
		s.worst = max(s.worst, wrong)
		if c.ratio <= 0.5 {
			s.misled = max(s.misled, percent(c.misled, r.runs))
		}
		if c.ratio > 1 {
			s.wrongMet += wrong / float64(len(missing))
		} else {
			s.wrongMissed += wrong / float64(len(keeping))
		}
		if c.clear() {
			s.clearCells++
			s.clear = min(s.clear, right)
		} else if known := t.known[c.ratio]; r.length == 300 && known >= 10 {
			s.powerCells++
			s.power += min(100, 100*right/known)
		}
	}
	s.power /= float64(max(s.powerCells, 1))
	s.intervals, s.covering = percent(r.intervals, r.runs), percent(r.covering, max(r.intervals, 1))
	return s
}

func (s outcome) String() string {
	return fmt.Sprintf("met wrongly %.1f, missed wrongly %.1f, at one limit %.1f; decided %.0f of clear, %.0f of what could be known; bounds misled %.1f; intervals %.0f, covering %.0f",
		s.wrongMet, s.wrongMissed, s.worst, s.clear, s.power, s.misled, s.intervals, s.covering)
}

// What is asked for, in percent.
const (
	maxWrong, maxWrongCell = 5, 7.5
	minClear               = 90
	// manyPeriods and somePeriods are how many a window must hold for both errors to be
	// asked for, and for met wrongly alone.
	manyPeriods, somePeriods = 10, 5
)

// faults says what of the specification a row misses, with a slack for few runs.
func (t *trial) faults(r *row, slack float64) (list []string) {
	s, periods := t.outcome(r), t.periods(r)
	check := func(bad bool, what string) {
		if bad {
			list = append(list, what)
		}
	}
	switch {
	case periods >= manyPeriods*(1-1e-9):
		check(s.wrongMet > maxWrong+slack/2, "met wrongly")
		check(s.wrongMissed > maxWrong+slack/2, "missed wrongly")
		check(s.worst > maxWrongCell+slack, "wrong at one limit")
	case periods >= somePeriods*(1-1e-9) && r.length != untilDecided:
		check(s.wrongMet > maxWrong+slack/2, "met wrongly")
	}
	return list
}

// TestVerdictRates puts the rule to the test on a few runs of a few processes whose
// truth is known. With -rates FILE it plays -rates.runs seeds of every process and
// length, skips those that the file has, and adds the others to it; `make verdicts`
// then writes the tables of docs/measured/RATES.md.
func TestVerdictRates(t *testing.T) {
	if *ratesFile != "" {
		measureRates(t)
		return
	}
	t.Parallel()
	for _, p := range process.All() {
		if !slices.Contains(effort.Of([]string{"M/M/1, 50%", "stalls"}, []string{"M/M/1, 50%", "independent, Pareto(1.5)", "stalls", "slow sessions"}), p.Name) {
			continue
		}
		one := newTrial(p, 10, 5000)
		one.judge(30, 300)
		one.know(100)
		one.check(t, 12)
	}
}

// check logs the rows and fails for what they miss of the error rates. How often a
// verdict is given is shown, not asked for: where both cannot be had, error rates
// go before.
func (t *trial) check(tb testing.TB, slack float64) {
	t.log(tb)
	for _, r := range t.rows {
		for _, what := range t.faults(r, slack) {
			tb.Errorf("%s, %.0f s: %s: %v", t.Name, r.length, what, t.outcome(r))
		}
	}
}

func (t *trial) log(tb testing.TB) {
	for _, r := range t.rows {
		tb.Logf("%-32s %4.0f s, %5.1f periods of %.1f s: %v", t.Name, r.length, t.periods(r), t.Period, t.outcome(r))
	}
}

// TestChatsAreDecidedSoon: a p99 of Poisson chats under a limit three times as high
// is met at the look after 90 s.
func TestChatsAreDecidedSoon(t *testing.T) {
	t.Parallel()
	for _, p := range process.All() {
		if p.Name != "chats at 5/s" {
			continue
		}
		one := newTrial(p, 10, 5000)
		runs := effort.Of(40, 100)
		one.judge(runs, untilDecided)
		for _, c := range one.rows[0].cells {
			if c.ratio == keeping[0] && c.early < runs*9/10 {
				t.Errorf("met by 90 s in %d of %d runs", c.early, runs)
			}
		}
		return
	}
	t.Error("no such process")
}

// kindRates judges a minute of n requests of which a share is 20 times slower, or
// fails, over many seeds.
func kindRates(metric string, limit float64, n, seeds int, share float64) (met, missed float64) {
	one := trial{Process: process.Process{Metric: metric, Rate: float64(n) / 60}}
	if metric == "ttft" {
		one.P = 0.99
	}
	r, mu := &row{length: 60, runs: seeds}, sync.Mutex{}
	c := &cell{limit: limit}
	each(seeds, func(i uint64) {
		random := stats.Rand(firstJudged+i, "kinds", uint64(n))
		run := make([]process.Request, n)
		for k := range run {
			took, odd := stats.LogNormal(random, math.Log(0.1), 0.2), random.Float64() < share
			if odd && metric == "ttft" {
				took *= 20
			} else if odd {
				took = math.Inf(1)
			}
			run[k] = process.Request{Due: 60 * float64(k) / float64(n), Took: took, Session: k}
		}
		one.look(r, run, []*cell{c}, 60, 0, &mu)
	})
	return percent(c.met, seeds), percent(c.missed, seeds)
}

// Limits between the kinds, and of failures.
const kindLimit, errorLimit = 0.45, 0.01

// TestRareKinds: a kind of which a p99 allows too little is seldom overlooked,
// and found with 2,000 requests; failures are decided from 500 on.
func TestRareKinds(t *testing.T) {
	t.Parallel()
	seeds := effort.Of(40, 100)
	for _, n := range []int{100, 300, 1000} {
		if met, _ := kindRates("ttft", kindLimit, n, seeds, 0.011); met > 12 {
			t.Errorf("1.1 %% of %d slow: met in %g %%", n, met)
		}
	}
	if _, missed := kindRates("ttft", kindLimit, 2000, seeds, 0.02); missed < 80 {
		t.Errorf("2 %% of 2,000 slow: missed in %g %%", missed)
	}
	if met, _ := kindRates("error", errorLimit, 500, seeds, 0); met < 100 {
		t.Errorf("none of 500 failing: met in %g %%", met)
	}
	if met, _ := kindRates("error", errorLimit, 2000, seeds, 0.001); met < 90 {
		t.Errorf("0.1 %% of 2,000 failing: met in %g %%", met)
	}
	if _, missed := kindRates("error", errorLimit, 500, seeds, 0.1); missed < 100 {
		t.Errorf("a tenth of 500 failing: missed in %g %%", missed)
	}
}
