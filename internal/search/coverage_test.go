package search

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// readTruths reads the limits that TestMeasureTruth found.
func readTruths(t testing.TB) []truth {
	t.Helper()
	text, err := os.ReadFile(truthFile)
	if err != nil {
		t.Fatal(err)
	}
	var truths []truth
	if err := json.Unmarshal(text, &truths); err != nil {
		t.Fatal(err)
	}
	return truths
}

// The shares asked for: of intervals that cover the truth, of half-widths and
// errors, and of load. Twelve levels of a minute, evenly spaced to twice the
// limit, take 720 s and 780 s of load at the limit; half of the time is the
// smaller.
const (
	leastCovered   = 0.9
	mostHalfWidth  = 0.05
	mostError      = 0.03
	mostErrorOften = 0.08 // of nine in ten
	mostSearch     = 360.0
)

// TestSearchesFindTheLimit runs whole searches in virtual time against engines
// whose limit is known. REDLINE_LIMIT=100 runs a hundred seeds of each and
// writes docs/LIMIT.md; a handful of trials scatters, and is held to less.
func TestSearchesFindTheLimit(t *testing.T) {
	t.Parallel()
	seeds := count(t, "REDLINE_LIMIT")
	whole := seeds > 0
	truths := readTruths(t)
	var all score
	scores := make([]score, len(truths))
	for i, c := range truths {
		for _, g := range runTrials(t, engineNamed(t, c.Engine), max(seeds, 1), parse(t, c.Objective)) {
			scores[i].add(g, c.Limit)
		}
		t.Logf("%-6s %-15s %s error from %.3f to %.3f", c.Engine, c.Objective, scores[i].row(), quantile(scores[i].signed, 0.1), quantile(scores[i].signed, 0.9))
		all.join(scores[i])
		if whole && float64(scores[i].covered) < leastCovered*float64(scores[i].trials) {
			t.Errorf("%s %s: %d of %d intervals cover the truth, want nine of ten", c.Engine, c.Objective, scores[i].covered, scores[i].trials)
		}
	}
	t.Logf("%-22s %s", "all", all.row())
	slack := 1.6
	if whole {
		slack = 1
		writeReport(t, truths, scores, all)
	}
	if all.covered < all.trials-1-all.trials/10 {
		t.Errorf("%d of %d intervals cover the truth, want nine of ten", all.covered, all.trials)
	}
	for _, f := range []struct {
		name      string
		got, most float64
	}{
		{"median half-width", quantile(all.halves, 0.5), slack * mostHalfWidth},
		{"median error", quantile(all.errors, 0.5), slack * mostError},
		{"p90 of the error", quantile(all.errors, 0.9), slack * mostErrorOften},
		{"median load before the sustained run", quantile(all.search, 0.5), mostSearch},
	} {
		if !(f.got <= f.most) {
			t.Errorf("%s %.3g, want at most %g", f.name, f.got, f.most)
		}
	}
}

func (s score) row() string {
	percent := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	return fmt.Sprintf("%d of %d | %s | %s | %s | %.0f | %.0f | %.0f | %.0f | %d |", s.covered, s.trials,
		percent(quantile(s.halves, 0.5)), percent(quantile(s.errors, 0.5)), percent(quantile(s.errors, 0.9)),
		quantile(s.search, 0.5), quantile(s.search, 1), quantile(s.everything, 0.5), quantile(s.withWarms, 0.5), s.confirmed)
}

const reportHead = `# How well the limit is found

Whole searches in virtual time, %d seeds for each row (from %d on), against simulated engines whose true limit is known.
Made by ` + "`make limit`" + `. One set of constants serves every row; it was chosen on the seeds from 1 to 100. Seeds
from 1001 to 1100 judged an earlier set, in which the plain queue fell short (82 of 100), and are not used again.

The truth is the rate at which the mean share of violating requests of %d virtual runs of 300 s, at each of several
rates, reaches what the objective allows (` + "`internal/search/testdata/truth.json`" + `; the command stands in
` + "`truth_test.go`" + `). Those runs have the warm-up, window and drain of any run and seeds that no search uses. The plain queue
has a closed form too, which a test compares. A request that the end of the drain cut off counts as violating only if it
had broken the objective by then: a reply of a minute and more that is due near the window's end says nothing of its first
token.

Searches begin at 1 request/s without any hint. Loads are requests due in windows, in seconds of load at the limit: half of
twelve levels of a minute is 360 s, or 390 s of load at the limit where they are evenly spaced to twice it. "Search" is all
levels before the sustained runs, and is what that is held against. "All" adds the sustained runs, which do **not** fit into
it: one alone takes 300 s. There is one that confirms, and up to two more where it lowered the limit or left the interval wider than
± 5 %%. The last load counts every request sent, warm-ups and cool-downs too.

| engine | objective | limit | interval covers | half-width, median | error, median | error, p90 | search, median | search, most | all, median | every request, median | confirmed |
|---|---|---|---|---|---|---|---|---|---|---|---|
`

