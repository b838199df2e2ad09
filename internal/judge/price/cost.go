package price

import (
	"slices"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// amounts is what a load got out of a server: whole amounts over the window.
type amounts struct {
	requests                         float64
	prompt, cached, output, accepted float64
	jobs                             float64
}

// Of prices what moved in a window; nil without a price, and where nothing came
// of it that could be priced.
func (p Prices) Of(s *metric.Summary) *result.Cost {
	seconds := s.Window.Seconds()
	m := amounts{requests: s.Rates.Completed * seconds, prompt: s.Throughput.Prompt * seconds,
		cached: s.Throughput.CachedPrompt * seconds, output: s.Throughput.Output * seconds}
	m.accepted = m.output * acceptedShare(s.Tokens)
	if s.Jobs != nil {
		m.jobs = float64(s.Jobs.Finished)
	}
	cost := p.cost(p.Hour*seconds/3600, m)
	if cost != nil {
		cost.Assumptions = p.Assumptions
	}
	return cost
}

// acceptedShare is the part of the output of the requests due in a window that
// came of those that kept every objective. Tokens that arrived in the window are
// not all of those requests, but they are like them; counted any other way
// accepted tokens could outnumber all of them.
func acceptedShare(t metric.Tokens) float64 {
	all := t.Output + t.Lost
	if t.Accepted == nil || all <= 0 {
		return 0
	}
	return float64(*t.Accepted) / float64(all)
}

// cost is what m costs at the token prices, with so much for the time of the
// deployment.
func (p Prices) cost(time float64, m amounts) *result.Cost {
	byToken := p.Tokens(m.prompt, m.cached, m.output)
	tokens := m.prompt + m.cached + m.output
	spend := time + byToken
	if spend == 0 || m.requests == 0 || tokens == 0 {
		return nil
	}
	c := &result.Cost{Currency: p.Currency, Spend: spend, PerRequest: spend / m.requests,
		Per1kTokens: 1e3 * spend / tokens, TokensPerUnit: new(tokens / spend)}
	if m.output > 0 {
		c.Per1mOutput, c.OutputPerUnit = 1e6*spend/m.output, new(m.output/spend)
	}
	if m.accepted > 0 {
		c.Per1mAccepted = new(1e6 * spend / m.accepted)
	}
	if m.jobs > 0 {
		c.PerJob, c.Per1kJobs = new(spend/m.jobs), new(1e3*spend/m.jobs)
	}
	if p.ReservedHour > 0 && p.Hour > 0 {
		c.Reserved = new(scaleCost(*c, (time*p.ReservedHour/p.Hour+byToken)/spend))
	}
	if p.Utilization > 0 { // it carries only a part of the load on average, and is paid for all the time
		c.Planned = &result.PlannedCost{Utilization: p.Utilization, UnitCost: scaleCost(*c, (time/p.Utilization+byToken)/spend)}
	}
	return c
}

// scaleCost is what the same costs at so many times the price.
func scaleCost(c result.Cost, factor float64) result.UnitCost {
	u := result.UnitCost{PerRequest: factor * c.PerRequest, Per1kTokens: factor * c.Per1kTokens, Per1mOutput: factor * c.Per1mOutput}
	if c.Per1mAccepted != nil {
		u.Per1mAccepted = new(factor * *c.Per1mAccepted)
	}
	return u
}

// Groups shares the cost of a window among its classes, its tenants and the models
// that they ask. Tokens that have a price are charged to whoever used them. The time
// of the deployment is shared by the time that each group's requests were in flight:
// a request holds its place in the batch and in the cache for so long.
func (p Prices) Groups(s *metric.Summary, model func(tenant string) string) []result.GroupCost {
	if !p.Given() {
		return nil
	}
	var list []result.GroupCost
	for _, by := range []struct {
		name   string
		groups []metric.Group
	}{{byClass, s.Classes}, {byTenant, s.Tenants}, {byModel, models(s.Tenants, model)}} {
		list = append(list, p.groupCosts(by.name, by.groups, s)...)
	}
	return list
}

// models adds up the tenants who ask the same one: what a cost needs of them.
func models(tenants []metric.Group, model func(tenant string) string) []metric.Group {
	var list []metric.Group
	for _, t := range tenants {
		name := model(t.Name)
		at := slices.IndexFunc(list, func(g metric.Group) bool { return g.Name == name })
		if at < 0 {
			at, list = len(list), append(list, metric.Group{Name: name, Latency: metric.Latency{E2E: &metric.Dist{}}})
		}
		g := &list[at]
		g.Requests.OK += t.Requests.OK
		g.PromptTokens += t.PromptTokens
		g.CachedTokens += t.CachedTokens
		g.OutputTokens += t.OutputTokens
		if t.AcceptedTokens != nil {
			if g.AcceptedTokens == nil {
				g.AcceptedTokens = new(int64)
			}
			*g.AcceptedTokens += *t.AcceptedTokens
		}
		if d, sum := t.Latency.E2E, g.Latency.E2E; d != nil && d.N > 0 {
			sum.Mean = (sum.Mean*float64(sum.N) + d.Mean*float64(d.N)) / float64(sum.N+d.N)
			sum.N += d.N
		}
	}
	return list
}

func (p Prices) groupCosts(by string, groups []metric.Group, s *metric.Summary) []result.GroupCost {
	if len(groups) < 2 {
		return nil // one group is all there is
	}
	shares := busyShares(groups)
	if shares == nil {
		return nil
	}
	var list []result.GroupCost
	time := p.Hour * s.Window.Seconds() / 3600
	for i, g := range groups {
		m := amounts{requests: float64(g.Requests.OK), prompt: float64(g.PromptTokens - g.CachedTokens),
			cached: float64(g.CachedTokens), output: float64(g.OutputTokens)}
		if g.AcceptedTokens != nil {
			m.accepted = float64(*g.AcceptedTokens)
		}
		if c := p.cost(time*shares[i], m); c != nil {
			list = append(list, result.GroupCost{By: by, Name: g.Name, Cost: *c})
		}
	}
	return list
}

// busyShares is how the time in flight of all groups is shared between them; nil
// where nobody measured it.
func busyShares(groups []metric.Group) []float64 {
	shares, all := make([]float64, len(groups)), 0.0
	for i := range groups {
		if d := groups[i].Latency.E2E; d != nil {
			shares[i] = d.Mean * float64(d.N)
			all += shares[i]
		}
	}
	if all == 0 {
		return nil
	}
	for i := range shares {
		shares[i] /= all
	}
	return shares
}

// Energy is how many joules an output token of the window took, nil where that is
// not known. It adds them to what the point cost; classes and tenants share them
// as they share time.
func Energy(p *result.Point, joules *float64) *float64 {
	if joules == nil {
		return nil
	}
	each := perToken(*joules, p.Throughput.Output*p.Window.Seconds())
	if p.Cost == nil {
		return each
	}
	p.Cost.JoulesPerOutput = each
	groups := map[string][]metric.Group{byClass: p.Classes, byTenant: p.Tenants}
	for i := range p.GroupCosts {
		c := &p.GroupCosts[i]
		for j, share := range busyShares(groups[c.By]) {
			if g := groups[c.By][j]; g.Name == c.Name {
				c.JoulesPerOutput = perToken(share**joules, float64(g.OutputTokens))
			}
		}
	}
	return each
}

// The ways in which requests are told apart.
const (
	byClass  = "class"
	byTenant = "tenant"
	byModel  = "model"
)

func perToken(joules, tokens float64) *float64 {
	if tokens <= 0 {
		return nil
	}
	return new(joules / tokens)
}

// perGood is what a request that kept every objective costs: the others were
// paid for too, those that were never answered among them.
func perGood(p *result.Point) (float64, bool) {
	if p.Cost == nil || p.Goodput == nil {
		return 0, false
	}
	good := p.Goodput.Requests * p.Window.Seconds()
	return p.Cost.Spend / good, good > 0
}

// MinCost is the load at which a request that kept every objective costs least,
// nil without a price.
func MinCost(points []result.Point) *result.MinCost {
	var best *result.MinCost
	for i := range points {
		p := &points[i]
		each, ok := perGood(p)
		if ok && p.Load.Amount() > 0 && (best == nil || each < best.PerRequest) {
			best = &result.MinCost{Rate: p.Load.Amount(), PerRequest: each}
		}
	}
	return best
}
