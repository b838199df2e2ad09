package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/docs/pages"
	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/must"
)

func readTruths(t testing.TB) []truth {
	t.Helper()
	text := must.Read(t, truthFile)
	var truths []truth
	must.Do(t, json.Unmarshal(text, &truths))
	return truths
}

// asked is what is asked of the searches of one budget over all rows: the median
// half-width, and the share that hold a rate near the limit.
type asked struct {
	budget     time.Duration
	half, held float64
}

var budgets = []asked{
	{time.Minute, 0.30, 0},
	{3 * time.Minute, 0.15, 0.6},
	{10 * time.Minute, 0.10, 0.8},
}

const (
	minCovered = 0.9
	minHeldRow = 0.65 // of the longest budget
	maxOverrun = 0.1  // of the budget
	maxOver    = 2.2  // times the limit, of a ramp
)

// guesses are what a limit may be guessed to be, over the truth.
var guesses = []float64{1.0 / 3, 3}

// cases are the searches to play, for rates or for numbers of agents: each row with
// each budget, and of rates at 3 minutes with wrong guesses too.
func cases(t testing.TB, agents bool) []trialCase {
	var list []trialCase
	only, chosen := os.Getenv("REDLINE_LIMIT_ONLY"), os.Getenv("REDLINE_LIMIT_CHOSEN") != ""
	given := budgets
	if agents {
		given = agentBudgets
	}
	for _, b := range given {
		for _, guess := range append([]float64{0}, guesses...) {
			for _, c := range readTruths(t) {
				name := fmt.Sprint(b.budget, " ", c.Engine, " ", c.Objective)
				e := engineNamed(t, c.Engine)
				if e.chosen != chosen || !strings.Contains(name, only) || agents != (e.lanes != nil) || strings.HasPrefix(c.Objective, "job") != (b.budget >= jobBudget) {
					continue
				}
				if _, err := New(Spec{Budget: b.budget, Turns: e.turns, Settle: e.settle, Agents: agents}, parseAll(t, c.Objective)); err != nil {
					continue // the budget is refused
				}
				if guess == 0 || b.budget == 3*time.Minute && c.Engine != "M/D/1" && !agents {
					list = append(list, trialCase{c, b.budget, guess})
				}
			}
		}
	}
	return list
}

// TestSearchesFindTheLimit runs whole searches in virtual time against engines
// whose limit is known: one of each row with the middle budget. With
// REDLINE_LIMIT=100 it runs a hundred seeds of each row and budget and writes
// docs/measured/LIMIT.md, or the file that REDLINE_LIMIT_PAGE names. More settings:
//
//	REDLINE_LIMIT_STATE=file   outcomes are added to it, and those that it has are not played again
//	REDLINE_LIMIT_FOR=8m       no search begins later; the page has what there is
//	REDLINE_LIMIT_SEED=1       the first seed
//	REDLINE_LIMIT_ONLY=text    budgets and rows whose name contains it, and no page
//	REDLINE_LIMIT_CHOSEN=1     the engines that constants were chosen on, and no page
func TestSearchesFindTheLimit(t *testing.T) {
	t.Parallel()
	seeds := count(t, "REDLINE_LIMIT")
	if seeds == 0 {
		playOnce(t)
		return
	}
	list := cases(t, false)
	rows := tally(list, playAll(t, list, seeds))
	missed := missingRows(rows)
	for _, r := range rows {
		t.Logf("%-5v %s", r.budget, r)
	}
	for _, m := range missed {
		t.Log("missed: " + m)
	}
	if os.Getenv("REDLINE_LIMIT_ONLY")+os.Getenv("REDLINE_LIMIT_CHOSEN") == "" {
		writeReport(t, rows, missed)
	}
}

// TestALimitThatNothingMissed: where short levels met more than the limit, which is
// about longer runs, the answer is still the limit.
func TestALimitThatNothingMissed(t *testing.T) {
	t.Parallel()
	list := slices.DeleteFunc(cases(t, false), func(c trialCase) bool {
		return c.Engine != "70B long" || c.Objective != "ttft:p99<1s" || c.budget != 3*time.Minute || c.guess != 0
	})
	for seed := firstSeed; seed < firstSeed+effort.Of(4, 20); seed++ {
		o := list[0].play(t, seed)
		if limit := list[0].Limit; o.Peak <= limit || o.Standing == atLeast || !(o.Interval[0] > limit/2 && o.Interval[0] <= limit && limit <= o.Interval[1]) {
			t.Errorf("%v %.3g after levels up to %.3g, of a limit of %.3g", o.Standing, o.Interval, o.Peak, limit)
		}
	}
}

