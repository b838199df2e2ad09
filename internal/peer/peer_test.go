package peer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/table"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/plan/config"
)

// covered is the least share of a peer's own flags that is accepted, in percent.
var covered = map[string]int{"vLLM": 95, "SGLang": 90, "AIPerf": 80, "GenAI-Perf": 95, "GuideLLM": 90, "LLMPerf": 100, "inference-perf": 90}

// recordedFlags are the flags of a peer as its package on PyPI has them.
func recordedFlags(t *testing.T, p *Peer) [][]string {
	t.Helper()
	path := filepath.Join("testdata", "flags", strings.ToLower(p.Name)+"-"+p.Version+".txt")
	text := must.Read(t, path)
	var list [][]string
	for line := range strings.Lines(string(text)) {
		list = append(list, strings.Fields(line))
	}
	return list
}

func TestRecordedFlagsAreKnown(t *testing.T) {
	for _, p := range All {
		accepted, all := 0, recordedFlags(t, p)
		for _, names := range all {
			i := slices.IndexFunc(names, func(n string) bool { f, _ := p.under(n); return f != nil })
			if i < 0 {
				t.Errorf("%s: --%s is not known", p.Name, names[0])
				continue
			}
			if f, _ := p.under(names[i]); f.Cannot == "" {
				accepted++
			}
		}
		share := 100 * accepted / max(1, len(all))
		t.Logf("%s %s: %d of %d flags accepted (%d%%)", p.Name, p.Version, accepted, len(all), share)
		if share < covered[p.Name] {
			t.Errorf("%s: %d%% of its flags are accepted, want %d%%", p.Name, share, covered[p.Name])
		}
	}
}

// Every name that a table gives as ours is one of redline's flags, and none is
// declared twice.
func TestTablesNameOurFlags(t *testing.T) {
	ours := map[string]bool{}
	for i := range config.Options {
		ours[config.Options[i].Flag] = true
	}
	for _, p := range All {
		seen := map[string]bool{}
		for _, f := range p.Flags {
			if f.Ours != "" && !ours[f.Ours] {
				t.Errorf("%s: --%s is said to be --%s, which redline has not", p.Name, f.Names[0], f.Ours)
			}
			for _, name := range f.Names {
				if seen[name] {
					t.Errorf("%s: --%s is declared twice", p.Name, name)
				}
				seen[name] = true
			}
		}
	}
}

// asks gives the plans of a command line, or its error as the only native command.
func asks(t *testing.T, line string) (natives []string) {
	t.Helper()
	p, rest := Find(strings.Fields(line))
	if p == nil {
		t.Fatalf("%s: no such command", line)
	}
	v, err := p.Parse(rest)
	if err != nil {
		return []string{err.Error()}
	}
	v.Env = func(name string) (string, bool) { return "http://h:1/v1", name == "OPENAI_API_BASE" }
	v.Read = os.ReadFile
	plans, err := p.Ask(v)
	if err != nil {
		return []string{err.Error()}
	}
	for _, plan := range plans {
		said := plan.Native("PLAN")
		if plan.Workload != "" {
			var flags []string
			for _, s := range plan.Settings {
				flags = append(flags, s[0]+"="+s[1])
			}
			said = strings.Join(flags, " ") + "\n" + plan.Workload
		}
		natives = append(natives, said)
	}
	return natives
}

