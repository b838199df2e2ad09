package peer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// vllm is `vllm bench serve`, which was benchmark_serving.py.
var vllm = &Peer{
	Name: "vLLM", Version: "0.32.0",
	Commands: []string{"vllm bench serve", "benchmark_serving.py", "vllm-bench", "benchmark_serving_structured_output.py"},
	Flags:    vllmFlags,
	Plans:    vllmPlans,
	Close:    vllmTable,
	Files:    vllmFiles,
}

var vllmFlags = slices.Concat([]Flag{
	flag(One, "backend endpoint-type", "openai", "api"),
	flag(One, "base-url", "", "url"),
	flag(One, "host", "127.0.0.1", "url"),
	flag(One, "port", "8000", "url"),
	flag(One, "endpoint", "/v1/completions", "url"),
	flag(Many, "header", "", "header"),
	flag(None, "insecure", "", "insecure"),
	flag(One, "model", "", "model"),
	flag(One, "served-model-name", "", "model"),
	flag(One, "tokenizer", "", "tokenizer"),
	amount(One, "num-prompts", "1000", "requests"),
	amount(One, "request-rate", "inf", "rate"),
	amount(One, "burstiness", "1.0", "arrival"),
	flag(One, "max-concurrency", "", "concurrency"),
	flag(One, "ramp-up-strategy", "", "profile"),
	amount(One, "ramp-up-start-rps", "", "profile"),
	amount(One, "ramp-up-end-rps", "", "profile"),
	{Names: []string{"self-timed"}, Takes: None, Idle: "a trace is sent at its own times unless --no-self-timed is given"},
	flag(None, "no-self-timed", "", ""),
	flag(One, "seed", "0", "seed"),
	{Names: []string{"ignore-eos"}, Unused: "every request asks for ignore_eos here, so that replies have their lengths; prompts of sharegpt and custom do so only with the flag"},
	flag(One, "num-warmups", "0", ""),
	flag(One, "logprobs", "", "extra-body"),
	flag(One, "temperature", "", "temperature"),
	flag(One, "top-p", "", "top-p"),
	flag(One, "top-k", "", "extra-body"),
	flag(One, "min-p", "", "extra-body"),
	flag(One, "frequency-penalty", "", "extra-body"),
	flag(One, "presence-penalty", "", "extra-body"),
	flag(One, "repetition-penalty", "", "extra-body"),
	flag(One, "extra-body", "", "extra-body"),
	flag(One, "chat-template-kwargs", "", "extra-body"),
	flag(Many, "lora-modules", "", ""),
	flag(One, "lora-assignment", "random", ""),
	flag(None, "save-result", "", "out"),
	flag(None, "save-detailed", "", "out"),
	flag(None, "append-result", "", ""),
	flag(One, "result-dir", "", "out"),
	flag(One, "result-filename", "", "out"),
	flag(One, "label", "", "label"),
	flag(Many, "metadata", "", "note"),
	flag(One, "percentile-metrics", "", ""),
	flag(One, "metric-percentiles", "99", "percentiles"),
	flag(Many, "goodput", "", "slo"),
	flag(One, "dataset-name", "random", "workload"),
	flag(One, "dataset-path", "", "workload"),
	flag(One, "dataset", "", "workload"),
	flag(One, "json-schema-path", "", "schemas-file"),
	flag(One, "structured-output-ratio", "1.0", "schema-share"),
	flag(None, "no-structured-output", "", ""),
	flag(One, "input-len", "", "workload"),
	flag(One, "output-len", "", "workload"),
	flag(None, "disable-shuffle", "", ""),
	flag(One, "custom-output-len", "256", "workload"),
	flag(One, "sharegpt-output-len", "", "workload"),
	flag(One, "random-input-len", "1024", "workload"),
	flag(One, "random-output-len", "128", "workload"),
	flag(One, "random-range-ratio", "0.0", "workload"),
	flag(One, "random-prefix-len", "0", "workload"),
	amount(One, "random-batch-size", "1", "workload"),
	flag(One, "prefix-repetition-prefix-len", "256", "workload"),
	flag(One, "prefix-repetition-suffix-len", "256", "workload"),
	amount(One, "prefix-repetition-num-prefixes", "10", "workload"),
	flag(One, "prefix-repetition-output-len", "128", "workload"),
	flag(One, "hf-name", "", "workload"),
	flag(One, "hf-output-len", "", "workload"),
	flag(One, "bfcl-categories", "simple,live_simple,multiple", "workload"),
	flag(One, "random-mm-base-items-per-request", "1", "images"),
	flag(One, "random-mm-num-mm-items-range-ratio", "0.0", "images"),
	flag(One, "random-mm-limit-mm-per-prompt", `{"image": 255, "video": 1}`, "images"),
	flag(One, "random-mm-bucket-config", "{(256, 256, 1): 0.5, (720, 1280, 1): 0.5, (720, 1280, 16): 0.0}", "images"),
	amount(One, "timed-trace-sec-multiplier", "1", "speedup"),
	flag(One, "timed-trace-label-timestamp", "timestamp", "column"),
	flag(One, "timed-trace-label-input-length", "input_length", "column"),
	flag(One, "timed-trace-label-output-length", "output_length", "column"),
},
	idle(One, "redline sends a request before the load and ends with an error where no answer comes", "ready-check-timeout-sec"),
	idle(One, "request ids are redline's own, and stand in its records", "request-id-prefix"),
	idle(One, "prompts are made with the tokenizer of --tokenizer", "tokenizer-mode"),
	idle(None, "no code of a model is run", "trust-remote-code"),
	idle(None, "figures count by the server's usage", "skip-tokenizer-init"),
	idle(None, "progress goes to stderr, --quiet turns it off", "disable-tqdm"),
	idle(None, "vLLM does not read it either", "use-beam-search"),
	idle(None, "report.html in the run directory has the charts", "plot-timeline", "plot-dataset-stats"),
	idle(One, "report.html in the run directory has the charts", "timeline-itl-thresholds"),
	idle(None, "only data sets of a hub are streamed", "no-stream"),
	idle(None, "redline draws from a file again when it ends", "no-oversample"),
	idle(None, "the server applies its chat template", "skip-chat-template"),
	idle(None, "files are read from this machine", "custom-ensure-client-side-data"),
	idle(None, "rankings are asked as they are", "no-reranker"),
	idle(One, "a trace with hash_ids has blocks of its own size", "timed-trace-chunk-hash-size", "timed-trace-label-hash-ids"),
	idle(One, "the data set that it belongs to is refused by its name", "spec-bench-output-len", "spec-bench-category", "sonnet-input-len", "sonnet-output-len",
		"sonnet-prefix-len", "blazedit-min-distance", "blazedit-max-distance", "asr-max-audio-len-sec", "asr-min-audio-len-sec",
		"hf-subset", "hf-split", "speed-bench-dataset-subset", "speed-bench-output-len", "speed-bench-category"),
	idle(None, "images are parts of a chat's messages", "enable-multimodal-chat"),
	cannot(None, "start the profiler of the server beside the run", "profile"),
	cannot(One, "run redline a second time beside the load, at the rate of the probe", "probe-request-rate"),
)