// playOnce holds one search of each row to what any must: it ends in time, and
// most intervals cover.
func playOnce(t *testing.T) {
	covered, played := 0, 0
	for i, c := range cases(t, false) {
		if c.budget != 3*time.Minute || c.guess != 0 || i%effort.Of(2, 1) != 0 {
			continue
		}
		var one score
		o := c.play(t, firstSeed)
		one.add(o, c.Limit)
		played++
		covered += one.covered
		if o.Clock > (1+maxOverrun)*c.budget.Seconds() {
			t.Errorf("%s %s: took %.0f s of %v", c.Engine, c.Objective, o.Clock, c.budget)
		}
		if o.Ramp > maxOver*c.Limit {
			t.Errorf("%s %s: the ramp rose to %.3g, the limit is %.3g", c.Engine, c.Objective, o.Ramp, c.Limit)
		}
	}
	if covered < played*3/4 {
		t.Errorf("%d of %d intervals cover the truth", covered, played)
	}
}

// playAll plays the seeds of all cases that the state file does not have, one
// seed of each after the other, on all processors. It gives all outcomes.
func playAll(t *testing.T, list []trialCase, seeds int) []outcome {
	known, state := readState(t)
	type job struct {
		trialCase
		seed int
	}
	jobs := make(chan job)
	var outcomes []outcome
	var mu sync.Mutex
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for j := range jobs {
				o := j.play(t, j.seed)
				mu.Lock()
				outcomes = append(outcomes, o)
				if state != nil {
					expect.OK(t, json.NewEncoder(state).Encode(o))
				}
				mu.Unlock()
			}
		})
	}
	begun, limit := time.Now(), playFor(t)
	from := cmp.Or(count(t, "REDLINE_LIMIT_SEED"), firstSeed)
	var before []outcome
	for seed := from; seed < from+seeds; seed++ {
		for _, c := range list {
			i := slices.IndexFunc(known, func(o outcome) bool { return o.Seed == seed && o.of(c) })
			switch {
			case i >= 0:
				before = append(before, known[i])
			case time.Since(begun) < limit:
				jobs <- job{c, seed}
			}
		}
	}
	close(jobs)
	all.Wait()
	return append(before, outcomes...)
}

// playFor is how long searches may be begun.
func playFor(t *testing.T) time.Duration {
	limit := must.Get(time.ParseDuration(cmp.Or(os.Getenv("REDLINE_LIMIT_FOR"), "24h")))(t)
	return limit
}

// readState reads the outcomes of the state file, and opens it to add others.
func readState(t *testing.T) (known []outcome, state *os.File) {
	name := os.Getenv("REDLINE_LIMIT_STATE")
	if name == "" {
		return nil, nil
	}
	state = must.Get(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644))(t)
	t.Cleanup(func() { state.Close() })
	lines := json.NewDecoder(state)
	for {
		var o outcome
		if err := lines.Decode(&o); err == io.EOF {
			return known, state
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		known = append(known, o)
	}
}

type judged struct {
	trialCase
	score
}

func tally(list []trialCase, outcomes []outcome) []judged {
	rows := make([]judged, len(list))
	for i, c := range list {
		rows[i].trialCase = c
		for _, o := range outcomes {
			if o.of(c) {
				rows[i].add(o, c.Limit)
			}
		}
	}
	return slices.DeleteFunc(rows, func(r judged) bool { return r.trials == 0 })
}

func missingRows(rows []judged) []string {
	var missed []string
	for _, b := range budgets {
		var all score
		for _, r := range rows {
			if r.budget != b.budget {
				continue
			}
			missed = append(missed, b.misses(r)...)
			if r.guess == 0 {
				all.join(r.score)
			}
		}
		if all.trials > 0 {
			missed = append(missed, b.missesOver(all)...)
		}
	}
	return missed
}

