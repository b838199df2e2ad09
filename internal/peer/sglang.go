package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"redline/internal/drive/table"
	"redline/internal/text"
)

// sglang is `python -m sglang.bench_serving`.
var sglang = &Peer{
	Name: "SGLang", Version: "0.5.23",
	Commands: []string{"sglang.bench_serving", "sglang.benchmark.serving", "bench_serving.py"},
	Flags:    sglangFlags,
	Plans:    sglangPlans,
	Close:    sglangTable,
	Files:    sglangFiles,
}

var sglangFlags = slices.Concat([]Flag{
	flag(One, "backend", "sglang", "api"),
	flag(One, "base-url", "", "url"),
	flag(One, "host", "0.0.0.0", "url"),
	flag(One, "port", "", "url"),
	flag(One, "model", "", "model"),
	flag(One, "served-model-name", "", "model"),
	flag(One, "tokenizer", "", "tokenizer"),
	flag(One, "dataset-name", "sharegpt", "workload"),
	flag(One, "dataset-path", "", "workload"),
	amount(One, "num-prompts", "1000", "requests"),
	flag(One, "sharegpt-output-len", "", "workload"),
	flag(One, "random-input-len random-input", "1024", "workload"),
	flag(One, "random-output-len random-output", "1024", "workload"),
	flag(One, "random-range-ratio", "0.0", "workload"),
	amount(One, "request-rate", "inf", "rate"),
	flag(One, "max-concurrency", "", "concurrency"),
	flag(One, "output-file", "", "out"),
	flag(None, "output-details", "", ""),
	flag(None, "disable-stream", "", "no-stream"),
	flag(One, "seed", "42", "seed"),
	flag(None, "disable-ignore-eos", "", ""),
	flag(One, "temperature", "0.0", "temperature"),
	flag(One, "top-p", "1.0", "top-p"),
	flag(One, "extra-request-body", "", "extra-body"),
	flag(Many, "lora-name", "", ""),
	flag(One, "lora-request-distribution", "uniform", ""),
	flag(One, "lora-zipf-alpha", "1.5", ""),
	amount(One, "gsp-num-groups", "64", "workload"),
	amount(One, "gsp-prompts-per-group", "16", "workload"),
	flag(One, "gsp-system-prompt-len", "2048", "workload"),
	flag(One, "gsp-question-len", "128", "workload"),
	flag(One, "gsp-output-len", "256", "workload"),
	flag(One, "gsp-range-ratio", "1.0", "workload"),
	amount(One, "gsp-num-turns", "1", "workload"),
	flag(One, "gsp-group-distribution", "uniform", "workload"),
	flag(One, "gsp-zipf-alpha", "1.0", "workload"),
	amount(One, "mooncake-slowdown-factor", "1.0", "speedup"),
	flag(None, "use-trace-timestamps", "", ""),
	flag(One, "tag", "", "label"),
	amount(One, "image-count", "1", "images"),
	flag(One, "image-resolution", "1080p", "images"),
	flag(One, "image-format", "jpeg", "images"),
	flag(One, "image-content", "random", "images"),
	flag(None, "random-image-count", "", "images"),
	flag(None, "flush-cache", "", ""),
	flag(None, "tokenize-prompt", "", "token-ids"),
	flag(None, "return-logprob", "", "extra-body"),
	flag(One, "top-logprobs-num", "", "extra-body"),
	flag(One, "logprob-start-len", "", "extra-body"),
	flag(Many, "token-ids-logprob", "", "extra-body"),
	flag(None, "return-routed-experts", "", "extra-body"),
	flag(Many, "header", "", "header"),
},
	idle(One, "redline sends a request before the load and ends with an error where no answer comes", "ready-check-timeout-sec"),
	idle(One, "redline sends up to three requests before the load", "warmup-requests"),
	idle(One, "the server gets 30 s to empty its cache", "flush-cache-timeout"),
	idle(None, "progress goes to stderr, --quiet turns it off", "disable-tqdm"),
	idle(None, "records.jsonl in the run directory has every request", "print-requests"),
	idle(None, "report.html in the run directory has the charts", "plot-throughput"),
	idle(None, "the report has the share of cached prompt tokens", "cache-report"),
	idle(None, "the server applies its chat template", "apply-chat-template"),
	idle(None, "prompts are made ahead of their time", "gsp-fast-prepare"),
	idle(None, "groups are drawn at random", "gsp-ordered"),
	idle(None, "there is one client", "rust-client"),
	idle(One, "there is one client", "rust-worker-threads"),
	idle(One, "the whole file is drawn from", "dataset-offset"),
	idle(One, "requests longer than the model's context are refused", "sharegpt-context-len"),
	idle(One, "the trace is the file of --dataset-path", "mooncake-workload", "mooncake-num-rounds"),
	idle(One, "the data set that it belongs to is refused by its name", "agentic-max-turns", "speed-bench-category", "speed-bench-output-len"),
	cannot(Many, "redline run --slo 'ttft:p99<500ms' judges objectives", "goodput"),
	cannot(None, "start the profiler of the server beside the run", "profile"),
	idle(None, "nothing is profiled", "profile-by-stage", "pd-separated"),
	idle(One, "nothing is profiled", "profile-start-step", "profile-steps", "profile-num-steps", "profile-output-dir", "profile-prefix"),
	idle(Many, "nothing is profiled", "profile-activities", "profile-stages", "profile-prefill-url", "profile-decode-url"),
	cannot(One, "put it at the end of the prompts of a file", "prompt-suffix"),
	cannot(None, "give the header by --header", "gsp-send-routing-key"),
	cannot(None, "ask a real server", "fake-prefill"),
)