const noHub = "give a file of it: --dataset-name custom --dataset-path FILE.jsonl (lines with prompt), or sharegpt"

func vllmPlans(v *Values) ([]Plan, error) {
	p := &Plan{}
	vllmTarget(v, p)
	requests := v.count("num-prompts")
	vllmDataset(v, p)
	vllmLoad(v, p, requests)
	p.warmUp(v.count("num-warmups"))
	vllmSampling(v, p)
	p.set("seed", strconv.Itoa(v.count("seed")))
	p.setIf("label", v.text("label"))
	p.finish()
	return []Plan{*p}, v.err
}

// vllmPaths are where requests of each backend go.
var vllmPaths = map[string]string{"vllm": "/v1/completions", "openai": "/v1/completions", "openai-chat": "/v1/chat/completions", "openai-embeddings": "/v1/embeddings",
	"vllm-rerank": "/v1/rerank", "sglang": "/v1/completions", "lmdeploy": "/v1/completions", "llama.cpp": "/v1/completions", "scalellm": "/v1/completions", "tgi": "/generate_stream"}

// vllmTarget says where requests go, and in which form.
func vllmTarget(v *Values, p *Plan) {
	backend := v.text("backend")
	path, known := vllmPaths[backend]
	if !known {
		v.refuse("backend", "redline speaks openai, openai-chat, openai-embeddings and vllm-rerank of these")
	}
	if one(backend, "vllm", "openai") && (v.Given("dataset") || v.Given("json-schema-path") || v.Given("structured-output-ratio")) {
		path = "/v1/chat/completions" // where schemas go
	}
	if v.Given("endpoint") {
		path = v.text("endpoint")
	}
	p.target(v, v.text("port"), path)
	if v.on("insecure") {
		p.set("insecure", "true")
	}
}

