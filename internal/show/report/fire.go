package report

import (
	"fmt"
	"math"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// leak writes whether the server gave back what closed requests held.
func (p *page) leak(l *result.Leak) {
	if l == nil {
		return
	}
	if l.KVPer1000 != nil {
		p.shows("kv_leak_per_1000")
	}
	p.Field("leak", joinDots(leakVerdict(l), plural(l.Closed, "request")+" closed before the end",
		count(int(l.Prompt))+hard+"prompt and "+count(int(l.Output))+hard+"output tokens of those that --cancel closed"))
	var list []string
	for _, g := range l.Gauges {
		back := "not back after " + text.Seconds(l.WaitedS)
		if g.ReturnS != nil {
			back = "back after " + text.Seconds(*g.ReturnS)
		}
		list = append(list, fmt.Sprintf("%s %s → %s, %s", g.Name, gaugeValue(g, g.Before), gaugeValue(g, g.After), back))
	}
	if len(list) > 0 {
		p.Field("", "before → after: "+strings.Join(list, " · "))
	}
	if len(l.Missing) > 0 && len(l.Gauges) > 0 {
		p.Field("", "not shown by the server, so not judged: "+strings.Join(l.Missing, ", "))
	}
}

func gaugeValue(g result.GaugeReturn, v float64) string {
	if g.Unit == "fraction" {
		return percent(v)
	}
	return figure(v)
}

// leakVerdict is the answer in a clause.
func leakVerdict(l *result.Leak) string {
	chance := ""
	if l.FalseAlarm != nil {
		chance = " (a false alarm in " + percent(*l.FalseAlarm) + " of runs at most)"
	}
	switch {
	case l.Standing == result.LeakUnset:
		return "not possible to tell: " + clean(l.Note)
	case l.Standing == result.Leaks && l.KVPer1000 != nil && *l.KVPer1000 > 0:
		return paint(lost, "leaks "+percent(*l.KVPer1000)+" of KV per 1,000 closed requests") + chance
	case l.Standing == result.Leaks:
		return paint(lost, "the server does not return to rest") + chance
	case l.KVBound != nil:
		return "none larger than " + percent(math.Max(*l.KVBound, 0)) + " of KV per 1,000 closed requests"
	}
	return "none: every gauge returned"
}
