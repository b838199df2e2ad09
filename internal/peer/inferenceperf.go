package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
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
	flag(One, "api.response-format", "", "extra-body"),
	flag(One, "api.session-id-header-key", "", "workload"),
	flag(One, "api.slo-unit", "ms", "slo"),
	flag(One, "api.slo-ttft-header", "", "slo"),
	flag(One, "api.slo-tpot-header", "", "slo"),
	flag(One, "server.model-name", "", "model"),
	flag(One, "server.base-url", "", "url"),
	flag(One, "server.ignore-eos", "true", ""),
	flag(One, "server.api-key", "", "api-key-env"),
	flag(One, "server.cert-path", "", "client-cert"),
	flag(One, "load.type", "constant", "arrival"),
	flag(One, "load.stages", "", "rate"),
	flag(One, "load.base-seed", "", "seed"),
	flag(One, "load.request-timeout", "", "timeout"),
	flag(One, "load.request-retries", "", "max-retries"),
	flag(One, "load.lora-traffic-split", "", "workload"),
	flag(One, "load.trace", "", "workload"),
	flag(One, "data.type", "mock", "workload"),
	flag(One, "data.path", "", "workload"),
	flag(One, "data.corpus-file-path", "", "workload"),
	flag(One, "data.input-distribution", "", "workload"),
	flag(One, "data.output-distribution", "", "workload"),
	flag(One, "data.shared-prefix", "", "workload"),
	flag(One, "data.conversation-replay", "", "workload"),
	flag(One, "data.trace", "", "workload"),
	flag(One, "data.multimodal", "", "images"),
	flag(One, "data.otel-trace-replay", "", "workload"),
	flag(One, "data.weka-trace-replay", "", "workload"),
	flag(One, "tokenizer.pretrained-model-name-or-path", "", "tokenizer"),
	flag(One, "storage.local-storage.path", "", "out"),
	flag(One, "storage.local-storage.report-file-prefix", "", "out"),
	flag(One, "report.request-lifecycle.per-request", "false", ""),
	flag(One, "report.request-lifecycle.percentiles", "", "percentiles"),
	flag(One, "report.goodput.constraints", "", "slo"),
},
	idle(One, "redline finds out which engine answers", "server.type"),
	idle(One, "the client is one process", "load.num-workers", "load.worker-max-concurrency", "load.worker-max-tcp-connections", "log-level"),
	idle(One, "stages follow each other at once", "load.interval"),
	idle(One, "the first wait before a retry is 500 ms", "load.request-retry-backoff-sec"),
	idle(One, "requests in flight at the end get their time", "load.stage-teardown-grace-seconds"),
	idle(One, "the server applies its chat template", "data.use-chat-template"),
	idle(One, "redline reads the server's own /metrics", "metrics", "metrics.type", "metrics.prometheus", "metrics.prometheus.url", "metrics.prometheus.scrape-interval",
		"metrics.prometheus.filters", "metrics.prometheus.google-managed"),
	idle(One, "the whole report is made", "report.request-lifecycle.summary", "report.request-lifecycle.per-stage", "report.request-lifecycle.per-adapter",
		"report.request-lifecycle.per-adapter-stage", "report.prometheus.summary", "report.prometheus.per-stage", "report.session-lifecycle.summary",
		"report.session-lifecycle.per-stage", "report.session-lifecycle.per-session", "report.request-lifecycle.use-server-output-tokens",
		"report.request-lifecycle.max-error-messages", "report.request-lifecycle.per-request-fields"),
	idle(One, "no code of a model is run", "tokenizer.trust-remote-code", "tokenizer.token", "tokenizer.load-timeout"),
	idle(One, "only the data type of its name uses it, which is refused", "data.synthetic-agentic", "data.visionarena"),
	cannot(One, "redline sweep --find-limit --slo 'ttft:p99<500ms' searches for the limit", "load.sweep"),
	cannot(One, "redline run --max-error-rate is the circuit breaker", "load.circuit-breakers"),
	idle(One, "only load.circuit_breakers uses it, which is refused", "circuit-breakers"),
	cannot(One, "give a header by api.headers", "api.session-token-header-key"),
	cannot(One, "join certificate and key in the file of server.cert_path", "server.key-path"),
	cannot(One, "copy the reports", "storage.google-cloud-storage.bucket-name", "storage.simple-storage-service.bucket-name"),
	idle(One, "only a bucket's name, which is refused, uses it", "storage.google-cloud-storage", "storage.simple-storage-service"),
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
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		value := tree[key]
		name := strings.TrimPrefix(prefix+"."+canonical(key), ".")
		f, under := v.peer.under(name)
		below, isTree := value.(map[string]any)
		if under != "" && f.Idle == "" { // only a block that changes nothing may hold any key
			f = nil
		}
		switch {
		case isTree && (f == nil || v.peer.within(name)):
			v.flatten(file, name, below)
		case v.err != nil || value == nil || f != nil && v.given[f.Names[0]] != nil:
		case f == nil:
			v.err = fmt.Errorf("%s: unknown key %s; redline knows the keys of %s %s", file, strings.ReplaceAll(name, "-", "_"), v.peer.Name, v.peer.Version)
		default:
			said, err := json.Marshal(value)
			if text, is := value.(string); is {
				said = []byte(text)
			}
			if err == nil {
				v.given[f.Names[0]] = []string{string(said)}
			}
			if f.Cannot != "" && !off(v.given[f.Names[0]]) {
				v.err = fmt.Errorf("%s: %s cannot be honored: %s", file, strings.ReplaceAll(name, "-", "_"), f.Cannot)
			}
		}
	}
}

