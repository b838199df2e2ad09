package price

import (
	"redline/internal/result"
	"redline/internal/slo"
)

// Figure is what an objective on cost is about, and whether it is known.
func Figure(c *result.Cost, stat string) (value float64, ok bool) {
	switch {
	case c == nil:
		return 0, false
	case stat == slo.CostPerRequest:
		return c.PerRequest, true
	case stat == slo.CostPer1kTokens:
		return c.Per1kTokens, true
	case stat == slo.CostPer1mAccepted:
		if c.Per1mAccepted == nil {
			return 0, false
		}
		return *c.Per1mAccepted, true
	}
	return c.Per1mOutput, c.Per1mOutput > 0
}

// Judge holds the objectives on cost against what a window cost: a figure of
// the whole window, which has no spread of its own. One
// that is not known stays not judged.
func Judge(objectives []slo.Objective, verdicts []slo.Verdict, c *result.Cost) {
	if c == nil {
		return
	}
	for i, o := range objectives {
		if o.Metric != "cost" || o.Scope != (slo.Scope{}) {
			continue
		}
		value, known := Figure(c, o.Stat)
		if !known {
			continue
		}
		v := &verdicts[i]
		v.Value, v.Note, v.Standing = &value, "", slo.Met
		if value > o.Limit {
			v.Standing = slo.Missed
		}
	}
}
