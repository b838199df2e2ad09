package sim

import (
	"maps"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
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
	registry  *prometheus.Registry
	iteration prometheus.Histogram // tokens scheduled in one step

	firstToken, interToken, perToken            prometheus.Histogram
	endToEnd, queue, prefill, decode, inference prometheus.Histogram
	promptTokens, outputTokens, maxOutputTokens prometheus.Histogram
	success                                     *prometheus.CounterVec
}

// newMeters registers everything; stats is asked whenever the page is.
func newMeters(spec Spec, stats func() Stats) *meters {
	m := &meters{registry: prometheus.NewRegistry()}
	labels := prometheus.Labels{"model_name": spec.ServedModelName, "engine": "0"}
	lengths := tokenBuckets(spec.MaxModelLen)
	for _, h := range []struct {
		into    *prometheus.Histogram
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
	} {
		*h.into = prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "vllm:" + h.name, Help: h.help, ConstLabels: labels, Buckets: h.buckets,
		})
		m.registry.MustRegister(*h.into)
	}
	m.registerStats(labels, stats, spec.Speculation.Tokens)
	m.registerOwn(labels, stats)
	m.registerSuccess(labels)
	m.registerConfig(spec, stats().KVBlocks)
	return m
}

// registerStats shows what the core says of itself.
func (m *meters) registerStats(labels prometheus.Labels, stats func() Stats, guesses int) {
	gauge := func(name, help string, labels prometheus.Labels, value func(Stats) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "vllm:" + name, Help: help, ConstLabels: labels,
		}, func() float64 { return value(stats()) }))
	}
	counter := func(name, help string, labels prometheus.Labels, value func(Stats) int64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "vllm:" + name, Help: help, ConstLabels: labels,
		}, func() float64 { return float64(value(stats())) }))
	}
	with := func(name, value string) prometheus.Labels {
		more := maps.Clone(labels)
		more[name] = value
		return more
	}
	gauge("num_requests_running", "Requests in the batch.", labels, func(s Stats) float64 { return float64(s.Running) })
	gauge("num_requests_waiting", "Requests waiting to be scheduled.", labels, func(s Stats) float64 { return float64(s.Waiting) })
	// What requests wait for is here always room.
	gauge("num_requests_waiting_by_reason", "Requests waiting to be scheduled, by reason.", with("reason", "capacity"),
		func(s Stats) float64 { return float64(s.Waiting) })
	gauge("num_requests_waiting_by_reason", "Requests waiting to be scheduled, by reason.", with("reason", "deferred"),
		func(Stats) float64 { return 0 })
	gauge("kv_cache_usage_perc", "Share of KV blocks in use, 0 to 1.", labels, func(s Stats) float64 { return s.KVUsage })
	counter("prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", labels, func(s Stats) int64 { return s.PrefixQueries })
	counter("prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", labels, func(s Stats) int64 { return s.PrefixHits })
	counter("num_preemptions_total", "Requests taken out of the batch for want of KV blocks.", labels, func(s Stats) int64 { return s.Preemptions })
	counter("prompt_tokens_total", "Prompt tokens prefilled.", labels, func(s Stats) int64 { return s.PromptTokens })
	counter("generation_tokens_total", "Tokens generated.", labels, func(s Stats) int64 { return s.OutputTokens })
	if guesses == 0 {
		return // an engine that guesses no tokens has no such counters
	}
	counter("spec_decode_num_drafts_total", "Times that tokens were guessed.", labels, func(s Stats) int64 { return s.SpecDrafts })
	counter("spec_decode_num_draft_tokens_total", "Tokens guessed.", labels, func(s Stats) int64 { return s.SpecDrafted })
	counter("spec_decode_num_accepted_tokens_total", "Guesses that were right.", labels, func(s Stats) int64 { return s.SpecAccepted })
	for i := range guesses {
		counter("spec_decode_num_accepted_tokens_per_pos_total", "Guesses that were right, by their place in the draft.", with("position", strconv.Itoa(i)),
			func(s Stats) int64 { return s.SpecAcceptedAt[i] })
	}
}

// registerOwn shows what vLLM does not report about its cache, under names that it
// does not have.
func (m *meters) registerOwn(labels prometheus.Labels, stats func() Stats) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "redline_kv_tokens", Help: "Tokens held in the KV blocks in use.", ConstLabels: labels,
	}, func() float64 { return float64(stats().KVTokens) }), prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "redline_evicted_blocks_total", Help: "Cached KV blocks that made room for others.", ConstLabels: labels,
	}, func() float64 { return float64(stats().EvictedBlocks) }))
}

// registerSuccess shows every reason from the start, as a counter that is
// absent cannot be told from one that is not known.
func (m *meters) registerSuccess(labels prometheus.Labels) {
	m.success = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vllm:request_success_total", Help: "Requests that ended, by reason.", ConstLabels: labels,
	}, []string{"finished_reason"})
	m.registry.MustRegister(m.success)
	for _, reason := range []string{"stop", "length", "abort", "error", "repetition"} {
		m.success.WithLabelValues(reason)
	}
}

func (m *meters) registerConfig(spec Spec, blocks int) {
	caching := spec.EnablePrefixCaching == nil || *spec.EnablePrefixCaching
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "vllm:cache_config_info", Help: "Configuration of the KV cache.",
		ConstLabels: prometheus.Labels{
			"block_size":             strconv.Itoa(blockSize),
			"num_gpu_blocks":         strconv.Itoa(blocks),
			"gpu_memory_utilization": strconv.FormatFloat(spec.GPUMemoryUtilization, 'g', -1, 64),
			"enable_prefix_caching":  strconv.FormatBool(caching),
			"engine":                 "0",
		},
	})
	info.Set(1)
	m.registry.MustRegister(info)
}

// finished notes the whole timeline of a job whose last token was sent.
func (m *meters) finished(j *Job, sent int64, reason string) {
	m.endToEnd.Observe(seconds(sent - j.Received))
	m.queue.Observe(seconds(j.Scheduled - j.Arrived))
	m.prefill.Observe(seconds(j.First - j.Scheduled))
	m.decode.Observe(seconds(j.Last - j.First))
	m.inference.Observe(seconds(j.Last - j.Scheduled))
	if j.Output > 1 {
		m.perToken.Observe(seconds(j.Last-j.First) / float64(j.Output-1))
	}
	m.promptTokens.Observe(float64(len(j.Prompt)))
	m.outputTokens.Observe(float64(j.Output))
	m.maxOutputTokens.Observe(float64(j.Output))
	m.success.WithLabelValues(reason).Inc()
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func (m *meters) serve(w http.ResponseWriter, _ *http.Request) {
	families, err := m.registry.Gather()
	if err != nil {
		writeDetail(w, http.StatusInternalServerError, err.Error())
		return
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	page := expfmt.NewEncoder(w, format)
	for _, family := range families {
		if page.Encode(family) != nil {
			return // the client has gone
		}
	}
}
