package slo

import "slices"

// Standing is how a judgement stands: a figure against its limit, one side
// against another, a setting against the one before. All documents share it, and
// each says which of its values it has.
type Standing string

const (
	// Undecided is shown as "too close to call".
	Undecided Standing = "undecided"

	// Of an objective. NotJudged is one whose figure was not measured; None is
	// the standing of a run without objectives.
	Met       Standing = "met"
	Missed    Standing = "missed"
	NotJudged Standing = "not_judged"
	None      Standing = "none"

	// Of a stopping rule, beside Met.
	NotMet    Standing = "not met"
	NotStated Standing = "not stated"

	// Of B against A. Mixed is only that of a whole comparison.
	Better Standing = "better"
	Worse  Standing = "worse"
	Same   Standing = "same"
	Mixed  Standing = "mixed"

	// Of an optimization, beside Same. Depends pays at some lengths and hurts at
	// others.
	Pays    Standing = "pays"
	Hurts   Standing = "hurts"
	Depends Standing = "depends"

	// Of a value that a tuning tried. Failed is that of a server that did not
	// start, or did not last.
	Accepted Standing = "accepted"
	Rejected Standing = "rejected"
	Failed   Standing = "failed"

	// Of a tuning. Unchanged found nothing better than the baseline; Confirmed
	// and Unconfirmed are whether interleaved rounds showed the winner again.
	Unchanged   Standing = "baseline kept"
	Confirmed   Standing = "confirmed"
	Unconfirmed Standing = "not confirmed"
)

// First is the first of an order that is among some, otherwise another.
func First(otherwise Standing, among []Standing, order ...Standing) Standing {
	for _, one := range order {
		if slices.Contains(among, one) {
			return one
		}
	}
	return otherwise
}