// within reports whether keys below a name are flags of their own.
func (p *Peer) within(name string) bool {
	return slices.ContainsFunc(p.Flags, func(f Flag) bool { return strings.HasPrefix(f.Names[0], name+".") })
}

// inferenceStage is one of load.stages.
type inferenceStage struct {
	Rate        float64 `json:"rate"`
	Duration    float64 `json:"duration"`
	Requests    int     `json:"num_requests"`
	Concurrency int     `json:"concurrency_level"`
	Sessions    int     `json:"concurrent_sessions"`
	SessionRate float64 `json:"session_rate"`
	NumSessions int     `json:"num_sessions"`
	Timeout     float64 `json:"timeout"`
}

func inferencePerfPlans(v *Values) ([]Plan, error) {
	v.settle()
	var stages []inferenceStage
	if said := v.text("load.stages"); v.text("load.type") == "trace_replay" {
		stages = make([]inferenceStage, 1)
	} else if !strictly(said, &stages) || len(stages) == 0 {
		v.fail("load.stages", "a list of stages such as [{rate: 5, duration: 60}]")
	}
	var plans []Plan
	for _, s := range stages {
		if least := min(s.Rate, s.Duration, float64(s.Requests), float64(s.Concurrency), float64(s.Sessions), s.SessionRate, float64(s.NumSessions), s.Timeout); least < 0 {
			v.fail("load.stages", "numbers above 0")
		}
		p := &Plan{}
		inferenceTarget(v, p)
		turns := inferenceData(v, p)
		inferenceLoad(v, p, s, turns)
		if seconds := v.text("load.request-timeout"); seconds != "" {
			p.set("timeout", seconds+"s")
		}
		p.setIf("max-retries", v.text("load.request-retries"))
		p.setIf("seed", v.text("load.base-seed"))
		p.finish()
		plans = append(plans, *p)
	}
	return plans, v.err
}

// inferenceLoad says when the requests of a stage are sent; sessions have turns.
func inferenceLoad(v *Values, p *Plan, s inferenceStage, turns float64) {
	switch v.text("load.type") {
	case "constant", "poisson":
		if s.Rate*s.Duration < 1 {
			v.fail("load.stages", "rate and duration above 0 in each stage, and a request in it")
		}
		p.offer(s.Rate, 1, 0, int(s.Rate*s.Duration))
		if v.text("load.type") == "constant" {
			p.note("inference-perf's constant load has exponential gaps, and so has this one")
		}
	case "concurrent":
		if s.Concurrency*s.Requests == 0 {
			v.fail("load.stages", "concurrency_level and num_requests above 0 in each stage")
		}
		p.offer(math.Inf(1), 0, s.Concurrency, s.Requests)
	case "trace_session_replay":
		requests := int(math.Round(turns * float64(s.NumSessions)))
		switch {
		case turns == 0 && s.Timeout == 0:
			v.refuse("load.type", "redline ends recorded sessions by time: give timeout in each stage")
		case turns > 0 && s.NumSessions == 0:
			v.refuse("load.type", "redline has it with num_sessions in each stage")
		case turns > 0:
			p.note("%d conversations are asked for as %d requests, their number times their mean turns", s.NumSessions, requests)
		}
		p.offer(cmp.Or(s.SessionRate, math.Inf(1)), 1, max(s.Sessions, 1), requests)
		if s.Timeout > 0 {
			p.set("duration", number(s.Timeout)+"s")
		}
	case "trace_replay":
		p.set("plain", "true")
	default:
		v.refuse("load.type", "redline has constant, poisson, concurrent, trace_replay and trace_session_replay of these")
	}
}

func inferenceTarget(v *Values, p *Plan) {
	if v.text("server.base-url") == "" {
		v.refuse("server.base-url", "give the server's URL")
	}
	path := map[string]string{"completion": "/v1/completions", "chat": "/v1/chat/completions", "anthropic_messages": "/v1/messages"}[v.text("api.type")]
	if path == "" {
		v.refuse("api.type", "redline has completion, chat and anthropic_messages of these")
	}
	p.set("url", endpoint(address(v.text("server.base-url"), "", ""), path))
	p.setIf("model", v.text("server.model-name"))
	if !v.on("api.streaming") {
		p.set("no-stream", "true")
	}
	headers := v.object("api.headers")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		p.set("header", name+"="+fmt.Sprint(headers[name]))
	}
	if format := v.object("api.response-format"); format != nil {
		p.extend(map[string]any{"response_format": inferenceFormat(format)})
	}
	if v.Given("server.api-key") {
		p.set("header", bearer+v.text("server.api-key"))
	}
	p.setIf("client-cert", v.text("server.cert-path"))
	p.tokenizer(v.text("tokenizer.pretrained-model-name-or-path"))
}

// inferenceFormat is the response_format of a request.
func inferenceFormat(said map[string]any) any {
	if said["type"] == "json_object" {
		return map[string]any{"type": "json_object"}
	}
	name := said["name"]
	if name == nil {
		name = "structured_output"
	}
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": name, "schema": said["json_schema"]}}
}
