package diagnose

import "strings"

// response is what to try first: in any words, and in those of an engine.
type response struct {
	any []string
	by  map[string]string
}

// The engines whose flags are known.
const (
	vllm     = "vllm"
	sglang   = "sglang"
	tgi      = "tgi"
	llamacpp = "llama.cpp"
)

// Engines lists them, in the order in which documents show them.
var Engines = []string{vllm, sglang, tgi, llamacpp}

// firstResponses holds what to try first in each regime.
var firstResponses = map[string]response{
	"rate-limited": {[]string{"stay below the rate that is let through, or have the quota raised", "let clients retry as Retry-After says"},
		map[string]string{
			vllm:     "vLLM has no rate limit of its own: look at the gateway in front",
			sglang:   "--max-queued-requests bounds SGLang's queue",
			tgi:      "--max-concurrent-requests is the number above which TGI answers 429",
			llamacpp: "look at the gateway in front: llama.cpp's server queues what its slots (-np) cannot take"}},
	"cold-start": {[]string{"warm up before the window (--warmup), and before a replica takes traffic"},
		map[string]string{
			vllm:     "--compilation-config and --enforce-eager decide what is compiled and captured at start",
			sglang:   "leave --skip-server-warmup out; --cuda-graph-max-bs decides what is captured at start",
			tgi:      "--cuda-graphs names the batch sizes that are captured at start",
			llamacpp: "leave --no-warmup out; --mlock keeps the weights in memory"}},
	"kv-pressure": {[]string{"fewer requests at once, shorter contexts, or more memory for the cache"},
		map[string]string{
			vllm:     "--gpu-memory-utilization up, --kv-cache-dtype fp8, --max-num-seqs down, --max-model-len down",
			sglang:   "--mem-fraction-static up, --kv-cache-dtype fp8_e5m2, --max-running-requests down, --schedule-conservativeness up",
			tgi:      "--max-batch-total-tokens and --cuda-memory-fraction up, --kv-cache-dtype fp8_e5m2",
			llamacpp: "-c (context) up, -np (slots) down, --cache-type-k and --cache-type-v q8_0"}},
	"scheduler-saturation": {[]string{"a larger batch, if tpot has room for it; else another replica"},
		map[string]string{
			vllm:     "--max-num-seqs up, --max-num-batched-tokens with it",
			sglang:   "--max-running-requests up",
			tgi:      "--max-batch-size and --max-batch-prefill-tokens up",
			llamacpp: "-np (slots) up with -c (context), --cont-batching on"}},
	"prefix-cache": {[]string{"check that shared prefixes are equal to the last token, variable parts last", "send a prefix's requests to the same replica"},
		map[string]string{
			vllm:     "--enable-prefix-caching on, --gpu-memory-utilization up",
			sglang:   "leave --disable-radix-cache out, --mem-fraction-static up",
			tgi:      "PREFIX_CACHING=1, --max-batch-total-tokens up",
			llamacpp: "--cache-reuse 256, --slot-prompt-similarity; a prefix lives in one slot (-np)"}},
	"network-bound": {[]string{"bring client and server closer, keep connections open, look at the gateway's buffering"},
		map[string]string{
			vllm:     "--api-server-count up, if the front end is the one that is busy",
			sglang:   "--tokenizer-worker-num up, if the front end is the one that is busy",
			tgi:      "--validation-workers up, if the router is the one that is busy",
			llamacpp: "--threads-http up, if the front end is the one that is busy"}},
	"interference": {[]string{"send long prompts to a pool of their own, or limit their share"},
		map[string]string{
			vllm:     "--enable-chunked-prefill on and --max-num-batched-tokens down: smaller chunks, shorter stalls; --long-prefill-token-threshold bounds them",
			sglang:   "--chunked-prefill-size down, --enable-mixed-chunk, or prefill apart (--disaggregation-mode)",
			tgi:      "--max-batch-prefill-tokens down, --waiting-served-ratio up",
			llamacpp: "-b (batch) and -ub (micro-batch) down"}},
	"queueing": {[]string{"offer less, shape bursts, or add replicas: the limit is where the queue begins"},
		map[string]string{
			vllm:     "--max-num-batched-tokens up if prompts wait, --max-num-seqs up if the batch is full",
			sglang:   "--max-prefill-tokens up if prompts wait, --max-running-requests up, --schedule-policy lpm",
			tgi:      "--max-batch-prefill-tokens up if prompts wait, --max-concurrent-requests down to refuse instead",
			llamacpp: "-np (slots) up, --cont-batching on"}},
	"prefill-bound": {[]string{"shorter contexts, a shared prefix that can be cached, more compute (tensor parallel), or fp8"},
		map[string]string{
			vllm:     "--enable-prefix-caching, --max-num-batched-tokens up, --tensor-parallel-size up, --quantization fp8",
			sglang:   "--chunked-prefill-size and --max-prefill-tokens up, --tp up, --quantization fp8",
			tgi:      "--max-batch-prefill-tokens up, --num-shard up, --quantize fp8",
			llamacpp: "-b and -ub up, -ngl 99 (all layers on the accelerator), --flash-attn"}},
	"inefficient-decode": {[]string{"look at clocks, power limits, other processes, the kernels in the engine's log, and the CPU"},
		map[string]string{
			vllm:     "leave --enforce-eager out, --async-scheduling, VLLM_ATTENTION_BACKEND",
			sglang:   "leave --disable-cuda-graph out, --attention-backend, --enable-torch-compile",
			tgi:      "--cuda-graphs, and a --quantize whose kernels suit the accelerator",
			llamacpp: "-ngl 99 (all layers on the accelerator), --flash-attn, -t no larger than the physical cores"}},
	"batching-trade-off": {[]string{"choose the batch whose tpot keeps the objective, and add replicas for the rest"},
		map[string]string{
			vllm:     "--max-num-seqs down",
			sglang:   "--max-running-requests down",
			tgi:      "--max-batch-size down",
			llamacpp: "-np (slots) down"}},
	"decode-memory-bound": {[]string{"fewer bytes a token: quantize weights and cache; speculative decoding; or more bandwidth"},
		map[string]string{
			vllm:     "--quantization fp8 or awq, --kv-cache-dtype fp8, --speculative-config, --tensor-parallel-size up",
			sglang:   "--quantization fp8, --kv-cache-dtype fp8_e5m2, --speculative-algorithm EAGLE, --tp up",
			tgi:      "--quantize fp8 or awq, --kv-cache-dtype fp8_e5m2, --speculate 2, --num-shard up",
			llamacpp: "a smaller quantization (Q4_K_M), --cache-type-k q8_0, --model-draft"}},
}

// engineWords are what servers call themselves; the simulated engine has
// vLLM's flags.
var engineWords = []struct{ word, engine string }{
	{"sglang", sglang}, {"llama", llamacpp}, {"text-generation", tgi}, {"tgi", tgi}, {"vllm", vllm}, {"redline sim", vllm}, {"nim", vllm},
}

// engineOf recognises the engine, "" where nobody names it.
func (s *scene) engineOf() string {
	for _, name := range []string{s.res.Engine.Name, s.server.Engine} {
		for _, w := range engineWords {
			if strings.Contains(strings.ToLower(name), w.word) {
				return w.engine
			}
		}
	}
	return ""
}

// responses is what to try first, in the engine's own flags where it is known.
func responses(r *Rule, s *scene) []string {
	one := firstResponses[r.Regime]
	all := append([]string(nil), one.any...)
	if flags, ok := one.by[s.engineOf()]; ok {
		all = append(all, s.engineOf()+": "+flags)
	}
	return all
}
