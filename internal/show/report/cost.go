package report

import (
	"cmp"

	"redline/internal/judge/result"
	"redline/internal/show/document"
	"redline/internal/text"
)

// cost writes the cost of a load, by group, and the prices it is based on.
func (p *page) cost(point *result.Point) {
	c := point.Cost
	if c == nil {
		return
	}
	in := func(v float64) string { return amount(v, c.Currency) }
	each := func(request, per1k, per1mOutput float64, per1mAccepted *float64) string {
		output := ""
		if per1mOutput > 0 {
			output = in(per1mOutput) + " per 1M output tokens"
		}
		return joinDots(in(request)+" a request", in(per1k)+" per 1k tokens", output,
			ifKnown(per1mAccepted, func(v float64) string { return in(v) + " per 1M accepted" }))
	}
	p.shows("cost_per_request", "cost_per_1k_tokens", "cost_per_1m_output_tokens")
	if c.Per1mAccepted != nil {
		p.shows("cost_per_1m_accepted_tokens")
	}
	p.Field("cost", joinDots(cmp.Or(p.bill, in(c.Spend)+" in the window"), each(c.PerRequest, c.Per1kTokens, c.Per1mOutput, c.Per1mAccepted),
		ifKnown(c.PerJob, func(v float64) string { p.shows("cost_per_job", "cost_per_1k_jobs"); return in(v) + " a job" }),
		ifKnown(c.Per1kJobs, func(v float64) string { return in(v) + " per 1,000 jobs" }),
		ifKnown(c.OutputPerUnit, func(v float64) string { return inUnit(figure(v), "output tokens") + " for " + in(1) })))
	if r := c.Reserved; r != nil {
		p.Field("reserved", each(r.PerRequest, r.Per1kTokens, r.Per1mOutput, r.Per1mAccepted))
	}
	if a := c.Planned; a != nil { // the same for a deployment that is not always busy
		p.Field("at "+percent2(a.Utilization), joinDots("of this load on average", each(a.PerRequest, a.Per1kTokens, a.Per1mOutput, a.Per1mAccepted)))
	}
	p.Fields("prices", cleanAll(c.Assumptions))
	p.costShares(point)
}

// billOf is what everything sent costs, and of which limit that is a part.
func billOf(r *result.Result) string {
	if r.Billed == nil {
		return ""
	}
	currency := ""
	for i := range r.Points {
		if c := r.Points[i].Cost; c != nil {
			currency = c.Currency
		}
	}
	bill := amount(*r.Billed, currency) + " in all"
	load, _ := r.Plan["load_profile"].(map[string]any)
	if limit, ok := load["max_spend"].(float64); ok {
		bill += " of " + result.SpendLimit + hard + text.Exact(limit)
	}
	return bill
}

// costShares lays what classes, tenants and models cost side by side.
func (p *page) costShares(point *result.Point) {
	t := document.NewTable(left("cost by"), left(""), right("share"), right("a request"), right("1k tokens").Optional(1), right("1M output"),
		right("1M accepted").Optional(2), right("J/token").Optional(3))
	all := map[string]float64{}
	for _, g := range point.GroupCosts {
		all[g.By] += g.Spend
	}
	for _, g := range point.GroupCosts {
		in := func(v float64) string { return amount(v, g.Currency) }
		output := ""
		if g.Per1mOutput > 0 {
			output = in(g.Per1mOutput)
		}
		t.Add(label(g.By), label(g.Name), percent2(g.Spend/all[g.By]), in(g.PerRequest), in(g.Per1kTokens), output,
			ifKnown(g.Per1mAccepted, in), ifKnown(g.JoulesPerOutput, figure))
	}
	p.Add(t)
}