// vllmDataset says what is sent.
func vllmDataset(v *Values, p *Plan) {
	length := func(own, general string) string {
		if v.Given(general) {
			return general
		}
		return own
	}
	if v.Given("dataset") || v.Given("json-schema-path") || v.Given("structured-output-ratio") {
		vllmStructured(v, p)
		return
	}
	switch name := v.text("dataset-name"); name {
	case "random", "random-mm":
		if name == "random-mm" {
			vllmImages(v, p)
			p.needChat(v, "openai-chat")
		}
		vllmRandom(v, p, v.count(length("random-input-len", "input-len")), v.count(length("random-output-len", "output-len")))
	case "prefix_repetition":
		p.block("prompt", fmt.Sprintf("fixed(%d)", max(1, v.count("prefix-repetition-suffix-len"))),
			"output", fmt.Sprintf("fixed(%d)", max(1, v.count("prefix-repetition-output-len"))),
			"prefix", fmt.Sprintf("{groups: %d, tokens: %d}", max(1, v.count("prefix-repetition-num-prefixes")), v.count("prefix-repetition-prefix-len")))
	case "sharegpt", "custom", "custom_mm", "burstgpt", "timed_trace":
		vllmFile(v, p, name)
	case "hf":
		vllmHub(v, p)
	default:
		v.refuse("dataset-name", noHub)
	}
	if p.adapters(v.list("lora-modules")) && v.text("lora-assignment") == "round-robin" {
		p.note("adapters are drawn evenly at random, not in turn")
	}
}

// vllmHubFiles are data sets of the hub that vLLM knows by name and redline reads
// as they are.
var vllmHubFiles = map[string]struct{ file, format, output string }{
	bfclSet:                            {"BFCL_v3_%s.json", "bfcl", "fixed(512)"},
	"Aeala/ShareGPT_Vicuna_unfiltered": {"ShareGPT_V4.3_unfiltered_cleaned_split.json", "sharegpt", ""},
}

const bfclSet = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"

// vllmHub is a data set of the hub. The Berkeley leaderboard has a file for each
// category, which are drawn from evenly.
func vllmHub(v *Values, p *Plan) {
	repo := cmp.Or(v.text("hf-name"), v.text("dataset-path"))
	set, known := vllmHubFiles[repo]
	if !known {
		v.refuse("dataset-name", "redline reads "+bfclSet+" and Aeala/ShareGPT_Vicuna_unfiltered of these; of others "+noHub)
		return
	}
	for _, name := range []string{"output-len", "hf-output-len"} {
		if v.Given(name) {
			set.output = fmt.Sprintf("fixed(%d)", v.count(name))
		}
	}
	order, natural := "shuffled", "true"
	if v.on("disable-shuffle") {
		order = "file"
	}
	if v.on("ignore-eos") {
		natural = ""
	}
	files := []string{set.file}
	if repo == bfclSet {
		if v.text("backend") != "openai-chat" {
			v.refuse("dataset-name", "it needs --backend openai-chat")
		}
		files = strings.Split(v.text("bfcl-categories"), ",")
	}
	p.block("salt", "false")
	keys := func(file string) []string {
		if repo == bfclSet {
			file = fmt.Sprintf(set.file, strings.TrimSpace(file))
		}
		return []string{"file", quoteYAML("hf:" + repo + "/" + file), "format", set.format, "order", order, "natural", natural, "output", set.output}
	}
	if len(files) == 1 {
		p.block(keys(files[0])...)
		return
	}
	p.classes(files, keys)
	p.note("each category has an equal share of the requests, and figures of its own")
}

