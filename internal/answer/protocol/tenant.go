package protocol

import (
	"fmt"

	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// OthersRow is the row of the others without the hot tenant.
const OthersRow = "others-alone"

// hotShare is the part of the load that the hot tenant takes.
const hotShare = 0.8

// tenantRows measure a tenant beside one who takes most of the limit, and at the
// same rate without that one.
func tenantRows(w workload.Spec, limit float64) []config.Row {
	beside, without := hotAndOthers(w)
	return []config.Row{
		{Name: "hot-tenant", About: "beside the others", Workload: beside, Rate: limit,
			Hypothesis:  "A tenant who takes four fifths of the limit does not make the others wait longer than the limit does.",
			Question:    "What do the others see beside a hot tenant?",
			Expectation: []string{"objectives"}},
		{Name: OthersRow, About: "without the hot tenant", Workload: without, Rate: othersRate(limit),
			Hypothesis:  "The rest of the load alone is a light one.",
			Question:    "What would the others see without it?",
			Expectation: []string{"objectives"}},
	}
}

func othersRate(limit float64) float64 { return text.Round(limit*(1-hotShare), 4) }

// neighbor is how a tenant fared beside the hot one and without; nil where one of
// the two rows is left out, and there is nothing to compare.
func neighbor(c *config.Config, k Known) *result.Neighbour {
	hot, others, limit := k.Points["hot-tenant"], k.Points[OthersRow], k.limitRate()
	if hot == nil || others == nil {
		return nil
	}
	beside, _ := hotAndOthers(c.Workload)
	names, _ := beside.TenantNames()
	tenant := busiest(hot, names[0], names[1])
	return &result.Neighbour{Hot: names[0], HotRate: limit * hotShare, Rate: othersRate(limit), Tenant: tenant,
		Beside: tenantP99(hot, tenant), Without: tenantP99(others, tenant)}
}

// NeighborWords lays the two figures of a tenant side by side, "" where they are
// not known.
func NeighborWords(c *config.Config, k Known) string {
	n := neighbor(c, k)
	if n == nil {
		return ""
	}
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
		if v, ok := g.Latency.JudgedDist("ttft").Statistic("p99"); ok && g.Name == name {
			return &v
		}
	}
	return nil
}
