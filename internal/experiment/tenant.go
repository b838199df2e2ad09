package experiment

import (
	"context"
	"slices"

	"redline/internal/config"
	"redline/internal/metric"
	"redline/internal/result"
	"redline/internal/workload"
)

// hotShare is the part of the load that the hot tenant takes.
const hotShare = 0.8

// hotTenant measures a tenant beside one who takes most of the limit, and at
// the same rate without that one.
func (x *conductor) hotTenant(ctx context.Context) error {
	limit := x.limitRate()
	if limit == 0 {
		return nil
	}
	beside, without := apart(x.Config.Workload)
	names := beside.TenantNames()
	rate := fourDigits(limit * (1 - hotShare))
	about := result.Neighbour{Hot: names[0], HotRate: limit * hotShare, Rate: rate}
	for _, r := range []config.Row{
		{Name: "hot-tenant", About: "beside the others", Workload: beside, Rate: limit,
			Hypothesis:  "A tenant who takes four fifths of the limit does not make the others wait longer than the limit does.",
			Question:    "What do the others see beside a hot tenant?",
			Expectation: []string{"objectives"}},
		{Name: "others-alone", About: "without the hot tenant", Workload: without, Rate: rate,
			Hypothesis:  "The rest of the load alone is a light one.",
			Question:    "What would the others see without it?",
			Expectation: []string{"objectives"}},
	} {
		if err := x.row(ctx, r); err != nil {
			return err
		}
	}
	about.Tenant, about.Beside = neighbour(x.rows["hot-tenant"], names[0])
	_, about.Without = neighbour(x.rows["others-alone"], names[0], about.Tenant)
	x.neighbour = &about
	return nil
}

// apart gives the workload with a hot tenant, and that of the others alone. One
// without tenants gets two.
func apart(w workload.Spec) (beside, without workload.Spec) {
	if len(w.Tenants) == 0 || len(w.TenantNames()) < 2 {
		w.Tenants = []workload.Tenant{{Name: "hot"}, {Name: "quiet"}}
	}
	beside, without = w, w
	hot := w.TenantNames()[0]
	beside.HotSpot = &workload.HotSpot{Tenant: hot, Share: hotShare}
	without.HotSpot, without.Tenants = nil, nil
	for _, t := range w.Tenants {
		without.Tenants = append(without.Tenants, less(t, hot)...)
	}
	return beside, without
}

// less is a tenant, or each of those that an entry stands for, but for the one
// named.
func less(t workload.Tenant, name string) []workload.Tenant {
	if t.Count == 0 {
		if t.Name == name {
			return nil
		}
		return []workload.Tenant{t}
	}
	var out []workload.Tenant
	for _, each := range (workload.Spec{Tenants: []workload.Tenant{t}}).TenantNames() {
		if each != name {
			one := t
			one.Name, one.Count, one.Share = each, 0, t.Share/float64(t.Count)
			out = append(out, one)
		}
	}
	return out
}

// neighbour finds a tenant's p99 of the first token: the one named, or the one
// with the most requests beside the hot one.
func neighbour(p *result.Point, hot string, named ...string) (name string, p99 *float64) {
	if p == nil {
		return "", nil
	}
	groups := slices.Clone(p.Tenants)
	slices.SortStableFunc(groups, func(a, b metric.Group) int { return b.Requests.Due - a.Requests.Due })
	for _, g := range groups {
		if g.Name == hot || len(named) > 0 && named[0] != "" && g.Name != named[0] {
			continue
		}
		if v, ok := statistic(distOf(&g.Latency, "ttft"), "p99"); ok {
			return g.Name, &v
		}
	}
	// A workload with one tenant alone has no groups.
	if v, ok := statistic(distOf(&p.Latency, "ttft"), "p99"); ok && len(named) > 0 && len(p.Tenants) == 0 {
		return named[0], &v
	}
	return "", nil
}
