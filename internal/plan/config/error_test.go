package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// The words of an error are for people: these tables hold each to its place
// and its cure.
func TestPlanErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, plan, want string }{
		{"misspelt key", "load_profile:\n  raet: 5", "plan.yaml:2: load_profile.raet: unknown key, did you mean rate?"},
		{"misspelt block", "provder:\n  model: m", "plan.yaml:1: provder: unknown key, did you mean provider?"},
		{"key in the wrong block", "provider:\n  total_requests: 5", "plan.yaml:2: provider.total_requests: unknown key, did you mean load_profile.total_requests?"},
		{"key like no other", "metrics:\n  zzzzzzzz: 5", "plan.yaml:2: metrics.zzzzzzzz: unknown key, expected one of percentiles, track_prefill, track_decode, kv_cache_estimation, output_format, listen, otlp"},
		{"text for a number", "load_profile:\n  rate: ten", `plan.yaml:2: load_profile.rate: expected a number, got "ten"`},
		{"quoted number", "load_profile:\n  rate: \"5\"", `plan.yaml:2: load_profile.rate: expected a number, got "5"`},
		{"list for a number", "load_profile:\n  rate: [1, 2]", "plan.yaml:2: load_profile.rate: expected a number, got a list"},
		{"fraction for a count", "load_profile:\n  total_requests: 1.5", `plan.yaml:2: load_profile.total_requests: expected a whole number, got "1.5"`},
		{"number for a duration", "load_profile:\n  duration: 30", `plan.yaml:2: load_profile.duration: expected a duration such as 30s or 1m30s, got "30"`},
		{"text for a switch", "provider:\n  tls: {insecure: maybe}", `plan.yaml:2: provider.tls.insecure: expected true or false, got "maybe"`},
		{"scalar for a block", "provider: openai", `plan.yaml:1: provider: expected a block with keys such as name, got "openai"`},
		{"block for text", "provider:\n  model: {a: b}", "plan.yaml:2: provider.model: expected text, got a block"},
		{"value for a list of numbers", "metrics:\n  percentiles: [50, x]", `plan.yaml:2: metrics.percentiles[1]: expected a number, got "x"`},
		{"no value", "load_profile:\n  rate:\n", "plan.yaml:2: load_profile.rate: has no value"},
		{"list at the top", "- a\n- b\n", "plan.yaml:1: expected a block with keys such as provider, got a list"},
		{"unknown threshold", "sla_thresholds:\n  p95_latncy_ms: 5", "plan.yaml:2: sla_thresholds.p95_latncy_ms: unknown objective; did you mean p95_latency_ms?"},
		{"text threshold", "sla_thresholds:\n  p95_latency_ms: fast", `plan.yaml:2: sla_thresholds.p95_latency_ms: expected a number, got "fast"`},
		{"bad objective", "sla_thresholds:\n  - ttft:p99<500ms\n  - soon", `plan.yaml:3: sla_thresholds: objective "soon": expected metric:stat<limit, such as ttft:p99<500ms, or a preset such as chat`},

		{"objective of no class", "workload: mix\nsla_thresholds: ['class=caht ttft:p99<1s']", `plan.yaml:2: sla_thresholds: "class=caht ttft:p99<1s" is about the class "caht", which the workload does not have: known are chat, rag, summarization, agent, batch`},
		{"objective of a class of none", "sla_thresholds: ['class=chat ttft:p99<1s']", `plan.yaml:1: sla_thresholds: "class=chat ttft:p99<1s" is about the class "chat", but the workload names none`},
		{"objective of no tenant", "workload: {tenants: [{name: a}, {name: b, count: 2}]}\nsla_thresholds: ['tenant=b ttft:p99<1s']", `plan.yaml:2: sla_thresholds: "tenant=b ttft:p99<1s" is about the tenant "b", which the workload does not have: known are a, b-1, b-2`},
		{"negative rate", "load_profile:\n  max_concurrency: 5\n  rate: -1", "plan.yaml:3: load_profile.rate: expected a number of requests per second above 0, got -1"},
		{"rate of zero", "load_profile:\n  rate: 0", "plan.yaml:2: load_profile.rate: expected a number of requests per second above 0, got 0"},
		{"unknown process", "load_profile:\n  rate: 1\n  arrival: poison", "plan.yaml:3: load_profile.arrival: "},
		{"arrival in a closed loop", "load_profile:\n  max_concurrency: 5\n  arrival: poisson", "plan.yaml:3: load_profile.arrival: a closed loop has no arrivals: give a rate too, or leave it out"},
		{"negative duration", "load_profile: {duration: -3s}", "plan.yaml:1: load_profile.duration: expected a duration above 0 and at most 720h0m0s, got -3s"},
		{"negative warm-up", "load_profile: {warmup: -3s}", "plan.yaml:1: load_profile.warmup: expected a duration from 0 to 720h0m0s, got -3s"},
		{"no requests", "load_profile: {total_requests: 0}", "plan.yaml:1: load_profile.total_requests: expected a number of requests from 1 to 100000000, got 0"},
		{"no concurrency", "load_profile: {max_concurrency: 0}", "plan.yaml:1: load_profile.max_concurrency: expected a number of requests in flight from 1 to 100000, got 0"},
		{"too much in all", "load_profile: {rate: 100000, duration: 700h}", "plan.yaml:1: load_profile.duration: 100,000 requests/s for 700h0m0s are 252,000,000,000 requests; at most 100,000,000 are possible"},
		{"retries without a number", "load_profile:\n  retries: {backoff: 1s}", "plan.yaml:2: load_profile.retries.max: must be at least 1, since the block says how to retry"},
		{"retries of what is no fault", "load_profile:\n  retries: {max: 2, outcomes: [rejected, ok]}", "plan.yaml:2: load_profile.retries.outcomes: expected some of [rejected http connect tls dns timeout reset truncated malformed error_event empty], got \"ok\""},
		{"too many retries", "load_profile: {retries: {max: 1000}}", "plan.yaml:1: load_profile.retries.max: expected a number from 0 to 100, got 1000"},
		{"error rate in percent", "load_profile: {max_error_rate: 5}", "plan.yaml:1: load_profile.max_error_rate: expected a share above 0 and below 1, such as 0.5, got 5"},
		{"negative limit", "provider:\n  timeouts:\n    first_token: -1s", "plan.yaml:3: provider.timeouts.first_token: expected a positive duration such as 2m, got -1s"},
		{"one limit where there are four", "provider:\n  timeout: 5s", "plan.yaml:2: provider.timeout: unknown key, did you mean provider.timeouts.total?"},
		{"spend without prices", "load_profile: {max_spend: 5}", "plan.yaml:1: load_profile.max_spend: needs prices: give --price-per-1m-prompt-tokens and --price-per-1m-output-tokens, or cost in a plan"},
		{"negative price", "cost:\n  per_hour: -2", "plan.yaml:2: cost.per_hour: expected a price of at least 0, got -2"},
		{"no scheme", "provider: {api_endpoint: 'api.example.com'}", `plan.yaml:1: provider.api_endpoint: expected a URL that begins with http:// or https://, got "api.example.com"`},
		{"no scheme, port of https", "provider: {api_endpoint: 'box:443/v1'}", `plan.yaml:1: provider.api_endpoint: expected a URL that begins with http:// or https://, got "box:443/v1"`},
		{"empty block", "load_profile:\nseed: 1", `plan.yaml:1: load_profile: has no value: indent its keys below it, or leave it out`},
		{"empty block within", "provider:\n  headers:\n  model: m", `plan.yaml:2: provider.headers: has no value: indent its keys below it, or leave it out`},
		{"empty pointer block", "quality:\n  judge:", `plan.yaml:2: quality.judge: has no value: indent its keys below it, or leave it out`},
		{"no host", "provider: {api_endpoint: 'http:///v1'}", `plan.yaml:1: provider.api_endpoint: expected a URL with a host, got "http:///v1"`},
		{"two APIs", "provider: {api_endpoint: ['http://h/v1/messages', 'http://h/v1/completions']}", "plan.yaml:1: provider.api_endpoint: expected one API for all endpoints, got anthropic-messages and openai-completions"},
		{"API against path", "provider:\n  api_endpoint: http://h/v1/messages\n  api: openai-chat", "plan.yaml:3: provider.api: is openai-chat, but the endpoint's path is that of anthropic-messages"},
		{"unknown API", "provider: {api: grpc}", `plan.yaml:1: provider.api: expected one of openai-chat, openai-completions, openai-responses, anthropic-messages, tgi-generate, ollama-chat, ollama-generate, sglang-generate, llamacpp-completion, embeddings, rerank, template, got "grpc"; template describes any other API over HTTP`},
		{"bad header", "provider:\n  headers:\n    \"a b\": c", `plan.yaml:3: provider.headers.a b: expected the name of an HTTP header such as X-Team`},
		{"stream in the body", "provider:\n  extra_body: {stream: false}", "plan.yaml:2: provider.extra_body.stream: use provider.stream, which also sets how replies are read"},
		{"percentile of 100", "metrics: {percentiles: [50, 100]}", "plan.yaml:1: metrics.percentiles: expected percentages such as 50 or 99.9, from 1 to below 100 and whole below 10, got 100"},
		{"unknown format", "metrics: {output_format: xml}", `plan.yaml:1: metrics.output_format: expected json or text, got "xml"`},
		{"said twice, of guesses", "optimizations:\n  speculative_decoding: false\nserver: {sim: {speculative_tokens: 3}}", "plan.yaml:2: optimizations.speculative_decoding: is false, but server.sim.speculative_tokens says otherwise: leave one of the two out"},
		{"said twice, of batches", "optimizations: {dynamic_batching: true}\nserver: {sim: {static_batching: true}}", "plan.yaml:1: optimizations.dynamic_batching: is true, but server.sim.static_batching says otherwise: leave one of the two out"},
		{"too long a draft", "server: {sim: {speculative_tokens: 99}}", "plan.yaml:1: server.sim.speculative_tokens: must be 1 to 16 tokens, or 0 for no speculation, got 99"},
		{"said twice, differently", "optimizations: {prefix_caching: true}\nserver: {sim: {enable_prefix_caching: false}}", "plan.yaml:1: optimizations.prefix_caching: is true, but server.sim.enable_prefix_caching says otherwise: leave one of the two out"},
		{"unknown GPU", "server:\n  sim:\n    gpu: H1OO", "plan.yaml:3: server.sim.gpu: "},
		{"unknown fault", "server:\n  sim:\n    faults: [crlf, rest:2%]", `plan.yaml:3: server.sim.faults: unknown fault "rest"; did you mean reset?`},
		{"unknown model", "provider:\n  model: llama-9", "plan.yaml:2: provider.model: "},
		{"unknown workload", "seed: 1\nworkload: chatt", `plan.yaml:2: workload: unknown workload "chatt": did you mean chat? known: chat, code_generation, long_context_qa, summarization, rag_agent, multi_turn_chat, shared_rag, agent_loop, coding_agent, research_agent, mix, chat_mix`},
		{"bad length", "workload:\n  preset: chat\n  prompt: 512x", `plan.yaml:3: workload.prompt: expected a distribution such as lognormal(512,0.6), got "512x"`},
		{"conversation of no turns", "workload: {session: {turns: 0}}", "plan.yaml:1: workload.session.turns: fixed: must be 1 to 10000000, got 0"},
		{"length cut by a comma", "workload: {prompt: lognormal(512, 0.6)}", `plan.yaml:1: workload.prompt: expected a distribution such as lognormal(512,0.6), got "lognormal(512"; a comma between { } or [ ] ends a value: put the whole in quotes`},
		{"profile cut by a comma", "load_profile: {profile: ramp(1..50, 5m)}", "plan.yaml:1: load_profile.5m): unknown key; a comma between { } or [ ] ends a value: put the whole in quotes"},
		{"API that is not measured", "url: http://a/v1/audio/speech", "plan.yaml:1: url: the path \"/v1/audio/speech\" is that of an API that redline does not measure: it measures no speech, transcription, image generation or realtime sessions"},
		{"zero in a class", "workload:\n  classes:\n  - {name: a, workload: {preset: chat, tools: {sets: 0}}}", "plan.yaml:3: workload.classes[0].workload.tools.sets: must be more than 0: leave it out for the default"},
		{"class of no weight", "workload:\n  classes:\n  - {name: a, weight: 0, workload: chat}\n  - {name: b, workload: chat}", "plan.yaml:3: workload.classes[0].weight: must be more than 0: leave the class out, or its weight for 1"},
		{"class with a bad deadline", "workload:\n  classes:\n  - {name: a, workload: chat}\n  - name: b\n    workload: chat\n    deadline: -4s", "plan.yaml:6: workload: classes[1].deadline: expected a time such as 10s, got -4s"},
		{"no schemas", "workload:\n  preset: chat\n  schemas: {count: 0}", "plan.yaml:3: workload.schemas.count: must be more than 0: leave it out for the default"},
		{"unknown key in a workload", "workload:\n  prompts: 5", "plan.yaml:2: workload.prompts: unknown key, did you mean prompt?"},
		{"histogram out of step", "load_profile:\n  total_requests: 5\n  context_distribution: {weights: [1], token_counts: [1, 2]}", "plan.yaml:3: load_profile.context_distribution"},
		{"bad knob", "generation:\n  top_p: 3", "plan.yaml:2: generation.top_p: must be above 0 and up to 1, got 3"},
		{"label with a slash", "metadata:\n  label: a/b", `plan.yaml:2: metadata.label: must be at most 80 printable characters without a slash, got "a/b"`},

		{"missing variable", "provider:\n  api_key: ${NOPE}", "plan.yaml:2: environment variable NOPE is not set (export NOPE=…)"},
		{"empty key variable", "provider:\n  api_endpoint: http://h\n  api_key: ${EMPTY}", "plan.yaml:3: provider.api_key: ${EMPTY} is empty, expected the key"},
		{"open variable", "provider:\n  model: ${oops", `plan.yaml:2: expected ${NAME} with letters, digits and _, got "${oops" (write $${ for a literal ${)`},
		{"duplicate key", "seed: 1\nseed: 2", "plan.yaml:2: key seed is given twice in one block; give it once"},
		{"two spellings", "load_profile:\n  requests: 50\n  total_requests: 60\n", "plan.yaml:2: load_profile.requests: line 3 has the same setting as load_profile.total_requests; keep one of the two"},
		{"tab", "provider:\n\tmodel: m", "plan.yaml:2: a tab in the indentation; use spaces"},
		{"empty", "", "plan.yaml: is empty, expected a plan (redline schema plan lists its keys)"},
		{"only a comment", "# later\n", "plan.yaml: is empty, expected a plan (redline schema plan lists its keys)"},
		{"binary", "\x7fELF\x00\x01", "plan.yaml: is not a text file, expected a plan in YAML"},
		{"two documents", "seed: 1\n---\nseed: 2\n", "plan.yaml:3: a second YAML document; only one is read"},
		{"unclosed bracket", "metrics:\n  percentiles: [50, 95\n", "plan.yaml:"},
		{"merge key", "a: &a {b: 1}\nprovider:\n  <<: *a\n", "plan.yaml:3: merge keys (<<) have no place in a plan, write the keys out"},
		{"alias of nothing", "provider:\n  model: *who\n", "plan.yaml:2: alias *who has no anchor before it"},
		{"too deep", "metrics: " + strings.Repeat("[", 500) + strings.Repeat("]", 500), "plan.yaml:1: nested too deeply for a plan"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writePlan(t, tt.plan)
			c, err := Resolve(Input{PlanPath: path, LookupEnv: env(map[string]string{"EMPTY": ""})})
			if err == nil {
				t.Fatalf("got %+v, want an error", c)
			}
			got := strings.TrimPrefix(err.Error(), filepath.Dir(path)+"/")
			// Where another package finds the words, the place is ours to hold.
			words := strings.HasSuffix(tt.want, ":") || strings.HasSuffix(tt.want, ": ") || strings.HasSuffix(tt.want, "distribution")
			if got != tt.want && !(words && strings.HasPrefix(got, tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if strings.ContainsAny(got, "\n\r") {
				t.Errorf("%q has more than one line", got)
			}
		})
	}
}