func TestCommandsMean(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"vllm bench serve --base-url http://h:1 --num-prompts 50",
			[]string{"redline run --url http://h:1/v1/completions --workload 'in=fixed(1024) out=fixed(128)' --concurrency 50 --requests 50 --plain --seed 0"}},
		{"vllm bench serve --port 1 --backend openai-chat --request-rate 5 --burstiness 0.5 --max_concurrency=8 --num-prompts 50 --random-range-ratio 0.1 --random-input-len 100 --random-output-len 15",
			[]string{"redline run --url http://127.0.0.1:1/v1/chat/completions --workload 'in=uniform(90,111) out=uniform(13,17)' --rate 5 --arrival 'gamma(0.5)' --concurrency 8 --requests 50 --plain --seed 0"}},
		{"benchmarks/benchmark_serving.py --port 1 --dataset-name sharegpt --dataset-path s.json --num-prompts 5 --temperature 0.5 --top-k 3",
			[]string{"url=http://127.0.0.1:1/v1/completions concurrency=5 requests=5 plain=true temperature=0.5 seed=0 extra-body={\"top_k\":3}\n  file: \"s.json\"\n  format: sharegpt\n  order: shuffled\n  salt: false\n  natural: true\n"}},
		{`vllm bench serve --base-url http://h:1 --num-prompts 5 --extra-body {"max_tokens":9,"model":"m"}`,
			[]string{"redline run --url http://h:1/v1/completions --workload 'in=fixed(1024) out=fixed(9)' --concurrency 5 --requests 5 --plain --seed 0 --model m"}},
		{"vllm bench serve --dataset-name prefix_repetition --num-prompts 5",
			[]string{"url=http://127.0.0.1:8000/v1/completions concurrency=5 requests=5 plain=true seed=0\n  prompt: fixed(256)\n  output: fixed(128)\n  prefix: {groups: 10, tokens: 256}\n"}},
		{"vllm bench serve --backend openai-chat --dataset-name random-mm --num-prompts 5 --random-mm-bucket-config {(256,512,1):1.0}",
			[]string{"redline run --url http://127.0.0.1:8000/v1/chat/completions --images '512x256:1.0 count=fixed(1) content=noise format=jpeg' --workload 'in=fixed(1024) out=fixed(128)' --concurrency 5 --requests 5 --plain --seed 0"}},
		{"sglang.bench_serving --backend sglang-oai-chat --dataset-name image --image-count 3 --random-image-count --image-resolution 480x640 --random-input-len 100 --random-output-len 10 --random-range-ratio 1 --num-prompts 9",
			[]string{"redline run --url http://127.0.0.1:30000/v1/chat/completions --images '640x480 count=uniform(1,3) content=noise format=jpeg' --workload 'in=fixed(100) out=fixed(10)' --concurrency 9 --requests 9 --plain --temperature 0.0 --seed 42"}},
		{"aiperf profile -m m -u h:1 --streaming --isl 100 --osl 10 --image-width-mean 512 --image-height-mean 400 --image-height-stddev 100 --image-format jpeg",
			[]string{"redline run --url http://h:1/v1/chat/completions --model m --images '512x227:0.1667,512x400:0.6667,512x573:0.1667 count=fixed(1) content=noise format=jpeg' --workload 'in=fixed(100) out=fixed(10)' --concurrency 1 --requests 10 --plain"}},
		{"vllm bench serve --dataset-name hf", []string{"vllm bench serve: --dataset-name hf cannot be honored: redline reads gorilla-llm/Berkeley-Function-Calling-Leaderboard and Aeala/ShareGPT_Vicuna_unfiltered of these; of others " + noHub}},
		{"vllm bench serve --num-promts 5", []string{"vllm bench serve: unknown flag --num-promts; did you mean --num-prompts?"}},
		{"vllm bench serve --num-prompts x", []string{`vllm bench serve: --num-prompts: expected a number above 0, got "x"`}},
		{"vllm bench serve --num-prompts", []string{"vllm bench serve: --num-prompts wants a value"}},
		{"vllm bench serve --profile", []string{"vllm bench serve: --profile cannot be honored: start the profiler of the server beside the run"}},
		{"python3 -m sglang.bench_serving --dataset-name random --random-input 100 --random-output-len 10 --random-range-ratio 0.5 --num-prompts 9",
			[]string{"redline run --url http://127.0.0.1:30000/generate --workload 'in=uniform(50,100) out=uniform(5,10)' --concurrency 9 --requests 9 --plain --temperature 0.0 --seed 42"}},
		{"aiperf profile -m m -u h:1 --streaming --concurrency 2,4 --isl 10 --osl 5",
			[]string{"redline run --url http://h:1/v1/chat/completions --model m --workload 'in=fixed(10) out=fixed(5)' --concurrency 2 --requests 10 --plain",
				"redline run --url http://h:1/v1/chat/completions --model m --workload 'in=fixed(10) out=fixed(5)' --concurrency 4 --requests 10 --plain"}},
		{"aiperf profile -m m -u h:1 --streaming --concurrency 8 --scenario inferencex-agentx-mvp --input-file traces --unsafe-override --benchmark-duration 60 --trace-idle-gap-cap-seconds 5",
			[]string{"url=http://h:1/v1/chat/completions model=m concurrency=8 plain=true duration=60s\n  file: \"traces\"\n  jobs: {rules: agentx, idle_cap: 5s}\n"}},
		{"aiperf profile -u h:1 --streaming --concurrency 8 --scenario inferencex-agentx-mvp --input-file traces --trajectory-start-max-ratio 0",
			[]string{"url=http://h:1/v1/chat/completions concurrency=8 plain=true\n  file: \"traces\"\n  jobs: {rules: agentx, agents_from: start}\n"}},
		{"aiperf profile -u h:1 --streaming --scenario other --input-file x",
			[]string{"aiperf profile: --scenario other cannot be honored: redline has inferencex-agentx-mvp and inferencex-agentx of these"}},
		{"aiperf profile -u h:1 --scenario inferencex-agentx-mvp", []string{"aiperf profile: --scenario inferencex-agentx-mvp cannot be honored: give the recorded sessions by --input-file"}},
		{"aiperf profile -u h:1 --streaming --custom-dataset-type dag_jsonl --input-file d.jsonl --concurrency 2 --request-count 20 --replay-speedup 4 --max-context-length 1000",
			[]string{"url=http://h:1/v1/chat/completions concurrency=2 requests=20 plain=true\n  file: \"d.jsonl\"\n  format: dag_jsonl\n  jobs: {overflow: skip, time_scale: 0.25}\n"}},
		{"aiperf profile -u h:1 --streaming --custom-dataset-type weka_trace --ignore-trace-delays --input-file d --request-count 20",
			[]string{"url=http://h:1/v1/chat/completions concurrency=1 requests=20 plain=true\n  file: \"d\"\n  format: weka\n  jobs: {time_scale: 0}\n"}},
		{"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=replay,time_scale=0.5 --data kind=weka,source.kind=json_file,source.path=w.json,max_wait=5,min_concurrent_sessions=4 --constraint kind=max_duration,seconds=60",
			[]string{"url=http://h:1/v1/chat/completions concurrency=4 plain=true duration=60s seed=42\n  file: \"w.json\"\n  format: weka\n  jobs: {idle_cap: 5s, time_scale: 0.5}\n"}},
		{"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=replay --data kind=trace_synthetic,source.path=r.jsonl,time_scale=0.5,timestamp_column=ts",
			[]string{"url=http://h:1/v1/chat/completions plain=true seed=42\n  file: \"r.jsonl\"\n  columns: {time: ts}\n  replay: {speedup: 2}\n"}},
		{"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=replay --data kind=otel,source.path=s.jsonl,history=runtime",
			[]string{"guidellm benchmark run: --rate-type kind=replay cannot be honored: redline replays sessions until a constraint ends it: give max_duration or max_requests"}},
		{"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=replay --data kind=wekka,source.path=s.jsonl",
			[]string{"guidellm benchmark run: --data kind=wekka,source.path=s.jsonl cannot be honored: redline has the kinds synthetic_text, text_file, csv_file, json_file, mooncake, opentelemetry, otel, trace_synthetic, weka"}},
		{"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=concurrent,streams=2 --constraint kind=max_requests,count=9 --data a,b.jsonl",
			[]string{"url=http://h:1/v1/chat/completions concurrency=2 requests=9 plain=true seed=42\n  file: \"a,b.jsonl\"\n  natural: true\n"}},
		{"inference-perf --server.base_url http://h:1 --api.type chat --api.streaming true --server.model_name m --load.type trace_session_replay --load.stages [{\"concurrent_sessions\":5,\"timeout\":60}] --data.type weka_trace_replay --data.weka_trace_replay {\"trace_directory\":\"t\",\"trace_idle_gap_cap_seconds\":5}",
			[]string{"url=http://h:1/v1/chat/completions model=m concurrency=5 plain=true duration=60s\n  file: \"t\"\n  format: weka\n  jobs: {idle_cap: 5s}\n"}},
		{"inference-perf --server.base_url http://h:1 --api.type chat --api.streaming true --load.type concurrent --load.stages [{\"concurrency_level\":2,\"num_requests\":30}] --data.type otel_trace_replay --data.otel_trace_replay {\"trace_files\":[\"t.json\"],\"use_static_model\":true,\"static_model_name\":\"q\"}",
			[]string{"url=http://h:1/v1/chat/completions model=q concurrency=2 requests=30 plain=true\n  file: \"t.json\"\n  format: otel_sessions\n  jobs: {idle_cap: 15s, history: live}\n"}},
		{"genai-perf profile -m m -u h:1 --request-rate 4 --request-count 20 --isl 10 --isl-stddev 2 --osl 5",
			[]string{"redline run --url http://h:1/v1/chat/completions --model m --no-stream --workload 'in=normal(10,2) out=fixed(5)' --rate 4 --arrival poisson --requests 20 --plain"}},
		{"aiperf profile -m m -u h:1 --streaming --concurrency 2 --request-count 4 --isl 10,20 --osl 5,6 --sweep-type zip --request-timeout-seconds 9 --failed-request-threshold 0.1",
			[]string{"redline run --url http://h:1/v1/chat/completions --model m --workload 'in=fixed(10) out=fixed(5)' --concurrency 2 --requests 4 --plain --timeout 9s --max-error-rate 0.1",
				"redline run --url http://h:1/v1/chat/completions --model m --workload 'in=fixed(20) out=fixed(6)' --concurrency 2 --requests 4 --plain --timeout 9s --max-error-rate 0.1"}},
		{"aiperf profile -u h:1 --streaming --osl 5 --request-count 4 --variant=a:isl=10,concurrency=2 --variant=isl=20 --num-profile-runs 2",
			[]string{"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 2 --requests 4 --plain",
				"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 2 --requests 4 --plain",
				"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(20) out=fixed(5)' --concurrency 1 --requests 4 --plain",
				"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(20) out=fixed(5)' --concurrency 1 --requests 4 --plain"}},
		{"aiperf profile -u h:1 --streaming --isl 100 --osl 10 --random-range-ratio 0.5 --random-corpus-style sglang",
			[]string{"redline run --url http://h:1/v1/chat/completions --workload 'in=uniform(50,100) out=uniform(5,10)' --concurrency 1 --requests 10 --plain"}},
		{"aiperf profile -u h:1 --streaming --fixed-schedule --input-file t.jsonl --fixed-schedule-start-offset 1000 --fixed-schedule-end-offset 5000 --synthesis-speedup-ratio 2",
			[]string{"url=http://h:1/v1/chat/completions plain=true\n  file: \"t.jsonl\"\n  replay: {from: 1000ms, for: 4000ms, speedup: 2}\n"}},
		{"aiperf profile -u h:1 --streaming --seq-dist 256|10,128:40;512,256:60 --request-count 4",
			[]string{"url=http://h:1/v1/chat/completions concurrency=1 requests=4 plain=true\n  classes: \n    - {name: pair1, weight: 40, workload: {prompt: \"normal(256,10)\", output: \"fixed(128)\"}}" +
				"\n    - {name: pair2, weight: 60, workload: {prompt: \"fixed(512)\", output: \"fixed(256)\"}}\n"}},
		{"aiperf profile -u h:1 --streaming --isl 10 --osl 5 --num-sessions 6 --session-turns-mean 3 --session-turn-delay-mean 1000 --session-delay-ratio 0.5 --user-context-prompt-length 40 --shared-system-prompt-length 30",
			[]string{"url=http://h:1/v1/chat/completions concurrency=1 requests=18 plain=true\n  prompt: fixed(50)\n  output: fixed(5)\n  session: {turns: \"fixed(3)\", think: \"500ms\", prompt: fixed(10)}\n" +
				"  prefix: {groups: 1, tokens: 30}\n"}},
		{"aiperf profile --video-width 100", []string{"aiperf profile: --video-width cannot be honored: redline sends text and images"}},
		{"vllm bench serve --dataset-name random-mm --random-mm-bucket-config {(720,1280,16):1.0}", []string{"vllm bench serve: --random-mm-bucket-config {(720,1280,16):1.0} cannot be honored: " + noVideo}},
		{"vllm bench serve --backend openai-chat --dataset-name hf --dataset-path gorilla-llm/Berkeley-Function-Calling-Leaderboard --bfcl-categories simple --num-prompts 5",
			[]string{"url=http://127.0.0.1:8000/v1/chat/completions concurrency=5 requests=5 plain=true seed=0\n  salt: false\n  file: \"hf:gorilla-llm/Berkeley-Function-Calling-Leaderboard/BFCL_v3_simple.json\"\n" +
				"  format: bfcl\n  order: shuffled\n  natural: true\n  output: fixed(512)\n"}},
		{"aiperf profile --streaming --isl 10 --osl 5 --accuracy-benchmark mmlu --accuracy-tasks astronomy",
			[]string{"redline run --url http://localhost:8000/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 1 --requests 10 --plain --golden hf:cais/mmlu/astronomy/test-00000-of-00001.parquet"}},
		{"aiperf profile --accuracy-benchmark aime", []string{"aiperf profile: --accuracy-benchmark aime cannot be honored: redline grades gsm8k, mmlu, mmlu_pro and gpqa_diamond of these; redline run --golden FILE asks any questions with known answers"}},
		{"guidellm run --backend kind=openai_http,target=http://h:1 --profile synchronous --max-requests 9 --data kind=synthetic_text,prompt_tokens=10 --data kind=synthetic_image,resolution=720p,aspect_ratio=4:3,content=noise,output_tokens=5,images_per_request=2",
			[]string{"redline run --url http://h:1/v1/chat/completions --images '960x720 count=fixed(2) content=noise format=jpeg' --workload 'in=fixed(10) out=fixed(5)' --concurrency 1 --requests 9 --plain --seed 42"}},
		{`inference-perf --server.base_url h:2 --api.type chat --load.stages [{"rate":2,"duration":3}] --data.type random --data.multimodal.image.count.min 1 --data.multimodal.image.count.max 3 --data.multimodal.image.count.type uniform --data.multimodal.image.resolutions [{"resolution":"720p","weight":2},{"resolution":{"height":64,"width":96}}]`,
			[]string{"redline run --url http://h:2/v1/chat/completions --no-stream --images '720p:2,96x64 count=uniform(1,3) content=solid format=png' --workload 'in=normal(512,200,10..1024) out=normal(512,200,10..1024)' --rate 2 --arrival poisson --requests 6 --plain"}},
		{`inference-perf --server.base_url h:2 --api.type chat --load.stages [{"rate":2,"duration":3}] --data.type random --data.multimodal.video {"count":{"min":1,"max":1},"profiles":{"resolution":"360p","frames":8},"representation":"jpeg_frames"}`,
			[]string{"redline run --url http://h:2/v1/chat/completions --no-stream --images '360p count=fixed(1) content=solid format=jpeg frames=8' --workload 'in=normal(512,200,10..1024) out=normal(512,200,10..1024)' --rate 2 --arrival poisson --requests 6 --plain"}},
		{"aiperf profile --goodput ttft:5", []string{`aiperf profile: --goodput: expected limits such as time_to_first_token:200 request_latency:3000, got "ttft:5"`}},
		{"aiperf profile --header Authorization=Bearer", []string{"aiperf profile: --header: expected KEY:VALUE"}},
		{"genai-perf profile -m org/m --endpoint v1/completions --endpoint-type completions --service-kind openai --url localhost:8000 --streaming --concurrency 32 --input-tokens-mean 512 " +
			"--input-tokens-stddev 128 --output-tokens-mean 256 --output-tokens-stddev 64 --measurement-interval 60000 --warmup-interval 10000",
			[]string{"redline run --url http://localhost:8000/v1/completions --model org/m --workload 'in=normal(512,128) out=normal(256,64)' --concurrency 32 --plain --duration 60s"}},
		{"genai-perf analyze -u h:1 --streaming --isl 10 --osl 5 --sweep-range 1:4",
			[]string{"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 1 --requests 10 --plain",
				"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 2 --requests 10 --plain",
				"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 4 --requests 10 --plain"}},
		{"vllm bench serve --metric-percentiles 101", []string{`vllm bench serve: --metric-percentiles: expected percentages such as 50,99, got "101"`}},
		{"inference-perf --server.base_url h:2 --load.type trace_session_replay --load.stages [{\"concurrent_sessions\":4,\"num_sessions\":5}] --data.type conversation_replay " +
			"--data.conversation_replay.shared_system_prompt_len 100 --data.conversation_replay.turns_per_conversation 3 --data.conversation_replay.input_tokens_per_turn 20 " +
			"--data.conversation_replay.output_tokens_per_turn 8 --api.session_id_header_key X-S",
			[]string{"url=http://h:2/v1/completions no-stream=true concurrency=4 requests=15 plain=true\n  prompt: fixed(20)\n  output: fixed(8)\n" +
				"  session: {turns: \"fixed(3)\", prompt: \"fixed(20)\", header: \"X-S\"}\n  prefix: {groups: 1, tokens: 100}\n"}},
		{"inference-perf --server.base_url h:2 --load.stages [{\"rate\":2,\"duration\":3}] --data.type shared_prefix --data.shared_prefix.num_groups 4 --load.request_retries 2",
			[]string{"url=http://h:2/v1/completions no-stream=true rate=2 arrival=poisson requests=6 plain=true max-retries=2\n  prompt: 50\n  output: 50\n  prefix: {groups: 4, tokens: 100, suffixes: 10}\n"}},
		{"inference-perf --server.base_url h:2 --load.stages [{\"rate\":2,\"duration\":3,\"jitter\":1}]",
			[]string{`inference-perf: --load.stages: expected a list of stages such as [{rate: 5, duration: 60}], got "[{\"rate\":2,\"duration\":3,\"jitter\":1}]"`}},
		{"guidellm benchmark --target http://h:1 --rate-type constant --rate 2 --max-seconds 30 --data prompt_tokens=10,output_tokens=5",
			[]string{"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --rate 2 --arrival constant --plain --duration 30s --seed 42"}},
		{"guidellm benchmark --target http://h:1 --max-seconds 30 --data prompt_tokens=10,output_tokens=5",
			[]string{"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 1 --plain --duration 30s --seed 42",
				"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 512 --plain --duration 30s --seed 42"}},
		{"guidellm benchmark --target http://h:1 --rate-type sweep --rate 1 --data prompt_tokens=10,output_tokens=5",
			[]string{`guidellm benchmark run: --rate: expected the number of levels of the sweep, from 2, got "1"`}},
		{"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=concurrent,streams=2,4 --constraint kind=max_requests,count=9 --data kind=synthetic_text,prompt_tokens=10,output_tokens=5",
			[]string{"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 2 --requests 9 --plain --seed 42",
				"redline run --url http://h:1/v1/chat/completions --workload 'in=fixed(10) out=fixed(5)' --concurrency 4 --requests 9 --plain --seed 42"}},
		{"inference-perf --config_file testdata/inference-perf.yaml --server.base_url http://h:2",
			[]string{"redline run --url http://h:2/v1/chat/completions --model m --workload 'in=normal(50,10,10..100) out=fixed(8)' --rate 10 --arrival poisson --requests 20 --plain",
				"redline run --url http://h:2/v1/chat/completions --model m --workload 'in=normal(50,10,10..100) out=fixed(8)' --rate 20 --arrival poisson --requests 40 --plain"}},
		{"inference-perf --server.base_url h:2 --load.stages [{\"concurrency_level\":2,\"num_requests\":9}] --load.type concurrent --data.type random --data.input_distribution.min 5 --data.input_distribution.max 5 --data.output_distribution.mean 7 --data.output_distribution.std_dev 0",
			[]string{"redline run --url http://h:2/v1/completions --no-stream --workload 'in=fixed(5) out=fixed(7)' --concurrency 2 --requests 9 --plain"}},
		{"inference-perf --config_file testdata/inference-perf-unknown.yaml", []string{"testdata/inference-perf-unknown.yaml: unknown key load.stags; redline knows the keys of inference-perf 0.7.0"}},
		{"token_benchmark_ray.py --model m --mean-input-tokens 60 --stddev-input-tokens 0 --mean-output-tokens 8 --stddev-output-tokens 2",
			[]string{"url=http://h:1/v1/chat/completions model=m concurrency=10 requests=10 plain=true duration=90s seed=11111\n  prompt: fixed(60)\n  output: normal(8,2)\n  natural: true\n"}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, asks(t, c.line)), "%s (-want +got)", c.line)
	}
}

