package peer

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// inferencePerf is inference-perf: a configuration file, each of whose keys is a
// flag by its path too.
var inferencePerf = &Peer{
	Name: "inference-perf", Version: "0.7.0",
	Commands: []string{"inference-perf"},
	Flags:    inferencePerfFlags,
	Plans:    inferencePerfPlans,
	Close:    inferencePerfTable,
	Files:    inferencePerfFiles,
}

var inferencePerfFlags = slices.Concat([]Flag{
	flag(One, "config-file c", "", "plan"),
	flag(One, "api.type", "completion", "api"),
	flag(One, "api.streaming", "false", "no-stream"),
	flag(One, "api.headers", "", "header"),
	{Names: []string{"server.type"}, Takes: One, Idle: "redline finds out which engine answers"},
	flag(One, "server.model-name", "", "model"),
	flag(One, "server.base-url", "", "url"),
	flag(One, "server.ignore-eos", "true", ""),
	flag(One, "server.api-key", "", "api-key-env"),
	flag(One, "server.cert-path", "", "client-cert"),
	flag(One, "load.type", "constant", "arrival"),
	flag(One, "load.stages", "", "rate"),
	flag(One, "load.base-seed", "", "seed"),
	flag(One, "load.request-timeout", "", "timeout"),
	flag(One, "load.lora-traffic-split", "", "workload"),
	flag(One, "data.type", "mock", "workload"),
	flag(One, "data.path", "", "workload"),
	flag(One, "data.input-distribution", "", "workload"),
	flag(One, "data.output-distribution", "", "workload"),
	flag(One, "data.shared-prefix", "", "workload"),
	flag(One, "tokenizer.pretrained-model-name-or-path", "", "tokenizer"),
	flag(One, "storage.local-storage.path", "", "out"),
	flag(One, "storage.local-storage.report-file-prefix", "", "out"),
	flag(One, "report.request-lifecycle.per-request", "false", ""),
	flag(One, "report.request-lifecycle.percentiles", "", "percentiles"),
},
	idle(One, "the client is one process", "load.num-workers", "load.worker-max-concurrency", "load.worker-max-tcp-connections", "load.interval", "log-level", "load.stage-teardown-grace-seconds", "data.use-chat-template"),
	idle(One, "redline reads the server's own /metrics", "metrics", "metrics.type", "metrics.prometheus", "metrics.prometheus.url", "metrics.prometheus.scrape-interval",
		"metrics.prometheus.filters", "metrics.prometheus.google-managed"),
	idle(One, "the whole report is made", "report.request-lifecycle.summary", "report.request-lifecycle.per-stage", "report.request-lifecycle.per-adapter",
		"report.request-lifecycle.per-adapter-stage", "report.prometheus.summary", "report.prometheus.per-stage", "report.session-lifecycle.summary",
		"report.session-lifecycle.per-stage", "report.session-lifecycle.per-session", "report.request-lifecycle.use-server-output-tokens",
		"report.request-lifecycle.max-error-messages", "report.request-lifecycle.per-request-fields"),
	idle(One, "no code of a model is run", "tokenizer.trust-remote-code", "tokenizer.token", "tokenizer.load-timeout"),
	cannot(One, "redline run --slo 'ttft:p99<500ms' judges objectives", "report.goodput", "report.goodput.constraints", "api.slo-unit", "api.slo-tpot-header", "api.slo-ttft-header"),
	cannot(One, "redline sweep --find-limit --slo … searches for the limit", "load.sweep", "load.sweep.type"),
	cannot(One, "redline run --max-error-rate is the circuit breaker, --max-retries asks again", "load.circuit-breakers", "circuit-breakers", "load.request-retries",
		"load.request-retry-backoff-sec"),
	cannot(One, "redline run --workload FILE replays traces of Azure, Mooncake and OpenTelemetry", "load.trace", "data.trace", "data.otel-trace-replay", "data.weka-trace-replay",
		"data.conversation-replay", "data.synthetic-agentic", "data.visionarena", "data.multimodal"),
	cannot(One, "files of a workload have such fields", "api.response-format", "api.session-id-header-key", "api.session-token-header-key", "data.corpus-file-path"),
	cannot(One, "join certificate and key in the file of server.cert_path", "server.key-path"),
	cannot(One, "copy the reports", "storage.google-cloud-storage", "storage.simple-storage-service"),
	cannot(Many, "redline compare and redline report --pareto set runs side by side", "analyze a", "unified-analysis-dir u"),
)

