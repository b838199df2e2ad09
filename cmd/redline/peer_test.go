package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// The command of another benchmark runs one word longer: its table closes the
// output, its file has its keys, and redline's verdict stands above.
func TestPeerCommandsRun(t *testing.T) {
	t.Parallel()
	virtually(t, peerCommands)
}

func peerCommands(t *world) {
	url := t.engine(sim.Spec{}, time.Millisecond)
	for _, tt := range []struct {
		line, table, file, key string
	}{
		{"vllm bench serve --base-url URL --num-prompts 8 --random-input-len 20 --random-output-len 4 --save-result --result-dir DIR --result-filename r.json --disable-tqdm",
			"Mean TTFT (ms):", "r.json", "mean_ttft_ms"},
		{"python -m sglang.bench_serving --backend vllm-chat --base-url URL --dataset-name random --num-prompts 8 --random-input-len 20 --random-output-len 4 --output-file DIR/r.jsonl",
			"Max ITL (ms):", "r.jsonl", "mean_ttft_ms"},
		{"aiperf profile -u URL --streaming --concurrency 2 --request-count 8 --isl 20 --osl 4 --artifact-dir DIR", "NVIDIA AIPerf | LLM Metrics", "profile_export_aiperf.json", "time_to_first_token"},
		{"genai-perf profile -u URL --streaming --request-rate 50 --request-count 8 --isl 20 --osl 4 --artifact-dir DIR", "NVIDIA GenAI-Perf | LLM Metrics", "profile_export_genai_perf.json",
			"time_to_first_token"},
		{"guidellm benchmark --target URL --rate-type concurrent --rate 1,2 --max-requests 4 --data prompt_tokens=20,output_tokens=4 --output-path DIR/b.json", "Request Latency Statistics",
			"b.json", "benchmarks"},
		{"guidellm benchmark --target URL --rate-type sweep --rate 4 --max-requests 6 --data prompt_tokens=20,output_tokens=4 --output-path DIR/b.json", "| synchronous ",
			"b.json", "benchmarks"},
		{"token_benchmark_ray.py --max-num-completed-requests 8 --mean-input-tokens 20 --stddev-input-tokens 2 --mean-output-tokens 4 --stddev-output-tokens 1 --results-dir DIR",
			"Overall Output Throughput:", "llama-3-1-8b_20_4_summary.json", "results_ttft_s_mean"},
	} {
		dir := t.TempDir()
		line := strings.NewReplacer("URL", url, "DIR", dir).Replace(tt.line)
		t.env = environment(map[string]string{"REDLINE_OUT": filepath.Join(dir, "run"), "REDLINE_QUIET": "1", "OPENAI_API_BASE": url + "/v1"})
		code, stdout, stderr := t.redline(strings.Fields(line)...)
		if code != exitOK {
			t.Errorf("%s: exit %d\n%s", line, code, stderr)
			continue
		}
		if strings.Count(stdout, "same as     redline run ") != 1 || !strings.Contains(stdout, tt.table) {
			t.Errorf("%s: prints\n%s", line, stdout)
		}
		for _, mark := range footnoteMarks.FindAllString(stdout, -1) {
			if !strings.Contains(stdout, "\n  "+mark+" ") {
				t.Errorf("%s: the mark %s has no footnote\n%s", line, mark, stdout)
			}
		}
		content, err := os.ReadFile(filepath.Join(dir, tt.file))
		var document map[string]any
		if err == nil {
			err = json.Unmarshal([]byte(strings.ReplaceAll(string(content), "Infinity", "null")), &document)
		}
		if err != nil || document[tt.key] == nil {
			t.Errorf("%s: %s has no %s (%v)", line, tt.file, tt.key, err)
		}
		if list, ok := document[tt.key].([]any); ok && strings.Contains(line, "sweep") && len(list) != 4 {
			t.Errorf("%s: %d levels in %s, want 4", line, len(list), tt.file)
		}
	}
}

var footnoteMarks = regexp.MustCompile(`[⁰¹²³⁴⁵⁶⁷⁸⁹]+`)