func (b asked) misses(r judged) []string {
	var list []string
	add := func(format string, args ...any) {
		list = append(list, fmt.Sprintf("%s: %s", r.name(), fmt.Sprintf(format, args...)))
	}
	n := float64(r.trials)
	if float64(r.covered) < minCovered*n {
		add("%d of %d intervals cover, asked for %.0f", r.covered, r.trials, minCovered*n)
	}
	if over := quantile(r.overshoots, 1); over > maxOver {
		add("a ramp rose to %.1f times the limit, asked for %.1f at most", over, maxOver)
	}
	if took := quantile(r.clocks, 1); took > 1+maxOverrun {
		add("took %.0f%% of its budget, asked for %.0f%% at most", 100*took, 100*(1+maxOverrun))
	}
	if b.held == budgets[len(budgets)-1].held && float64(r.held) < minHeldRow*n {
		add("a rate near the limit held in %d of %d, asked for %.0f", r.held, r.trials, minHeldRow*n)
	}
	return list
}

// missesOver says what all rows of a budget together fall short of.
func (b asked) missesOver(all score) []string {
	var list []string
	if half := quantile(all.halves, 0.5); half > b.half {
		list = append(list, fmt.Sprintf("%s, all rows: median half-width %.1f%%, asked for %.0f%%", spell(b.budget), 100*half, 100*b.half))
	}
	if float64(all.held) < b.held*float64(all.trials) {
		list = append(list, fmt.Sprintf("%s, all rows: a rate near the limit held in %d of %d, asked for %.0f%%", spell(b.budget), all.held, all.trials, 100*b.held))
	}
	return list
}

func (c trialCase) name() string {
	return fmt.Sprintf("%s, %s `%s`", c.title(), c.Engine, c.Objective)
}

func (c trialCase) title() string {
	title := "A budget of " + spell(c.budget)
	switch {
	case c.guess > 1:
		title += fmt.Sprintf(", and a first guess of %.2g times the limit", c.guess)
	case c.guess > 0:
		title += fmt.Sprintf(", and a first guess of 1/%.2g of the limit", 1/c.guess)
	}
	return title
}

func (r judged) String() string {
	return fmt.Sprintf("%-8s %-15s %.2g signed error %.3f to %.3f | %s", r.Engine, r.Objective, r.guess, quantile(r.signed, 0.1), quantile(r.signed, 0.9), r.row())
}

func percent(v float64) string {
	if v >= 1 {
		return "open"
	}
	return fmt.Sprintf("%.1f%%", 100*v)
}

func (s score) row() string {
	length := "–"
	if len(s.lengths) > 0 {
		length = fmt.Sprintf("%.0f s", quantile(s.lengths, 0.5))
	}
	return fmt.Sprintf("%d of %d | %s | %s | %s | %s | %d | %s | %.1f | %.1f | %.1f | %d | %.0f%% |", s.covered, s.trials,
		percent(quantile(s.halves, 0.5)), percent(quantile(s.halves, 0.9)), percent(quantile(s.errors, 0.5)), percent(quantile(s.errors, 0.9)),
		s.held, length, quantile(s.overshoots, 0.5), quantile(s.overshoots, 1), quantile(s.peaks, 1), s.open, 100*quantile(s.clocks, 1))
}

func spell(d time.Duration) string {
	if d == time.Minute {
		return "60 s"
	}
	return fmt.Sprintf("%.0f minutes", d.Minutes())
}

const reportHead = `# How well the limit is found

Whole searches in virtual time, up to %d seeds for each row (from %d on), against simulated engines whose true limit is known.
%s
` + "`make limit`" + ` plays it again. One set of constants serves every row and budget. It was chosen on other engines (%s; 14B is
qwen3-14b on an L40S or A100, 72B qwen2.5-72b on four A100, 27B gemma-3-27b on an H100, 7B mistral-7b on an L40S) with the seeds below 400; what an earlier set had in common with it was chosen on M/D/1, 8B
and 70B with the seeds from 1 to 100. The engines below were looked at with single seeds from 301 to 320 meanwhile, and earlier tables of them showed which rows missed and to which side.

The truth is the rate at which half of %d virtual runs of %.0f s meet the objective, interpolated between several rates
(` + "`internal/answer/search/testdata/truth.json`" + `; the command stands in ` + "`truth_test.go`" + `). A run meets it when its own share of requests
beyond the limit is at most what the percentile allows; a request that the end of the drain cut off violates only what it
had broken by then. Those runs have the warm-up and drain of any run, and seeds that no search uses.

A search plays what the program does: a ramp, looked at every quarter of a second, of which only the time of a lone reply is
known before; then levels, each from an empty server with its own warm-up, window and drain; and %.1f s between them. All of it is
counted against the budget.

Half-widths and errors are shares of the truth; "open" is a search that ended in "at least". "Held" counts searches whose
held rate is within 15%% of the true limit, "for" is how long such runs were in the median. "Ramp" is the highest rate of the ramp over the limit,
in the median and at worst, "level" the highest rate of any other level over it. "Clock" is the longest search over its budget.
`

