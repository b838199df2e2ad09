package trace

import "math"

// Summary is what a trace looks like, in numbers. What is not known is nil.
type Summary struct {
	Format   string      `json:"format"`
	Requests int         `json:"requests"`
	Span     *float64    `json:"span_s"`
	Rate     *float64    `json:"requests_per_s"`
	Prompt   Percentiles `json:"prompt_tokens"`
	Output   Percentiles `json:"output_tokens"`
	// PromptHistogram and OutputHistogram have a bucket for each doubling.
	PromptHistogram []Bucket `json:"prompt_histogram"`
	OutputHistogram []Bucket `json:"output_histogram"`
	// Dispersion is the variance over the mean of requests in windows of a
	// second and a minute: 1 for Poisson arrivals.
	Dispersion1s  *float64 `json:"dispersion_1s"`
	Dispersion60s *float64 `json:"dispersion_60s"`
	// Prefix is how prompts begin alike.
	Prefix   *Sharing `json:"prefix"`
	Sessions int      `json:"sessions"`
	Tenants  int      `json:"tenants"`
	Classes  int      `json:"classes"`
	Skipped  int      `json:"skipped_rows"`
	Notes    []string `json:"notes"`
}

// known is nil for a number that could not be computed.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