// What a command line becomes is a plan that redline takes.
func TestPlansResolve(t *testing.T) {
	trace := must.File(t, "t.jsonl", `{"timestamp": 0, "input_length": 10, "output_length": 5, "hash_ids": [1]}`+"\n"+`{"timestamp": 9000, "input_length": 10, "output_length": 5, "hash_ids": [1]}`+"\n")
	const session = "--num-sessions 6 --session-turns-mean 3 --session-turns-stddev 1 --session-turn-delay-mean 1000 --session-turn-delay-stddev 100 --user-context-prompt-length 40 "
	for _, line := range []string{
		"vllm bench serve --random-prefix-len 5 --lora-modules a b --goodput ttft:5 --request-rate 5 --max-concurrency 3 --ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 4",
		"sglang.bench_serving --dataset-name generated-shared-prefix --gsp-num-turns 3 --gsp-group-distribution zipf --return-logprob --token-ids-logprob 1 2 --disable-stream",
		"aiperf profile -m m -v --streaming --seq-dist 256|10,128:40;512,256:60 --request-rate 5 --arrival-pattern gamma --arrival-smoothness 0.5 --failed-request-threshold 0.2 --otel-url http://h:4318",
		"aiperf profile -m a b --streaming --isl 10 --osl 5 " + session + "--shared-system-prompt-length 30 --request-timeout-seconds 9.5",
		"aiperf profile --streaming --fixed-schedule --input-file " + trace + " --fixed-schedule-start-offset 1000 --fixed-schedule-end-offset 9500 --synthesis-speedup-ratio 2",
		"aiperf profile --endpoint-type rankings --rankings-passages-mean 4 --rankings-passages-prompt-token-mean 20 --osl 1",
		"genai-perf profile --streaming --session-concurrency 2 --session-turns-mean 2 --isl 10",
		"guidellm benchmark --target http://h:1 --rate-type poisson --rate 2,3 --max-seconds 30 --data prompt_tokens=10,output_tokens=5,prefix_tokens=4 --max-error-rate 0.1",
		"inference-perf --server.base_url h:2 --load.stages [{\"rate\":2,\"duration\":3}] --data.type shared_prefix --data.shared_prefix.enable_multi_turn_chat true --load.lora_traffic_split [{\"name\":\"a\",\"split\":1}]",
		"inference-perf --server.base_url h:2 --load.type trace_session_replay --load.stages [{\"concurrent_sessions\":4,\"num_sessions\":5,\"session_rate\":2}] --data.type conversation_replay " +
			"--data.conversation_replay.turns_per_conversation.mean 3 --data.conversation_replay.tool_call_latency_sec 2 --data.conversation_replay.max_model_len 9000 --api.response_format.type json_object",
		"inference-perf --server.base_url h:2 --load.stages [{\"rate\":2,\"duration\":3}] --data.type random --data.input_distribution.type lognormal --data.output_distribution.type poisson --server.ignore_eos false",
		"token_benchmark_ray.py --model m",
		"aiperf profile --streaming --isl 10 --osl 5 --request-cancellation-rate 12.5 --request-cancellation-delay 1.5",
		"aiperf profile --streaming --isl 10 --osl 5 --request-cancellation-rate 100",
		"guidellm benchmark --target http://h:1 --rate-type synchronous --data kind=synthetic_image,width=65,height=65,output_tokens=5",
		`inference-perf --server.base_url h:2 --api.type chat --load.stages [{"rate":2,"duration":3}] --data.type random --data.multimodal.video {"count":{"min":1,"max":2,"type":"uniform"},"representation":"png_frames"}`,
	} {
		p, rest := Find(strings.Fields(line))
		v := must.Get(p.Parse(rest))(t)
		v.Env, v.Read = func(name string) (string, bool) { return "http://h:1/v1", name == "OPENAI_API_BASE" }, os.ReadFile
		plans, err := p.Ask(v)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		for _, plan := range plans {
			in := config.Input{Command: "run", Flags: plan.Flags(), LookupEnv: func(string) (string, bool) { return "", false }}
			if plan.Workload != "" {
				in.PlanPath = filepath.Join(t.TempDir(), "plan.yaml")
				must.Write(t, in.PlanPath, "workload:\n"+plan.Workload)
			}
			if _, err := config.Resolve(in); err != nil {
				t.Errorf("%s: %v\n%v\n%s", line, err, plan.Settings, plan.Workload)
			}
		}
	}
}

