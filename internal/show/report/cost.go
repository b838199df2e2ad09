package report

import (
	"redline/internal/judge/result"
)

// cost writes what a load cost, to whom, and at which prices.
func (p *page) cost(point *result.Point) {
	c := point.Cost
	if c == nil {
		return
	}
	in := func(v float64) string { return amount(v, c.Currency) }
	p.shows("cost_per_request", "cost_per_1k_tokens", "cost_per_1m_output_tokens")
	accepted := ""
	if c.Per1mAccepted != nil {
		p.shows("cost_per_1m_accepted_tokens")
		accepted = in(*c.Per1mAccepted) + " per 1M accepted"
	}
	p.field("cost", joined(in(c.Spend)+" in all", in(c.PerRequest)+" a request", in(c.Per1kTokens)+" per 1k tokens",
		perOutput(c.Per1mOutput, c.Currency), accepted))
	p.plannedCost(c)
	for i, text := range c.Assumptions {
		p.field(once(i, "prices"), clean(text))
	}
	p.costShares(point)
}

// plannedCost is the same for a deployment that is not always busy.
func (p *page) plannedCost(c *result.Cost) {
	planned := c.Planned
	if planned == nil {
		return
	}
	in := func(v float64) string { return amount(v, c.Currency) }
	accepted := ""
	if planned.Per1mAccepted != nil {
		accepted = in(*planned.Per1mAccepted) + " per 1M accepted"
	}
	p.field("at "+percent2(planned.Utilization), joined("of this load on average", in(planned.PerRequest)+" a request",
		in(planned.Per1kTokens)+" per 1k tokens", perOutput(planned.Per1mOutput, c.Currency), accepted))
}

// perOutput is the cost of output tokens, "" where there were none.
func perOutput(cost float64, currency string) string {
	if cost <= 0 {
		return ""
	}
	return amount(cost, currency) + " per 1M output tokens"
}

// costShares lays what classes and tenants cost side by side.
func (p *page) costShares(point *result.Point) {
	if len(point.GroupCosts) == 0 {
		return
	}
	t := table{columns: []column{{head: cell{text: "cost by", tone: bold}}, {}, {head: cell{text: "share"}, align: alignRight},
		{head: cell{text: "a request"}, align: alignRight}, {head: cell{text: "1k tokens"}, align: alignRight, optional: 1},
		{head: cell{text: "1M output"}, align: alignRight}, {head: cell{text: "1M accepted"}, align: alignRight, optional: 2},
		{head: cell{text: "J/token"}, align: alignRight, optional: 3}}}
	all := map[string]float64{}
	for _, g := range point.GroupCosts {
		all[g.By] += g.Spend
	}
	for _, g := range point.GroupCosts {
		in := func(v float64) string { return amount(v, g.Currency) }
		row := []cell{{text: indent + label(g.By)}, {text: label(g.Name)}, {text: percent2(g.Spend / all[g.By])},
			{text: in(g.PerRequest)}, {text: in(g.Per1kTokens)}, {}, {}, {}}
		if g.Per1mOutput > 0 {
			row[5].text = in(g.Per1mOutput)
		}
		if g.Per1mAccepted != nil {
			row[6].text = in(*g.Per1mAccepted)
		}
		if g.JoulesPerOutput != nil {
			row[7].text = figure(*g.JoulesPerOutput)
		}
		t.rows = append(t.rows, row)
	}
	p.gap()
	p.write(t.withoutEmpty())
}