// A command of another benchmark ends as that benchmark does: with success once it
// has measured, with a failure where nothing was answered. --strict, wherever it
// stands, and REDLINE_STRICT have it end as redline run does.
func TestPeersEndAsTheyDo(t *testing.T) {
	t.Parallel()
	virtually(t, func(t *world) {
		short := t.serve(liar(false, "m")) // 12 tokens where 40 are asked for: not sound
		broken := t.serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) })
		for _, line := range []string{
			"vllm bench serve --backend openai-chat --model m --base-url URL --num-prompts 40 --random-input-len 20 --random-output-len 40",
			"sglang.bench_serving --backend vllm-chat --model m --base-url URL --dataset-name random --num-prompts 40 --random-input-len 20 --random-output-len 40 --output-file DIR/r.jsonl",
			"aiperf profile -m m -u URL --streaming --concurrency 2 --request-count 40 --isl 20 --osl 40 --artifact-dir DIR",
			"genai-perf profile -m m -u URL --streaming --concurrency 2 --request-count 40 --isl 20 --osl 40 --artifact-dir DIR",
			"guidellm benchmark --model m --target URL --rate-type concurrent --rate 1,2 --max-requests 40 --data prompt_tokens=20,output_tokens=40 --output-path DIR/b.json",
			"inference-perf --config_file DIR/config.yml",
			"token_benchmark_ray.py --model m --max-num-completed-requests 40 --mean-input-tokens 20 --stddev-input-tokens 2 --mean-output-tokens 40 --stddev-output-tokens 1 --results-dir DIR",
		} {
			sound := strings.HasPrefix(line, "token_benchmark") // LLMPerf lets a model end where it likes
			for _, tt := range []struct {
				url, strict, env string
				code             int
			}{
				{short, "", "", exitOK},
				{short, " --strict", "", exitInvalid},
				{short, "", "true", exitInvalid},
				{broken, "", "", exitError},
			} {
				strict := tt.code == exitInvalid
				if sound && strict {
					tt.code = exitOK
				}
				dir := t.TempDir()
				config := "api: {type: chat, streaming: true}\nserver: {base_url: '" + tt.url + "', model_name: m}\nload: {stages: [{rate: 20, duration: 2}]}\n" +
					"data: {type: random, input_distribution: {min: 20, max: 20}, output_distribution: {min: 40, max: 40}}\nstorage: {local_storage: {path: '" + dir + "'}}\n"
				must.Write(t, filepath.Join(dir, "config.yml"), config)
				t.env = environment(map[string]string{"REDLINE_OUT": filepath.Join(dir, "run"), "REDLINE_QUIET": "1", "OPENAI_API_BASE": tt.url + "/v1", "REDLINE_STRICT": tt.env})
				asked := strings.NewReplacer("URL", tt.url, "DIR", dir).Replace(line) + tt.strict
				code, stdout, stderr := t.redline(strings.Fields(asked)...)
				if code != tt.code || tt.url == short && !sound && !strings.HasPrefix(stdout, "INVALID") {
					t.Errorf("%s (REDLINE_STRICT=%s): exit %d, want %d\n%s%s", asked, tt.env, code, tt.code, stdout, stderr)
				}
				if reason := "redline: output lengths: "; tt.url == short && strings.Contains(stdout, "INVALID  output lengths") && !strings.Contains(stderr, reason) {
					t.Errorf("%s: no %q in %s", asked, reason, stderr)
				}
				if native := strings.Contains(stdout, "--strict\n"); native != strict {
					t.Errorf("%s: the command that says the same has --strict: %v\n%s", asked, native, stdout)
				}
			}
		}
	})
}

func TestPeerMistakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"run --base-url http://h", "unknown flag: --base-url; vLLM's --base-url is --url here"},
		{"run --request-rate 5", "unknown flag: --request-rate; vLLM's --request-rate is --rate here"},
		{"run --num-prompts 5", "unknown flag: --num-prompts; vLLM's --num-prompts is --requests here"},
		{"run --max-seconds 5", "unknown flag: --max-seconds; GuideLLM's --max-seconds is --duration here"},
		{"vllm bench serve --frob", "vllm bench serve: unknown flag --frob; redline vllm bench serve --help lists what is known of vLLM 0.32.0"},
		{"vllm serve m", "unknown command \"redline vllm serve m\"; there is redline vllm bench serve"},
		{"genai-perf", "unknown command \"redline genai-perf\"; there is redline genai-perf profile"},
		{"python a.py", "unknown command \"redline python a.py\"; there is redline vllm bench serve, redline sglang.bench_serving, redline aiperf profile, " +
			"redline genai-perf profile, redline guidellm benchmark run, redline inference-perf, redline token_benchmark_ray.py"},
	} {
		code, stdout, stderr := redline(t, nil, strings.Fields(tt.args)...)
		if want := "redline: " + tt.want + "\n"; code != exitUsage || stderr != want || stdout != "" {
			t.Errorf("redline %s: exit %d\n got %q\nwant %q\n%s", tt.args, code, stderr, want, stdout)
		}
	}
	for _, words := range []string{"vllm bench serve --help", "vllm --help", "guidellm -h", "genai-perf --help"} {
		if code, stdout, _ := redline(t, nil, strings.Fields(words)...); code != exitOK || !strings.Contains(stdout, "-rate") {
			t.Errorf("%s: exit %d\n%s", words, code, stdout)
		}
	}
}

