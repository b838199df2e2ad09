package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"redline/internal/drive/table"
)

const aiperfVersion = "0.13.0"

// aiperf is `aiperf profile`.
var aiperf = &Peer{
	Name: "AIPerf", Version: aiperfVersion,
	Commands: []string{"aiperf profile"},
	Flags:    aiperfFlags,
	Plans:    nvidiaPlans,
	Close:    aiperfTable,
	Files:    aiperfFiles,
}

const (
	ownSearch   = "redline sweep --find-limit --slo 'ttft:p99<500ms' searches for the limit under objectives"
	ownTrace    = "redline run --workload FILE replays a trace, with --speedup, --from and --for"
	ownUploads  = "upload the files of the run directory"
	inPlan      = "a plan has it: redline run --plan FILE (docs/reference/PLAN.md)"
	noMedia     = "redline sends text and images"
	ownWatching = "redline reads the server's metrics and the accelerators by itself; --no-telemetry and --accelerator say otherwise"
)

var aiperfFlags = slices.Concat(nvidiaLoad, imageFlags("0", "png"), []Flag{
	flag(One, "image-source", "noise", "images"),
	{Names: []string{"image-source-sampling"}, Takes: One, Idle: "files are drawn at random, again and again"},
	amount(One, "benchmark-duration", "", "duration"),
	flag(One, "arrival-pattern request-rate-mode", "poisson", "arrival"),
	amount(One, "arrival-smoothness vllm-burstiness", "1", "arrival"),
	flag(One, "api-key", "", "api-key-env"),
	flag(One, "random-range-ratio", "", "workload"),
	flag(One, "random-corpus-style", "vllm", "workload"),
	flag(One, "seq-dist sequence-distribution", "", "workload"),
	flag(One, "shared-system-prompt-length", "", "workload"),
	flag(One, "user-context-prompt-length", "", "workload"),
	amount(One, "request-timeout-seconds", "", "timeout"),
	flag(One, "failed-request-threshold", "", "max-error-rate"),
	flag(One, "fixed-schedule-start-offset", "", "from"),
	flag(One, "fixed-schedule-end-offset", "", "for"),
	amount(One, "replay-speedup", "", "speedup"),
	amount(One, "synthesis-speedup-ratio", "", "speedup"),
	amount(One, "num-profile-runs", "", "repeat"),
	flag(One, "otel-url", "", "otlp"),
	flag(One, "sweep-type", "grid", "concurrencies"),
	flag(Each, "variant sweep-variant", "", "concurrencies"),
	flag(None, "reset-kv-cache", "", ""),
	flag(One, "reset-kv-cache-path", "/reset_prefix_cache", ""),
	flag(One, "rankings-passages-mean", "", "workload"),
	flag(One, "rankings-passages-prompt-token-mean", "", "workload"),
	flag(One, "rankings-passages-prompt-token-stddev", "0", "workload"),
	flag(One, "public-dataset", "", "workload"),
	flag(One, "request-cancellation-rate", "", "cancel"),
	flag(One, "request-cancellation-delay", "0", "cancel-after"),
	flag(One, "accuracy-benchmark", "", "golden"),
	flag(Each, "accuracy-tasks", "", "golden"),
	flag(One, "custom-dataset-type", "", "workload-format"),
	flag(One, "scenario", "", "rules"),
	flag(One, "trajectory-start-min-ratio", "0", "agents-from"),
	flag(One, "trajectory-start-max-ratio", "1", "agents-from"),
	flag(One, "trace-idle-gap-cap-seconds", "", "idle-cap"),
	flag(One, "max-idle-gap-cap-seconds", "", "idle-cap"),
	flag(One, "inter-turn-delay-cap-seconds", "", "idle-cap"),
	flag(One, "system-idle-gap-cap-seconds", "", "idle-cap"),
	flag(One, "max-context-length", "", "overflow"),
	flag(None, "ignore-trace-delays", "", "time-scale"),
},
	idle(None, "a trace begins with its first request", "fixed-schedule-auto-offset"),
	idle(None, "without --fixed-schedule the load is what the other flags say", "no-fixed-schedule"),
	idle(None, "a request waits for what it follows and then for its pause alone", "use-think-time-only"),
	idle(One, "the blocks of a trace have the size that it says", "isl-block-size synthetic-input-tokens-block-size prompt-input-tokens-block-size"),
	idle(One, "the query is redline's own, and every request has the same number of passages", "rankings-passages-stddev", "rankings-query-prompt-token-mean",
		"rankings-query-prompt-token-stddev"),
	idle(One, "every run has prompts of its own, so nothing of an earlier one is in the cache", "cache-bust"),
	idle(One, "all URLs are used in turn", "url-strategy", "model-selection-strategy"),
	idle(One, "redline sends a request before the load and ends with an error where no answer comes", "wait-for-model-timeout", "wait-for-model-mode", "wait-for-model-interval"),
	idle(One, "the client is one process without services", "log-level", "record-processor-service-count record-processors", "api-port", "api-host", "stats-interval",
		"workers-max max-workers", "zmq-host", "zmq-ipc-path", "ui ui-type", "transport transport-type", "connection-reuse-strategy", "tokenizer-revision", "request-content-type",
		"session-header", "dataset-sampling-strategy", "prompt-corpus", "export-level profile-export-level", "slice-duration"),
	idle(None, "the client is one process without services", "extra-verbose vv", "zmq-dual-bind", "tokenizer-trust-remote-code", "apply-chat-template", "use-legacy-max-tokens",
		"per-chunk-usage", "allow-dataset-wrap", "no-sweep-table", "export-http-trace", "show-trace-timing", "export-outputs-json", "plot-required", "omit-kv-hints",
		"uuid-and-strip"),
	idle(None, "tokens are counted by the server's usage where it has one", "use-server-token-count"),
	idle(None, "reply lengths are kept where the engine knows how", "force-min-tokens"),
	idle(One, "requests in flight at the end get their time", "benchmark-grace-period"),
	idle(One, ownWatching, "server-metrics-formats", "network-latency-mean", "network-latency-ping-interval"),
	idle(Many, ownWatching, "server-metrics", "gpu-telemetry"),
	idle(None, ownWatching, "no-server-metrics", "no-gpu-telemetry", "network-latency-automatic"),
	idle(One, "--warmup-request-count warms up by requests", "warmup-duration", "num-warmup-sessions", "warmup-concurrency",
		"warmup-prefill-concurrency", "warmup-request-rate", "warmup-arrival-pattern", "warmup-grace-period", "warmup-concurrency-ramp-duration",
		"warmup-prefill-concurrency-ramp-duration", "warmup-request-rate-ramp-duration"),
	idle(One, "runs follow each other at once", "profile-run-cooldown-seconds", "parameter-sweep-cooldown-seconds", "parameter-sweep-mode"),
	idle(One, "redline run --repeat N says how runs vary", "confidence-level"),
	cannot(One, ownSearch, "search-space", "search-recipe"),
	idle(One, "only --search-space and --search-recipe use it, which are refused", "search-metric", "search-stat", "search-direction", "search-max-iterations", "search-initial-points",
		"search-random-seed", "search-planner", "optuna-sampler", "optuna-acquisition", "optuna-terminator", "search-percentile-pooling", "bo-constraint-mode", "search-sla",
		"search-sla-tier", "ttft-sla-ms", "itl-sla-ms", "tpot-sla-ms", "e2e-sla-ms", "error-rate-sla", "slo-attainment-fraction", "search-style", "degradation-threshold",
		"degradation-metric-tag", "degradation-stat", "isl-osl-pairs", "isl-min", "isl-max", "isl-steps", "concurrency-min", "concurrency-max", "concurrency-steps", "osl-min",
		"osl-max", "osl-steps"),
	cannot(One, "give the number of runs: --num-profile-runs", "convergence-metric"),
	idle(One, "only --convergence-metric uses it, which is refused", "convergence-stat", "convergence-threshold", "convergence-mode"),
	idle(One, "questions are asked without examples and graded as docs/reference/QUALITY.md says", "accuracy-n-shots", "accuracy-grader", "accuracy-system-prompt"),
	idle(None, "questions are asked without examples and graded as docs/reference/QUALITY.md says", "accuracy-enable-cot", "accuracy-verbose"),
	cannot(One, ownTrace, "trace-session-sample-ratio",
		"synthesis-prefix-len-multiplier", "synthesis-prefix-root-multiplier", "synthesis-prompt-len-multiplier", "synthesis-output-len-multiplier", "synthesis-max-isl",
		"synthesis-max-osl"),
	cannot(One, "download it and give its folder: --input-file FOLDER", "hf-weka-dataset"),
	cannot(None, "redline run --rate R starts jobs at a rate", "open-loop-replay", "open-loop-strict"),
	idle(One, "one request of each agent warms the cache", "agentic-cache-warmup-duration", "agentic-warmup-grace-period"),
	idle(None, "what leaves the rules is a warning, and the run is made", "burst-phase-starts", "unsafe-override"),
	idle(One, "the public data set that redline reads has no subsets", "hf-subset", "dataset-filter"),
	cannot(One, "redline run without --plain spreads the start of its users", "concurrency-ramp-duration"),
	cannot(One, "redline run --profile 'ramp(1..50,5m)' changes the rate with time", "request-rate-ramp-duration", "request-rate-series"),
	cannot(One, inPlan, "config f", "user-centric-rate", "num-users", "prefill-concurrency", "system-prompt", "system-prompt-file"),
	idle(One, "only --prefill-concurrency uses it, which is refused", "prefill-concurrency-ramp-duration"),
	cannot(One, ownUploads, "mlflow-tracking-uri", "wandb-project"),
	idle(One, "only --mlflow-tracking-uri and --wandb-project use it, which are refused", "mlflow-experiment", "mlflow-run-name",
		"mlflow-tag", "mlflow-parent-run-id", "mlflow-artifact-glob", "wandb-entity", "wandb-run-name", "wandb-tag"),
	idle(One, "redline sends its own attributes", "otel-resource-attributes", "gen-ai-provider"),
	idle(Many, "redline sends all of its live figures", "stream"),
	idle(One, "the server gets 30 s to empty its cache", "reset-kv-cache-timeout-seconds"),
	cannot(None, "start the profiler of the server beside the run", "server-profiler"),
	idle(One, "only --server-profiler uses it, which is refused", "server-profiler-timeout-seconds", "server-profiler-start-path", "server-profiler-stop-path"),
	cannot(One, noMedia, "audio-length-mean", "video-width", "video-height"),
	idle(One, "only sound and video use it, whose sizes are refused", "audio-batch-size batch-size-audio", "audio-length-stddev", "audio-format", "audio-depths",
		"audio-sample-rates", "audio-num-channels", "video-batch-size batch-size-video", "video-duration", "video-fps", "video-synth-type", "video-format", "video-codec", "video-audio-sample-rate",
		"video-audio-num-channels", "video-audio-codec", "video-audio-depth"),
	idle(None, "only video uses it, whose sizes are refused", "download-video-content"),
)