// sglangBackends are the forms of requests, and where each server listens.
var sglangBackends = map[string]struct{ path, port string }{
	"sglang": {"/generate", "30000"}, "sglang-native": {"/generate", "30000"}, "sglang-oai": {"/v1/completions", "30000"},
	"sglang-oai-chat": {"/v1/chat/completions", "30000"}, "vllm": {"/v1/completions", "8000"}, "vllm-chat": {"/v1/chat/completions", "8000"},
	"lmdeploy": {"/v1/completions", "23333"}, "lmdeploy-chat": {"/v1/chat/completions", "23333"}, "sglang-embedding": {"/v1/embeddings", "30000"},
}

func sglangPlans(v *Values) ([]Plan, error) {
	p := &Plan{}
	backend, known := sglangBackends[v.text("backend")]
	if !known {
		v.refuse("backend", "redline speaks sglang, sglang-oai, sglang-oai-chat, vllm, vllm-chat, lmdeploy, lmdeploy-chat and sglang-embedding of these")
	}
	port := v.text("port")
	if port == "" {
		port = backend.port
	}
	p.target(v, port, backend.path)
	requests := v.count("num-prompts")
	sglangDataset(v, p, &requests)
	if mooncake := v.text("dataset-name") == "mooncake"; v.on("use-trace-timestamps") && !mooncake {
		v.refuse("use-trace-timestamps", "only --dataset-name mooncake has times; redline run --workload FILE replays any trace")
	} else if mooncake {
		p.set("plain", "true")
	} else {
		p.offer(v.number("request-rate"), 1, v.count("max-concurrency"), requests)
	}
	p.set("temperature", v.text("temperature"))
	if v.Given("top-p") {
		p.set("top-p", v.text("top-p"))
	}
	if v.on("disable-stream") {
		p.set("no-stream", "true")
	}
	if backend.path == "/generate" {
		sglangBody(v, p)
	}
	if v.on("flush-cache") {
		p.Before = append(p.Before, endpoint(address(v.text("base-url"), v.text("host"), port), "/flush_cache"))
	}
	p.extend(v.object("extra-request-body"))
	p.set("seed", strconv.Itoa(v.count("seed")))
	p.setIf("label", v.text("tag"))
	p.finish()
	return []Plan{*p}, v.err
}

// sglangBody is what SGLang's own form of a request takes besides.
func sglangBody(v *Values, p *Plan) {
	for _, name := range []string{"return-logprob", "top-logprobs-num", "logprob-start-len", "token-ids-logprob", "return-routed-experts"} {
		if values := v.list(name); len(values) > 0 {
			value := jsonOr(values[0])
			if name == "token-ids-logprob" {
				value = jsonOr("[" + strings.Join(values, ",") + "]")
			}
			p.extend(map[string]any{strings.ReplaceAll(name, "-", "_"): value})
		}
	}
}

// upTo is SGLang's spread: from a share of the length to all of it.
func upTo(length int, ratio float64) string {
	return uniformLength(int(float64(length)*ratio), length)
}