// A key that a peer's command line or configuration holds is sent, and stands
// nowhere else: not in the run directory, the peer's files, the command that says
// the same, or on the terminal.
func TestKeysOfPeersDoNotLeak(t *testing.T) {
	t.Parallel()
	const key = "sk-Zt9wLmKd7Pv3sRcYq1"
	server := func() string {
		return hostile(t, func(*http.Request) string { return "m" }, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no such key: "+r.Header.Get("Authorization"), http.StatusForbidden)
		})
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yml")
	config := "api: {type: chat, streaming: true, headers: {X-Api-Key: " + key + "}}\nserver: {base_url: '" + server() + "', api_key: " + key + "}\nload: {stages: [{rate: 8, duration: 1}]}\n" +
		"data: {type: random, input_distribution: {min: 9, max: 9}, output_distribution: {min: 3, max: 3}}\nreport: {request_lifecycle: {per_request: true}}\n" +
		"storage: {local_storage: {path: '" + filepath.Join(dir, "2") + "'}}\n"
	must.Write(t, file, config)
	for i, args := range [][]string{
		{"aiperf", "profile", "-u", server(), "--streaming", "--request-count", "8", "--isl", "9", "--osl", "3", "--api-key", key, "-H", "X-Api-Key: " + key, "--artifact-dir", filepath.Join(dir, "0")},
		{"vllm", "bench", "serve", "--base-url", server(), "--backend", "openai-chat", "--num-prompts", "8", "--random-input-len", "9", "--random-output-len", "3", "--header", "Authorization=Bearer " + key,
			"--extra-body", `{"api_key": "` + key + `"}`, "--save-result", "--save-detailed", "--result-dir", filepath.Join(dir, "1")},
		{"inference-perf", "--config_file", file},
		{"sglang.bench_serving", "--backend", "vllm-chat", "--base-url", server(), "--dataset-name", "random", "--num-prompts", "8", "--random-input-len", "9", "--random-output-len", "3",
			"--lora-name", "a", "b", "--header", "Authorization=Bearer " + key, "--output-file", filepath.Join(dir, "3", "r.jsonl"), "--output-details"},
	} {
		out := filepath.Join(dir, fmt.Sprint("run", i))
		code, stdout, stderr := redline(t, map[string]string{"REDLINE_OUT": out, "REDLINE_QUIET": "1"}, args...)
		if code == exitUsage {
			t.Fatalf("%v: exit %d: %s", args, code, stderr)
		}
		files := filesOf(t, out)
		files["stdout"], files["stderr"] = stdout, stderr
		theirs, err := os.ReadDir(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil || len(theirs) == 0 {
			t.Fatalf("%s: the peer's files are not there: %v", args[0], err)
		}
		for _, e := range theirs {
			content, _ := os.ReadFile(filepath.Join(dir, fmt.Sprint(i), e.Name()))
			files[e.Name()] = string(content)
		}
		leaks(t, files, key)
		if !strings.Contains(files[filepath.Join(out, "records.jsonl")], "no such key") {
			t.Errorf("%s: what the server said is lost", args[0])
		}
	}
}

// What cannot be meant ends with a usage error before anything is sent: amounts that
// are empty or none, figures that there are not, and results with no place to go.
func TestPeersSendNothingByMistake(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); http.NotFound(w, nil) }))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Write(t, file, "")
	for _, line := range []string{
		"vllm bench serve --base-url URL --num-prompts 0",
		"vllm bench serve --base-url URL --num-prompts= --request-rate 500",
		"vllm bench serve --base-url URL --num-prompts 5 --request-rate=-1",
		"vllm bench serve --base-url URL --num-prompts 5 --burstiness -1",
		"vllm bench serve --base-url URL --num-prompts 5 --save-result --result-dir FILE/below",
		"python3 -m sglang.bench_serving --backend vllm --base-url URL --dataset-name random --num-prompts 0",
		"aiperf profile -u URL --concurrency 0 --osl 5",
		"aiperf profile -u URL --concurrency 1 --osl 5 --artifact-dir FILE",
		"genai-perf profile -u URL --request-rate 0 --osl 5",
		"guidellm benchmark --target URL --rate-type constant --rate 0 --data prompt_tokens=5,output_tokens=5",
		`inference-perf --server.base_url URL --load.stages [{"rate":0,"duration":5}]`,
		"token_benchmark_ray.py --model m --max-num-completed-requests 0",
	} {
		line = strings.NewReplacer("URL", server.URL, "FILE", file).Replace(line)
		code, _, stderr := redline(t, map[string]string{"OPENAI_API_BASE": server.URL, "REDLINE_OUT": filepath.Join(dir, "run")}, strings.Fields(line)...)
		if code != exitUsage {
			t.Errorf("%s: exit %d: %s", line, code, stderr)
		}
		oneLine(t, stderr)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// A script is found behind any Python, wherever both lie.
func TestPathsToPythonAndScripts(t *testing.T) {
	t.Parallel()
	for _, line := range []string{".venv/bin/python vllm/benchmarks/benchmark_serving.py", "/opt/py/bin/python3.12 -u benchmarks/benchmark_serving.py", "./benchmark_serving.py",
		"/opt/venv/bin/vllm bench serve", "~/venv/bin/python -m sglang.bench_serving", "llmperf/token_benchmark_ray.py"} {
		if code, stdout, stderr := redline(t, nil, append(strings.Fields(line), "--help")...); code != exitOK || !strings.Contains(stdout, "with redline") {
			t.Errorf("%s: exit %d: %s%s", line, code, stdout, stderr)
		}
	}
	if code, _, _ := redline(t, nil, "./mine.py"); code != exitUsage {
		t.Errorf("another script: exit %d", code)
	}
}

// Requests of a warm-up come before the load, and are in no figure.
func TestPeersWarmUp(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ line, file, want string }{
		{"vllm bench serve --backend openai-chat --base-url URL --model m --num-prompts 4 --random-input-len 20 --random-output-len 7 --num-warmups 5 --save-result --result-dir DIR --result-filename r.json",
			"r.json", `"completed":4,`},
		{"aiperf profile -m m -u URL --streaming --concurrency 2 --request-count 4 --isl 20 --osl 7 --warmup-request-count 5 --artifact-dir DIR",
			"profile_export_aiperf.json", "request_count"},
		{"genai-perf profile -m m -u URL --streaming --concurrency 2 --request-count 4 --isl 20 --osl 7 --warmup-request-count 5 --artifact-dir DIR",
			"profile_export_genai_perf.json", "request_count"},
	} {
		var asked atomic.Int64 // for replies of seven tokens
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
				http.NotFound(w, r)
				return
			}
			if seven.Match(body) {
				asked.Add(1)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for range 7 {
				fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n")
			}
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":7}}\n\ndata: [DONE]\n\n")
		})
		dir := t.TempDir()
		line := strings.NewReplacer("URL", url, "DIR", dir).Replace(row.line)
		_, stdout, stderr := redline(t, map[string]string{"REDLINE_OUT": filepath.Join(dir, "run"), "REDLINE_QUIET": "1"}, strings.Fields(line)...)
		if n := asked.Load(); n != 9 || !strings.Contains(stderr, "warm-up: 5 requests") || !strings.Contains(stdout, "differs     5 requests sent before the load") {
			t.Errorf("%s: %d requests, want 9\n%s%s", line, n, stdout, stderr)
		}
		log, err := os.ReadFile(filepath.Join(dir, "run", "records.jsonl"))
		if ended := strings.Count(string(log), `"outcome":"ok"`); err != nil || ended != 4 {
			t.Errorf("%s: %d requests in the run, want 4 (%v)", line, ended, err)
		}
		if content, err := os.ReadFile(filepath.Join(dir, row.file)); err != nil || !strings.Contains(strings.ReplaceAll(string(content), " ", ""), row.want) {
			t.Errorf("%s: %s lacks %s (%v)", line, row.file, row.want, err)
		}
	}
}

