package report

import (
	"fmt"
	"strings"

	"redline/internal/judge/result"
)

var tuningWords = map[string]headline{
	result.TuningConfirmed:   {word: "DECIDED: ", tone: met},
	result.TuningKept:        {word: "DECIDED: ", tone: met},
	result.TuningUnconfirmed: {word: "NOT CONFIRMED: ", tone: unset},
	result.TuningUndecided:   {word: openWord + ": ", tone: unset},
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

// flagWords are settings as they stand in a command.
func flagWords(flags []result.Flag) string {
	var list []string
	for _, f := range flags {
		list = append(list, f.Name+"="+f.Value)
	}
	return clean(strings.Join(list, " "))
}

var decisionTones = map[string]tone{result.StepAccepted: good, result.StepRejected: weak, result.StepFailed: bad, result.StepUndecided: weak}

// tuning writes what was tried and what became of it.
func (p *page) tuning(r *result.Result) {
	t := r.Tuning
	if t == nil {
		return
	}
	if r.Verdict.Valid == result.Invalid {
		p.field("verdict", clean(t.Verdict))
	}
	p.field("server", clean(t.Command))
	p.field("better is", clean(strings.Join(t.Objective, ", then ")))
	p.field("baseline", joined(flagWords(t.Baseline), plural(t.BaselineRuns, "sound run"), spreadWords(t)))
	p.field("stopped", joined(clean(t.Stopped), tookWords(t)))
	steps := table{columns: []column{{head: cell{text: "tried", tone: bold}}, {head: cell{text: "in place of"}, align: alignRight},
		{head: cell{text: "start-up"}, align: alignRight, optional: 1}, {}, {align: alignProse}}}
	for i := range t.Steps {
		s := &t.Steps[i]
		steps.rows = append(steps.rows, []cell{{text: indent + label(s.Knob+"="+s.To)}, {text: label(s.From)}, {text: startUp(s.StartUpS)},
			{text: plainWord(s.Decision), tone: decisionTones[s.Decision]}, {text: stepReason(s)}})
	}
	if len(steps.rows) > 0 {
		p.gap()
		p.write(steps)
	}
}

func stepReason(s *result.TuningStep) string {
	if s.Decision == result.StepFailed && len(s.Log) > 0 {
		return clean(s.Why + ": " + s.Log[len(s.Log)-1])
	}
	return clean(s.Why)
}

func startUp(s *float64) string {
	if s == nil {
		return absent
	}
	return seconds(*s)
}

func tookWords(t *result.Tuning) string {
	if t.TookS == 0 {
		return ""
	}
	return seconds(t.TookS) + " in all"
}

// spreadWords says by how much runs of the baseline differ anyway.
func spreadWords(t *result.Tuning) string {
	if t.Spread == nil || len(t.Objective) == 0 {
		return ""
	}
	return fmt.Sprintf("%s differs by %s between them", clean(t.Objective[0]), percent(*t.Spread))
}