func sglangDataset(v *Values, p *Plan, requests *int) {
	natural := ""
	if v.on("disable-ignore-eos") {
		natural = "true"
	}
	switch name := v.text("dataset-name"); name {
	case "random", "random-ids", "image":
		if name == "image" {
			sglangImages(v, p)
			p.needChat(v, v.text("backend")+"-chat")
		}
		ratio := v.ratios("random-range-ratio")
		p.lengths(upTo(v.count("random-input-len"), ratio[0]), upTo(v.count("random-output-len"), ratio[1]))
		if natural != "" {
			p.asBlock()
			p.block("natural", natural)
		}
	case "generated-shared-prefix":
		*requests = sglangPrefix(v, p, natural)
	case "sharegpt", "custom", "openai", "mooncake":
		sglangFile(v, p, name, natural)
	default:
		v.refuse("dataset-name", "redline has random, image, sharegpt, custom, openai, generated-shared-prefix and mooncake of these")
	}
	switch names := v.list("lora-name"); {
	case len(names) > 0 && v.text("lora-request-distribution") == "skewed":
		if p.Workload == "" {
			p.asBlock()
		}
		p.block("adapters", fmt.Sprintf("{names: [%s], popularity: zipf(%s)}", strings.Join(text.Each(names, quoteYAML), ", "), number(v.number("lora-zipf-alpha"))))
	case p.adapters(names) && v.text("lora-request-distribution") != "uniform":
		p.note("adapters are drawn evenly at random")
	}
	if v.on("tokenize-prompt") {
		p.set("token-ids", "true")
	}
}

// sglangPrefix are questions behind prompts that groups of them share; their number
// follows from that of the groups.
func sglangPrefix(v *Values, p *Plan, natural string) (requests int) {
	ratio, popularity := v.ratios("gsp-range-ratio")[0], "uniform"
	if v.text("gsp-group-distribution") == "zipf" {
		popularity = "zipf(" + v.text("gsp-zipf-alpha") + ")"
	}
	requests = v.count("gsp-num-groups") * v.count("gsp-prompts-per-group")
	p.block("prompt", upTo(v.count("gsp-question-len"), ratio), "output", upTo(v.count("gsp-output-len"), ratio), "natural", natural,
		"prefix", fmt.Sprintf("{groups: %d, tokens: %d, popularity: %s}", v.count("gsp-num-groups"), v.count("gsp-system-prompt-len"), popularity))
	if turns := v.count("gsp-num-turns"); turns > 1 {
		p.block("session", fmt.Sprintf("{turns: fixed(%d)}", turns))
		requests *= turns
	}
	return requests
}

// sglangFile is a data set in a file.
func sglangFile(v *Values, p *Plan, name, natural string) {
	path := v.text("dataset-path")
	if path == "" && name == "sharegpt" {
		path = shareGPTFile
	}
	if path == "" {
		v.refuse("dataset-name", "give its file by --dataset-path")
	}
	format := map[string]string{"sharegpt": "sharegpt", "custom": "sharegpt", "openai": "batch", "mooncake": "mooncake"}[name]
	p.block("file", quoteYAML(path), "format", format, "natural", natural)
	if n := v.count("sharegpt-output-len"); n > 0 {
		p.block("output", fmt.Sprintf("fixed(%d)", n))
	}
	if factor := v.number("mooncake-slowdown-factor"); name == "mooncake" && factor > 0 && factor != 1 {
		p.block("replay", fmt.Sprintf("{speedup: %s}", number(1/factor)))
	}
}

// sglangFigures are the latencies of SGLang's table.
var sglangFigures = []vllmFigure{
	{"e2e_latency", "E2E Latency", "End-to-End Latency", func(r *Run) table.Series { return r.Each(whole) }, false},
	{"ttft", "TTFT", "Time to First Token", func(r *Run) table.Series { return r.Each(ttft) }, false},
	{"tpot", "TPOT", "Time per Output Token (excl. 1st token)", func(r *Run) table.Series { return r.Each(sglangTPOT) }, false},
	{"itl", "ITL", "Inter-Token Latency", (*Run).Gaps, true},
}

var sglangPercents = []float64{90, 95, 99}

// sglangTPOT counts to the end of the stream, as SGLang's latency does.
func sglangTPOT(q *table.Request) (float64, bool) {
	return (q.Whole - q.TTFT) / float64(max(1, q.Out-1)), q.Out > 1
}

