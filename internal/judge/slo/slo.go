// Package slo is service level objectives: it parses objectives such as
// "ttft:p99<500ms" and "class=rag ttft:p99<2s", says whether one request kept
// its share of them, and names the verdicts. It computes no percentile.
package slo

// Objective is one service level objective. Durations are nanoseconds, shares are fractions,
// rates are per second, memory is MB.
type Objective struct {
	// Metric is ttft, ttfa, tpot, itl, icl, stall, e2e, decode, throughput,
	// good, error, reject, retry, kv or cost; of jobs job, job_serving, job_first,
	// job_ok or jobs_per_hour. ttft and e2e are judged in their due form.
	Metric string
	// Stat is "p99", "p95", "p999", "mean", "max", "rate", "fraction", "min",
	// and of cost what it is counted against.
	Stat string
	// P is the percentile as a fraction, 0 where Stat is not one.
	P float64
	// Above is true for ">": the figure must exceed Limit.
	Above bool
	Limit float64
	// Scope says whose requests are meant.
	Scope Scope
	// Text is the canonical spelling: "ttft:p99<500ms", "class=rag
	// ttft:p99<2s".
	Text string
}

// Verdict is an objective judged over one window.
type Verdict struct {
	Objective string `json:"objective"`
	Scope
	Standing Standing `json:"outcome"`
	// Value is the figure in Unit: "ms", "tokens/s", "fraction", "MB".
	Value *float64 `json:"value,omitempty"`
	// Low and High are the ends of the figure by what the machine that measured
	// it may have done; absent where that is the value itself.
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	Unit  string   `json:"unit"`
	Limit float64  `json:"limit"` // in Unit
	// Bound is what the figure lies below where it is met, and above where it
	// is missed, in Unit, with the verdict's Confidence; absent where nothing
	// bounds it.
	Bound      *float64 `json:"bound,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	// N is the requests judged, Violations those above the bound, NEff the
	// independent samples they are worth.
	N          int `json:"n"`
	Violations int `json:"violations"`
	// ViolationsLow and ViolationsHigh are how many there are at the low and at
	// the high ends; absent where that is as many.
	ViolationsLow  *int     `json:"violations_low,omitempty"`
	ViolationsHigh *int     `json:"violations_high,omitempty"`
	NEff           *float64 `json:"n_eff,omitempty"`
	// Needed is how many requests it takes about, where N are too few to call it met
	// whatever they say.
	Needed int `json:"needed,omitempty"`
	// Sees is the longest mean time between events, in seconds, that the window can
	// speak of: what happens less often may not have happened in it.
	Sees *float64 `json:"sees_s,omitempty"`
	// CutOff are those of the violations that had not broken the bound when
	// the end of the drain cut them off.
	CutOff int `json:"cut_off,omitempty"`
	// Beyond are the two ends of the share of all jobs that break an objective on
	// jobs, those that were cut off included, as METRICS.md has it; of requests, which are
	// counted, absent.
	Beyond []float64 `json:"beyond,omitempty"`
	// Skipped says that no run against this target can judge it, as nothing there
	// tells its figure: the others decide without it.
	Skipped bool `json:"skipped,omitempty"`
	// Note says what would decide it: "about 1,204 more requests would decide",
	// "at the limit".
	Note string `json:"note,omitempty"`
}
