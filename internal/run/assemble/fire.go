package assemble

import (
	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// judgeFire judges the objectives about what the server gave back and how it
// recovered, whose figures stand in the point.
func judgeFire(objectives []slo.Objective, p *result.Point) {
	for i, o := range objectives {
		if !o.AboutFire() || i >= len(p.Objectives) {
			continue
		}
		v := &p.Objectives[i]
		about, err := figure.Parse(o.Metric+":"+o.Stat, figure.Promise)
		if err != nil {
			continue
		}
		value, known := about.Read(p)
		switch limit := v.Limit; {
		case o.Scope != (slo.Scope{}):
			v.Note = "not measured: it is of all requests together: leave out " + o.Scope.String()
		case !known && o.Metric == "recovery" && p.Fire != nil:
			v.Note, v.Standing = "the objectives did not hold again until the end of the window", slo.Missed
		case known && value > limit:
			v.Value, v.Note, v.Standing = &value, "", slo.Missed
		case known:
			v.Value, v.Note, v.Standing = &value, "", slo.Met
		}
	}
}