func sglangTable(v *Values, runs []*Run) string {
	var b strings.Builder
	r := runs[0]
	completed, _, in, out := r.Counts()
	events, requests := peaks(r)
	b.WriteString("\n" + titleRule(" Serving Benchmark Result ", "="))
	row(&b, "Backend:", v.text("backend"))
	rate := pythonFloat(v.number("request-rate"))
	if v.text("dataset-name") == "mooncake" {
		rate = "trace"
	}
	row(&b, "Traffic request rate:", rate)
	row(&b, "Max request concurrency:", cmp.Or(orNone(v.count("max-concurrency")), "not set"))
	row(&b, "Successful requests:", completed)
	row(&b, "Benchmark duration (s):", r.Duration)
	row(&b, "Total input tokens:", in)
	vision := visionTokens(r)
	row(&b, "Total input text tokens:", in-vision)
	if vision > 0 {
		row(&b, "Total input vision tokens:", vision)
	}
	row(&b, "Total generated tokens:", out)
	row(&b, "Total generated tokens (retokenized):", out)
	row(&b, "Request throughput (req/s):", r.PerSecond(float64(completed)))
	row(&b, "Input token throughput (tok/s):", r.PerSecond(float64(in)))
	row(&b, "Output token throughput (tok/s):", r.PerSecond(float64(out)))
	row(&b, "Peak output token throughput (tok/s):", events)
	row(&b, "Peak concurrent requests:", int(requests))
	row(&b, "Total token throughput (tok/s):", r.PerSecond(float64(in+out)))
	row(&b, "Concurrency:", r.PerSecond(r.Each(whole).Sum()))
	latencyRows(&b, r, sglangFigures, sglangPercents)
	b.WriteString(strings.Repeat("=", 50) + "\n")
	return b.String()
}

// visionTokens are those of ok requests that stand for images.
func visionTokens(r *Run) (n int) {
	for i := range r.Requests {
		if q := &r.Requests[i]; q.OK {
			n += q.Vision
		}
	}
	return n
}

func sglangFiles(v *Values, runs []*Run) ([]File, error) {
	r := runs[0]
	content, err := json.Marshal(sglangResult(v, r))
	if err != nil {
		return nil, err
	}
	name := v.text("output-file")
	if name == "" {
		of := v.text("dataset-name")
		if strings.HasPrefix(of, "random") {
			of = v.text("random-input-len") + "_" + v.text("random-output-len")
		}
		name = fmt.Sprintf("%s_%s_%s_%s.jsonl", v.text("backend"), r.Started.Format("0102"), v.text("num-prompts"), of)
	}
	// SGLang writes an endless rate as a bare Infinity, which is no JSON.
	content = []byte(strings.Replace(string(content), `"request_rate":"inf"`, `"request_rate":Infinity`, 1))
	return []File{{Path: name, Content: append(content, '\n'), Append: true}}, v.err
}

func sglangResult(v *Values, r *Run) any {
	var o object
	completed, _, in, out := r.Counts()
	events, requests := peaks(r)
	o.put("tag", orNone(v.text("tag")))
	o.put("backend", v.text("backend"))
	o.put("dataset_name", v.text("dataset-name"))
	o.put("request_rate", rateOrInf(v.number("request-rate")))
	o.put("max_concurrency", orNone(v.count("max-concurrency")))
	o.put("sharegpt_output_len", orNone(v.count("sharegpt-output-len")))
	o.put("random_input_len", v.count("random-input-len"))
	o.put("random_output_len", v.count("random-output-len"))
	o.put("random_range_ratio", v.number("random-range-ratio"))
	o.put("server_info", nil)
	o.put("duration", r.Duration)
	o.put("completed", completed)
	o.put("total_input_tokens", in)
	o.put("total_input_text_tokens", in-visionTokens(r))
	o.put("total_input_vision_tokens", visionTokens(r))
	o.put("total_output_tokens", out)
	o.put("total_output_tokens_retokenized", out)
	o.put("request_throughput", r.PerSecond(float64(completed)))
	o.put("input_throughput", r.PerSecond(float64(in)))
	o.put("output_throughput", r.PerSecond(float64(out)))
	o.put("total_throughput", r.PerSecond(float64(in+out)))
	latencyKeys(&o, r, sglangFigures, sglangPercents)
	o.put("concurrency", r.PerSecond(r.Each(whole).Sum()))
	o.put("accept_length", nil)
	o.put("max_output_tokens_per_s", events)
	o.put("max_concurrent_requests", int(requests))
	if v.on("output-details") {
		requestLists(&o, r)
		requestTexts(&o, r)
	}
	return &o
}
