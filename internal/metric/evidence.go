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
}

// decide applies MLPerf's rule to what the evidence is worth. Weak evidence
// (too few batches to see their spread, a window that never settled) is worth
// no more than one sample for each batch, and a promise is never called met on
// it, nor while the queue grows.
func (v view) decide(verdict slo.Verdict, e evidence, w Window) slo.Verdict {
	n, broken := sum(e.sizes), sum(e.broken)
	verdict.N, verdict.Violations = n, broken
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
	weak := v.weakness(w)
	if weak != "" {
		effective = min(effective, float64(v.batches.count))
	}
	shown := round(effective)
	verdict.NEff = &shown
	share := float64(broken) / float64(n)
	switch stats.Decide(effective, share*effective, e.p, v.o.alpha()) {
	case stats.Missed:
		verdict.Standing = slo.Missed
	case stats.Met:
		verdict.Standing = slo.Met
	}
	if verdict.Standing != slo.Missed && weak == "" && w.overloaded() {
		weak = growingQueue
	}
	switch {
	case verdict.Standing == slo.Missed:
	case weak != "":
		verdict.Standing, verdict.Note = slo.Undecided, weak
	case verdict.Standing == slo.Undecided:
		verdict.Note = v.needs(e, effective)
	}
	return verdict
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
func (v view) weakness(w Window) string {
	switch {
	case !v.batches.enough():
		return fmt.Sprintf("window too short: %s of %d needed", plural(v.batches.count, "batch", "batches"), fewestBatches)
	case w.unsteady():
		return "the window is not steady"
	}
	return ""
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// needs says how many more requests like these would decide.
func (v view) needs(e evidence, effective float64) string {
	n := sum(e.sizes)
	more, ok := stats.More(n, effective, sum(e.broken), e.p, v.o.alpha())
	if !ok {
		return "at the limit"
	}
	more = int(math.Ceil(float64(more) * float64(e.requests) / float64(n)))
	if more <= 1 {
		return "1 more request"
	}
	return commas(more) + " more requests"
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
