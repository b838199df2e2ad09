package account

import (
	"cmp"
	"strconv"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
)

// dimension is one way to split requests.
type dimension int

const (
	byBucket dimension = iota
	byClass
	byTenant
	byTurn
	byStep
	byDepth
	byForm
	byReplica
	byPrefiller
	byAdapter
	dimensionCount
)

// maxNames bounds how many are told apart of what a server or a large set names; the
// others are one group.
var maxNames = map[dimension]int{byReplica: maxReplicas, byPrefiller: maxReplicas, byAdapter: 16}

const (
	otherNames = "others"
	// baseModel is the group of requests without an adapter.
	baseModel = "base model"
)

// keys is the index of a request in each dimension.
type keys [dimensionCount]int32

// naming numbers the names of every dimension as they are met.
type naming struct {
	stepOf  func(due int64) int
	names   [dimensionCount][]string
	numbers [dimensionCount]map[string]int32
	// replicas are numbered by their addresses; no group of figures is by them.
	replicas map[string]int32
	// trips are the quickest round trips to each of them, in ns, which no server has
	// to think about.
	trips []float64
}

func newNaming(o Options) *naming {
	n := &naming{stepOf: o.StepOf, replicas: map[string]int32{}}
	for d := range n.numbers {
		n.numbers[d] = map[string]int32{}
	}
	// Buckets and steps keep their own order, whichever is met first.
	for _, name := range metric.BucketNames {
		n.number(byBucket, name)
	}
	for _, step := range o.Steps {
		n.number(byStep, step.Name)
	}
	if n.stepOf == nil {
		n.number(byStep, "")
		n.stepOf = func(int64) int { return 0 }
	}
	return n
}

func (n *naming) number(d dimension, name string) int32 {
	i, known := n.numbers[d][name]
	if limit := maxNames[d]; !known && limit > 0 && len(n.names[d]) >= limit && name != otherNames {
		return n.number(d, otherNames)
	}
	if !known {
		i = int32(len(n.names[d]))
		n.numbers[d][name] = i
		n.names[d] = append(n.names[d], name)
	}
	return i
}

// replica numbers an address from 1 on; 0 is that of a request without one.
func (n *naming) replica(address string) int32 {
	if address == "" {
		return 0
	}
	i, known := n.replicas[address]
	if !known {
		i = int32(len(n.replicas)) + 1
		n.replicas[address] = i
	}
	return i
}

// replicaOf is who served a request: as the reply says, or else by address; "" for
// nobody.
func replicaOf(r *record.Record) string {
	if r.Served.Replica == "" && r.Addr != "" {
		return byAddress + r.Addr
	}
	return r.Served.Replica
}

// part selects the requests of a scope. A name that no record has selects
// none.
func (n *naming) part(s slo.Scope) part {
	p := part(everything)
	for d, name := range map[dimension]string{byClass: s.Class, byTenant: s.Tenant} {
		if name == "" {
			continue
		}
		key, known := n.numbers[d][name]
		wider := p
		p = func(k keys) bool { return known && k[d] == key && wider(k) }
	}
	return p
}

// keysOf places a record. The designed prompt length comes before the counted
// one, which a failed request does not have.
func (n *naming) keysOf(r *record.Record) keys {
	return keys{
		byBucket:    int32(metric.Bucket(cmp.Or(r.AskedPrompt, r.PromptTokens))),
		byClass:     n.number(byClass, r.Class),
		byTenant:    n.number(byTenant, r.Tenant),
		byTurn:      n.number(byTurn, strconv.Itoa(r.Turn)),
		byStep:      int32(n.stepOf(r.Due)),
		byDepth:     n.number(byDepth, strconv.Itoa(r.Depth)),
		byForm:      n.number(byForm, formOf(r)),
		byReplica:   n.number(byReplica, replicaOf(r)),
		byPrefiller: n.number(byPrefiller, r.Served.Prefiller),
		byAdapter:   n.number(byAdapter, cmp.Or(r.Adapter, baseModel)),
	}
}