// All mistakes are named, in the order of their lines, but none that may follow from
// another.
func TestSeveralMistakes(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string][]string{
		"modle: x\nload_profile: {rate: abc}\nslo: [ttft<1, nix:p99<1s]\nworkload: {prompt: 5x}\n": {"plan.yaml:1", "plan.yaml:2", "plan.yaml:3", "plan.yaml:3", "plan.yaml:4"},
		"url: ftp://a\nload_profile:\n  rate: -3\n  duration: -5s\nexperiment: {repeat: -2}\n":     {"plan.yaml:1", "plan.yaml:3", "plan.yaml:4", "plan.yaml:5"},
	} {
		path := filepath.Join(t.TempDir(), "plan.yaml")
		must.Do(t, os.WriteFile(path, []byte(plan), 0o600))
		_, err := Resolve(Input{PlanPath: path, Command: "run"})
		wrong, ok := err.(*Error)
		if !ok {
			t.Fatalf("%q: %v", plan, err)
		}
		var places []string
		for _, e := range append([]*Error{wrong}, wrong.More...) {
			places = append(places, filepath.Base(e.Place))
		}
		expect.NoDiff(t, cmp.Diff(want, places), "%q (-want +got)", plan)
	}
}

func TestFlagErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		flags []string
		want  string
	}{
		{[]string{"--rate=-1"}, "--rate: expected a number of requests per second above 0, got -1"},
		{[]string{"--rate=NaN"}, `--rate: expected a number, got "NaN"`},
		{[]string{"--requests=0"}, "--requests: expected a number of requests from 1 to 100000000, got 0"},
		{[]string{"--requests=99999999999999999999"}, `--requests: "99999999999999999999" is too large`},
		{[]string{"--duration=5"}, `--duration: expected a duration such as 30s or 1m30s, got "5"`},
		{[]string{"--timeout=-1s"}, "--timeout: expected a positive duration such as 2m, got -1s"},
		{[]string{"--idle-timeout=-3s"}, "--idle-timeout: expected a positive duration such as 2m, got -3s"},
		{[]string{"--max-retries=-1"}, "--max-retries: expected a number from 0 to 100, got -1"},
		{[]string{"--max-error-rate=0"}, "--max-error-rate: expected a share above 0 and below 1, such as 0.5, got 0"},
		{[]string{"--max-error-rate=50"}, "--max-error-rate: expected a share above 0 and below 1, such as 0.5, got 50"},
		{[]string{"--concurrency=4", "--arrival=constant"}, "--arrival: a closed loop has no arrivals: give a rate too, or leave it out"},
		{[]string{"--concurrency=4", "--pace=-1s"}, "--pace: expected a time of at least 0 and at most 720h0m0s, got -1s"},
		{[]string{"--concurrency=4", "--pace=NaN"}, `--pace: expected a duration such as 30s or 1m30s, got "NaN"`},
		{[]string{"--concurrency=4", "--pace=721h"}, "--pace: expected a time of at least 0 and at most 720h0m0s, got 721h0m0s"},
		{[]string{"--concurrency=4", "--rate=5", "--pace=1s"}, "--pace: is that of users of a closed loop: give a concurrency and no rate"},
		{[]string{"--rates=1,2", "--pace=1s"}, "--pace: is that of users of a closed loop: give a concurrency and no rate"},
		{[]string{"--url=http://h", "--api-key-env=NOPE"}, "--api-key-env: environment variable NOPE is not set (export NOPE=…)"},
		{[]string{"--api-key-env=sk-12345"}, "--api-key-env: give the name of an environment variable that holds the key, not the key itself"},
		{[]string{"--header=Authorization"}, `--header: expected a header as Name=value, such as X-Team=search`},
		{[]string{"--header=A=b\nC: d"}, "--header: A: its value holds a line break or another control character"},
		{[]string{`--extra-body={"max_tokens": 5}`}, "--extra-body: max_tokens: use output of the workload, or output_tokens of a row"},
		{[]string{"--extra-body=[1]"}, `--extra-body: expected a JSON object such as {"top_k": 20}, got "[1]"`},
		{[]string{"--slo=soon"}, `--slo: objective "soon": expected metric:stat<limit, such as ttft:p99<500ms, or a preset such as chat`},
		{[]string{"--url=http://h", "--gpu=H100"}, "--gpu: is for the embedded engine, but a URL is given"},
		{[]string{"--tp=-1"}, "--tp: must be more than 0, got -1"},
		{[]string{"--tp=0"}, "--tp: must be more than 0: leave it out for the default"},
		{[]string{"--rate=0"}, "--rate: expected a number of requests per second above 0, got 0"},
		{[]string{"--concurrency=0"}, "--concurrency: expected a number of requests in flight from 1 to 100000, got 0"},
		{[]string{"--duration=0s"}, "--duration: expected a duration above 0 and at most 720h0m0s, got 0s"},
		{[]string{"--timeout=0s"}, "--timeout: must be more than 0: leave it out for the default"},
		{[]string{"--idle-timeout=0s"}, "--idle-timeout: must be more than 0: leave it out for the default"},
		{[]string{"--max-num-seqs=0"}, "--max-num-seqs: must be more than 0: leave it out for the default"},
		{[]string{"--max-num-batched-tokens=0"}, "--max-num-batched-tokens: must be more than 0: leave it out for the default"},
		{[]string{"--gpu-memory-utilization=0"}, "--gpu-memory-utilization: must be more than 0: leave it out for the default"},
		{[]string{"--max-model-len=0"}, "--max-model-len: must be more than 0: leave it out for the default"},
		{[]string{"--tokens-per-chunk=0"}, "--tokens-per-chunk: must be more than 0: leave it out for the default"},
		{[]string{"--model="}, "--model: has no value: leave it out for the default"},
		{[]string{"--gpu="}, "--gpu: has no value: leave it out for the default"},
		{[]string{"--url=http://h", "--telemetry-interval=0s"}, "--telemetry-interval: expected a time from 100ms to 1m0s, got 0s"},
		{[]string{"--url=http://h", "--telemetry-interval=-1s"}, "--telemetry-interval: expected a time from 100ms to 1m0s, got -1s"},
		{[]string{"--url=http://h", "--telemetry-interval=2m"}, "--telemetry-interval: expected a time from 100ms to 1m0s, got 2m0s"},
		{[]string{"--url=http://h", "--telemetry-interval=1"}, `--telemetry-interval: expected a duration such as 30s or 1m30s, got "1"`},
		{[]string{"--url=http://h", "--metrics-url=h/metrics"}, `--metrics-url: expected a URL that begins with http:// or https://, got "h/metrics"`},
		{[]string{"--url=http://h", "--metrics-url=http://me:secret@h:9/"}, "--metrics-url: holds a user or password, which metrics are not asked with"},
		{[]string{"--url=http://h", "--metrics-url=unix:/a"}, `--metrics-url: expected a URL that begins with http:// or https://, got "unix:/a"`},
		{[]string{"--url=http://h", "--metrics-url=http://h:9/m", "--no-telemetry"},
			"--metrics-url: is given, but the engine's metrics are to be left alone (--no-telemetry)"},
		{[]string{"--accelerator=on"}, "--accelerator: expected auto, off, nvidia-smi, amd-smi, the URL of an exporter, or a command that runs one of the tools, such as 'ssh gpu1 nvidia-smi'"},
		{[]string{"--accelerator=ssh 'gpu1 nvidia-smi"}, "--accelerator: the quote ' is not closed"},
		{[]string{"--accelerator=dcgm=gpu1:9400"}, "--accelerator: expected a URL of an exporter that begins with http:// or https://"},
		{[]string{"--accelerator=http://me:secret@h:9/"}, "--accelerator: holds a user or password, which metrics are not asked with"},
		{[]string{"--metrics-url=http://h:9/m"}, "--metrics-url: is for a server, but no URL is given; the embedded engine's metrics are known"},
		{[]string{"--duration=60s", "--at=20s: restart(20s"}, `--at: expected a time in the window and a command such as '60s: systemctl restart vllm', or one of kill, stop, start, restart, restart(20s), of replicas kill 1, drain 1, start 1, roll, roll(20s), got "20s: restart(20s"`},
		{[]string{"--duration=60s", "--replicas=2", "--at=20s: drain 2"}, `--at: "drain 2": the replicas are 0 to 1`},
		{[]string{"--duration=60s", "--at=20s: roll(3s)"}, `--at: "roll(3s)" is for replicas of the embedded engine: give --replicas 3 and no server, or write the command that does it there`},
		{[]string{"--url=http://h", "--duration=60s", "--at=20s: start 1"}, `--at: "start 1" is for replicas of the embedded engine: give --replicas 3 and no server, or write the command that does it there`},
		{[]string{"--duration=60s", "--at=20s: kill(3s)"}, `--at: expected a time in the window and a command such as '60s: systemctl restart vllm', or one of kill, stop, start, restart, restart(20s), of replicas kill 1, drain 1, start 1, roll, roll(20s), got "20s: kill(3s)"`},
		{[]string{"--duration=60s", "--replicas=2", "--at=20s: kill one"}, `--at: "20s: kill one": kill takes a replica's number: 'kill 1'; a command of that name needs its path, such as /bin/kill`},
		{[]string{"--duration=60s", "--replicas=2", "--at=20s: drain 0,1"}, `--at: "20s: drain 0,1": drain takes a replica's number: 'drain 1'; a command of that name needs its path, such as /bin/drain`},
		{[]string{"--duration=60s", "--replicas=2", "--at=20s: Kill 1"}, `--at: "20s: Kill 1": kill takes a replica's number: 'kill 1'; a command of that name needs its path, such as /bin/kill`},
		{[]string{"--json=perhaps"}, `--json: expected true or false, got "perhaps"`},
		{[]string{"--seed=-1"}, `--seed: expected a whole number of at least 0, got "-1"`},
		{[]string{"--max-spend=3"}, "--max-spend: needs prices: give --price-per-1m-prompt-tokens and --price-per-1m-output-tokens, or cost in a plan"},
		{[]string{"--url=http://user:pass@h h/"}, `--url: expected a URL such as http://127.0.0.1:8000, got "***@h h/"`},
		{[]string{"--url=http://user:pass@h/"}, "--url: holds a user or password: give a key by --api-key-env, or a header"},
		{[]string{"--url=unix:engine.sock"}, `--url: expected an absolute socket path such as unix:/run/engine.sock, got "unix:engine.sock"`},
		{[]string{"--workload=chatt"}, `--workload: unknown workload "chatt": did you mean chat? known: chat, code_generation, long_context_qa, summarization, rag_agent, multi_turn_chat, shared_rag, agent_loop, coding_agent, research_agent, mix, chat_mix`},
		{[]string{"--generation=prodct"}, `--generation: unknown generation preset "prodct": did you mean product? known: deterministic, product`},
		{[]string{"--temperature=9"}, "--temperature: must be 0 to 2, got 9"},
		{[]string{"--max-tokens-total=0"}, "--max-tokens-total: expected a number of tokens above 0, got 0"},
		{[]string{"--nonsense=1"}, "--nonsense: unknown flag"},
	}
	for _, tt := range tests {
		c, err := Resolve(Input{Flags: flags(tt.flags...)})
		if err == nil {
			t.Errorf("%v: got %+v, want an error", tt.flags, c)
		} else if err.Error() != tt.want {
			t.Errorf("got  %s\nwant %s", err, tt.want)
		}
	}
}

