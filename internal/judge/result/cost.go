package result

// Cost is what the load of a point costs at the prices of the plan, as
// measured and at the utilisation that is planned for. Prices are printed as
// assumptions beside it.
type Cost struct {
	Currency    string  `json:"currency,omitempty"`
	Spend       float64 `json:"spend"`
	PerRequest  float64 `json:"cost_per_request"`
	Per1kTokens float64 `json:"cost_per_1k_tokens"`
	// Per1mOutput is absent where nothing is generated, as of embeddings.
	Per1mOutput float64 `json:"cost_per_1m_output_tokens,omitempty"`
	// Per1mAccepted counts only output tokens of requests that met every
	// objective; absent where none did or nothing is asked.
	Per1mAccepted *float64 `json:"cost_per_1m_accepted_tokens,omitempty"`
	// PerJob and Per1kJobs are of jobs that ended ok; absent where none did.
	PerJob          *float64 `json:"cost_per_job,omitempty"`
	Per1kJobs       *float64 `json:"cost_per_1k_jobs,omitempty"`
	TokensPerUnit   *float64 `json:"tokens_per_dollar,omitempty"`
	OutputPerUnit   *float64 `json:"output_tokens_per_dollar,omitempty"`
	JoulesPerOutput *float64 `json:"joules_per_output_token,omitempty"`
	// Reserved is the same at the reserved price, beside the one on demand.
	Reserved *UnitCost `json:"reserved,omitempty"`
	// Planned is the same at the planned utilisation, idle headroom included.
	Planned *PlannedCost `json:"planned,omitempty"`
	// Assumptions are the prices, with their dates and sources.
	Assumptions []string `json:"assumptions,omitempty"`
}

// PlannedCost is the cost of a load at the utilisation that is planned for.
type PlannedCost struct {
	Utilization float64 `json:"utilization"`
	UnitCost
}

// UnitCost is what a request and tokens cost.
type UnitCost struct {
	PerRequest    float64  `json:"cost_per_request"`
	Per1kTokens   float64  `json:"cost_per_1k_tokens"`
	Per1mOutput   float64  `json:"cost_per_1m_output_tokens,omitempty"`
	Per1mAccepted *float64 `json:"cost_per_1m_accepted_tokens,omitempty"`
}

// GroupCost is the cost of one class's, tenant's or model's share of the load.
type GroupCost struct {
	// By is "class", "tenant" or "model".
	By   string `json:"by"`
	Name string `json:"name"`
	Cost
}
