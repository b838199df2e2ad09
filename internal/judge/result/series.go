package result

// Series is a run over time, binned so that a chart of it needs no record:
// warm-up and drain are in it. Bins are numbered from 0; one without a value is
// left out of a track.
type Series struct {
	// StartS is where the first bin begins, in seconds from the run's origin,
	// and BinS how long a bin is.
	StartS float64 `json:"start_s"`
	BinS   float64 `json:"bin_s"`
	// InFlight is the mean of requests between sent and end in each bin, Output
	// the output tokens that arrived in it, per second.
	InFlight []float64 `json:"in_flight"`
	Output   []float64 `json:"output_tokens_per_s"`
	// Due counts the requests that were due in each bin, NotOK those of them
	// that did not end ok; absent where all did.
	Due   []int `json:"due"`
	NotOK []int `json:"not_ok,omitempty"`
	// TTFT, TPOT and E2E are the latencies of requests by the time they were
	// due, ttft and e2e from due.
	TTFT *LatencyTrack `json:"ttft_due_ms,omitempty"`
	TPOT *LatencyTrack `json:"tpot_ms,omitempty"`
	E2E  *LatencyTrack `json:"e2e_due_ms,omitempty"`
	// Running, Waiting and KVUsage are the server's gauges, Watts the power of
	// its accelerators together.
	Running *Track `json:"running,omitempty"`
	Waiting *Track `json:"waiting,omitempty"`
	KVUsage *Track `json:"kv_usage,omitempty"`
	Watts   *Track `json:"watts,omitempty"`
	// CacheHits is the share of prompt tokens that came from the cache, of ok
	// requests by the time they were due; absent where usage says it of none.
	CacheHits *Track `json:"cache_hits,omitempty"`
	// Gaps shows when output stalled.
	Gaps *GapMap `json:"gaps,omitempty"`
	// Prompts is how ttft from due grows with prompts, of the window's requests.
	Prompts *ByPrompt `json:"prompts,omitempty"`
}

// Track is a value of some bins.
type Track struct {
	At     []int     `json:"at"`
	Values []float64 `json:"values"`
}

// LatencyTrack is a latency over time, in milliseconds. Its bins are as long as
// it takes for a bin to hold some twenty requests, where the run has so many;
// the percentiles are those that its bins have requests for.
type LatencyTrack struct {
	BinS float64   `json:"bin_s"`
	At   []int     `json:"at"`
	N    []int     `json:"n"`
	P50  []float64 `json:"p50"`
	P95  []float64 `json:"p95,omitempty"`
	P99  []float64 `json:"p99,omitempty"`
	Max  []float64 `json:"max,omitempty"`
}

// GapMap counts gaps between output events by when they ended and how long they
// were. A row holds the gaps between two of the milliseconds; the first holds all
// that are shorter, too.
type GapMap struct {
	BinS float64   `json:"bin_s"`
	MS   []float64 `json:"ms"` // one more than there are rows
	// Counts has a row for each length and in it a number for each bin, none
	// where no gap was so long.
	Counts [][]int `json:"counts"`
}

// ByPrompt is ttft from due by prompt length, in milliseconds: of prompts of about
// one length, whose mean is Tokens.
type ByPrompt struct {
	Tokens []float64 `json:"tokens"`
	N      []int     `json:"n"`
	P50    []float64 `json:"p50"`
	P95    []float64 `json:"p95"`
}

// Distributions are the latencies of a window as curves: the values, in
// milliseconds, below which each of the percentages lie, to within 1%.
type Distributions struct {
	Percent []float64 `json:"percent"`
	TTFT    []float64 `json:"ttft_due_ms,omitempty"`
	TPOT    []float64 `json:"tpot_ms,omitempty"`
	E2E     []float64 `json:"e2e_due_ms,omitempty"`
	ITL     []float64 `json:"itl_ms,omitempty"`
}