// settle reads the configuration file; flags stand before it.
func (v *Values) settle() {
	path := v.text("config-file")
	if path == "" || v.Read == nil {
		return
	}
	content, err := v.Read(path)
	var tree map[string]any
	if err == nil {
		err = yaml.Unmarshal(content, &tree)
	}
	if err != nil {
		v.err = fmt.Errorf("%s: --config_file: %s cannot be read: %w", v.peer.Commands[0], path, err)
		return
	}
	v.flatten(path, "", tree)
}

// flatten sets the keys of a file by their paths, as deep as the table goes.
func (v *Values) flatten(file, prefix string, tree map[string]any) {
	for key, value := range tree {
		name := strings.TrimPrefix(prefix+"."+canonical(key), ".")
		f := v.peer.find(name)
		below, isTree := value.(map[string]any)
		switch {
		case f == nil && isTree:
			v.flatten(file, name, below)
		case v.err != nil || value == nil || f != nil && v.Given(f.Names[0]):
		case f == nil:
			v.err = fmt.Errorf("%s: unknown key %s; redline knows the keys of %s %s", file, strings.ReplaceAll(name, "-", "_"), v.peer.Name, v.peer.Version)
		case f.Cannot != "":
			v.err = fmt.Errorf("%s: %s cannot be honored: %s", file, strings.ReplaceAll(name, "-", "_"), f.Cannot)
		default:
			said, err := json.Marshal(value)
			if text, is := value.(string); is {
				said = []byte(text)
			}
			if err == nil {
				v.given[f.Names[0]] = []string{string(said)}
			}
		}
	}
}

// inferenceStage is one of load.stages.
type inferenceStage struct {
	Rate        float64 `json:"rate"`
	Duration    float64 `json:"duration"`
	Requests    int     `json:"num_requests"`
	Concurrency int     `json:"concurrency_level"`
}

func inferencePerfPlans(v *Values) ([]Plan, error) {
	v.settle()
	var stages []inferenceStage
	if said := v.text("load.stages"); json.Unmarshal([]byte(said), &stages) != nil || len(stages) == 0 {
		v.fail("load.stages", "a list of stages such as [{rate: 5, duration: 60}]")
	}
	var plans []Plan
	for _, s := range stages {
		p := &Plan{}
		inferenceTarget(v, p)
		inferenceData(v, p)
		switch v.text("load.type") {
		case "constant", "poisson":
			p.offer(s.Rate, 1, 0, 0)
			p.set("duration", number(s.Duration)+"s")
			if v.text("load.type") == "constant" {
				p.note("inference-perf's constant load has exponential gaps, and so has this one")
			}
		case "concurrent":
			p.offer(math.Inf(1), 0, s.Concurrency, s.Requests)
		default:
			v.refuse("load.type", "redline has constant, poisson and concurrent of these; a trace is replayed by redline run --workload FILE")
		}
		if seconds := v.text("load.request-timeout"); seconds != "" {
			p.set("timeout", seconds+"s")
		}
		p.setIf("seed", v.text("load.base-seed"))
		p.finish()
		plans = append(plans, *p)
	}
	return plans, v.err
}

