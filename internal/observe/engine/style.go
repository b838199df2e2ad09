package engine

// Style is how the simulator shows itself as an engine: the same figures,
// filled by the same core, under the names, in the units and with the gaps of
// that engine.
type Style struct {
	// Name is what --metrics-style calls it.
	Name string
	// Owner is what the list of models names as theirs; "" for the model.
	Owner string
	// Series are those of the metrics page; none are vLLM's own, which the
	// simulator has by itself.
	Series []Series
	// Pages are the others beside it, by path.
	Pages map[string]func(Sim) any
}

// Sim is the setup of a simulated engine, with its defaults filled in.
type Sim struct {
	Version, Model, ServedModel       string
	Dtype, Quantization, KVCacheDtype string

	TP, MaxModelLen, MaxNumSeqs, MaxNumBatchedTokens, KVBlocks, BlockSize int

	MemoryUtilization float64
}

// Figures are what a simulated engine has to show, by vLLM's names without
// their prefix.
type Figures struct {
	Sim
	// Value is a gauge or a counter, Sum the total of a histogram.
	Value, Sum func(name string) float64
}

// Series is one series of a page, made from vLLM's figures.
type Series struct {
	Name   string
	Labels string // without braces; MODEL stands for the model's name
	// Type is gauge, counter or histogram.
	Type string
	// Value is that of a gauge or counter.
	Value func(Figures) float64
	// Histogram is vLLM's, with its values scaled.
	Histogram string
	Scale     float64
}

// The types of series.
const (
	gauge     = "gauge"
	counter   = "counter"
	histogram = "histogram"
)

// Figures of vLLM's that most of the styles translate.
const (
	running     = "num_requests_running"
	waiting     = "num_requests_waiting"
	kvUsage     = "kv_cache_usage_perc"
	prefixHits  = "prefix_cache_hits_total"
	prefixAsked = "prefix_cache_queries_total"
	preemptions = "num_preemptions_total"

	evictedBlocks = "redline_evicted_blocks_total" // of the simulator alone

	prompts     = "prompt_tokens_total"
	generations = "generation_tokens_total"
	successes   = "request_success_total"

	promptLengths  = "request_prompt_tokens"
	outputLengths  = "request_generation_tokens"
	firstTokens    = "time_to_first_token_seconds"
	interTokens    = "inter_token_latency_seconds"
	endToEnds      = "e2e_request_latency_seconds"
	queueTimes     = "request_queue_time_seconds"
	prefillTimes   = "request_prefill_time_seconds"
	decodeTimes    = "request_decode_time_seconds"
	inferenceTimes = "request_inference_time_seconds"
)

const modelLabel = `model_name="MODEL"`

// same is a series that has vLLM's value under another name.
func same(kind, name, labels, from string) Series {
	return computedSeries(kind, name, labels, func(f Figures) float64 { return f.Value(from) })
}

func computedSeries(kind, name, labels string, value func(Figures) float64) Series {
	return Series{Name: name, Labels: labels, Type: kind, Value: value}
}

// timing is a histogram of vLLM's under another name and in another unit.
func timing(name, labels, from string, scale float64) Series {
	return Series{Name: name, Labels: labels, Type: histogram, Histogram: from, Scale: scale}
}
