package report

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
)

// crossChecks names with both figures what server and client see differently,
// and where there is room for it in what they agree.
func (p *page) crossChecks(checks []result.CrossCheck) {
	var agree, differ []string
	for i := range checks {
		c := &checks[i]
		why := ""
		if p.room >= explained { // a first look does without the causes that it may have
			why = p.notes.on("cross_checks." + c.Name)
		}
		switch {
		case !c.OK:
			differ = append(differ, clean(c.Name)+" "+bothFigures(c)+mark(why))
		case c.Name != "queue": // the server's line has the split
			if text := difference(c); text != "" {
				agree = append(agree, clean(c.Name)+" "+text)
			}
		}
	}
	if p.room >= explained {
		p.Field("agrees", joinDots(agree...))
	}
	p.Field("differs", paint(weak, joinDots(differ...)))
}

// engineLog counts errors, OOMs and preemptions in the engine's log, and quotes the first
// line of each.
func (p *page) engineLog(l *telemetry.EngineLog) {
	if l == nil {
		return
	}
	parts := []string{plural(int(l.Lines), "line") + when(l.Cut, ", not all of them kept")}
	for _, kind := range slices.Sorted(maps.Keys(l.Kinds)) {
		parts = append(parts, count(int(l.Kinds[kind]))+hard+"of"+hard+clean(kind))
	}
	p.Field("engine log", joinDots(parts...)+p.markOn("engine_log"))
	p.Fields("", cleanAll(l.Excerpt))
}

// difference is how far the client's figure is from the server's.
func difference(c *result.CrossCheck) string {
	switch {
	case c.Server == nil:
		return ""
	case c.Client == nil:
		return "within " + percent(*c.Server) + " of their mean"
	case c.Unit == "tokens/s":
		if *c.Server == 0 {
			return ""
		}
		return withSign(*c.Client / *c.Server - 1, func(share float64) string {
			return inPercent(strconv.FormatFloat(100*share, 'f', 1, 64)) // closer than that two counts agree by chance only
		})
	}
	unit := func(v float64) string { return inUnit(figure(v), c.Unit) }
	return withSign(*c.Client-*c.Server, unit)
}

// withSign writes a difference with its sign.
func withSign(v float64, write func(float64) string) string {
	if v < 0 {
		return "−" + write(math.Abs(v))
	}
	return "+" + write(v)
}

func bothFigures(c *result.CrossCheck) string {
	switch {
	case c.Server == nil:
		return ""
	case c.Client == nil:
		return "up to " + percent(*c.Server) + " above their mean"
	}
	words := func(v float64) string { return inUnit(figure(v), c.Unit) }
	here := " here, "
	if c.Unit == "ms" {
		words, here = spoken, " here (mean from sent), " // the table has it from due
	}
	return words(*c.Client) + here + words(*c.Server) + " by the server"
}