func TestEnvironmentErrorsNameTheVariable(t *testing.T) {
	t.Parallel()
	_, err := Resolve(Input{LookupEnv: env(map[string]string{"REDLINE_MAX_TOKENS_TOTAL": "many"})})
	if want := `REDLINE_MAX_TOKENS_TOTAL: expected a whole number, got "many"`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestFilesThatAreNoPlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	must.Write(t, large, make([]byte, maxPlanBytes+1))
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "no such file",
		dir:                             "is a directory, expected a plan",
		large:                           "has more than the 65,536 bytes that a plan may have",
	} {
		if _, err := Resolve(Input{PlanPath: path}); err == nil || err.Error() != path+": "+want {
			t.Errorf("got  %v\nwant %s: %s", err, path, want)
		}
	}
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("a device that never ends is not to be found here")
	}
	const want = "/dev/zero: has more than the 65,536 bytes that a plan may have"
	if _, err := Resolve(Input{PlanPath: "/dev/zero"}); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Whatever key a secret stands at by mistake, the error does not show it.
func TestErrorsQuoteNoSecret(t *testing.T) {
	t.Parallel()
	const long = "sk-proj:7Hq2<Zr9+Lw4%Xc8/Vb6=Nm1.Kj5-Yt3_Pd0aEfGhIuOoQsRtWvBnMxCyDzUiJkSlTgAbCdEfGh"
	for _, secret := range []string{"hunter2x", long} {
		lookup := env(map[string]string{"OPENAI_API_KEY": secret})
		for _, plan := range []string{
			"load_profile: {rate: '${OPENAI_API_KEY}'}", "load_profile: {duration: 'x${OPENAI_API_KEY}'}", "seed: ${OPENAI_API_KEY}",
			"load_profile: {rate: 1, arrival: '${OPENAI_API_KEY}'}", "workload: ${OPENAI_API_KEY}", "workload: 'in=${OPENAI_API_KEY}'",
			"sla_thresholds: ['${OPENAI_API_KEY}']", "sla_thresholds: {ttft_p99_ms: '${OPENAI_API_KEY}'}", "provider: {api: '${OPENAI_API_KEY}'}",
			"provider: {api_endpoint: '${OPENAI_API_KEY}://h'}", "metrics: {percentiles: ['${OPENAI_API_KEY}']}", "metrics: {output_format: '${OPENAI_API_KEY}'}",
			"provider: '${OPENAI_API_KEY}'", "generation: {preset: 'a ${OPENAI_API_KEY} b'}", "server: {sim: {model: '${OPENAI_API_KEY}'}}",
		} {
			_, err := Resolve(Input{PlanPath: writePlan(t, plan), LookupEnv: lookup})
			if err == nil {
				t.Errorf("%s: no error", plan)
				continue
			}
			for i := range len(secret) - 6 {
				if strings.Contains(err.Error(), secret[i:i+6]) {
					t.Errorf("%s shows %q: %v", plan, secret[i:i+6], err)
					break
				}
			}
		}
	}
}