// A flag that was given and changes nothing is named, whether it never does or only
// the rest of the command line has no use for it.
func TestNoFlagIsIdleInSilence(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"vllm bench serve --dataset-name sharegpt --dataset-path s.json --random-prefix-len 5 --random-input-len 9 --save-result --sonnet-input-len 5 --hf-split x", []string{
			"--random-input-len and --random-prefix-len change nothing: nothing else on this command line uses it",
			"--sonnet-input-len and --hf-split change nothing: the data set that it belongs to is refused by its name"}},
		{"vllm bench serve --num-prompts 5 --random-prefix-len 5 --goodput ttft:5 --metadata a=b --label l --metric-percentiles 50 --save-result", nil},
		{"aiperf profile --streaming --video-width 0 --audio-format wav --ui none", []string{"--ui changes nothing: the client is one process without services",
			"--video-width changes nothing: off", "--audio-format changes nothing: only sound and video use it, whose sizes are refused"}},
		{"aiperf profile --streaming --num-users 0 --ttft-sla-ms 5", []string{"--ttft-sla-ms changes nothing: only --search-space and --search-recipe use it, which are refused",
			"--num-users changes nothing: off"}},
		{"sglang.bench_serving --backend vllm --dataset-name random --return-logprob --random-input-len 9", []string{"--return-logprob changes nothing: nothing else on this command line uses it"}},
		{"genai-perf profile -m m --streaming --service-kind openai -- -v --max-threads=256", []string{"--service-kind changes nothing: requests go by HTTP to what --endpoint-type and --endpoint say",
			"-- -v --max-threads=256 changes nothing: it is for perf_analyzer, which redline does without"}},
		{"vllm bench serve --num-prompts 4 --ignore-eos", []string{"--ignore-eos changes nothing: every request asks for ignore_eos here, so that replies have their lengths; prompts of sharegpt and custom do so only with the flag"}},
		{"guidellm benchmark --target h --rate-type synchronous --rate 5 --data prompt_tokens=1,output_tokens=1", []string{"--rate changes nothing: nothing else on this command line uses it"}},
	} {
		v := values(t, c.line)
		if _, err := v.peer.Ask(v); err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
		expect.NoDiff(t, cmp.Diff(c.want, v.Idle()), "%s (-want +got)", c.line)
	}
}

