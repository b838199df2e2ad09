package account

import (
	"cmp"
	"iter"
	"slices"
	"strconv"

	"redline/internal/judge/metric"
	"redline/internal/llm"
)

// groups gives the figures again for every value of a dimension. Dimensions
// that the records do not use have none.
func (v view) groups(d dimension) []metric.Group {
	if v.isUnused(d) {
		return nil
	}
	var list []metric.Group
	for key, name := range v.naming.names[d] {
		p := func(k keys) bool { return k[d] == int32(key) }
		g := metric.Group{Name: name, Requests: countAll(v.requestsOf(p))}
		if g.Requests.Due == 0 {
			continue
		}
		g.Latency = v.latency(p, v.gaps.group(d, key))
		g.Phases = g.Latency.Phases()
		if g.Ledger = v.ledger(p); !g.Ledger.IsKnown() {
			g.Ledger = nil
		} else if g.Phases != nil {
			g.Phases.Split(g.Latency.E2EDue, g.Ledger)
		}
		if key < len(v.arrived.by[d]) {
			g.OutputPS = v.perSecond(float64(v.arrived.by[d][key]))
			if d == byStep && v.o.Steps[key].Seconds > 0 {
				g.OutputPS = float64(v.arrived.by[d][key]) / v.o.Steps[key].Seconds
			}
		}
		v.addSums(&g, p)
		list = append(list, g)
	}
	switch d {
	case byReplica, byPrefiller:
		nameReplicas(list)
		fallthrough
	case byClass, byTenant, byForm, byAdapter:
		slices.SortFunc(list, func(a, b metric.Group) int { return cmp.Compare(a.Name, b.Name) })
	case byTurn, byDepth:
		slices.SortFunc(list, func(a, b metric.Group) int { return cmp.Compare(number64(a.Name), number64(b.Name)) })
	}
	return list
}

// addSums counts the tokens of a group's ok requests, and those that met their
// objectives.
func (v view) addSums(g *metric.Group, p part) {
	due, good := 0, 0
	for q := range v.requestsOf(p) {
		if !q.outside() {
			due++
		}
		if q.good[asMeasured] {
			good++
		}
		if q.outcome == llm.OK {
			g.PromptTokens += int64(q.prompt)
			g.CachedTokens += int64(q.cached)
			g.OutputTokens += int64(q.output)
			g.Drafted += int64(q.drafted)
			g.DraftsAccepted += int64(q.accepted)
		}
	}
	if v.judgesGood {
		g.Goodput = v.goodShare(good, max(due, 1))
	}
	g.AcceptedTokens = v.acceptedTokens(p)
}

// acceptedTokens counts the output of requests that met their objectives, nil where
// none could be judged.
func (v view) acceptedTokens(p part) *int64 {
	if !v.judgesGood {
		return nil
	}
	n := int64(0)
	for q := range v.requestsOf(p) {
		if q.good[asMeasured] {
			n += int64(q.output)
		}
	}
	return &n
}

// isUnused reports whether a dimension says nothing: one unnamed class or
// tenant, a run of single turns or without subagents, or of one form.
func (v view) isUnused(d dimension) bool {
	names := v.naming.names[d]
	if d == byReplica || d == byPrefiller {
		return countReplicas(names) < 2
	}
	return d != byBucket && len(names) == 1 && (d == byTurn || d == byDepth || d == byForm || names[0] == "" || names[0] == baseModel)
}

// countReplicas counts the names of replicas: by address where no reply has one, and nowhere
// what was never connected.
func countReplicas(names []string) (n int) {
	hasNames := slices.ContainsFunc(names, isNamed)
	for _, name := range names {
		if isNamed(name) || !hasNames && name != "" {
			n++
		}
	}
	return n
}

// number64 reads the number of a turn or a depth, which keysOf wrote.
func number64(name string) int {
	n, err := strconv.Atoi(name)
	if err != nil {
		return 0
	}
	return n
}

func (v view) requestsOf(p part) iter.Seq[*request] {
	return func(yield func(*request) bool) {
		for q := range v.requests.all {
			if p(q.keys) && !yield(q) {
				return
			}
		}
	}
}
