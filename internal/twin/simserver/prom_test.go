package simserver

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/traffic/token"
	"redline/internal/twin/sim"
)

// recorder keeps a page.
type recorder struct {
	strings.Builder
	header http.Header
	status int
}

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.status = status }

// gather gives the text of /metrics.
func gather(t *testing.T, s *Server) string {
	t.Helper()
	r := &recorder{header: http.Header{}}
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://sim/metrics", nil))(t)
	s.ServeHTTP(r, req)
	return r.String()
}

// series is one line of a page: its name with the labels other than
// model_name and engine. A histogram is its count, its sum and its number of
// finite buckets.
func series(t *testing.T, page string) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families := must.Get(parser.TextToMetricFamilies(strings.NewReader(page)))(t)
	all := map[string]float64{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			key, own := name, map[string]string{}
			for _, l := range m.GetLabel() {
				own[l.GetName()] = l.GetValue()
			}
			if reason, ok := own["finished_reason"]; ok {
				key += " " + reason
			}
			if own["engine"] != "0" || own["model_name"] != sim.DefaultModel && name != "vllm:cache_config_info" {
				t.Errorf("%s has the labels %v", name, own)
			}
			if h := m.GetHistogram(); h != nil {
				all[key+" count"] = float64(h.GetSampleCount())
				all[key+" sum"] = math.Round(h.GetSampleSum()*1e9) / 1e9
				all[key+" buckets"] = float64(len(h.GetBucket()) - 1)
				continue
			}
			all[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

// TestMetricsOfAMetronome has a timeline that is known beforehand: requests of
// 10, 5 and 1 tokens, one after another, and one that is left after two of its
// hundred tokens.
func TestMetricsOfAMetronome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pace = 20 * time.Millisecond
		b := serveBubble(t, sim.Spec{MaxModelLen: 1000}, sim.NewMetronome(pace), nil)
		for i, output := range []int{10, 5, 1} {
			b.ask("", wire.Dialects[i%len(wire.Dialects)], output, true)
		}
		left := b.open("", wire.Dialects[0], 100)
		time.Sleep(2*pace + pace/2)
		left.Body.Close()
		time.Sleep(pace)
		got := series(t, gather(t, b.server))
		b.close()

		prompt := float64(token.O200k().Count(question(0).Messages[0].Content))
		want := map[string]float64{
			"vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0, "vllm:kv_cache_usage_perc": 0,
			"vllm:prefix_cache_queries_total": 0, "vllm:prefix_cache_hits_total": 0, "vllm:num_preemptions_total": 0,
			"vllm:mm_cache_queries_total": 0, "vllm:mm_cache_hits_total": 0,
			"vllm:prompt_tokens_total": 4 * prompt, "vllm:generation_tokens_total": 10 + 5 + 1 + 2,
			"vllm:request_success_total length": 3, "vllm:request_success_total abort": 1,
			"vllm:request_success_total stop": 0, "vllm:request_success_total error": 0, "vllm:request_success_total repetition": 0,
			"vllm:num_requests_waiting_by_reason": 0,
			"vllm:cache_config_info":              1,
			"redline_kv_tokens":                   0, "redline_evicted_blocks_total": 0,
			// No step is late in virtual time.
			ownLateness + " count": 10 + 5 + 1 + 2, ownLateness + " sum": 0, ownLateness + " buckets": 18,
		}
		histogram := func(name string, count int, sum float64, buckets int) {
			want["vllm:"+name+" count"] = float64(count)
			want["vllm:"+name+" sum"] = math.Round(sum*1e9) / 1e9
			want["vllm:"+name+" buckets"] = float64(buckets)
		}
		histogram("time_to_first_token_seconds", 4, 4*.02, 22)
		histogram("inter_token_latency_seconds", 9+4+0+1, 14*.02, 19)
		histogram("request_time_per_output_token_seconds", 2, 2*.02, 19)
		histogram("e2e_request_latency_seconds", 3, 16*.02, 21)
		histogram("request_queue_time_seconds", 3, 0, 21)
		histogram("request_prefill_time_seconds", 3, 3*.02, 21)
		histogram("request_decode_time_seconds", 3, 13*.02, 21)
		histogram("request_inference_time_seconds", 3, 16*.02, 21)
		histogram("iteration_tokens_total", 0, 0, 13)
		histogram("request_prompt_tokens", 3, 3*prompt, 10)
		histogram("request_generation_tokens", 3, 16, 10)
		histogram("request_params_max_tokens", 3, 16, 10)
		expect.NoDiff(t, cmp.Diff(want, got), "/metrics (-want +got)")
	})
}

// TestMetricsOfTheEngine looks at what only the batching core knows.
func TestMetricsOfTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := must.Get(sim.NewBatching(sim.Spec{}))(t)
		b := serveBubble(t, sim.Spec{}, core, nil)
		asked := question(7)
		asked.Messages[0].Content = strings.Repeat(" word", 100)
		for range 2 {
			a := ask(t, b.client, "http://sim", dialect(t, "openai-chat"), asked)
			if a.Usage.PromptTokens != 100 {
				t.Errorf("usage %+v, want a prompt of 100 tokens", a.Usage)
			}
		}
		cached := ask(t, b.client, "http://sim", dialect(t, "openai-chat"), asked).Usage.CachedTokens
		page := gather(t, b.server)
		got := series(t, page)
		b.close()

		// Of 100 tokens, six whole blocks of 16 can be found again.
		type figures struct{ Queries, Hits, Prompt, Output, StepTokens, Cached float64 }
		want := figures{300, 2 * 96, 300, 21, 100 + 4 + 4 + 3*6, 96}
		expect.NoDiff(t, cmp.Diff(want, figures{
			got["vllm:prefix_cache_queries_total"], got["vllm:prefix_cache_hits_total"],
			got["vllm:prompt_tokens_total"], got["vllm:generation_tokens_total"],
			got["vllm:iteration_tokens_total sum"], float64(cached),
		}), "figures (-want +got)")
		for _, label := range []string{`block_size="16"`, `enable_prefix_caching="true"`, `gpu_memory_utilization="0.92"`} {
			if !strings.Contains(page, label) {
				t.Errorf("cache_config_info lacks %s", label)
			}
		}
	})
}

func TestTokenBuckets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit int
		want  []float64
	}{
		{1, []float64{1}},
		{99, []float64{1, 2, 5, 10, 20, 50}},
		{200, []float64{1, 2, 5, 10, 20, 50, 100, 200}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, tokenBuckets(c.limit)), "up to %d (-want +got)", c.limit)
	}
}
