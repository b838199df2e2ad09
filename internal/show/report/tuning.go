package report

import (
	"cmp"
	"fmt"
	"redline/internal/judge/slo"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/document"
)

var tuningWords = map[slo.Standing]headline{
	slo.Confirmed:   {word: "DECIDED: ", tone: met},
	slo.Unchanged:   {word: "DECIDED: ", tone: met},
	slo.Unconfirmed: {word: "NOT CONFIRMED: ", tone: unset},
	slo.Undecided:   {word: openWord + ": ", tone: unset},
}

// tuningHeadline says which settings to keep; one that was cut short has no
// answer yet.
func tuningHeadline(t *result.Tuning) headline {
	h, known := tuningWords[t.Standing]
	if !known {
		return headline{"NOT FINISHED: ", unset, "best so far " + flagWords(t.Winner)}
	}
	h.why = clean(t.Verdict)
	return h
}

// flagWords are settings as name=value words.
func flagWords(flags []result.Flag) string {
	return clean(strings.Join(each(flags, func(f result.Flag) string { return f.Name + "=" + f.Value }), " "))
}

// tuning writes what was tried and what became of it.
func (p *page) tuning(r *result.Result) {
	t := r.Tuning
	if t == nil {
		return
	}
	if r.Verdict.Valid == result.Invalid {
		p.Field("verdict", clean(t.Verdict))
	}
	p.Field("server", clean(t.Command))
	p.Field("better is", clean(strings.Join(t.Objective, ", then ")))
	p.Field("baseline", joinDots(flagWords(t.Baseline), plural(t.BaselineRuns, "sound run"), spreadWords(t)))
	p.Field("stopped", joinDots(clean(t.Stopped), tookWords(t)))
	steps := document.NewTable(left("tried"), right("in place of"), right("start-up").Optional(1), left(""), prose(""))
	for _, s := range t.Steps {
		why := s.Why
		if s.Decision == slo.Failed && len(s.Log) > 0 {
			why += ": " + s.Log[len(s.Log)-1]
		}
		steps.Add(label(s.Knob+"="+s.To), label(s.From), startUp(s.StartUpS), paint(standingTones[s.Decision], plainWord(s.Decision)), clean(why))
	}
	p.Add(steps)
}

func startUp(s *float64) string { return cmp.Or(ifKnown(s, seconds), absent) }

func tookWords(t *result.Tuning) string { return when(t.TookS > 0, seconds(t.TookS)+" in all") }

// spreadWords says by how much runs of the baseline differ anyway.
func spreadWords(t *result.Tuning) string {
	if t.Spread == nil || len(t.Objective) == 0 {
		return ""
	}
	return fmt.Sprintf("%s differs by %s between them", clean(t.Objective[0]), percent(*t.Spread))
}