const tableHead = `
## %s

| engine | objective | limit | interval covers | half-width, median | p90 | error, median | p90 | held | for | ramp, median | worst | level, worst | open | clock |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

const reportFoot = `
## Asked for

In each row nine of ten intervals cover, no ramp rises above %.1f times the limit, and no search takes more than %.0f%% of its budget. At
10 minutes a rate within 15%% of the limit is held in %.0f%% of the searches of each row and in %.0f%% over all rows, at 3 minutes in %.0f%% over all
rows. Over all rows the median half-width is at most 30, 15 and 10%%.

%s

## The engines

M/D/1 is one server with a fixed service time of 20 ms. The others are embedded engines with prompts that share nothing: 8B is llama-3.1-8b on one
H100, 70B llama-3.1-70b on four, 32B qwen3-32b on one H200, 405B llama-3.1-405b on eight. They have the chat workload (log-normal
lengths, replies of 200 tokens in the median); "long" has replies of 800, "papers" a prompt of about 5,000 tokens in every fourth request, "few" serves 32
requests at a time, "stalls" stands still for 1 s about every 30 s, and "talks" has conversations of two to eight turns, whose limit is in sessions/s (its ramp, which
has first turns alone, is compared with the limit in requests). A row that is missing in a table is one whose budget is refused: no level could outlast its limit, or its
sessions. Of several objectives the last one binds.

The interval is the middle 90%% of the belief. It reaches lower where no level lasted as long as three replies take under load, and higher where nothing
was missed. Where requests were late far below the rate at which a queue forms, the belief is also that of a server which is late now and then whatever the load; so the rows
"stalls" and "papers" have wide intervals, and so has a server of another kind whose levels look like that. What no level saw is in no interval: in 60 s, stalls about every 30 s may be missed.

