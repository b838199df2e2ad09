package report

import (
	"cmp"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
)

// The words that decide. JSON has its own for the third.
const (
	metWord     = "MET"
	missedWord  = "MISSED"
	openWord    = "TOO CLOSE TO CALL"
	unjudgedIs  = "NOT JUDGED"
	openPhrase  = "too close to call"
	mostInFront = 4 // objectives that a headline names
)

// judged is the headline of a run with objectives: the standing of all of them
// together, and the figures that it rests on.
func judged(r *result.Result, verdicts []slo.Verdict) headline {
	switch r.Verdict.SLO {
	case slo.Missed:
		return headline{missedWord + "  ", lost, missedSentence(r, verdicts)}
	case slo.Met:
		return headline{metWord + when(!soundly(r), " SO FAR") + "  ", met,
			inFront(standingAt(verdicts, slo.Met), func(v slo.Verdict) string { return figureAndLimit(v) + inBrackets(sure(v)) })}
	}
	if open := standingAt(verdicts, slo.Undecided); len(open) > 0 {
		return headline{openWord + "  ", unset, openSentence(open)}
	}
	return headline{unjudgedIs + "  ", unset, unjudgedSentence(standingAt(verdicts, slo.NotJudged))}
}

func standingAt(verdicts []slo.Verdict, standing slo.Standing) []slo.Verdict {
	return slices.DeleteFunc(slices.Clone(verdicts), func(v slo.Verdict) bool { return v.Standing != standing })
}

// missedSentence begins with what is furthest beyond its limit. Requests without
// an answer that count as beyond it are named once.
func missedSentence(r *result.Result, verdicts []slo.Verdict) string {
	missed := standingAt(verdicts, slo.Missed)
	slices.SortStableFunc(missed, func(a, b slo.Verdict) int { return cmp.Compare(excess(b), excess(a)) })
	text := inFront(missed, func(v slo.Verdict) string {
		return figureAndLimit(v) + inBrackets(excessPhrase(v), sure(v), violationsBeyond(v))
	})
	if len(r.Points) == 1 {
		text = joined(text, whyMissed(&r.Points[0], missed))
	}
	return text
}

// whyMissed says what broke objectives at a point where it was not the time that
// answers took: "rejects 35% of requests (429)".
func whyMissed(point *result.Point, missed []slo.Verdict) string {
	for _, v := range missed {
		for _, n := range []int{point.Requests.Rejected, point.Requests.Failed} {
			if v.Standing == slo.Missed && v.Violations > 0 && 2*n > v.Violations {
				return Unanswered(point)
			}
		}
	}
	return ""
}

// Unanswered says which share of the requests a server rejected or failed, the
// larger of the two; "" where it did neither.
func Unanswered(point *result.Point) string {
	n := point.Requests
	verb, of := "rejects ", n.Rejected
	if n.Failed > n.Rejected {
		verb, of = "fails ", n.Failed
	}
	if of == 0 {
		return ""
	}
	return verb + shareOf(int64(of), int64(n.Due)) + " of requests" + inBrackets(statusOf(n.Errors))
}

// statusOf is the HTTP status of the commonest error.
func statusOf(errors []metric.ErrorCount) string {
	if len(errors) == 0 {
		return ""
	}
	text, isStatus := strings.CutPrefix(errors[0].Text, "HTTP ")
	if code, _, _ := strings.Cut(text, ":"); isStatus && len(code) == 3 {
		return code
	}
	return ""
}

// violationsBeyond says how many requests were beyond the limit.
func violationsBeyond(v slo.Verdict) string {
	beyond := " beyond it"
	if mustExceed(v) {
		beyond = " fell short"
	}
	return when(violations(v) != "", violations(v)+beyond)
}

// Judged is an objective in a sentence: its word where neither met nor missed,
// its figure beside its limit, and its note.
func Judged(v slo.Verdict) string {
	said := strings.TrimSuffix(figureAndLimit(v)+inBrackets(sure(v), violationsBeyond(v))+"; "+clean(v.Note), "; ")
	if v.Standing == slo.Met || v.Standing == slo.Missed {
		return said
	}
	return cmp.Or(standings[v.Standing].word, label(string(v.Standing))) + ": " + said
}