func inferenceTarget(v *Values, p *Plan) {
	if v.text("server.base-url") == "" {
		v.refuse("server.base-url", "give the server's URL")
	}
	path := map[string]string{"completion": "/v1/completions", "chat": "/v1/chat/completions", "messages": "/v1/messages"}[v.text("api.type")]
	if path == "" {
		v.refuse("api.type", "redline has completion, chat and messages of these")
	}
	p.set("url", endpoint(address(v.text("server.base-url"), "", ""), path))
	p.setIf("model", v.text("server.model-name"))
	if !v.on("api.streaming") {
		p.set("no-stream", "true")
	}
	for name, value := range v.object("api.headers") {
		p.set("header", name+"="+fmt.Sprint(value))
	}
	if v.Given("server.api-key") {
		p.set("header", "Authorization=Bearer "+v.text("server.api-key"))
	}
	p.setIf("client-cert", v.text("server.cert-path"))
	p.tokenizer(v.text("tokenizer.pretrained-model-name-or-path"))
}

// inferenceLength reads a fixed length or a distribution.
func inferenceLength(said string, usual string) string {
	if said == "" {
		return usual
	}
	if n, err := strconv.Atoi(said); err == nil {
		return within(n, n)
	}
	d := struct {
		Type     string
		Min, Max int
		Mean     float64
		StdDev   float64 `json:"std_dev"`
	}{"normal", 10, 1024, 512, 200}
	if json.Unmarshal([]byte(said), &d) != nil {
		return usual
	}
	switch {
	case d.Type == "uniform" || d.Min == d.Max:
		return within(d.Min, d.Max)
	case d.Type == "fixed" || d.StdDev == 0:
		return within(int(d.Mean), int(d.Mean))
	}
	return fmt.Sprintf("normal(%s,%s,%d..%d)", number(d.Mean), number(d.StdDev), d.Min, d.Max)
}

func inferenceData(v *Values, p *Plan) {
	natural := ""
	if !v.on("server.ignore-eos") {
		natural = "true"
	}
	switch v.text("data.type") {
	case "random", "synthetic", "mock":
		in, out := inferenceLength(v.text("data.input-distribution"), "normal(512,200,10..1024)"), inferenceLength(v.text("data.output-distribution"), "normal(512,200,10..1024)")
		if natural == "" {
			p.lengths(in, out)
			break
		}
		p.block("prompt", in, "output", out, "natural", natural)
	case "shared_prefix":
		var s struct {
			Groups   json.RawMessage `json:"num_groups"`
			Unique   json.RawMessage `json:"num_unique_system_prompts"`
			System   json.RawMessage `json:"system_prompt_len"`
			Question json.RawMessage `json:"question_len"`
			Output   json.RawMessage `json:"output_len"`
		}
		if said := v.text("data.shared-prefix"); said != "" && json.Unmarshal([]byte(said), &s) != nil {
			v.fail("data.shared-prefix", "a block of lengths")
		}
		p.block("prompt", inferenceLength(string(s.Question), "fixed(50)"), "output", inferenceLength(string(s.Output), "fixed(50)"), "natural", natural,
			"prefix", fmt.Sprintf("{groups: %s, tokens: %s}", firstOf(string(s.Unique), string(s.Groups), "10"), firstOf(string(s.System), "100")))
	case "shareGPT":
		if v.text("data.path") == "" {
			v.refuse("data.type", "give its file by data.path; redline downloads nothing")
		}
		p.block("file", quoted(v.text("data.path")), "format", "sharegpt", "natural", natural)
	default:
		v.refuse("data.type", "redline has random, synthetic, shared_prefix and shareGPT of these")
	}
	inferenceAdapters(v, p)
}

func inferenceAdapters(v *Values, p *Plan) {
	var adapters []struct {
		Name  string
		Split float64
	}
	if said := v.text("load.lora-traffic-split"); said == "" || json.Unmarshal([]byte(said), &adapters) != nil {
		return
	}
	if p.Workload == "" {
		p.asBlock()
	}
	var b strings.Builder
	for _, a := range adapters {
		fmt.Fprintf(&b, "\n    - {name: %s, share: %s, model: %s}", quoted(a.Name), number(a.Split), quoted(a.Name))
	}
	p.block("tenants", b.String())
}
