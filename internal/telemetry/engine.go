package telemetry

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Source names the series that a figure is read from: all of a name, or those
// that have one value of a label.
type Source struct{ Name, Label, Value string }

// Engine says how one inference engine names its figures. Where a figure has
// several sources, the first that is on the page is taken: newer names come
// before older ones.
type Engine struct {
	Name string
	// Prefix is what the names of the engine's series begin with; a page that
	// has one of them is this engine's.
	Prefix string
	// Replica is the label that tells engines behind one endpoint apart.
	Replica string
	// Config is the series whose labels tell how the engine is set up.
	Config string

	// Gauges. KVUsage is the mean over the replicas, the others are sums.
	Running, Waiting, KVUsage []Source
	// Counters.
	PrefixHits, PrefixQueries, Preemptions   []Source
	PromptTokens, GenerationTokens, Requests []Source
	// Histograms of seconds, without _sum, _count and _bucket.
	TTFT, ITL, Queue, Prefill, Decode, E2E []Source
}

// Engines lists the engines whose pages can be read.
var Engines = []Engine{
	{
		Name: "vllm", Prefix: "vllm:", Replica: "engine", Config: "vllm:cache_config_info",
		Running:          named("vllm:num_requests_running"),
		Waiting:          named("vllm:num_requests_waiting"),
		KVUsage:          named("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
		PrefixHits:       named("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
		PrefixQueries:    named("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
		Preemptions:      named("vllm:num_preemptions_total"),
		PromptTokens:     named("vllm:prompt_tokens_total"),
		GenerationTokens: named("vllm:generation_tokens_total"),
		Requests:         named("vllm:request_success_total"),
		TTFT:             named("vllm:time_to_first_token_seconds"),
		ITL:              named("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
		Queue:            named("vllm:request_queue_time_seconds"),
		Prefill:          named("vllm:request_prefill_time_seconds"),
		Decode:           named("vllm:request_decode_time_seconds"),
		E2E:              named("vllm:e2e_request_latency_seconds"),
	},
}

// named gives a source for each of the names.
func named(names ...string) []Source {
	all := make([]Source, len(names))
	for i, n := range names {
		all[i].Name = n
	}
	return all
}

// processStart is the series by which the usual client libraries tell when
// the server's process began.
const processStart = "process_start_time_seconds"

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
	// KVUsage is the share of the KV cache in use, 0 to 1.
	KVUsage *float64 `json:"kv_usage,omitempty"`

	// PrefixHits counts prompt tokens that were found in the prefix cache.
	PrefixHits *float64 `json:"prefix_hits,omitempty"`
	// PrefixQueries counts prompt tokens that were looked up in it.
	PrefixQueries *float64 `json:"prefix_queries,omitempty"`
	// Preemptions counts requests that were put out of the batch.
	Preemptions *float64 `json:"preemptions,omitempty"`
	// PromptTokens counts prompt tokens that were processed.
	PromptTokens *float64 `json:"prompt_tokens,omitempty"`
	// GenerationTokens counts tokens that were generated.
	GenerationTokens *float64 `json:"generation_tokens,omitempty"`
	// Requests counts requests that ended, for whatever reason.
	Requests *float64 `json:"requests,omitempty"`

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
	// E2E is from arrival to the last token.
	E2E *Histogram `json:"e2e,omitempty"`

	// Config is how the engine says it is set up.
	Config map[string]string `json:"config,omitempty"`
}

// Histogram is a distribution of seconds since the server's start.
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

// Read finds the engine whose page it is and gives its figures. It reports
// false for a page of no engine in the list.
func (p *Page) Read(engines []Engine) (*Reading, bool) {
	for i := range engines {
		e := &engines[i]
		ours := func(s Series) bool { return strings.HasPrefix(s.Name, e.Prefix) }
		if slices.ContainsFunc(p.Series, ours) {
			return p.readAs(e), true
		}
	}
	return nil, false
}

func (p *Page) readAs(e *Engine) *Reading {
	return &Reading{
		Engine: e.Name, Replicas: p.replicas(e), StartedUnixS: p.sum(named(processStart)),
		Running: p.sum(e.Running), Waiting: p.sum(e.Waiting), KVUsage: p.mean(e.KVUsage),
		PrefixHits: p.sum(e.PrefixHits), PrefixQueries: p.sum(e.PrefixQueries),
		Preemptions: p.sum(e.Preemptions), PromptTokens: p.sum(e.PromptTokens),
		GenerationTokens: p.sum(e.GenerationTokens), Requests: p.sum(e.Requests),
		TTFT: p.histogram(e.TTFT), ITL: p.histogram(e.ITL), Queue: p.histogram(e.Queue),
		Prefill: p.histogram(e.Prefill), Decode: p.histogram(e.Decode), E2E: p.histogram(e.E2E),
		Config: p.config(e),
	}
}

// replicas counts the engines that say how many requests they run.
func (p *Page) replicas(e *Engine) int {
	type replica struct {
		page int
		name string
	}
	seen := map[replica]bool{}
	for _, from := range e.Running {
		for page, s := range p.placed(from) {
			seen[replica{page, s.Label(e.Replica)}] = true
		}
	}
	return max(1, len(seen))
}

// config gives the labels of the first replica.
func (p *Page) config(e *Engine) map[string]string {
	for s := range p.named(Source{Name: e.Config}) {
		all := map[string]string{}
		for _, l := range s.Labels {
			if l.Name != e.Replica {
				all[l.Name] = strings.ToValidUTF8(l.Value, "?")
			}
		}
		return all
	}
	return nil
}

// total adds up the finite values of the first source that has any.
func (p *Page) total(sources []Source) (sum float64, n int) {
	for _, from := range sources {
		for s := range p.named(from) {
			if finite(s.Value) {
				sum += s.Value
				n++
			}
		}
		if n > 0 && finite(sum) {
			return sum, n
		}
		sum, n = 0, 0
	}
	return 0, 0
}

func (p *Page) sum(sources []Source) *float64 {
	if sum, n := p.total(sources); n > 0 {
		return &sum
	}
	return nil
}

func (p *Page) mean(sources []Source) *float64 {
	if sum, n := p.total(sources); n > 0 {
		return new(sum / float64(n))
	}
	return nil
}

func (p *Page) histogram(sources []Source) *Histogram {
	for _, from := range sources {
		part := func(suffix string) Source { return Source{from.Name + suffix, from.Label, from.Value} }
		sum, count := p.sum([]Source{part("_sum")}), p.sum([]Source{part("_count")})
		if sum == nil || count == nil {
			continue
		}
		h := &Histogram{SumS: *sum, Count: *count}
		h.LE, h.N = p.buckets(part("_bucket"))
		return h
	}
	return nil
}

// buckets adds up the buckets of all replicas. An edge that some of them lack
// is left out, since a sum with a part missing is no count.
func (p *Page) buckets(from Source) (edges, counts []float64) {
	type bucket struct {
		count float64
		parts int
	}
	all, parts := map[float64]bucket{}, 0
	for s := range p.named(from) {
		edge, err := strconv.ParseFloat(s.Label("le"), 64)
		if err != nil || !finite(edge) || !finite(s.Value) {
			continue
		}
		b := all[edge]
		b = bucket{b.count + s.Value, b.parts + 1}
		all[edge] = b
		parts = max(parts, b.parts)
	}
	for _, edge := range slices.Sorted(maps.Keys(all)) {
		if b := all[edge]; b.parts == parts && finite(b.count) {
			edges, counts = append(edges, edge), append(counts, b.count)
		}
	}
	return edges, counts
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
