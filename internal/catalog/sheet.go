package catalog

// Sheet is a deployment under traffic with everything that arithmetic says of
// it.
type Sheet struct {
	Model       Model       `json:"model"`
	Accelerator Accelerator `json:"accelerator"`
	TP          int         `json:"tp"`
	Precision   Precision   `json:"precision"`
	KVPrecision Precision   `json:"kv_precision"`
	Prompt      float64     `json:"prompt_tokens"`
	Output      float64     `json:"output_tokens"`
	Concurrency float64     `json:"concurrency"`
	Forecast    Forecast    `json:"forecast"`
	Fits        bool        `json:"fits"`
	// ShortBytes is what each accelerator lacks for the weights and one
	// request, MinTP how many of them hold both; absent where all is well,
	// or where no number does.
	ShortBytes float64 `json:"short_bytes,omitempty"`
	MinTP      int     `json:"least_tp,omitempty"`

	Deployment Deployment `json:"-"`
}

// Sheet computes all of it.
func (d Deployment) Sheet(t Traffic) Sheet {
	s := Sheet{Model: d.Model, Accelerator: d.Accelerator, TP: d.TP, Precision: d.Weights, KVPrecision: d.KV,
		Prompt: t.Prompt, Output: t.Output, Concurrency: t.Concurrency, Forecast: d.Forecast(t), Deployment: d}
	s.Fits = s.Forecast.Fits()
	if !s.Fits {
		s.ShortBytes = float64(d.Model.rankKVBytes(tokenCount(t.resident()), d.KV, d.TP)) - s.Forecast.Room
		s.MinTP = d.MinTP(t)
	}
	return s
}
