package report

import (
	"cmp"
	"strconv"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
)

func isolationHeadline(i *result.Isolation) headline {
	tone := unset
	switch i.Standing {
	case slo.Met:
		tone = met
	case slo.Missed:
		tone = lost
	}
	return headline{"ISOLATION: ", tone, clean(i.Verdict)}
}

// isolation writes how each party fared alone and beside the others.
func (p *page) isolation(r *result.Result) {
	i := r.Isolation
	if i == nil {
		return
	}
	t := document.NewTable(left("party"), right("priority").Optional(3), decimal("ttft p99 alone, ms"), decimal("together"), right("output asked").Optional(1), right("got").Optional(1), decimal("longest wait, ms"), right("not ok").Optional(2), prose(""))
	for _, one := range i.Parties {
		t.Add(label(one.Name), cmp.Or(ifKnown(one.Priority, strconv.Itoa), absent), figureOrAbsent(one.TTFTAlone, "ms"), figureOrAbsent(one.TTFTBeside, "ms"),
			percent2(one.AskedShare), percent2(one.GotShare), figure(one.LongestWaitMS), count(one.Unfinished), paint(standingTones[one.Standing], clean(one.Verdict)))
	}
	p.Add(t)
	jain := ifKnown(i.Jain, func(v float64) string { return "Jain's index of what each kept of it " + exact(v) })
	p.Note(joinDots("shares are of output tokens: asked is what each gets alone at its part of the load", jain, "each verdict on an objective is wrong at most once in twenty"))
}
