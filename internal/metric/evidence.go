package metric

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"redline/internal/slo"
	"redline/internal/stats"
)

// evidence is what batches say about a bound.
type evidence struct {
	sizes, broken []int
	// crowding are counts by which the dependence of violations is seen, each
	// by batch; the one that shows most of it decides.
	crowding [][]int
	p        float64
	requests int // that the values come from
	// doubtful is the share of values that are counted as violations and may
	// be none, hidden the share whose violations may not be seen.
	doubtful, hidden float64
	// cutOff are the violations that had not come about when the drain ended.
	cutOff int
}

// decide applies MLPerf's rule to what the evidence is worth. Weak evidence
// (too few batches to see their spread, a window that never settled) is worth
// no more than one sample for each batch, and a promise is never called met on
// it, nor while the queue grows.
func (j judge) decide(verdict slo.Verdict, e evidence) slo.Verdict {
	n, broken := sum(e.sizes), sum(e.broken)
	verdict.N, verdict.Violations, verdict.CutOff = n, broken, e.cutOff
	if n == 0 {
		return verdict
	}
	if e.p >= 1 || e.p <= 0 {
		return certain(verdict)
	}
	effective := float64(n)
	for _, beyond := range e.crowding {
		effective = min(effective, stats.LeastEffectiveN(n, beyond, e.sizes, fewestBatches))
	}
	weak := j.weakness()
	if weak != "" {
		effective = min(effective, float64(j.batches.count))
	}
	shown := round(effective)
	verdict.NEff = &shown
	share := float64(broken) / float64(n)
	switch stats.Decide(effective, share*effective, e.p, j.o.alpha()) {
	case stats.Missed:
		verdict.Standing = slo.Missed
		if doubt := e.doubt(n); doubt != "" {
			certain := max(share-e.doubtful-float64(e.cutOff)/float64(n), 0)
			if stats.Decide(effective, certain*effective, e.p, j.o.alpha()) != stats.Missed {
				verdict.Standing, weak = slo.Undecided, doubt
			}
		}
	case stats.Met:
		verdict.Standing = slo.Met
		if e.hidden > 0 && weak == "" {
			weak = blurredTimes(e.hidden)
		}
	}
	if verdict.Standing != slo.Missed && (weak == "" || weak == j.weakness()) && j.window.overloaded() {
		// Where the queue grows a longer window is no cure: e2e grows with it.
		weak = growingQueue
	}
	switch {
	case verdict.Standing == slo.Missed:
	case weak != "":
		verdict.Standing, verdict.Note = slo.Undecided, weak
	case verdict.Standing == slo.Undecided:
		verdict.Note = j.needs(e, effective)
	}
	return verdict
}

// doubt says why some violations may be none, the larger part of them, or
// nothing.
func (e evidence) doubt(n int) string {
	switch {
	case e.cutOff > 0 && float64(e.cutOff) >= e.doubtful*float64(n):
		return cutShort(e.cutOff)
	case e.doubtful > 0:
		return blurredTimes(e.doubtful)
	}
	return ""
}

const growingQueue = "the queue grows: a longer window would be slower"

// certain judges a bound that allows no violation at all.
func certain(verdict slo.Verdict) slo.Verdict {
	verdict.Standing = slo.Met
	if verdict.Violations > 0 {
		verdict.Standing = slo.Missed
	}
	return verdict
}

// weakness says why batches cannot carry a verdict, or nothing.
func (j judge) weakness() string {
	switch {
	case !j.batches.enough():
		return "window too short: " + j.batches.tooShort()
	case j.window.unsteady():
		return "the window is not steady"
	}
	return ""
}

// blurredTimes says that some times are not known exactly.
func blurredTimes(share float64) string {
	return fmt.Sprintf("%.2g %% of the times are not exact: their events shared a read with a later one", 100*share)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// needs says how many more requests like these would decide.
func (j judge) needs(e evidence, effective float64) string {
	n := sum(e.sizes)
	more, ok := stats.More(n, effective, sum(e.broken), e.p, j.o.alpha())
	if !ok {
		return "at the limit"
	}
	more = int(math.Ceil(float64(more) * float64(e.requests) / float64(n)))
	if more <= 1 {
		return "about 1 more request would decide"
	}
	return "about " + commas(more) + " more requests would decide"
}

// commas writes a count with its thousands apart.
func commas(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

func sum(counts []int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}
