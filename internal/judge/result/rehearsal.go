package result

import "slices"

// Rehearsal is a plan tried out in virtual time: that many instances of an
// engine fitted to the measurement, under the traffic to be carried.
type Rehearsal struct {
	// Engine says what the instances are: a file, or the runs they were fitted
	// to, with how far the fit can be trusted.
	Engine string `json:"engine"`
	// Error is the fit's median error by metric, on levels that it had not
	// seen where there are some; absent for an engine from a file.
	Error map[string]float64 `json:"error,omitempty"`
	// Traffic says when requests come, SpanS for how long.
	Traffic string  `json:"traffic"`
	SpanS   float64 `json:"span_s"`
	Router  string  `json:"router"`
	// Planned is the plan, OneLess the same with an instance down; absent where
	// there is only one.
	Planned FleetRehearsal  `json:"planned"`
	OneLess *FleetRehearsal `json:"one_less,omitempty"`
	// LessPrefill and LessDecode are pools with one instance less.
	LessPrefill *FleetRehearsal `json:"less_prefill,omitempty"`
	LessDecode  *FleetRehearsal `json:"less_decode,omitempty"`
	// Together is how few instances that do both the same search finds, where it found
	// the sizes of the pools.
	Together int `json:"together_instances,omitempty"`
	// AtOnce is the same without the provisioning delay DelayS.
	AtOnce *FleetRehearsal `json:"at_once,omitempty"`
	DelayS float64         `json:"provisioning_delay_s,omitempty"`
	Notes  []string        `json:"notes,omitempty"`
}

// FleetRehearsal is what the users of a simulated fleet saw.
type FleetRehearsal struct {
	Instances int   `json:"instances"`
	Requests  int64 `json:"requests"`
	// Pools are those of the instances that prefill or decode, where none does both.
	Pools *RehearsedPools `json:"pools,omitempty"`
	// CostPerHour is that of the instances, absent without a price.
	CostPerHour *float64 `json:"cost_per_hour,omitempty"`
	// Refused are too long for the engine, Lost those of instances that failed or that
	// came while there was none.
	Refused int64 `json:"refused,omitempty"`
	Lost    int64 `json:"lost,omitempty"`
	// Scaled is how the number of instances changed, where it did.
	Scaled *Scaled `json:"scaled,omitempty"`
	// Violating is the share of requests that broke an objective.
	Violating  float64               `json:"violating_share"`
	Objectives []RehearsedObjective  `json:"objectives"`
	Latency    map[string]Percentile `json:"latency_ms"`
	Parts      []RehearsedPart       `json:"parts"`
	// Cached is the share of prompt tokens that the prefix cache had, of agents.
	Cached *float64 `json:"cached_share,omitempty"`
	// Preemptions and Steps are sums over the instances.
	Preemptions int64 `json:"preemptions"`
	Steps       int64 `json:"steps"`
}

// Scaled is what an autoscaler and failures did with a fleet.
type Scaled struct {
	// Mean, Min and Max are the instances that took requests at a time.
	Mean float64 `json:"mean"`
	Min  int     `json:"min"`
	Max  int     `json:"max"`
	// InstanceHours are paid for, from the moment that an instance is asked for.
	InstanceHours float64 `json:"instance_hours"`
	Started       int     `json:"started"`
	Failures      int     `json:"failures,omitempty"`
}

// RehearsedPools are the pools of a fleet that prefills and decodes apart.
type RehearsedPools struct {
	Prefill RehearsedPool `json:"prefill"`
	Decode  RehearsedPool `json:"decode"`
}

// RehearsedPool is one of them, and the share of the time in which its instances worked.
type RehearsedPool struct {
	Instances int     `json:"instances"`
	Busy      float64 `json:"busy_share"`
}

// Percentile is a distribution in three figures.
type Percentile struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// RehearsedObjective is an objective and what became of it.
type RehearsedObjective struct {
	Objective string `json:"objective"`
	Met       bool   `json:"met"`
	// Share of the requests is beyond the bound, Allowed may be.
	Share   float64 `json:"share"`
	Allowed float64 `json:"allowed"`
}

// RehearsedPart is a stretch of the time, by the arrival of its requests: of a
// day, an hour.
type RehearsedPart struct {
	StartS    float64 `json:"start_s"`
	Rate      float64 `json:"rate"`
	InFlight  float64 `json:"in_flight"` // mean, over the whole fleet
	Violating float64 `json:"violating_share"`
	// Instances is the mean of those that took requests, where their number changed.
	Instances *float64 `json:"instances,omitempty"`
	// Utilization is the rate over what the instances carry; absent where that
	// is not known.
	Utilization *float64 `json:"utilization,omitempty"`
}

// Met says whether the fleet served every request and kept every objective that
// could be judged.
func (r *FleetRehearsal) Met() bool {
	return r.Refused == 0 && !slices.ContainsFunc(r.Objectives, func(o RehearsedObjective) bool { return !o.Met })
}

// MeanInstances is how many instances are paid for on average in so many seconds.
func (r *FleetRehearsal) MeanInstances(seconds float64) float64 {
	if r.Scaled != nil && seconds > 0 {
		return r.Scaled.InstanceHours * 3600 / seconds
	}
	return float64(r.Instances)
}

// Others are the fleets that were tried beside the planned one.
func (r *Rehearsal) Others() (list []*FleetRehearsal) {
	for _, f := range []*FleetRehearsal{r.OneLess, r.LessPrefill, r.LessDecode, r.AtOnce} {
		if f != nil {
			list = append(list, f)
		}
	}
	return list
}
