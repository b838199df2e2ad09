package experiment

import (
	"context"
	"fmt"

	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/text"
	"redline/internal/traffic/workload"
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
	beside, without := hotAndOthers(x.Config.Workload)
	names, _ := beside.TenantNames()
	rate := text.Round(limit*(1-hotShare), 4)
	about := result.Neighbour{Hot: names[0], HotRate: limit * hotShare, Rate: rate}
	err := x.inOrder(ctx, []config.Row{
		{Name: "hot-tenant", About: "beside the others", Workload: beside, Rate: limit,
			Hypothesis:  "A tenant who takes four fifths of the limit does not make the others wait longer than the limit does.",
			Question:    "What do the others see beside a hot tenant?",
			Expectation: []string{"objectives"}},
		{Name: "others-alone", About: "without the hot tenant", Workload: without, Rate: rate,
			Hypothesis:  "The rest of the load alone is a light one.",
			Question:    "What would the others see without it?",
			Expectation: []string{"objectives"}},
	})
	if err != nil {
		return err
	}
	if x.rows["hot-tenant"] == nil || x.rows["others-alone"] == nil {
		return nil // one of the two is left out, and there is nothing to compare
	}
	about.Tenant = busiest(x.rows["hot-tenant"], names[0], names[1])
	about.Beside = tenantP99(x.rows["hot-tenant"], about.Tenant)
	about.Without = tenantP99(x.rows["others-alone"], about.Tenant)
	x.neighbour = &about
	entry := x.last()
	entry.Outcome = beside99(about) + "; " + entry.Outcome
	return nil
}

// beside99 lays the two figures of a tenant side by side.
func beside99(n result.Neighbour) string {
	word := func(v *float64) string {
		if v == nil {
			return "was not measured"
		}
		return "is " + text.Digits(*v, 4) + " ms"
	}
	return fmt.Sprintf("ttft:p99 of %s %s alone, and %s beside %s", n.Tenant, word(n.Without), word(n.Beside), n.Hot)
}

// hotAndOthers gives the workload with a hot tenant, and that of the others
// alone. One without tenants gets two.
func hotAndOthers(w workload.Spec) (beside, without workload.Spec) {
	names, _ := w.TenantNames()
	if len(names) < 2 {
		names = []string{"hot", "quiet"}
		w.Tenants = []workload.Tenant{{Name: names[0]}, {Name: names[1]}}
	}
	beside, without = w, w
	beside.HotSpot = &workload.HotSpot{Tenant: names[0], Share: hotShare}
	without.HotSpot = &workload.HotSpot{Tenant: names[0], Excluded: true}
	return beside, without
}

// busiest is the tenant with the most requests beside the hot one; where none
// came, it is the one named.
func busiest(p *result.Point, hot, otherwise string) string {
	name, most := otherwise, 0
	for _, g := range p.Tenants {
		if g.Name != hot && g.Requests.Due > most {
			name, most = g.Name, g.Requests.Due
		}
	}
	return name
}

// tenantP99 is a tenant's p99 of the first token, nil where it has none.
func tenantP99(p *result.Point, name string) *float64 {
	for _, g := range p.Tenants {
		if v, ok := g.Latency.Judged("ttft").Statistic("p99"); ok && g.Name == name {
			return &v
		}
	}
	return nil
}