// A file that is no plan is not called one, and its secrets are not shown.
func TestReadNamesItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lookup := env(map[string]string{"HOOK_TOKEN": "hook-secret-1", "BELL": "\x07"})
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "is empty, expected a watch file"},
		{"large", strings.Repeat("x", maxPlanBytes+1), "has more than the 65,536 bytes that a watch file may have"},
		{"binary", "\x00", "is not a text file, expected a watch file in YAML"},
		{"bell", "url: ${BELL}", "1: a control character has no place in a watch file"},
		{"plan's key", "rate: 5", "1: rate: unknown key, expected one of url, headers, size"},
		{"secret", "size: ${HOOK_TOKEN}", `1: size: expected a whole number, got "${HOOK_TOKEN}"`},
		{"secret in a header", "headers: {X-Token: from-the-file}\nsize: from-the-file", `2: size: expected a whole number, got "***"`},
	} {
		path := filepath.Join(dir, c.name)
		must.Write(t, path, c.text)
		var into struct {
			URL     string            `yaml:"url"`
			Headers map[string]string `yaml:"headers"`
			Size    int               `yaml:"size"`
		}
		if _, err := Read(path, "a watch file", &into, lookup); err == nil || strings.TrimLeft(strings.TrimPrefix(err.Error(), path), ": ") != c.want {
			t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
		}
	}
	path := filepath.Join(dir, "right")
	must.Write(t, path, "url: http://h/hook\nheaders:\n  X-Team: blue\n  Authorization: Bearer ${HOOK_TOKEN}\n")
	var into map[string]any
	doc, err := Read(path, "a watch file", &into, lookup)
	want := &Document{Lines: map[string]int{"url": 1, "headers": 2}, Secrets: []string{"hook-secret-1", "http://h/hook", "Bearer hook-secret-1", "hook-secret-1"}}
	if diff := cmp.Diff(want, doc); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}
