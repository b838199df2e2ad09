package telemetry

// Reading is one page in the one vocabulary of all engines. What the page does
// not have is nil. Counters count from the server's start.
type Reading struct {
	// Engine is the name of the engine.
	Engine string `json:"engine"`
	// Replicas is how many engines answer behind the endpoint.
	Replicas int `json:"replicas"`
	// StartedUnixS is when the server's process began.
	StartedUnixS *float64 `json:"started_unix_s,omitempty"`

	// Running is how many requests are in the batch.
	Running *float64 `json:"running,omitempty"`
	// Waiting is how many requests wait to be scheduled.
	Waiting *float64 `json:"waiting,omitempty"`
	// WaitingFor is how many wait for what, in the engine's words.
	WaitingFor map[string]float64 `json:"waiting_for,omitempty"`
	// KVUsage is the share of the KV cache in use, 0 to 1.
	KVUsage *float64 `json:"kv_usage,omitempty"`
	// KVTokens is the tokens that the blocks in use hold, where the engine
	// counts them.
	KVTokens *float64 `json:"kv_tokens,omitempty"`
	// OpenFiles is how many files and connections the server's process has open.
	OpenFiles *float64 `json:"open_files,omitempty"`
	// Adapters is how many adapters requests use or wait for, Connections how many
	// connections are open for longer than a request.
	Adapters    *float64 `json:"adapters,omitempty"`
	Connections *float64 `json:"connections,omitempty"`
	// PrefixRate is the share of prompt tokens that the engine says it found
	// in the prefix cache of late, where it does not count them.
	PrefixRate *float64 `json:"prefix_rate,omitempty"`
	// SpecRate is the share of drafted tokens that the engine says it accepted
	// of late, where it does not count them.
	SpecRate *float64 `json:"spec_rate,omitempty"`

	// PrefixHits counts prompt tokens that were found in the prefix cache, TierHits
	// those of them that lay in a tier behind the device.
	PrefixHits *float64 `json:"prefix_hits,omitempty"`
	TierHits   *float64 `json:"tier_hits,omitempty"`
	// HitsBy counts them by the tier that had them, in the engine's words.
	HitsBy map[string]float64 `json:"hits_by,omitempty"`
	// PrefixQueries counts prompt tokens that were looked up in it.
	PrefixQueries *float64 `json:"prefix_queries,omitempty"`
	// Preemptions counts requests that were put out of the batch.
	Preemptions *float64 `json:"preemptions,omitempty"`
	// Evictions counts what was cached and made room for others, in the unit that
	// the engine counts in.
	Evictions    *float64 `json:"evictions,omitempty"`
	EvictionUnit string   `json:"eviction_unit,omitempty"`
	// Swaps counts what was moved away and back, Recomputes what was computed
	// again.
	Swaps      *float64 `json:"swaps,omitempty"`
	Recomputes *float64 `json:"recomputes,omitempty"`
	// SpecDrafted counts tokens that were guessed, SpecAccepted those of them
	// that were right.
	SpecDrafted  *float64 `json:"spec_drafted,omitempty"`
	SpecAccepted *float64 `json:"spec_accepted,omitempty"`
	// SpecDrafts counts how often tokens were guessed, SpecAcceptedAt those that were
	// right by their place in the draft, and SpecLength is the tokens that a step
	// brought of late, where the engine does not count them.
	SpecDrafts     *float64           `json:"spec_drafts,omitempty"`
	SpecAcceptedAt map[string]float64 `json:"spec_accepted_at,omitempty"`
	SpecLength     *float64           `json:"spec_length,omitempty"`
	// PromptTokens counts prompt tokens of requests, cached ones too.
	PromptTokens *float64 `json:"prompt_tokens,omitempty"`
	// GenerationTokens counts tokens that were generated.
	GenerationTokens *float64 `json:"generation_tokens,omitempty"`
	// Requests counts requests that ended, for whatever reason.
	Requests *float64 `json:"requests,omitempty"`
	// PrefillSeconds counts the time that went into prompts, Prefilled the
	// tokens that were computed in it.
	PrefillSeconds *float64 `json:"prefill_seconds,omitempty"`
	Prefilled      *float64 `json:"prefilled,omitempty"`
	// Steps counts passes through the model, StepTokens the tokens that they
	// computed, of prompts and of replies.
	Steps      *float64 `json:"steps,omitempty"`
	StepTokens *float64 `json:"step_tokens,omitempty"`
	// ProcessCPUS counts the processor seconds of the process that serves the
	// page, which is the one that serves the API; of several, their mean.
	ProcessCPUS *float64 `json:"process_cpu_s,omitempty"`

	// TTFT is from arrival to the first token.
	TTFT *Histogram `json:"ttft,omitempty"`
	// ITL is between two tokens.
	ITL *Histogram `json:"itl,omitempty"`
	// Queue is from arrival until first scheduled.
	Queue *Histogram `json:"queue,omitempty"`
	// Prefill is from first scheduled to the first token.
	Prefill *Histogram `json:"prefill,omitempty"`
	// Decode is from the first token to the last.
	Decode *Histogram `json:"decode,omitempty"`
	// Inference is from first scheduled to the last token.
	Inference *Histogram `json:"inference,omitempty"`
	// E2E is from arrival to the last token.
	E2E *Histogram `json:"e2e,omitempty"`

	// Transfer is how long handing the cache of a request from a pool to the other
	// takes, TransferBytes how much that was, and TransferFailures how often it failed.
	Transfer         *Histogram `json:"transfer,omitempty"`
	TransferBytes    *float64   `json:"transfer_bytes,omitempty"`
	TransferFailures *float64   `json:"transfer_failures,omitempty"`

	// Each holds the replicas one by one where there are several.
	Each []Replica `json:"each,omitempty"`
	// Config is how the engine says it is set up.
	Config map[string]string `json:"config,omitempty"`
}

// Replica is one of several engines behind an endpoint.
type Replica struct {
	// Name is the replica's label, with the number of its page before it where
	// there are several pages.
	Name string `json:"name"`
	// Pool is what its labels say that it does, prefill or decode.
	Pool             string   `json:"pool,omitempty"`
	Running          *float64 `json:"running,omitempty"`
	Waiting          *float64 `json:"waiting,omitempty"`
	KVUsage          *float64 `json:"kv_usage,omitempty"`
	GenerationTokens *float64 `json:"generation_tokens,omitempty"`
	Requests         *float64 `json:"requests,omitempty"`
	PromptTokens     *float64 `json:"prompt_tokens,omitempty"`
	// QueueS is the time that Queued requests waited until they were scheduled.
	QueueS *float64 `json:"queue_s,omitempty"`
	Queued *float64 `json:"queued,omitempty"`
}

// Histogram is a distribution of seconds since the server's start. Where the
// engine keeps two counters instead there are no edges.
type Histogram struct {
	// SumS is the sum of all values in seconds.
	SumS float64 `json:"sum_s"`
	// Count is the number of values.
	Count float64 `json:"count"`
	// LE holds the finite upper edges of the buckets in seconds, ascending.
	LE []float64 `json:"le,omitempty"`
	// N holds the number of values up to each edge.
	N []float64 `json:"n,omitempty"`
}

func (h *Histogram) count() *float64 {
	if h == nil {
		return nil
	}
	return &h.Count
}
