package metric

// Fleet is how several replicas shared the requests of a window; absent where the
// replies name fewer than two, by header or by address. Of one that only some replies
// name there are the counts alone.
type Fleet struct {
	// Named is how many requests have a replica, Unnamed how many of those that were
	// sent have none although others do.
	Named   int `json:"named"`
	Unnamed int `json:"unnamed,omitempty"`
	// Once are the replicas that served a single request.
	Once []string `json:"once,omitempty"`
	// Busiest is the replica with the most requests, Share its share of them.
	Busiest string  `json:"busiest"`
	Share   float64 `json:"busiest_share"`
	// Chance is that of shares at least so uneven where every replica gets equally
	// many on average, by a chi-square test with sessions as clusters; Uneven says
	// that it is below 1%.
	Chance float64 `json:"chance"`
	Uneven bool    `json:"uneven,omitempty"`
	// Turns says whether sessions stayed on their replica; absent without sessions
	// of several requests.
	Turns *Stickiness `json:"turns,omitempty"`
	// Slow are the replicas that are slower than the others.
	Slow []SlowReplica `json:"slow,omitempty"`
	// Failing are the replicas that answer more of their requests with an error.
	Failing []FailingReplica `json:"failing,omitempty"`
	// Untested are the replicas with too few requests to say.
	Untested []string `json:"untested,omitempty"`
}

// Unnamed is the group of requests whose replies name no replica, where others do.
const Unnamed = "(unnamed)"

// Stickiness is how many turns went where the turn before them went.
type Stickiness struct {
	Turns  int     `json:"turns"`
	Stayed float64 `json:"stayed"`
	// ByChance is the share that would have stayed with the replicas drawn by lot.
	ByChance float64 `json:"by_chance"`
}

// SlowReplica is a replica whose requests take longer than those of the others.
type SlowReplica struct {
	Name   string `json:"name"`
	Figure string `json:"figure"`
	// Factor is by how much, with a 95% interval.
	Factor float64 `json:"factor"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Share is its share of the requests.
	Share float64 `json:"share"`
}

// FailingReplica is a replica of which more requests fail or are refused than of the others.
type FailingReplica struct {
	Name     string `json:"name"`
	Errors   int    `json:"errors"`
	Requests int    `json:"requests"`
	// Rate is its share of errors, Others that of all others together.
	Rate   float64 `json:"rate"`
	Others float64 `json:"others"`
	// Chance is that of so many where all replicas fail equally often, by a binomial test of
	// the errors with sessions as clusters.
	Chance float64 `json:"chance"`
}
