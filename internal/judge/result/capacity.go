package result

// Capacity is how many instances a demand takes and what they cost: the plan
// that is chosen, and beside it those of the other configurations measured.
type Capacity struct {
	CapacityPlan
	// Configurations are all plans, the best first, where there are several;
	// Chosen says why the first is.
	Configurations []CapacityPlan `json:"configurations,omitempty"`
	Chosen         string         `json:"chosen,omitempty"`
}

// CapacityPlan is how many instances of one measured configuration a demand
// takes.
type CapacityPlan struct {
	// Name is the run that measured the configuration; absent where a limit was
	// given by hand.
	Name string `json:"name,omitempty"`
	// Model is what it serves; absent where that is not known.
	Model  string        `json:"model,omitempty"`
	Demand Demand        `json:"demand"`
	Limit  CapacityLimit `json:"limit"`
	// Headroom is the share of the demand that is kept free, Spare the
	// instances that may fail.
	Headroom float64 `json:"headroom"`
	Spare    int     `json:"spare"`

	Accelerator     string `json:"accelerator,omitempty"`
	GPUsPerInstance int    `json:"gpus_per_instance"`
	// Instances carry the demand and nothing more; with headroom; and those to
	// run, spare ones included.
	Instances             int `json:"instances"`
	GPUs                  int `json:"gpus"`
	InstancesWithHeadroom int `json:"instances_with_headroom"`
	GPUsWithHeadroom      int `json:"gpus_with_headroom"`
	InstancesToRun        int `json:"instances_to_run"`
	GPUsToRun             int `json:"gpus_to_run"`
	// InstancesIfLow is how many would have to run if the limit were at the low
	// end of its interval; absent where that makes no difference.
	InstancesIfLow *int `json:"instances_if_limit_is_low,omitempty"`

	// Utilization is the share of what all instances can carry.
	UtilizationAtPeak float64          `json:"utilization_at_peak"`
	UtilizationAtMean *float64         `json:"utilization_at_mean,omitempty"`
	Expected          *ExpectedLatency `json:"expected,omitempty"`
	// Watts is the power of all instances to run; absent where it is not known.
	Watts       *float64      `json:"watts,omitempty"`
	Cost        *CapacityCost `json:"cost,omitempty"`
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`
	// Rehearsal is what came of trying the plan in virtual time.
	Rehearsal *Rehearsal `json:"rehearsal,omitempty"`
	// Impossible says why no number of instances keeps the objectives, or is known to
	// (the basis of the limit is LimitUndecided then); the figures above are 0.
	Impossible  string   `json:"impossible,omitempty"`
	Assumptions []string `json:"assumptions"`
	Notes       []string `json:"notes,omitempty"`
}

// Demand is the load that is to be carried.
type Demand struct {
	Rate float64 `json:"rate"`
	// Unit is that of all loads of the plan: "agents", live jobs; absent it is
	// requests/s.
	Unit string `json:"unit,omitempty"`
	// Mean is the average load; absent where only the peak is known.
	Mean *float64 `json:"mean_rate,omitempty"`
	// Users and ThinkS are what the rate was computed from, where it was.
	Users  int      `json:"users,omitempty"`
	ThinkS *float64 `json:"think_s,omitempty"`
	// Text says where the rate is from; absent where it was given by hand.
	Text string `json:"text,omitempty"`
}

// CapacityLimit is what one instance carries.
type CapacityLimit struct {
	Rate float64 `json:"rate"`
	// Interval is absent where it is not known.
	Interval *[2]float64 `json:"interval,omitempty"`
	// Basis is LimitMeasured, LimitBound, LimitKept, LimitUndecided or LimitGiven.
	Basis      string   `json:"basis"`
	Objectives []string `json:"objectives,omitempty"`
}

// What a capacity plan's limit rests on.
const (
	LimitMeasured  = "measured"  // a search for the limit
	LimitBound     = "at_least"  // a search that saw nothing missed
	LimitKept      = "kept"      // the highest rate that met the objectives
	LimitUndecided = "undecided" // the highest rate that did not miss them
	LimitGiven     = "given"
)

// ExpectedLatency is what a request will see at the planned load: figures
// between those of the loads that were measured next to it.
type ExpectedLatency struct {
	// Rate is the load of one instance at peak.
	Rate float64 `json:"rate_per_instance"`
	// Beyond says that this load lies outside of what was measured, on which
	// side: "below" or "above". The figures are those of the nearest load then.
	Beyond  string           `json:"beyond,omitempty"`
	Figures []ExpectedFigure `json:"figures"`
}

// ExpectedFigure is one percentile, in milliseconds.
type ExpectedFigure struct {
	Name string  `json:"name"` // "ttft_due_ms"
	Stat string  `json:"stat"` // "p99"
	MS   float64 `json:"ms"`
}

// CapacityCost is what a plan costs. A month has 730 hours.
type CapacityCost struct {
	Currency         string   `json:"currency,omitempty"`
	PerHour          float64  `json:"per_hour"`
	PerMonth         float64  `json:"per_month"`
	ReservedPerHour  *float64 `json:"reserved_per_hour,omitempty"`
	ReservedPerMonth *float64 `json:"reserved_per_month,omitempty"`
	// AtRate is the load that the figures below are of: the mean, or the peak
	// where that is all that is known.
	AtRate     float64 `json:"at_rate"`
	PerRequest float64 `json:"cost_per_request"`
	// PerAgentHour is of an agent that is live for an hour; absent where the load is
	// a rate.
	PerAgentHour *float64 `json:"cost_per_agent_hour,omitempty"`
	Per1kTokens  *float64 `json:"cost_per_1k_tokens,omitempty"`
	Per1mTokens  *float64 `json:"cost_per_1m_tokens,omitempty"`
	Per1mOutput  *float64 `json:"cost_per_1m_output_tokens,omitempty"`
}

// Sensitivity is the plan under another assumption.
type Sensitivity struct {
	Name           string   `json:"name"` // "traffic +20%"
	InstancesToRun int      `json:"instances_to_run"`
	GPUsToRun      int      `json:"gpus_to_run"`
	PerMonth       *float64 `json:"per_month,omitempty"`
}

// InFlight is how many requests a load keeps in flight at once.
type InFlight struct {
	Rate     float64 `json:"rate"`
	LatencyS float64 `json:"latency_s"`
	// Mean is by Little's law, P99 what arrivals at random stay below 99% of
	// the time.
	Mean float64 `json:"in_flight_mean"`
	P99  int     `json:"in_flight_p99"`
}
