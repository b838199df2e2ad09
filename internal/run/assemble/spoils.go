package assemble

import (
	"redline/internal/judge/account"
	"redline/internal/judge/metric"
	"redline/internal/judge/validity"
	"redline/internal/text"
)

// Spoils says, of a run that goes on, what would make it invalid or its figures
// doubtful were it over: checks that fail by its latest records, more faults than
// a server may have, and a machine that is held back.
func (in Run) Spoils(tokenizer string) ([]string, error) {
	in.Evidence.Partial = true
	var list []string
	if !in.Plan.Strict { // which has a check for it
		list = validity.CPUConstraints(in.Client, float64(in.End-in.Start)/1e9)
	}
	s, err := account.Summarize(in.Records, account.Options{Start: in.Start, End: in.End, Varies: true, Rough: true, Objectives: in.Plan.Objectives, Seed: in.Plan.Seed})
	if err != nil || s.Requests.Due < minToSpoil {
		return list, err
	}
	for _, c := range in.sound(s, tokenizer).Checks {
		if !c.OK {
			list = append(list, c.Reason())
		}
	}
	return append(list, faults(s.Requests)...), nil
}

// minToSpoil is how many requests it takes to say that they spoil a run.
const minToSpoil = 20

// faults says how many requests ended with a fault, where those are more than the
// implied objectives allow.
func faults(n metric.Requests) []string {
	bad := n.Failed + n.Rejected
	if float64(bad) <= impliedObjectives[0].Limit*float64(n.Due) {
		return nil
	}
	why := ""
	if len(n.Errors) > 0 {
		why = ": " + n.Errors[0].Text
	}
	return []string{"faults: " + text.Percent(float64(bad)/float64(n.Due)) + " of the latest requests failed or were rejected" + why}
}