// structuredPrompt is about how long the prompts of vLLM's structured data sets are.
const structuredPrompt = 200

// vllmStructured is the benchmark of structured output: a share of the requests has
// a schema, one for all or each its own.
func vllmStructured(v *Values, p *Plan) {
	schemas := fmt.Sprintf("{count: 1, share: %s}", number(v.number("structured-output-ratio")))
	switch name, file := v.text("dataset"), v.text("json-schema-path"); {
	case file != "":
		schemas = fmt.Sprintf("{file: %s, share: %s}", quoteYAML(file), number(v.number("structured-output-ratio")))
	case name == "json-unique":
		schemas = fmt.Sprintf("{count: %d, share: %s}", min(max(1, v.count("num-prompts")), 10_000), number(v.number("structured-output-ratio")))
	case !one(name, "", "json"):
		v.refuse("dataset", "redline sends JSON Schemas: --dataset json or json-unique, or --json-schema-path FILE")
	}
	output := 128
	if v.Given("output-len") {
		output = v.count("output-len")
	}
	p.block("prompt", fmt.Sprintf("fixed(%d)", structuredPrompt), "output", fmt.Sprintf("fixed(%d)", output))
	if !v.on("no-structured-output") && v.number("structured-output-ratio") > 0 {
		p.block("schemas", schemas)
	}
	p.note("prompts are %d tokens of words, and schemas are made up unless a file has them; replies are validated, and schema_ok of the report is vLLM's correct rate", structuredPrompt)
}

// asBlock writes a workload of lengths as a block, to which more can be added.
func (p *Plan) asBlock() {
	for i, s := range p.Settings {
		if s[0] != "workload" {
			continue
		}
		in, out, _ := strings.Cut(strings.TrimPrefix(s[1], "in="), " out=")
		p.block("prompt", in, "output", out)
		p.Settings = slices.Delete(p.Settings, i, i+1)
		return
	}
}

// vllmRandom is the random data set: whole numbers from floor(L(1-r)) to
// ceil(L(1+r)), behind a prefix that all share.
func vllmRandom(v *Values, p *Plan, input, output int) {
	ratios := v.ratios("random-range-ratio")
	if max(ratios[0], ratios[1]) == 1 {
		v.fail("random-range-ratio", "a share below 1")
	}
	in, out := rangeOf(input, ratios[0]), rangeOf(output, ratios[1])
	prefix, batch := v.count("random-prefix-len"), v.count("random-batch-size")
	if prefix == 0 && batch == 1 {
		p.lengths(in, out)
		return
	}
	p.block("prompt", in, "output", out)
	if prefix > 0 {
		p.block("prefix", fmt.Sprintf("{groups: 1, tokens: %d}", prefix))
	}
	if batch > 1 {
		p.block("inputs", strconv.Itoa(batch))
	}
}

// rangeOf is vLLM's spread: a share of the length to both sides.
func rangeOf(n int, r float64) string {
	return uniformLength(int(math.Floor(float64(n)*(1-r))), int(math.Ceil(float64(n)*(1+r))))
}

