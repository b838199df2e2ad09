package report

import (
	"cmp"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
	"redline/internal/show/objective"
)

// The words that decide. JSON has its own for the third.
const (
	metWord    = "MET"
	missedWord = "MISSED"
	openWord   = "TOO CLOSE TO CALL"
	unjudgedIs = "NOT JUDGED"
	openPhrase = "too close to call"
	maxInFront = 4 // objectives that a headline names
)

// objectivesHeadline is the headline of a run with objectives: the standing of all of them
// together, and the figures that it rests on.
func objectivesHeadline(r *result.Result, verdicts []slo.Verdict) headline {
	switch r.Verdict.SLO {
	case slo.Missed:
		return headline{missedWord + "  ", lost, missedSentence(r, verdicts)}
	case slo.Met:
		kept := standingAt(verdicts, slo.Met)
		text := inFront(kept, func(v slo.Verdict) string { return objective.FigureAndLimit(v) + inBrackets(objective.Bound(v)) })
		return headline{metWord + when(!isSound(r), " SO FAR") + "  ", met, joinDots(text, windowPhrase(kept))}
	}
	if open := standingAt(verdicts, slo.Undecided); len(open) > 0 {
		return headline{openingWord(open) + "  ", unset, openSentence(open)}
	}
	return headline{unjudgedIs + "  ", unset, unjudgedSentence(standingAt(verdicts, slo.NotJudged))}
}

// openingWord is that of what is open.
func openingWord(verdicts []slo.Verdict) string { return strings.ToUpper(shortOpenWords(verdicts)) }

// shortOpenWords say why objectives are open, without how much is missing.
func shortOpenWords(verdicts []slo.Verdict) string {
	words, _, _ := strings.Cut(openWords(verdicts...), " (")
	return words
}

// windowPhrase is what verdicts of met speak of, said once: their window is the same.
func windowPhrase(verdicts []slo.Verdict) string {
	for _, v := range verdicts {
		if said := objective.Sees(v); said != "" {
			return said
		}
	}
	return ""
}

func standingAt(verdicts []slo.Verdict, standing slo.Standing) []slo.Verdict {
	return slices.DeleteFunc(slices.Clone(verdicts), func(v slo.Verdict) bool { return v.Standing != standing })
}

// missedSentence begins with what is furthest beyond its limit. Requests without
// an answer that count as beyond it are named once.
func missedSentence(r *result.Result, verdicts []slo.Verdict) string {
	missed := standingAt(verdicts, slo.Missed)
	slices.SortStableFunc(missed, func(a, b slo.Verdict) int { return cmp.Compare(objective.Excess(b), objective.Excess(a)) })
	text := inFront(missed, func(v slo.Verdict) string {
		return objective.FigureAndLimit(v) + inBrackets(objective.ExcessPhrase(v), objective.Bound(v), objective.Beyond(v), endedHow(r, v))
	})
	if len(r.Points) == 1 {
		text = joinDots(text, whyMissed(&r.Points[0], missed))
	}
	return text
}

// endedHow says how the requests ended that all violate an objective, where some
// were answered and the figure lies among the others: "358 ok + 450 unfinished".
func endedHow(r *result.Result, v slo.Verdict) string {
	if v.Value != nil || len(r.Points) != 1 {
		return ""
	}
	n := r.Points[0].Requests
	if n.OK == 0 || v.Violations != v.N || v.N != n.Due {
		return ""
	}
	return fates(n)
}

// whyMissed says what broke objectives at a point where it was not the time that
// answers took: "rejects 35% of requests (429)".
func whyMissed(point *result.Point, missed []slo.Verdict) string {
	for _, v := range missed {
		for _, n := range []int{point.Requests.Rejected, point.Requests.Failed} {
			if v.Standing == slo.Missed && v.Violations > 0 && 2*n > v.Violations {
				return UnansweredShare(point)
			}
		}
	}
	return ""
}

// UnansweredShare says which share of the requests a server rejected or failed, the
// larger of the two; "" where it did neither.
func UnansweredShare(point *result.Point) string {
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

// DescribeVerdict is an objective in a sentence: its word where neither met nor missed,
// its figure beside its limit, and its note.
func DescribeVerdict(v slo.Verdict) string {
	said := strings.TrimSuffix(objective.FigureAndLimit(v)+inBrackets(objective.Bound(v), objective.Beyond(v), objective.Sees(v))+"; "+clean(v.Note), "; ")
	if v.Standing == slo.Met || v.Standing == slo.Missed {
		return said
	}
	return cmp.Or(standings[v.Standing].word, label(string(v.Standing))) + ": " + said
}

// openSentence says what is open, and what would decide it. A note that all
// share is said once.
func openSentence(open []slo.Verdict) string {
	if openingWord(open) != openWord { // which has it
		open = slices.Clone(open)
		for i := range open {
			open[i].Note = strings.TrimPrefix(open[i].Note, fewPhrase(open[i])+": ")
		}
	}
	note, same := document.Common(notesOf(open))
	if same && len(open) > 1 {
		return inFront(open, objective.FigureAndLimit) + ": " + note
	}
	return inFront(open, func(v slo.Verdict) string {
		said := objective.FigureAndLimit(v)
		if note := clean(v.Note); note != "" && !strings.Contains(said, note) {
			said += ": " + note
		}
		return said
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
		return strings.TrimSuffix(objective.ShortName(v)+": "+clean(v.Note), ": ")
	})
}

// plainWord is a word of the document as people read it.
func plainWord(s slo.Standing) string {
	if s == slo.Undecided {
		return openPhrase
	}
	return clean(string(s))
}

// inFront joins what a headline says of each objective, and counts the rest.
func inFront(verdicts []slo.Verdict, say func(slo.Verdict) string) string {
	said := each(verdicts[:min(len(verdicts), maxInFront)], say)
	if more := len(verdicts) - len(said); more > 0 {
		said = append(said, "and "+count(more)+" more")
	}
	return strings.Join(said, " · ")
}

func inBrackets(parts ...string) string {
	parts = present(parts...)
	return when(len(parts) > 0, " ("+strings.Join(parts, "; ")+")")
}
