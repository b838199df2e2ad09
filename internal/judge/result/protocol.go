package result

import "redline/internal/judge/slo"

// Protocol is what the whole protocol answers beyond its points and its limit.
type Protocol struct {
	// Scale is the factor by which every stage was shortened; absent where
	// none was. What was shortened is a probe.
	Scale float64 `json:"scale,omitempty"`
	// Preflight is what was found of this machine and the endpoint that is not
	// as it should be.
	Preflight []PreflightFinding `json:"preflight,omitempty"`
	// Fields are those that a report of a benchmark has to state.
	Fields     []Field    `json:"fields"`
	Acceptance Acceptance `json:"acceptance"`
	// Neighbour is how a tenant fares beside one who takes most of the load.
	Neighbour *Neighbour `json:"neighbor,omitempty"`
	Variants  []Variant  `json:"variants,omitempty"`
}

// NotStated is what a field says that nobody filled in.
const NotStated = "not stated"

// Field is one line of a report, and where it was read.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Field string `json:"field"`
}

// PreflightFinding is a finding of the preflight.
type PreflightFinding struct {
	Check  string `json:"check"`
	About  string `json:"about"`
	Mark   string `json:"mark"`
	Figure string `json:"figure"`
	Cure   string `json:"cure,omitempty"`
}

// Acceptance is the answer to the stopping rule: "met", "not met", "undecided" or
// "not stated".
type Acceptance struct {
	Standing   slo.Standing `json:"outcome"`
	Conditions []Condition  `json:"conditions,omitempty"`
}

// Condition is one part of a stopping rule, answered.
type Condition struct {
	Text     string       `json:"text"`
	Standing slo.Standing `json:"outcome"`
	// Outcome is the figure that decided.
	Outcome string `json:"figure"`
}

// Neighbour is a tenant's latency beside the hot tenant and without that one,
// at the same rate of its own: first-token times in milliseconds, due form.
type Neighbour struct {
	Hot    string `json:"hot"`
	Tenant string `json:"tenant"`
	// HotRate and Rate are requests per second of the two.
	HotRate float64 `json:"hot_rate"`
	Rate    float64 `json:"rate"`
	// Beside and Without are the p99; absent where nothing was measured.
	Beside  *float64 `json:"ttft_p99_beside_ms,omitempty"`
	Without *float64 `json:"ttft_p99_without_ms,omitempty"`
}

// Variant is the protocol over one engine or server.
type Variant struct {
	Name string `json:"name"`
	// Dir is its directory, relative to that of the whole.
	Dir        string       `json:"dir"`
	Model      string       `json:"model,omitempty"`
	Engine     string       `json:"engine,omitempty"`
	Limit      *Limit       `json:"limit,omitempty"`
	Valid      Validity     `json:"valid"`
	SLO        slo.Standing `json:"slo"`
	Acceptance Acceptance   `json:"acceptance"`
}