const reportFoot = `
Asked for: nine of ten intervals cover in every row; over all rows a median half-width of at most 5 %%, a median error of at
most 3 %% and a p90 of at most 8 %%, and a median search of at most 360. %s

M/D/1 is one server with a fixed service time of 20 ms. 8B is llama-3.1-8b on one H100, 70B llama-3.1-70b on four, both
with the chat workload (log-normal lengths, prompts that share nothing). The interval is the middle 90 %% of the belief.

The rows differ in what can be known. Under ` + "`70B ttft:p99<500ms`" + ` violations come one by one and double only over 11 %% of rate:
one run of 300 s places the limit to ± 7.6 %% (one standard deviation over 600 runs), 6.7 %% with the luck of its draw taken out, and
the interval stays wide. Under ` + "`8B ttft:p99<500ms`" + ` and ` + "`70B ttft:p99<2s`" + ` nine runs in ten at the limit have no violation at
all: the expected share is made by the tenth, whose queue collapses. There the limit is found from which loads collapse and from the
luck that runs have, which takes it 3 %% below the load at which every other run collapses.
`

func writeReport(t *testing.T, truths []truth, scores []score, all score) {
	var b strings.Builder
	fmt.Fprintf(&b, reportHead, scores[0].trials, firstSeed, truths[0].Runs)
	var short []string
	for i, c := range truths {
		fmt.Fprintf(&b, "| %s | `%s` | %.2f | %s\n", c.Engine, c.Objective, c.Limit, scores[i].row())
		if float64(scores[i].covered) < leastCovered*float64(scores[i].trials) {
			short = append(short, fmt.Sprintf("%s `%s`", c.Engine, c.Objective))
		}
	}
	fmt.Fprintf(&b, "| all | | | %s\n", all.row())
	for _, f := range []struct {
		name      string
		got, most float64
	}{
		{"the median half-width", quantile(all.halves, 0.5), mostHalfWidth}, {"the median error", quantile(all.errors, 0.5), mostError},
		{"the p90 of the error", quantile(all.errors, 0.9), mostErrorOften}, {"the median search", quantile(all.search, 0.5), mostSearch},
	} {
		if f.got > f.most {
			short = append(short, f.name)
		}
	}
	held := "All of it is held."
	if len(short) > 0 {
		held = "Not held: " + strings.Join(short, ", ") + "."
	}
	fmt.Fprintf(&b, reportFoot, held)
	if err := os.WriteFile("../../docs/LIMIT.md", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTheQueueHasAClosedForm: the waiting time of M/D/1 at rate λ and service
// D is at most t with chance (1−ρ) Σ (ρ(k − t/D))^k / k! · e^{−ρ(k − t/D)}, k
// from 0 to t/D. The virtual runs, which begin empty and last 300 s, must find
// the limit that it gives.
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
	if measured.Engine != "M/D/1" || math.Abs(measured.Limit/lo-1) > 0.01 {
		t.Errorf("%s: virtual runs give %.3f, the closed form %.3f", measured.Engine, measured.Limit, lo)
	}
}

// TestTruthsAreWellMeasured: at least 200 runs at each rate, rates on both
// sides of the limit, and a mean known well enough.
func TestTruthsAreWellMeasured(t *testing.T) {
	t.Parallel()
	for _, c := range readTruths(t) {
		q := allowed(parse(t, c.Objective))
		first, last := c.Shares[0], c.Shares[len(c.Shares)-1]
		if c.Runs < 200 || first > q || last < q || c.Limit != crossing(c.Rates, c.Shares, q) {
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
			p := e.level(t, 5, share*limit, 300*time.Second).point(t, share*limit, nil)
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