var seven = regexp.MustCompile(`"max_(completion_)?tokens": ?7\b`)

// Sessions of agents that other benchmarks replay run with their own settings: each
// request with the lengths of its row, and none before all that it waits for.
func TestPeersReplaySessions(t *testing.T) {
	t.Parallel()
	const weka = `{"id":"one","block_size":64,"hash_id_scope":"local","requests":[
 {"t":0,"type":"n","in":100,"out":5,"hash_ids":[1],"api_time":1},
 {"t":3,"type":"subagent","agent_id":"a","status":"completed","requests":[{"t":3,"type":"n","in":128,"out":6,"hash_ids":[1,5],"api_time":2}]},
 {"t":9,"type":"n","in":200,"out":7,"hash_ids":[1,2,3],"api_time":2}]}`
	const spans = `{"session_id":"s","spans":[{"span_id":"1","start_time":"2026-06-01T00:00:00Z","end_time":"2026-06-01T00:00:01Z","attributes":{"gen_ai.operation.name":"chat","gen_ai.input.messages":[{"role":"user","content":"a b c d"}],"gen_ai.usage.input_tokens":100,"gen_ai.usage.output_tokens":5}},
{"span_id":"2","start_time":"2026-06-01T00:00:04Z","end_time":"2026-06-01T00:00:05Z","attributes":{"gen_ai.operation.name":"chat","gen_ai.input.messages":[{"role":"user","content":"a b c d"},{"role":"assistant","content":"e"},{"role":"user","content":"f g h"}],"gen_ai.usage.input_tokens":200,"gen_ai.usage.output_tokens":7}}]}`
	virtually(t, func(t *world) {
		url := t.engine(sim.Spec{}, time.Millisecond)
		for _, tt := range []struct {
			line    string
			turns   int           // of the one session
			pause   time.Duration // before the last
			outputs map[int]int   // by turn
		}{
			{"guidellm run --backend kind=openai_http,target=URL --profile kind=replay --data kind=weka,source.kind=json_file,source.path=DIR/weka.json,max_wait=3 --constraint kind=max_requests,count=6 --output DIR/b.json",
				3, 3 * time.Second, map[int]int{0: 5, 1: 6, 2: 7}},
			{`inference-perf --server.base_url URL --api.type chat --api.streaming true --load.type trace_session_replay --load.stages [{"concurrent_sessions":1,"timeout":20}] --data.type weka_trace_replay --data.weka_trace_replay {"trace_directory":"DIR/weka","trace_idle_gap_cap_seconds":2} --storage.local_storage.path DIR`,
				3, 2 * time.Second, map[int]int{0: 5, 1: 6, 2: 7}},
			{`inference-perf --server.base_url URL --api.type chat --api.streaming true --load.type concurrent --load.stages [{"concurrency_level":1,"num_requests":6}] --data.type otel_trace_replay --data.otel_trace_replay {"trace_files":["DIR/spans.jsonl"],"max_wait_ms":1000} --storage.local_storage.path DIR`,
				2, time.Second, map[int]int{0: 5, 1: 7}},
		} {
			dir := t.TempDir()
			must.Do(t, os.Mkdir(filepath.Join(dir, "weka"), 0o755))
			for name, content := range map[string]string{"weka.json": weka, "weka/one.json": weka, "spans.jsonl": strings.ReplaceAll(spans, "\n", "")} {
				must.Write(t, filepath.Join(dir, name), content)
			}
			line := strings.NewReplacer("URL", url, "DIR", dir).Replace(tt.line)
			t.env = environment(map[string]string{"REDLINE_OUT": filepath.Join(dir, "run"), "REDLINE_QUIET": "1"})
			code, stdout, stderr := t.redline(strings.Fields(line)...)
			if code != exitOK {
				t.Errorf("%s: exit %d\n%s%s", line, code, stdout, stderr)
				continue
			}
			ends := map[[2]int]int64{}
			records := readRecords(t.T, filepath.Join(dir, "run"))
			for _, r := range records {
				ends[[2]int{r.Session, r.Turn}] = r.End
				if r.Outcome != llm.OK || r.Turns != tt.turns || r.OutputTokens != tt.outputs[r.Turn] {
					t.Errorf("%s: turn %d of %d: %s, %d tokens", line, r.Turn, r.Turns, r.Outcome, r.OutputTokens)
				}
			}
			for _, r := range records {
				if last := ends[[2]int{r.Session, r.Turn - 1}]; r.Turn == tt.turns-1 && r.Due != last+int64(tt.pause) {
					t.Errorf("%s: the last turn of session %d is due %v after the one before, want %v", line, r.Session, time.Duration(r.Due-last), tt.pause)
				}
			}
			if len(records) < 2*tt.turns {
				t.Errorf("%s: %d requests", line, len(records))
			}
		}
	})
}