// aiperfSets are the files of the sets that it grades by, with a place for the task.
var aiperfSets = map[string]string{
	"gsm8k":        "hf:openai/gsm8k/main/test-00000-of-00001.parquet",
	"mmlu":         "hf:cais/mmlu/%s/test-00000-of-00001.parquet",
	"mmlu_pro":     "hf:TIGER-Lab/MMLU-Pro/data/test-00000-of-00001.parquet",
	"gpqa_diamond": "hf:Idavidrein/gpqa/gpqa_diamond.csv",
}

// aiperfAccuracy asks the questions of a published set beside the load.
func aiperfAccuracy(v *Values, p *Plan) {
	name := v.text("accuracy-benchmark")
	if name == "" {
		return
	}
	file, known := aiperfSets[name]
	if !known {
		v.refuse("accuracy-benchmark", "redline grades gsm8k, mmlu, mmlu_pro and gpqa_diamond of these; redline run --golden FILE asks any questions with known answers")
	}
	if name == "mmlu" {
		task := cmp.Or(v.text("accuracy-tasks"), "all")
		if len(v.list("accuracy-tasks")) > 1 || strings.Contains(task, ",") {
			v.refuse("accuracy-tasks", "redline asks one subject or, without the flag, all of them")
		}
		file = fmt.Sprintf(file, task)
	}
	p.set("golden", file)
	p.note("the questions are asked before, beside and after the load, which is what the other flags say: quality in the report is the accuracy")
}

