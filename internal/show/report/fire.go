package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
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
	tokens := ", with " + count(int(l.Prompt)) + hard + "prompt and " + count(int(l.Output)) + hard + "output tokens"
	p.Field("leak", joinDots(leakVerdict(l), plural(l.Closed, "request")+" closed by --cancel"+when(l.Closed > 0, tokens), when(l.Cut > 0, plural(l.Cut, "other")+" by time limits or at the end of the load")))
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
	if l.CalledIn > 0 {
		chance = ", seen in " + count(l.CalledIn) + " of " + plural(l.Cycles, "cycle") + chance
	}
	switch {
	case l.Standing == result.LeakUnset:
		return "not possible to tell: " + clean(l.Note)
	case l.Standing == result.Leaks && l.KVPer1000 != nil && *l.KVPer1000 > 0:
		return paint(lost, "leaks "+percent(*l.KVPer1000)+" of KV per 1,000 closed requests") + leakInterval(l) + chance
	case l.Standing == result.Leaks:
		return paint(lost, "the server does not return to rest") + chance
	case l.KVBound != nil:
		together := when(l.Cycles > 0, ", by "+plural(l.Cycles, "cycle")+" together"+chance)
		return "none larger than " + percent(math.Max(*l.KVBound, 0)) + " of KV per 1,000 closed requests" + together
	}
	return "none: every gauge returned"
}

// leakInterval is how far the cycles leave the leak open.
func leakInterval(l *result.Leak) string {
	if l.KVInterval == nil {
		return ""
	}
	return fmt.Sprintf(" (95%%: %s to %s of KV per 1,000)", percent(l.KVInterval[0]), percent(l.KVInterval[1]))
}

// fire writes what became of things that were made to happen.
func (p *page) fire(point *result.Point) {
	f := point.Fire
	if f == nil {
		return
	}
	p.shows("recovery_ms", "lost_rate")
	for i, e := range f.Events {
		failed := ""
		if e.Failed != "" {
			failed = paint(lost, clean(e.Failed))
		}
		p.Field("event", joinDots("at "+text.Seconds(e.AtS)+": "+clean(e.Action), failed, recoveryText(e)+pastEvent(e, f.Events[i+1:])))
		if e.Continues != nil {
			p.Field("", "during that of "+text.Seconds(*e.Continues)+": more failures than before it are not shown, and all are counted there")
			continue
		}
		by := text.Each(slices.Sorted(maps.Keys(e.LostBy)), func(name string) string { return clean(name) + hard + count(e.LostBy[name]) })
		p.Field("", joinDots("lost "+count(e.Lost)+" of the "+plural(e.Due, "request")+" in flight or due then"+when(e.Lost > 0, ", of "+count(point.Requests.Due)+" in all")+listInBrackets(by...), when(e.AsBefore, "no more than fail without it"), countIfAny(e.Streams, "in mid stream"),
			countIfAny(e.Retried, "retried"), countIfAny(e.Repeated, "sent twice on a dead connection"), outageText(e.OutageS)))
		if e.Warming != nil {
			p.Field("", "cache "+warmingText(e.Warming))
		}
		if after := afterText(e); after != "" {
			p.Field("", after)
		}
	}
}

// pastEvent names the last event before the recovery from an earlier one.
func pastEvent(e result.Event, later []result.Event) (past string) {
	for _, next := range later {
		if e.RecoveryS != nil && next.AtS <= e.AtS+*e.RecoveryS {
			past = ", past the event at " + text.Seconds(next.AtS)
		}
	}
	return past
}

// warmingText says how long a prefix cache took to be warm.
func warmingText(w *result.Warming) string {
	switch {
	case !w.Ended:
		return paint(lost, "not warm") + fmt.Sprintf(" after %s, %s: hits were not back at 90%% of their usual %s for sure", text.Seconds(w.Interval[1]), plural(w.RequestInterval[1], "request"), percent(w.Usual))
	case w.RequestInterval[0] == 0:
		return "warm at once, or after " + text.Seconds(w.Interval[1]) + " and " + plural(w.RequestInterval[1], "request") + " at most (95%)"
	}
	return fmt.Sprintf("warm after %s (95%%: %s to %s) and %s (%s to %s): hits at 90%% of their usual %s", text.Seconds(w.Seconds),
		text.Seconds(w.Interval[0]), text.Seconds(w.Interval[1]), plural(w.Requests, "request"), count(w.RequestInterval[0]), count(w.RequestInterval[1]), percent(w.Usual))
}

func outageText(seconds float64) string {
	if seconds == 0 {
		return "no time without service shown"
	}
	return text.Seconds(seconds) + " without service"
}

func recoveryText(e result.Event) string {
	switch {
	case e.RecoveryS == nil:
		return paint(lost, "not recovered in the "+text.Seconds(e.UntilS-e.AtS)+" to the end")
	case *e.RecoveryS == 0 && e.Continues != nil:
		return "objectives held from then on"
	case *e.RecoveryS == 0 && e.Lost > 0:
		return "requests due after it kept the objectives as before"
	case *e.RecoveryS == 0:
		return "objectives held as before"
	}
	return fmt.Sprintf("objectives held again after %s (95%%: %s to %s)", text.Seconds(*e.RecoveryS), text.Seconds(e.Interval[0]), text.Seconds(e.Interval[1]))
}

// afterText says how the figures after an event compare with those before it.
func afterText(e result.Event) string {
	if e.Same == "" {
		return clean(e.Note)
	}
	var moved []string
	for _, m := range e.After {
		if m.Standing == slo.Worse || m.Standing == slo.Better {
			moved = append(moved, clean(m.Name)+" "+clean(m.Verdict))
		}
	}
	if len(moved) == 0 {
		return "after against before: " + map[slo.Standing]string{slo.Same: "the same"}[e.Same] + when(e.Same != slo.Same, "no difference shown")
	}
	return "after against before: " + strings.Join(moved, ", ")
}