// openSentence says what is open, and what would decide it. A note that all
// share is said once.
func openSentence(open []slo.Verdict) string {
	note, same := document.Common(notesOf(open))
	if same && len(open) > 1 {
		return inFront(open, figureAndLimit) + ": " + note
	}
	return inFront(open, func(v slo.Verdict) string {
		return strings.TrimSuffix(figureAndLimit(v)+": "+clean(v.Note), ": ")
	})
}

func notesOf(verdicts []slo.Verdict) []string {
	return each(verdicts, func(v slo.Verdict) string { return clean(v.Note) })
}

func unjudgedSentence(verdicts []slo.Verdict) string {
	if len(verdicts) == 0 {
		return "no objective could be judged"
	}
	return inFront(verdicts, func(v slo.Verdict) string {
		return strings.TrimSuffix(shortName(v)+": "+clean(v.Note), ": ")
	})
}

// plainWord is a word of the document as people read it.
func plainWord(word string) string {
	if word == string(slo.Undecided) {
		return openPhrase
	}
	return clean(word)
}

// inFront joins what a headline says of each objective, and counts the rest.
func inFront(verdicts []slo.Verdict, say func(slo.Verdict) string) string {
	said := each(verdicts[:min(len(verdicts), mostInFront)], say)
	if more := len(verdicts) - len(said); more > 0 {
		said = append(said, "and "+count(more)+" more")
	}
	return strings.Join(said, " · ")
}

func inBrackets(parts ...string) string {
	parts = present(parts...)
	return when(len(parts) > 0, " ("+strings.Join(parts, "; ")+")")
}

// figureAndLimit is "ttft p99 84 ms, limit 500 ms".
func figureAndLimit(v slo.Verdict) string {
	if v.Value == nil {
		return shortName(v) + ": " + count(v.Violations) + " of " + count(v.N) + " without an answer, limit " + limitOf(v)
	}
	v = inSeconds(v)
	limit := ", limit "
	if mustExceed(v) {
		limit = ", at least "
	}
	return shortName(v) + " " + valueOf(v) + limit + limitOf(v) + when(mustExceed(v), " wanted")
}

// mustExceed reports whether the figure must exceed its limit.
func mustExceed(v slo.Verdict) bool {
	op := sign(v)
	return op == ">" || op == "≥"
}

// inSeconds turns many milliseconds into seconds.
func inSeconds(v slo.Verdict) slo.Verdict {
	if v.Unit != "ms" || v.Value == nil || max(*v.Value, v.Limit) < 10_000 {
		return v
	}
	v.Value, v.Limit, v.Unit = new(*v.Value/1000), v.Limit/1000, "s"
	if v.Bound != nil {
		v.Bound = new(*v.Bound / 1000)
	}
	return v
}

// sure is the bound of the figure and how sure it is: "95% sure below 131 ms".
func sure(v slo.Verdict) string {
	if v.Bound == nil || v.Value == nil || v.Confidence <= 0 {
		return ""
	}
	v = inSeconds(v)
	side := "below"
	if *v.Bound < *v.Value {
		side = "above"
	}
	bound := judgedIn(figure(*v.Bound), v.Unit)
	if v.Unit == "fraction" {
		bound = percent(*v.Bound)
	}
	return percent(v.Confidence) + " sure " + side + " " + bound
}

// excess is how far beyond its limit a figure lies, over the limit. One that
// does not exist lies beyond everything.
func excess(v slo.Verdict) float64 {
	switch {
	case v.Value == nil:
		return 1e18
	case v.Limit <= 0:
		return 0
	case mustExceed(v):
		return 1 - *v.Value/v.Limit
	}
	return *v.Value/v.Limit - 1
}

// excessPhrase says by how much a limit was missed; of a share the two numbers
// say it themselves.
func excessPhrase(v slo.Verdict) string {
	over := excess(v)
	switch {
	case v.Value == nil || v.Unit == "fraction" || over <= 0:
		return ""
	case mustExceed(v):
		return percent2(over) + " under"
	case over >= 1:
		return trimmed(significant(over+1, 2, 1)) + " times the limit"
	}
	return percent2(over) + " over"
}

// shortName is the name of an objective in a headline: "ttft p99".
func shortName(v slo.Verdict) string { return strings.TrimSuffix(objectiveName(v), dueSuffix) }