func aiperfTable(v *Values, runs []*Run) string {
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(nvidiaTable("NVIDIA AIPerf | LLM Metrics", "Metric", []string{"avg", "min", "max", "p99", "p90", "p50", "std"}, nvidiaShown(v), r))
		fmt.Fprintf(&b, "\nBenchmark Duration: %.2f sec\n", r.span())
	}
	return b.String()
}

func aiperfFiles(v *Values, runs []*Run) ([]File, error) {
	var files []File
	for _, r := range runs {
		dir, prefix := nvidiaDir(v, r), "profile_export"
		if v.Given("profile-export-file") {
			prefix = strings.TrimSuffix(v.text("profile-export-file"), filepath.Ext(v.text("profile-export-file")))
		}
		document, err := json.MarshalIndent(aiperfExport(v, r), "", "  ")
		if err != nil {
			return nil, err
		}
		table, err := nvidiaCSV(nvidiaShown(v), r)
		if err != nil {
			return nil, err
		}
		lines, err := aiperfRecords(r)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: filepath.Join(dir, prefix+"_aiperf.json"), Content: document},
			File{Path: filepath.Join(dir, prefix+"_aiperf.csv"), Content: table},
			File{Path: filepath.Join(dir, prefix+".jsonl"), Content: lines})
	}
	return files, v.err
}

