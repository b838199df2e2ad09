package result

// PrefillSlope is how the time to the first token grows with the prompt, over
// the requests that had the server to themselves: what a prompt costs to
// compute, of a server that does not tell. It is a Theil–Sen line.
type PrefillSlope struct {
	// MSPer1K is milliseconds for each 1,000 prompt tokens that were not
	// cached, LowMS and HighMS its 95 % interval.
	MSPer1K float64 `json:"ms_per_1k_tokens"`
	LowMS   float64 `json:"low_ms"`
	HighMS  float64 `json:"high_ms"`
	// BaseMS is what is left of an empty prompt: the way there and back, and
	// what every request takes.
	BaseMS float64 `json:"base_ms"`
	// Requests is how many there were.
	Requests int `json:"requests"`
}
