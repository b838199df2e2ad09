package result

// Prediction is what arithmetic over the model's shape and the accelerator's
// peak rates says of a point, beside what was measured there.
type Prediction struct {
	// Model, Accelerator, Count and Precision are what was computed with.
	Model       string `json:"model"`
	Accelerator string `json:"accelerator"`
	Count       int    `json:"count"`
	Precision   string `json:"precision"`
	// ExpertSpread is what metadata.expert_spread says.
	ExpertSpread float64 `json:"expert_spread,omitempty"`
	// TTFT and TPOT are the medians that the deployment would have had under
	// the requests of the run as they came, beside the measured ones.
	TTFT *Agreement `json:"ttft_ms,omitempty"`
	TPOT *Agreement `json:"tpot_ms,omitempty"`
	// Steady is a request of the mean lengths beside as many others as were in
	// flight, none of which waits for another.
	Steady Steady `json:"steady"`
	// MaxOutput is the output tokens per second of such requests, as many at
	// once as find room.
	MaxOutput *float64 `json:"max_output_tokens_per_s,omitempty"`
	// Assumed is what nobody measured on this server.
	Assumed []string `json:"assumed,omitempty"`
	// MBU and MFU are the shares of the accelerator's peak memory bandwidth
	// and peak rate of arithmetic that the point reached.
	MBU *float64 `json:"mbu,omitempty"`
	MFU *float64 `json:"mfu,omitempty"`
	// Ridge is the number of tokens in a step at which reading the weights
	// takes as long as multiplying with them.
	Ridge float64 `json:"ridge_tokens"`
	// FullAt is the number of requests of the point's mean length that fill
	// the room for the cache; KVPeak compares its highest use.
	FullAt *float64   `json:"kv_full_at_concurrency,omitempty"`
	KVPeak *Agreement `json:"kv_peak_mb,omitempty"`
	// Decode, Prefill and Agreement say it in a sentence each.
	Decode    string `json:"decode"`
	Prefill   string `json:"prefill"`
	Agreement string `json:"agreement"`
}

// Steady is times in milliseconds.
type Steady struct {
	TTFT float64 `json:"ttft_ms"`
	TPOT float64 `json:"tpot_ms"`
}

// Agreement is a predicted figure beside the measured one.
type Agreement struct {
	Predicted float64  `json:"predicted"`
	Measured  *float64 `json:"measured,omitempty"`
	// Ratio is measured over predicted.
	Ratio *float64 `json:"ratio,omitempty"`
	// Statistic is what both are of: "p50" of requests that were replayed, or
	// "mean" where arithmetic is of the mean request.
	Statistic string `json:"statistic,omitempty"`
}

// CrossCheck is one figure by the client's count and by the server's.
type CrossCheck struct {
	// Name is "ttft", "tokens", "queue", "running" or "replicas".
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Client *float64 `json:"client,omitempty"`
	Server *float64 `json:"server,omitempty"`
	// OK is false where the two differ by more than Tolerance, a share.
	Tolerance float64 `json:"tolerance"`
	OK        bool    `json:"ok"`
	// Text says what the difference means: "network and front end take 3.1 ms".
	Text string `json:"text"`
}

// Finding is one regime that the evidence speaks for.
type Finding struct {
	// Regime is its name in the rule table: "decode-memory-bound".
	Regime string `json:"regime"`
	// Title says it in words, with the figure that decides.
	Title string `json:"title"`
	// Confidence is "certain", "likely" or "possible", as the rule documents.
	Confidence string `json:"confidence"`
	// Point is the index of the point that shows it.
	Point    int        `json:"point"`
	Evidence []Evidence `json:"evidence"`
	// Confirm is a redline command whose outcome would settle it.
	Confirm string `json:"confirm,omitempty"`
	// Settled is the outcome of that command that speaks for it.
	Settled string `json:"settled,omitempty"`
	// Response is what to try first, in the engine's own flags where they are
	// known.
	Response []string `json:"response"`
	// Advice is what suits the class of the workload; the first finding has it.
	Advice string `json:"advice,omitempty"`
}

// Evidence is one figure that a finding rests on.
type Evidence struct {
	// Field is where it was read: "points[2].server.kv_usage.max".
	Field string `json:"field"`
	Text  string `json:"text"`
}
