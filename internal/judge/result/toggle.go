package result

import "redline/internal/judge/slo"

// Toggle is one optimization, measured with and without.
type Toggle struct {
	// Name is that of the plan's optimizations: "speculative_decoding".
	Name string `json:"name"`
	// Load is the one of several at which it was measured.
	Load *Load `json:"load,omitempty"`
	With Side  `json:"with"`
	// Without is the same server, or another, without it.
	Without Side `json:"without"`
	// Rounds counts those in which both sides were sound, Skipped names the
	// others.
	Rounds  int      `json:"rounds"`
	Skipped []string `json:"skipped,omitempty"`
	// Ended says why it has fewer rounds than it may have.
	Ended string `json:"ended,omitempty"`
	// Requests ended well on both sides; of Unpaired only one side did, or
	// neither.
	Requests int `json:"requests"`
	Unpaired int `json:"unpaired,omitempty"`
	// Batches are the pieces of time that the intervals rest on.
	Batches int `json:"batches"`
	// Range is the prompt lengths over which anything is said, in tokens.
	Range   [2]int         `json:"range"`
	Metrics []ToggleMetric `json:"metrics"`
	Buckets []ToggleBucket `json:"buckets"`
	// Verdict is the answer in words.
	Verdict  string    `json:"verdict"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// ToggleMetric is what a toggle does to one metric.
type ToggleMetric struct {
	Name string `json:"name"` // "ttft", "tpot" or "e2e"
	TogglePair
	// Change is the mean relative change of a request, geometrically: −0.2 is a
	// fifth faster with it.
	Change float64 `json:"change"`
	// Interval is absent where there is too little to say.
	Interval *[2]float64 `json:"interval,omitempty"`
	// Standing is "pays", "hurts", "depends", "same" or "undecided".
	Standing slo.Standing `json:"outcome"`
	// Thresholds are the prompt lengths at which it begins to pay or to hurt.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Regions are the prompt lengths for which it is decided.
	Regions []ToggleRegion `json:"regions,omitempty"`
	// Curve is the change over prompt lengths.
	Curve []TogglePoint `json:"curve,omitempty"`
	// Verdict is the standing in words.
	Verdict string `json:"verdict"`
}

// TogglePair is the median and the p95 with and without, in milliseconds. A
// median of 0 is not known: results of earlier versions do not have it.
type TogglePair struct {
	WithP50MS    float64 `json:"with_p50_ms,omitempty"`
	WithoutP50MS float64 `json:"without_p50_ms,omitempty"`
	WithMS       float64 `json:"with_p95_ms"`
	WithoutMS    float64 `json:"without_p95_ms"`
}

// At is both sides at "p50" or "p95", as far as they are known.
func (p TogglePair) At(stat string) (with, without float64, known bool) {
	if stat == "p50" {
		p.WithMS, p.WithoutMS = p.WithP50MS, p.WithoutP50MS
	}
	return p.WithMS, p.WithoutMS, p.WithMS > 0
}

// Threshold is a prompt length beyond which the answer is another one.
type Threshold struct {
	Tokens   float64    `json:"tokens"`
	Interval [2]float64 `json:"interval"`
	// Then is what it does above: "pays" or "hurts".
	Then slo.Standing `json:"then"`
}

// ToggleRegion is a range of prompt lengths with one answer.
type ToggleRegion struct {
	From     float64      `json:"from"`
	To       float64      `json:"to"`
	Standing slo.Standing `json:"outcome"`
}

// TogglePoint is the change at one prompt length.
type TogglePoint struct {
	Tokens   float64    `json:"tokens"`
	Change   float64    `json:"change"`
	Interval [2]float64 `json:"interval"`
}

// ToggleBucket is the requests of similar prompt lengths.
type ToggleBucket struct {
	Name     string                `json:"name"`
	Requests int                   `json:"requests"`
	Metrics  map[string]TogglePair `json:"metrics"`
}

// ToggleLoads is what an optimization does at several loads.
type ToggleLoads struct {
	Name    string             `json:"name"`
	By      string             `json:"by"` // "rate" or "concurrency"
	Metrics []ToggleLoadMetric `json:"metrics"`
	Verdict string             `json:"verdict"`
}

// ToggleLoadMetric is what it does to one metric.
type ToggleLoadMetric struct {
	Name   string            `json:"name"`
	Points []ToggleLoadPoint `json:"points"`
	// Standing is "pays", "hurts", "depends" or "undecided".
	Standing slo.Standing `json:"outcome"`
	// Threshold is absent where one answer holds at every load that was decided.
	Threshold *LoadThreshold `json:"threshold,omitempty"`
	Verdict   string         `json:"verdict"`
}

// ToggleLoadPoint is the mean change of a request at one load, and its interval.
type ToggleLoadPoint struct {
	Load     float64      `json:"load"`
	Change   float64      `json:"change"`
	Interval [2]float64   `json:"interval"`
	Standing slo.Standing `json:"outcome"`
}

// LoadThreshold is a load beyond which the answer is another one: it lies between the
// last level with the one answer and the first with the other.
type LoadThreshold struct {
	Load     float64      `json:"load"`
	Interval [2]float64   `json:"interval"`
	Then     slo.Standing `json:"then"`
}