// vllmFile is a data set in a file.
func vllmFile(v *Values, p *Plan, name string) {
	path := v.text("dataset-path")
	if path == "" {
		v.refuse("dataset-name", "give its file by --dataset-path")
	}
	if !strings.ContainsAny(path, `./\`) {
		path = "./" + path
	}
	format := map[string]string{"sharegpt": "sharegpt", "custom": "jsonl", "custom_mm": "jsonl", "burstgpt": "burstgpt", "timed_trace": "mooncake"}[name]
	p.block("file", quoteYAML(path), "format", format)
	if one(name, "sharegpt", "custom", "custom_mm") {
		order := "shuffled"
		if v.on("disable-shuffle") {
			order = "file"
		}
		p.block("order", order, "salt", "false")
		if !v.on("ignore-eos") {
			p.block("natural", "true")
		}
	}
	var output int
	switch {
	case v.Given("output-len"):
		output = v.count("output-len")
	case name == "sharegpt":
		output = v.count("sharegpt-output-len")
	case one(name, "custom", "custom_mm") && v.text("custom-output-len") != "-1":
		output = v.count("custom-output-len")
	}
	if output > 0 {
		p.block("output", fmt.Sprintf("fixed(%d)", output))
	}
	if name == "timed_trace" {
		vllmTrace(v, p)
	}
}

func vllmTrace(v *Values, p *Plan) {
	if v.text("timed-trace-label-timestamp") != "timestamp" || v.text("timed-trace-label-input-length") != "input_length" {
		p.block("columns", fmt.Sprintf("{time: %s, prompt: %s, output: %s}", quoteYAML(v.text("timed-trace-label-timestamp")),
			quoteYAML(v.text("timed-trace-label-input-length")), quoteYAML(v.text("timed-trace-label-output-length"))))
	}
	if factor := v.number("timed-trace-sec-multiplier"); factor != 1 && factor > 0 {
		p.block("replay", fmt.Sprintf("{speedup: %s}", number(1/factor)))
	}
}

// vllmLoad says when requests are sent.
func vllmLoad(v *Values, p *Plan, requests int) {
	rate, most := v.number("request-rate"), v.count("max-concurrency")
	switch strategy := v.text("ramp-up-strategy"); {
	case v.text("dataset-name") == "timed_trace" && !v.on("no-self-timed"):
		if most > 0 {
			v.refuse("max-concurrency", "a trace that is replayed at its own times has no cap")
		}
		p.set("plain", "true")
	case strategy != "":
		from, to := v.number("ramp-up-start-rps"), v.number("ramp-up-end-rps")
		if from <= 0 || to <= 0 {
			v.refuse("ramp-up-strategy", "give --ramp-up-start-rps and --ramp-up-end-rps, both above 0")
			return
		}
		kind := ""
		if strategy == "exponential" {
			kind = ",exp"
		}
		p.set("profile", fmt.Sprintf("ramp(%s..%s,%ss%s)", number(from), number(to), number(math.Ceil(2*float64(requests)/(from+to))), kind))
		p.note("the rate grows with time; vLLM's grows with the number of requests sent")
		p.offer(math.Inf(1), 0, most, requests)
	default:
		p.offer(rate, v.number("burstiness"), most, requests)
		if !math.IsInf(rate, 1) {
			p.note("arrivals are not rescaled to last exactly num-prompts/request-rate seconds")
		}
	}
}

// vllmSampling says how the model picks its tokens.
func vllmSampling(v *Values, p *Plan) {
	p.setIf("temperature", v.text("temperature"))
	p.setIf("top-p", v.text("top-p"))
	for _, name := range []string{"top-k", "min-p", "frequency-penalty", "presence-penalty", "repetition-penalty"} {
		if v.Given(name) {
			p.extend(map[string]any{strings.ReplaceAll(name, "-", "_"): v.number(name)})
		}
	}
	if v.Given("logprobs") {
		if v.text("backend") == "openai-chat" {
			p.extend(map[string]any{"logprobs": true, "top_logprobs": v.count("logprobs")})
		} else {
			p.extend(map[string]any{"logprobs": v.count("logprobs")})
		}
	}
	if kwargs := v.object("chat-template-kwargs"); kwargs != nil {
		p.extend(map[string]any{"chat_template_kwargs": kwargs})
	}
	p.extend(v.object("extra-body"))
	if !v.Given("temperature") {
		p.note("temperature 0 and seed 1 are sent; vLLM leaves them to the server")
	}
}
