package catalog

// GiB is the unit in which accelerator memory is sold.
const GiB = 1 << 30

// Accelerator is one device. Zero fields are unknown, or absent for a rate.
type Accelerator struct {
	Name    string
	Aliases []string
	// Dense peak rates in operations per second.
	BF16, FP8, FP4 float64
	// Reached is the share of each peak that large matrix products are
	// measured to reach, where it is known to differ from the usual.
	Reached       map[Precision]float64
	ReachedSource string
	Memory        int64   // bytes
	Read          float64 // memory bandwidth, bytes/s
	Link          float64 // to its peers, one way, bytes/s
	Watts         float64

	PriceLow, PriceHigh float64 // dollars per hour
	PriceConfidence     string
	Confidence          string
}

// acceleratorEntry is an Accelerator as the data file writes it.
type acceleratorEntry struct {
	Name          string                `json:"name"`
	Aliases       []string              `json:"aliases"`
	BF16          float64               `json:"bf16_tflops"`
	FP8           float64               `json:"fp8_tflops"`
	FP4           float64               `json:"fp4_tflops"`
	Reached       map[Precision]float64 `json:"reached"`
	ReachedSource string                `json:"reached_source"`
	Memory        float64               `json:"memory_gib"`
	Read          float64               `json:"bandwidth_gbs"`
	Link          float64               `json:"link_gbs"`
	Watts         float64               `json:"watts"`
	Price         struct {
		Low, High  float64
		Confidence string
	} `json:"price"`
	Confidence string `json:"confidence"`
}

func (e acceleratorEntry) accelerator() Accelerator {
	return Accelerator{
		Name: e.Name, Aliases: e.Aliases,
		BF16: e.BF16 * 1e12, FP8: e.FP8 * 1e12, FP4: e.FP4 * 1e12, Reached: e.Reached, ReachedSource: e.ReachedSource,
		Memory: int64(e.Memory * GiB), Read: e.Read * 1e9, Link: e.Link * 1e9, Watts: e.Watts,
		PriceLow: e.Price.Low, PriceHigh: e.Price.High, PriceConfidence: e.Price.Confidence,
		Confidence: e.Confidence,
	}
}

// Rate is the peak for weights of precision p, and the precision in which the
// device then computes: weights that it has no unit for are widened to 16 bits
// on the way in.
func (a Accelerator) Rate(p Precision) (flops float64, in Precision) {
	switch {
	case p == FP32:
		return a.BF16 / 2, FP32
	case (p == FP8 || p == INT8) && a.FP8 > 0:
		return a.FP8, FP8
	case p == FP4 && a.FP4 > 0:
		return a.FP4, FP4
	}
	return a.BF16, BF16
}

// Memory that a served model takes beside its weights and its cache.
const (
	activationsSmall = 2.0 * GiB // batches of up to 2,048 tokens
	activationsLarge = 5.5 * GiB // batches of 8,192 tokens and more
	activationsMoE   = 8.0 / 5.5 // mixtures keep their routed copies as well
	runtimeAlone     = 0.15 * GiB
	runtimeWithPeers = 0.6 * GiB // communication buffers
)

// ActivationBytes is the working memory of a step of up to batch tokens.
func ActivationBytes(m Model, batch int) float64 {
	share := (float64(batch) - 2048) / (8192 - 2048)
	bytes := activationsSmall + min(1, max(0, share))*(activationsLarge-activationsSmall)
	if m.Experts > 0 {
		bytes *= activationsMoE
	}
	return bytes
}

// Deployment is a model on tp accelerators.
type Deployment struct {
	Model       Model
	Accelerator Accelerator
	TP          int
	Weights, KV Precision
	// Utilization is the share of memory that the engine may take.
	Utilization float64
	// BatchTokens is the largest step, for its working memory.
	BatchTokens int
}

// KVRoom is the memory left for the cache on each rank, in bytes; negative
// where not even the weights fit.
func (d Deployment) KVRoom() float64 {
	tp := max(1, d.TP)
	runtime := runtimeAlone
	if tp > 1 {
		runtime = runtimeWithPeers
	}
	return d.Utilization*float64(d.Accelerator.Memory) - float64(d.Model.WeightBytes(d.Weights))/float64(tp) -
		ActivationBytes(d.Model, d.BatchTokens) - runtime
}

// KVBlocks is how many blocks of size tokens fit in KVRoom. A block holds the
// layers that look back without limit; a window's layers are charged to the
// same pool by the sequence that holds them.
func (d Deployment) KVBlocks(size int) int {
	perToken := float64(d.Model.GrowingLayers()) * d.Model.LayerKVBytes(d.KV, d.TP)
	return max(0, int(d.KVRoom()/(float64(size)*perToken)))
}
