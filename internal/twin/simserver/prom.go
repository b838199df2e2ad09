package simserver

import (
	"net/http"
	"slices"
	"strconv"
	"sync"

	"redline/internal/exposition"
	"redline/internal/twin/sim"
)

// The buckets of vLLM's histograms.
var (
	firstTokenBuckets = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5,
		10, 20, 40, 80, 160, 640, 2560}
	perTokenBuckets = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5,
		10, 20, 40, 80}
	requestBuckets = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60,
		120, 240, 480, 960, 1920, 7680}
	iterationBuckets = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
)

// tokenBuckets is the 1-2-5 series up to limit.
func tokenBuckets(limit int) []float64 {
	var series []float64
	for decade := 1; decade <= limit; decade *= 10 {
		for _, step := range []int{1, 2, 5} {
			if decade*step <= limit {
				series = append(series, float64(decade*step))
			}
		}
	}
	return series
}

// meters is the /metrics page: vLLM's names, labels and buckets, filled with
// engine times. Gauges and most counters are the core's own.
type meters struct {
	spec    sim.Spec
	replica int
	stats   func(replica int) sim.Stats
	labels  []exposition.Label
	timed   []exposition.Family // the histograms

	iteration                                   *exposition.Histogram // tokens scheduled in one step
	late                                        *exposition.Histogram // seconds behind the engine's own schedule
	firstToken, interToken, perToken            *exposition.Histogram
	endToEnd, queue, prefill, decode, inference *exposition.Histogram
	transfer                                    *exposition.Histogram // between pools
	promptTokens, outputTokens, maxOutputTokens *exposition.Histogram

	mu      sync.Mutex
	success map[string]int // requests that ended, by reason
}

// reasons are those for which a request ends. Each is shown from the start, as a
// counter that is absent cannot be told from one that is not known.
var reasons = []string{"stop", "length", "abort", "error", "repetition"}

// ownLateness is the simulator's own: a client that is tested with it sees whose
// fault a late token is.
const ownLateness = "redline_sim_late_seconds"

var lateBuckets = []float64{1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5}

// newMeters lays out the histograms of a replica; stats is asked for its counts
// whenever the page is.
func newMeters(spec sim.Spec, replica int, stats func(replica int) sim.Stats) *meters {
	m := &meters{spec: spec, replica: replica, stats: stats, success: map[string]int{},
		labels: []exposition.Label{{Name: "engine", Value: strconv.Itoa(replica)}, {Name: "model_name", Value: spec.ServedModelName}}}
	if spec.IsGateway() { // as Prometheus labels what it scrapes in a cluster
		m.labels = append(m.labels, exposition.Label{Name: "pod", Value: spec.EngineName(replica)})
	}
	lengths := tokenBuckets(spec.MaxModelLen)
	for _, h := range []struct {
		into    **exposition.Histogram
		name    string
		help    string
		buckets []float64
	}{
		{&m.firstToken, "time_to_first_token_seconds", "Time from arrival to the first token.", firstTokenBuckets},
		{&m.interToken, "inter_token_latency_seconds", "Time between two tokens of a request.", perTokenBuckets},
		{&m.perToken, "request_time_per_output_token_seconds", "Mean time per token after the first of a request.", perTokenBuckets},
		{&m.endToEnd, "e2e_request_latency_seconds", "Time from arrival to the last token.", requestBuckets},
		{&m.queue, "request_queue_time_seconds", "Time from arrival until first scheduled.", requestBuckets},
		{&m.prefill, "request_prefill_time_seconds", "Time from first scheduled to the first token.", requestBuckets},
		{&m.decode, "request_decode_time_seconds", "Time from the first token to the last.", requestBuckets},
		{&m.inference, "request_inference_time_seconds", "Time from first scheduled to the last token.", requestBuckets},
		{&m.iteration, "iteration_tokens_total", "Tokens scheduled in one engine step.", iterationBuckets},
		{&m.promptTokens, "request_prompt_tokens", "Prompt tokens of a request.", lengths},
		{&m.outputTokens, "request_generation_tokens", "Tokens generated for a request.", lengths},
		{&m.maxOutputTokens, "request_params_max_tokens", "Output length asked for.", lengths},
		{&m.transfer, "nixl_xfer_time_seconds", "Time that the KV cache of a request takes from one pool to the other.", firstTokenBuckets},
		{&m.late, ownLateness, "How late the simulator woke against the engine's schedule.", lateBuckets},
	} {
		*h.into = exposition.NewHistogram(h.buckets)
		if h.into == &m.transfer && !spec.HasPools() {
			continue
		}
		name := "vllm:" + h.name
		if h.into == &m.late { // vLLM has none
			name = h.name
		}
		m.timed = append(m.timed, exposition.Family{Name: name, Help: h.help, Type: exposition.HistogramType, Series: []exposition.Series{{Labels: m.labels, Histogram: *h.into}}})
	}
	return m
}

