package price

import (
	"slices"

	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// Judge compares the objectives on cost with what a point cost, all of it or
// the share of a class or tenant: a figure of the whole window, which has no
// spread of its own. One that is not known stays not judged, and says why.
func Judge(objectives []slo.Objective, p *result.Point) {
	if p.Cost == nil {
		return
	}
	for i, o := range objectives {
		if o.Metric != "cost" {
			continue
		}
		v := &p.Objectives[i]
		c, why := costWithin(p, o.Scope)
		about, _ := figure.Parse(o.Metric+":"+o.Stat, figure.Promise)
		value, known := about.Read(&result.Point{Cost: c})
		if !known {
			v.Note = "not measured: " + why
			continue
		}
		v.Value, v.Note, v.Standing = &value, "", o.JudgeExact(value, o.Limit)
	}
}

// costWithin is what the requests of a scope cost, and why a figure of that may
// be missing.
func costWithin(p *result.Point, s slo.Scope) (c *result.Cost, why string) {
	switch {
	case s == (slo.Scope{}):
		return p.Cost, "no such tokens came"
	case s.Class != "" && s.Tenant != "":
		return nil, "cost is shared by class and by tenant, not by both: name one of the two"
	case s.Class != "":
		c = costOfGroup(p, byClass, s.Class, p.Classes)
	default:
		c = costOfGroup(p, byTenant, s.Tenant, p.Tenants)
	}
	return c, "no such tokens came of " + s.String()
}

// costOfGroup is what one class or tenant cost. The only one there is cost
// everything.
func costOfGroup(p *result.Point, by, name string, groups []metric.Group) *result.Cost {
	i := slices.IndexFunc(p.GroupCosts, func(g result.GroupCost) bool { return g.By == by && g.Name == name })
	switch {
	case i >= 0:
		return &p.GroupCosts[i].Cost
	case len(groups) == 1 && groups[0].Name == name:
		return p.Cost
	}
	return nil
}
