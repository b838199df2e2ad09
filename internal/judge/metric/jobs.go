package metric

// Jobs are the figures of the jobs of a window.
type Jobs struct {
	// Started began in the window, and Cut of them had not ended with the load.
	// Finished and Failed ended in the window, whenever they began.
	Started    int      `json:"started"`
	Finished   int      `json:"finished"`
	Failed     int      `json:"failed"`
	Cut        int      `json:"cut"`
	OKFraction *float64 `json:"ok_fraction,omitempty"`
	PerHour    float64  `json:"per_hour"`
	LiveMean   float64  `json:"live_mean"`
	LiveMax    int      `json:"live_max"`
	Time       *Dist    `json:"time_ms,omitempty"`
	Serving    *Dist    `json:"serving_ms,omitempty"`
	First      *Dist    `json:"first_ms,omitempty"`
	// Of the jobs that ended ok, on average. CachedTokens is absent where the
	// server reports none.
	Requests     *float64 `json:"requests,omitempty"`
	PromptTokens *float64 `json:"prompt_tokens,omitempty"`
	CachedTokens *float64 `json:"cached_tokens,omitempty"`
	OutputTokens *float64 `json:"output_tokens,omitempty"`
	// CachedFraction is the share of prompt tokens that the server found in its
	// cache, of all requests of jobs that were due in the window and ended ok, by
	// its usage; IdealFraction what an endless cache would have had of the same.
	CachedFraction *float64 `json:"cached_fraction,omitempty"`
	IdealFraction  *float64 `json:"ideal_fraction,omitempty"`
}
