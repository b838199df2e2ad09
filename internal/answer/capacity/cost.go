package capacity

import (
	"cmp"

	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/text"
)

// hoursPerMonth is a year's hours over its months.
const hoursPerMonth = 730

// costOf is what a plan costs; nil without a price.
func costOf(p *result.CapacityPlan, prices price.Prices, m curve, tokens lengths) *result.CapacityCost {
	all := tokens.prompt + tokens.cached + tokens.output
	if !prices.Given() || !prices.ByHour() && all == 0 {
		return nil
	}
	c := &result.CapacityCost{Currency: prices.Currency, AtRate: p.Demand.Rate}
	if p.Demand.Mean != nil {
		c.AtRate = *p.Demand.Mean
	}
	instances := float64(p.InstancesToRun)
	requests := m.requests(c.AtRate/instances) * instances * 3600 // in an hour
	byToken := prices.Tokens(tokens.prompt, tokens.cached, tokens.output) * requests
	c.PerHour = prices.Hour*float64(p.InstancesToRun) + byToken
	c.PerMonth = hoursPerMonth * c.PerHour
	if prices.ReservedHour > 0 {
		c.ReservedPerHour = new(prices.ReservedHour*float64(p.InstancesToRun) + byToken)
		c.ReservedPerMonth = new(hoursPerMonth * *c.ReservedPerHour)
	}
	if m.agents {
		c.PerAgentHour = new(c.PerHour / c.AtRate)
	}
	if m.agents && len(m.levels) == 0 {
		return c // how many requests they send is not known
	}
	c.PerRequest = c.PerHour / requests
	if all > 0 {
		c.Per1kTokens = new(1e3 * c.PerRequest / all)
		c.Per1mTokens = new(1e6 * c.PerRequest / all)
		if tokens.output > 0 {
			c.Per1mOutput = new(1e6 * c.PerRequest / tokens.output)
		}
	}
	return c
}

// longer is by how much prompts grow in the last of the sensitivities.
const longer = 0.5

// sensitivities are the plan under other traffic.
func sensitivities(p *result.CapacityPlan, f fleet, prices price.Prices, m curve) []result.Sensitivity {
	var list []result.Sensitivity
	tokens := m.lengths()
	add := func(name string, f fleet, traffic float64) {
		s := result.Sensitivity{Name: name, InstancesToRun: f.toRun(), GPUsToRun: f.toRun() * p.GPUsPerInstance}
		other := *p
		other.InstancesToRun, other.Demand.Rate = s.InstancesToRun, p.Demand.Rate*traffic
		if p.Demand.Mean != nil {
			other.Demand.Mean = new(*p.Demand.Mean * traffic)
		}
		if c := costOf(&other, prices, m, tokens); c != nil {
			s.PerMonth = &c.PerMonth
		}
		list = append(list, s)
	}
	for _, traffic := range []float64{0.8, 1.2} {
		other := f
		other.rate *= traffic
		add(cmp.Or(p.Demand.Unit, "traffic")+" "+text.SignedNumber(100*(traffic-1))+"%", other, traffic)
	}
	if share, known := m.prefillShare(f.limit); known {
		other := f
		other.limit = f.limit / (1 + longer*share)
		tokens.prompt *= 1 + longer
		tokens.cached *= 1 + longer
		add("prompts +"+text.RoughPercent(longer), other, 1)
	}
	return list
}