// families is the page.
func (m *meters) families() []exposition.Family {
	s, list := m.stats(m.replica), slices.Clone(m.timed)
	add := func(kind, name, help string, series ...exposition.Series) {
		list = append(list, exposition.Family{Name: name, Help: help, Type: kind, Series: series})
	}
	with := func(value float64, more ...exposition.Label) exposition.Series {
		return exposition.Series{Labels: slices.Concat(m.labels, more), Value: value}
	}
	gauge := func(name, help string, series ...exposition.Series) { add("", name, help, series...) }
	counter := func(name, help string, n int64) { add(exposition.CounterType, name, help, with(float64(n))) }
	gauge("vllm:num_requests_running", "Requests in the batch.", with(float64(s.Running)))
	gauge("vllm:num_requests_waiting", "Requests waiting to be scheduled.", with(float64(s.Waiting)))
	// What requests wait for is here always room.
	gauge("vllm:num_requests_waiting_by_reason", "Requests waiting to be scheduled, by reason.",
		with(float64(s.Waiting), exposition.Label{Name: "reason", Value: "capacity"}), with(0, exposition.Label{Name: "reason", Value: "deferred"}))
	gauge("vllm:kv_cache_usage_perc", "Share of KV blocks in use, 0 to 1.", with(s.KVUsage))
	counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", s.PrefixQueries)
	counter("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", s.PrefixHits)
	if m.spec.KVOffloadingSize > 0 || m.spec.Law != nil && m.spec.Law.HostBlocks > 0 {
		counter("vllm:external_prefix_cache_queries_total", "Prompt tokens looked up behind the device.", s.PrefixQueries-s.PrefixHits)
		counter("vllm:external_prefix_cache_hits_total", "Prompt tokens found in the host's memory.", s.HostHits)
		add(exposition.CounterType, "vllm:prompt_tokens_cached_by_source_total", "Prompt tokens from the cache, by tier.",
			with(float64(s.PrefixHits), exposition.Label{Name: "source", Value: "device"}), with(float64(s.HostHits), exposition.Label{Name: "source", Value: "host"}))
	}
	counter("vllm:mm_cache_queries_total", "Images looked up in the encoder's cache.", s.MMQueries)
	counter("vllm:mm_cache_hits_total", "Images found in the encoder's cache.", s.MMHits)
	counter("vllm:num_preemptions_total", "Requests taken out of the batch for want of KV blocks.", s.Preemptions)
	counter("vllm:prompt_tokens_total", "Prompt tokens prefilled.", s.PromptTokens)
	counter("vllm:generation_tokens_total", "Tokens generated.", s.OutputTokens)
	if m.spec.Speculation.Tokens > 0 { // an engine that guesses no tokens has no such counters
		counter("vllm:spec_decode_num_drafts_total", "Times that tokens were guessed.", s.SpecDrafts)
		counter("vllm:spec_decode_num_draft_tokens_total", "Tokens guessed.", s.SpecDrafted)
		counter("vllm:spec_decode_num_accepted_tokens_total", "Guesses that were right.", s.SpecAccepted)
		var places []exposition.Series
		for i := range m.spec.Speculation.Tokens {
			places = append(places, with(float64(s.SpecAcceptedAt[i]), exposition.Label{Name: "position", Value: strconv.Itoa(i)}))
		}
		add(exposition.CounterType, "vllm:spec_decode_num_accepted_tokens_per_pos_total", "Guesses that were right, by their place in the draft.", places...)
	}
	// What vLLM does not report about its cache, under names that it does not have.
	gauge("redline_kv_tokens", "Tokens held in the KV blocks in use.", with(float64(s.KVTokens)))
	counter("redline_evicted_blocks_total", "Cached KV blocks that made room for others.", int64(s.EvictedBlocks))
	m.mu.Lock()
	var ended []exposition.Series
	for _, reason := range reasons {
		ended = append(ended, with(float64(m.success[reason]), exposition.Label{Name: "finished_reason", Value: reason}))
	}
	m.mu.Unlock()
	add(exposition.CounterType, "vllm:request_success_total", "Requests that ended, by reason.", ended...)
	if len(m.spec.LoraModules) > 0 {
		gauge("vllm:lora_requests_info", "Adapters that a batch can have.", with(1, exposition.Label{Name: "max_lora", Value: strconv.Itoa(m.spec.MaxLoras)}))
	}
	caching := m.spec.EnablePrefixCaching == nil || *m.spec.EnablePrefixCaching
	offloaded := "None" // as vLLM has it
	if gib := m.spec.KVOffloadingSize; gib > 0 {
		offloaded = strconv.FormatFloat(gib, 'g', -1, 64)
	}
	gauge("vllm:cache_config_info", "Configuration of the KV cache.", exposition.Series{Value: 1, Labels: []exposition.Label{
		{Name: "block_size", Value: strconv.Itoa(sim.BlockSize)},
		{Name: "num_gpu_blocks", Value: strconv.Itoa(s.KVBlocks)},
		{Name: "gpu_memory_utilization", Value: strconv.FormatFloat(m.spec.GPUMemoryUtilization, 'g', -1, 64)},
		{Name: "enable_prefix_caching", Value: strconv.FormatBool(caching)},
		{Name: "kv_offloading_size", Value: offloaded},
		{Name: "engine", Value: strconv.Itoa(m.replica)},
	}})
	return list
}