// sample is a run whose figures can be worked out by hand: three requests of four
// tokens, and one that failed.
func sample() *Run {
	good := func(id int, start, first, gap float64) table.Request {
		return table.Request{ID: id, Start: start, Due: start, TTFT: first, Latency: first + 3*gap, Whole: first + 3*gap, Gaps: []float64{gap, gap, gap}, In: 10, Out: 4, OK: true, Streamed: true}
	}
	return &Run{Run: &table.Run{Model: "org/m", Started: time.Unix(1.8e9, 0), Duration: 2, Requests: []table.Request{good(0, 0, 0.1, 0.01), good(1, 0.5, 0.2, 0.02), good(2, 1, 0.6, 0.03),
		{ID: 3, Start: 1.5, Due: 1.5, Outcome: "rejected", Error: "429", Status: 429}}}}
}

func values(t *testing.T, line string) *Values {
	t.Helper()
	p, rest := Find(strings.Fields(line))
	v := must.Get(p.Parse(rest))(t)
	return v
}

func TestVLLMTable(t *testing.T) {
	got := vllmTable(values(t, "vllm bench serve --goodput ttft:300 e2el:250 --metric-percentiles 50,99"), []*Run{sample()})
	for _, line := range []string{
		"============ Serving Benchmark Result ============",
		"Successful requests:                     3         ",
		"Failed requests:                         1         ",
		"Request throughput (req/s):              1.50      ",
		"Request goodput (req/s):                 0.50      ", // only the first is within both
		"Output token throughput (tok/s):         6.00      ",
		"Total token throughput (tok/s):          21.00     ",
		"Peak output token throughput (tok/s):    8.00      ", // two requests end in the first second
		"Mean TTFT (ms):                          300.00    ",
		"Median TTFT (ms):                        200.00    ",
		"P99 TTFT (ms):                           592.00    ", // 200 + 0.98 × 400
		"Mean TPOT (ms):                          20.00     ",
		"-----Time per Output Token (excl. 1st token)------",
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
}

// Of the three that succeeded the last has a first token after 600 ms, and only the
// first ends within 250 ms.
func TestGoodputByThePeersOwnRules(t *testing.T) {
	v := values(t, "aiperf profile --goodput time_to_first_token:300 request_latency:1000")
	if got := aiperfTable(v, []*Run{sample()}); !strings.Contains(got, "Goodput (requests/sec)") || nvidiaGood(sample(), v.limits()) != 2 {
		t.Errorf("%d good in\n%s", nvidiaGood(sample(), v.limits()), got)
	}
	v = values(t, "genai-perf profile --goodput output_token_throughput_per_user:45 request_latency:1000")
	if got := nvidiaGood(sample(), v.limits()); got != 2 { // 100, 50 and 33 tokens/s
		t.Errorf("%d good, want 2", got)
	}
	v = values(t, "inference-perf --report.goodput.constraints.request_latency 0.25 --api.headers.x-slo-ttft-ms 300")
	good, _ := json.Marshal(inferenceGoodput(sample(), inferenceLimits(v)))
	if want := `{"goodput_percentage":33.333333333333336,"request_goodput":0.5,"token_goodput":7,"good_requests":1,"total_requests":3,` +
		`"request_latency_attainment_percentage":33.333333333333336,"ttft_attainment_percentage":66.66666666666667}`; want != string(good) {
		t.Errorf("got  %s\nwant %s", good, want)
	}
}

// Every peer makes its table and files of a run, also of one in which all failed.
func TestTablesAndFilesOfAnyRun(t *testing.T) {
	lines := []string{"vllm bench serve --save-result --save-detailed", "sglang.bench_serving --output-details", "aiperf profile", "genai-perf profile",
		"guidellm benchmark", "inference-perf", "token_benchmark_ray.py --results-dir d"}
	failed := &Run{Run: &table.Run{Model: "m", Requests: []table.Request{{Outcome: "connect", Error: "refused"}}}}
	for _, line := range lines {
		p, _ := Find(strings.Fields(line))
		for _, r := range []*Run{sample(), failed} {
			v := values(t, line)
			if table := p.Close(v, []*Run{r}); len(table) < 50 || strings.Contains(table, "NaN") {
				t.Errorf("%s: the table is\n%s", line, table)
			}
			files, err := p.Files(v, []*Run{r})
			if err != nil || len(files) == 0 {
				t.Errorf("%s: %d files, %v", line, len(files), err)
			}
		}
	}
}

func TestHintsGoByMeaning(t *testing.T) {
	for name, want := range map[string]string{"base-url": "url", "request-rate": "rate", "num-prompts": "requests", "max-concurrency": "concurrency", "isl": "workload",
		"max_seconds": "duration", "target": "url", "benchmark-duration": "duration", "dataset-path": "workload", "goodput": "slo", "frobnicate": ""} {
		if got, _ := OurFlag(name); got != want {
			t.Errorf("--%s means --%s, want --%s", name, got, want)
		}
	}
}

// The rates of a sweep are spread evenly from that of one request at a time, which is
// not sent again, to the highest.
func TestRatesOfASweep(t *testing.T) {
	t.Parallel()
	// ended is a run in which so many requests ended within ten seconds.
	ended := func(n int) *Run {
		r := &Run{Run: &table.Run{}}
		for range n {
			r.Requests = append(r.Requests, table.Request{OK: true, Latency: 10})
		}
		return r
	}
	for _, row := range []struct {
		line, arrival string
		rates         []string
	}{
		{"guidellm benchmark --target h --rate-type sweep --rate 5 --max-requests 9 --data prompt_tokens=1,output_tokens=1", "constant", []string{"4", "6", "8"}},
		{"guidellm run --backend target=h --profile kind=sweep,sweep_size=4,strategy_type=poisson --constraint kind=max_requests,count=9 --data prompt_tokens=1,output_tokens=1", "poisson", []string{"5", "8"}},
		{"guidellm benchmark --target h --rate-type sweep --rate 2 --data prompt_tokens=1,output_tokens=1", "", nil},
		{"guidellm benchmark --target h --rate-type concurrent --rate 2 --data prompt_tokens=1,output_tokens=1", "", nil},
	} {
		of, rest := Find(strings.Fields(row.line))
		v := must.Get(of.Parse(rest))(t)
		var rates []string
		for _, plan := range of.Next(v, []*Run{ended(20), ended(80)}) {
			flags := plan.Flags()
			rates = append(rates, flags["rate"]...)
			if got := flags["arrival"]; len(got) != 1 || got[0] != row.arrival {
				t.Errorf("%s: arrivals %v", row.line, got)
			}
		}
		if !slices.Equal(rates, row.rates) {
			t.Errorf("%s: got rates %v, want %v", row.line, rates, row.rates)
		}
		if more := of.Next(v, []*Run{ended(20), ended(80), ended(40)}); more != nil {
			t.Errorf("%s: goes on with %v", row.line, more)
		}
		if more := of.Next(v, []*Run{ended(0), ended(0)}); more != nil {
			t.Errorf("%s: without an answer it goes on with %v", row.line, more)
		}
	}
}

// A tokenizer of a repository is the one that redline run takes.
func TestTokenizersOfRepositories(t *testing.T) {
	t.Parallel()
	for name, ours := range map[string]string{"org/name": "org/name", "/data/t": "/data/t", "t.json": "t.json", "llama": "", "None": ""} {
		for _, line := range []string{
			"vllm bench serve --num-prompts 4 --tokenizer ", "aiperf profile -m m --streaming --tokenizer ", "genai-perf profile -m m --streaming --tokenizer ",
			"guidellm benchmark --target h --rate-type synchronous --data prompt_tokens=1,output_tokens=1 --processor ",
		} {
			of, rest := Find(strings.Fields(line + name))
			v := must.Get(of.Parse(rest))(t)
			plans := must.Get(of.Ask(v))(t)
			if got := strings.Join(plans[0].Flags()["tokenizer"], " "); got != ours {
				t.Errorf("%s%s: tokenizer %q, want %q", line, name, got, ours)
			}
		}
	}
}