func aiperfExport(v *Values, r *Run) any {
	var o object
	completed, failed, in, out := r.Counts()
	o.put("schema_version", "1.4")
	o.put("aiperf_version", aiperfVersion)
	for _, f := range nvidiaShown(v) {
		if block := nvidiaBlock(f, r); block != nil {
			o.put(f.tag, block)
		}
	}
	gaps := nvidiaFigure{"inter_chunk_latency", "Inter Chunk Latency", "ms", func(r *Run) table.Series { return r.Gaps().Times(1000) }, nil}
	if block := nvidiaBlock(gaps, r); block != nil {
		o.put(gaps.tag, block)
	}
	for _, n := range []struct {
		tag, unit string
		value     float64
	}{{"total_isl", "tokens", float64(in)}, {"total_osl", "tokens", float64(out)}, {"benchmark_duration", "sec", r.span()},
		{"error_request_count", "requests", float64(failed)}, {"completed_request_count", "requests", float64(completed)},
		{"total_token_throughput", "tokens/sec", float64(in+out) / r.span()}} {
		o.put(n.tag, objectOf("unit", n.unit, "avg", orNull(n.value)))
	}
	const layout = "2006-01-02T15:04:05.000000"
	o.put("was_cancelled", false)
	o.put("error_summary", []any{})
	o.put("start_time", r.Started.UTC().Format(layout))
	o.put("end_time", r.Started.UTC().Add(time.Duration(r.Duration*1e9)).Format(layout))
	return &o
}

// aiperfRecords are a line for each request.
func aiperfRecords(r *Run) ([]byte, error) {
	var out []byte
	origin := r.Started.UnixNano()
	for i := range r.Requests {
		q, metrics := &r.Requests[i], object{}
		put := func(tag string, value any, unit string) { metrics.put(tag, objectOf("value", value, "unit", unit)) }
		line := objectOf("metadata", objectOf("session_num", q.Session, "x_request_id", fmt.Sprint(q.ID), "turn_index", q.Turn,
			"credit_issued_ns", origin+int64(q.Due*1e9), "request_start_ns", origin+int64(q.Start*1e9), "request_end_ns", origin+int64((q.Start+q.Latency)*1e9),
			"benchmark_phase", "profiling", "was_cancelled", q.Outcome == "cancelled"),
			"metrics", &metrics, "error", nil)
		put("input_sequence_length", q.In, "tokens")
		if q.OK {
			put("request_latency", 1000*q.Latency, "ms")
			put("output_sequence_length", q.Out, "tokens")
			if q.Streamed {
				put("time_to_first_token", 1000*q.TTFT, "ms")
				put("inter_chunk_latency", append(table.Series{}, table.Series(q.Gaps).Times(1000)...), "ms")
			}
			if q.Out > 1 {
				put("inter_token_latency", 1000*q.TPOT(), "ms")
			}
		} else {
			line.put("error", map[string]any{"code": q.Status, "type": q.Outcome, "message": q.Error})
		}
		b, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		out = append(append(out, b...), '\n')
	}
	return out, nil
}