The rows differ in what can be known. Under ` + "`8B ttft:p99<500ms`" + ` and ` + "`70B ttft:p99<2s`" + ` nothing is late until the queue
collapses, which near the limit takes a minute or two. What a shorter search goes by is the pace between tokens, which slows long before:
at which rate it would stand still, every level tells. Under ` + "`32B ttft:p99<500ms`" + ` the share of late requests hardly rises: at
two thirds of the limit a third of what is allowed is late, so that a run of 3 minutes often says the opposite of the next.
`

// sockets is the part of the page that scripts/measure writes.
const socketsBegin = "## Over sockets\n"

func writeReport(t *testing.T, rows []judged, missed []string) {
	page := cmp.Or(os.Getenv("REDLINE_LIMIT_PAGE"), "../../../docs/measured/LIMIT.md")
	most, others := 0, map[string]bool{}
	for _, r := range rows {
		most = max(most, r.trials)
	}
	for _, e := range engines {
		if e.chosen {
			others[e.name] = true
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, reportHead, most, firstSeed, pages.Stamp(), strings.Join(slices.Sorted(maps.Keys(others)), ", "), rows[0].Runs, rows[0].Seconds, setUp.Seconds())
	title := ""
	for _, r := range rows {
		if r.title() != title {
			title = r.title()
			fmt.Fprintf(&b, tableHead, title)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %.2f | %s\n", r.Engine, r.Objective, r.Limit, r.row())
	}
	verdict := "All of it holds."
	if len(missed) > 0 {
		verdict = "Missed:\n\n- " + strings.Join(missed, "\n- ")
	}
	last := budgets[len(budgets)-1]
	fmt.Fprintf(&b, reportFoot, maxOver, 100*(1+maxOverrun), 100*minHeldRow, 100*last.held, 100*budgets[1].held, verdict)
	if old, err := os.ReadFile(page); err == nil {
		if _, rest, ok := strings.Cut(string(old), socketsBegin); ok {
			b.WriteString("\n" + socketsBegin + rest)
		}
	}
	must.Write(t, page, b.String())
}

// TestTheQueueHasAClosedForm: the waiting time of M/D/1 at rate λ and service
// D is at most t with chance (1−ρ) Σ (ρ(k − t/D))^k / k! · e^{−ρ(k − t/D)}, k
// from 0 to t/D. Violations crowd, so that the run in the middle has fewer than
// the mean: the limit is a little above the rate that the closed form gives for
// the mean, by no more than a few percent.
func TestTheQueueHasAClosedForm(t *testing.T) {
	t.Parallel()
	late := func(rate float64) float64 { // chance to be served later than 500 ms
		d := queueService.Seconds()
		rho, x := rate*d, (0.5-d)/d
		sum, factorial := 0.0, 1.0
		for k := 0.0; k <= x+1e-9; k++ {
			if k > 0 {
				factorial *= k
			}
			sum += math.Pow(rho*(k-x), k) / factorial * math.Exp(-rho*(k-x))
		}
		return 1 - (1-rho)*sum
	}
	lo, hi := 30.0, 49.9
	for range 50 {
		if mid := (lo + hi) / 2; late(mid) > 0.01 {
			hi = mid
		} else {
			lo = mid
		}
	}
	measured := readTruths(t)[0]
	if measured.Engine != "M/D/1" || measured.Limit < lo || measured.Limit > 1.04*lo {
		t.Errorf("%s: virtual runs give %.3f, the closed form %.3f", measured.Engine, measured.Limit, lo)
	}
}

// TestTruthsAreWellMeasured: at least 200 runs of the sustained length at each
// rate, and rates on both sides of the limit.
func TestTruthsAreWellMeasured(t *testing.T) {
	t.Parallel()
	for _, c := range readTruths(t) {
		first, last := c.Met[0], c.Met[len(c.Met)-1]
		if c.Runs < 200 || c.Seconds != (Spec{}).forJobs(parseAll(t, c.Objective)).Complete().Sustained.Seconds() || first < 0.5 || last >= 0.5 || c.Limit != c.limit(t) {
			t.Errorf("%s %s: %+v", c.Engine, c.Objective, c)
		}
	}
}

// TestTheCurveOf70B: the tail of ttft hardly moves up to half the limit. Just
// beyond the limit of 2 s, which the server's capacity sets, it leaps. Beyond
// that of 500 ms it does not: the server is still stable at 110 % of it, and a
// p99 of 500 ms is itself not five times that at a tenth.
func TestTheCurveOf70B(t *testing.T) {
	t.Parallel()
	e := engineNamed(t, "70B")
	for _, c := range []struct {
		objective string
		leaps     bool
	}{{"ttft:p99<500ms", false}, {"ttft:p99<2s", true}} {
		limit := 0.0
		for _, truth := range readTruths(t) {
			if truth.Engine == e.name && truth.Objective == c.objective {
				limit = truth.Limit
			}
		}
		overload := false
		p99 := func(share float64) float64 {
			p := e.run(t, 5, share*limit, 300*time.Second).point(t, share*limit, nil)
			overload = p.Window.Overload != nil && *p.Window.Overload
			v, _ := p.Latency.TTFTDue.Get("p99")
			return v
		}
		tenth, half, beyond := p99(0.1), p99(0.5), p99(1.1)
		t.Logf("%s: p99 of ttft %.0f ms at a tenth of the limit, %.0f at half, %.0f at 110 %% (overload %v)", c.objective, tenth, half, beyond, overload)
		if half > 2*tenth {
			t.Errorf("%s: %.0f ms at half the limit, more than twice the %.0f ms at a tenth", c.objective, half, tenth)
		}
		if leaps := beyond >= 5*tenth; leaps != c.leaps || overload != c.leaps {
			t.Errorf("%s: %.0f ms at 110 %% of the limit against %.0f ms at a tenth, overload %v; a leap is %v", c.objective, beyond, tenth, overload, c.leaps)
		}
	}
}

// TestThePageIsWhole: every row of the page has as many cells as the head of its
// table.
func TestThePageIsWhole(t *testing.T) {
	t.Parallel()
	head := strings.Split(strings.TrimSpace(tableHead), "\n")
	cells := func(line string) int { return strings.Count(line, "|") }
	var s score
	s.add(outcome{Rate: 9, Interval: [2]float64{8, 11}, Ramp: 12, Peak: 10, Held: 9, HeldS: 60, Clock: 58, Budget: time.Minute}, 10)
	row := "| 8B | `ttft` | 10 | " + s.row()
	if cells(row) != cells(head[2]) || cells(row) != cells(head[3]) {
		t.Errorf("%d cells below a head of %d:\n%s\n%s", cells(row)-1, cells(head[2])-1, head[2], row)
	}
}