// reset has everything at zero, as a new process does.
func (m *meters) reset() {
	for _, f := range m.timed {
		f.Series[0].Histogram.Reset()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.success)
}

// end counts a request by the reason for which it ended.
func (m *meters) end(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.success[reason]++
}

// observeJob notes the whole timeline of a job whose last token was sent; its prompt
// is that of the replica which prefilled it.
func (m *meters) observeJob(j *sim.Job, sent int64, reason string, prefiller *meters) {
	m.endToEnd.Observe(seconds(sent - j.Received))
	prefiller.queue.Observe(seconds(j.Scheduled - j.Arrived))
	prefiller.prefill.Observe(seconds(j.Prefilled - j.Scheduled))
	if prefiller != m {
		m.transfer.Observe(seconds(j.First - j.Prefilled))
	}
	m.decode.Observe(seconds(j.Last - j.First))
	m.inference.Observe(seconds(j.Last - j.Scheduled))
	if j.Output > 1 {
		m.perToken.Observe(seconds(j.Last-j.First) / float64(j.Output-1))
	}
	m.promptTokens.Observe(float64(len(j.Prompt)))
	m.outputTokens.Observe(float64(j.Output))
	m.maxOutputTokens.Observe(float64(j.Output))
	m.end(reason)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// serveMeters answers with the page of all replicas.
func (s *Server) serveMeters(w http.ResponseWriter, _ *http.Request) {
	page := s.meters[0].families()
	for _, m := range s.meters[1:] {
		for i, f := range m.families() {
			page[i].Series = slices.Concat(page[i].Series, f.Series)
		}
	}
	exposition.Serve(w, page)
}
