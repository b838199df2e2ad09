package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/plan/schema"
)

// compiled holds every schema, ready to validate.
var compiled = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	all := map[string]*jsonschema.Schema{}
	for _, name := range schema.Names {
		data, err := schema.Get(name)
		if err != nil {
			return nil, err
		}
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(name, parsed); err != nil {
			return nil, err
		}
		if all[name], err = compiler.Compile(name); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// check validates a JSON document by the schema of that name.
func check(t *testing.T, name string, document []byte) error {
	t.Helper()
	all := must.Get(compiled())(t)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatalf("%v in %s", err, document)
	}
	return all[name].Validate(value)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data := must.Get(json.Marshal(v))(t)
	return data
}

func TestUnknownNameIsRefused(t *testing.T) {
	t.Parallel()
	_, err := schema.Get("plans")
	if want := `schema: expected one of plan, result, record, telemetry, truth, got "plans"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// full is a result with every optional block in it.
func full() *result.Result {
	dist := &metric.Dist{N: 3, Mean: 1.5, Max: 9, P: map[string]float64{"p50": 1, "p999": 8.5},
		Firm: []string{"p50"}, CI: map[string][2]float64{"p50": {0.5, 2}}}
	requests := metric.Requests{Due: 3, Sent: 3, OK: 2, Rejected: 1, Faults: map[string]int{"rejected": 1}}
	latency := metric.Latency{TTFT: dist, TTFTDue: dist, TPOT: dist, ITL: dist, E2E: dist, Lag: dist}
	group := []metric.Group{{Name: "<1k", Requests: requests, Latency: latency}}
	return &result.Result{
		Schema: result.Schema, ID: "r1", Started: time.Unix(1700000000, 0).UTC(), Command: "run", Version: "0.1.0", Seed: 7,
		Label: "l", Note: "n", Plan: map[string]any{"seed": 7, "provider": map[string]any{"model": "m"}},
		Engine: result.Engine{Name: "sim", Declared: map[string]string{"prefix_caching": "on, applied"}},
		Client: result.Client{OS: "linux", Arch: "amd64", CPUs: 2, Timestamps: result.Timestamps{Source: "kernel"}},
		Verdict: result.Verdict{Valid: "yes", SLO: "met", Reasons: []string{"a"},
			Checks:    []result.Check{{Name: "lag", OK: true}},
			Unchecked: []result.SkippedCheck{{Name: "foreign", Why: "no metrics"}}},
		Points: []result.Point{{
			Load: result.Load{Mode: "open", Rate: new(10.0)},
			Summary: metric.Summary{
				Window: metric.Window{StartS: 1, EndS: 2, Steady: new(true)}, Requests: requests, Latency: latency,
				Tokens: metric.Tokens{Counted: map[string]int{"usage": 3}}, Goodput: &metric.Goodput{Requests: 1, Fraction: 1},
				Fluidity: new(0.5), Interactivity: dist, TailRatio: map[string]float64{"ttft": 2},
				Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Met, Value: new(1.0), Unit: "ms", Limit: 500, N: 3}},
				Buckets:    group, Classes: group, Tenants: group, Turns: group, Steps: group,
			},
			KV: &result.KV{MaxMBPerRequest: 1, Model: "m"}, Cost: &result.Cost{Spend: 1},
		}},
		Warnings: []result.Warning{{Figure: "latency.itl_ms.p99", Text: "few samples"}},
	}
}

func TestResultFitsItsSchema(t *testing.T) {
	t.Parallel()
	expect.OK(t, check(t, "result", marshal(t, full())))
}

func TestMutatedResultFails(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	in := func(doc object, path ...string) object {
		for _, key := range path {
			if list, ok := doc[key].([]any); ok {
				doc, _ = list[0].(object)
				continue
			}
			doc, _ = doc[key].(object)
		}
		return doc
	}
	tests := []struct {
		name   string
		mutate func(object)
	}{
		{"extra key at the top", func(d object) { d["extra"] = 1 }},
		{"extra key in a point", func(d object) { in(d, "points")["extra"] = 1 }},
		{"extra key in a distribution", func(d object) { in(d, "points", "latency", "ttft_ms")["q50"] = 1 }},
		{"extra latency", func(d object) { in(d, "points", "latency")["guess_ms"] = nil }},
		{"extra key in a group", func(d object) { in(d, "points", "buckets")["extra"] = 1 }},
		{"extra key in an objective", func(d object) { in(d, "points", "objectives")["extra"] = 1 }},
		{"text for a number", func(d object) { in(d, "points", "throughput")["requests_per_s"] = "1" }},
		{"fraction for a count", func(d object) { in(d, "points", "requests")["due"] = 1.5 }},
		{"text for a percentile", func(d object) { in(d, "points", "latency", "ttft_ms")["p50"] = "fast" }},
		{"interval of three", func(d object) { in(d, "points", "latency", "ttft_ms", "ci")["p50"] = []any{1, 2, 3} }},
		{"block for a list", func(d object) { d["points"] = object{} }},
		{"text for a list", func(d object) { in(d, "verdict")["reasons"] = "because" }},
		{"number for a switch", func(d object) { in(d, "verdict", "checks")["ok"] = 1 }},
		{"unknown standing", func(d object) { in(d, "points", "objectives")["standing"] = "perhaps" }},
		{"other schema", func(d object) { d["schema"] = "redline/result/3" }},
		{"missing id", func(d object) { delete(d, "id") }},
		{"missing verdict", func(d object) { delete(d, "verdict") }},
		{"missing window", func(d object) { delete(in(d, "points"), "window") }},
		{"missing count", func(d object) { delete(in(d, "points", "latency", "ttft_ms"), "n") }},
	}
	for _, tt := range tests {
		var doc object
		must.Do(t, json.Unmarshal(marshal(t, full()), &doc))
		tt.mutate(doc)
		if check(t, "result", marshal(t, doc)) == nil {
			t.Errorf("%s: the schema accepts it", tt.name)
		}
	}
}

func TestRecordsFitTheirSchema(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := must.Get(record.NewWriter(&log, record.Header{Run: "r1", OriginUnixNS: 5, OriginMonoNS: 6}))(t)
	for _, r := range []record.Record{
		{ID: 1, Session: 1, Phase: record.Measure, Try: 1, Due: 1, Begin: 2, Slot: 3, Conn: 4, Dialed: 4, Secured: 4, Sent: 5,
			Written: 6, Head: 7, First: 8, Answer: 9, Last: 10, End: 11, Outcome: llm.OK, Status: 200, PromptTokens: 5, AskedPrompt: 5,
			CachedTokens: 1, OutputTokens: 2, AskedOutput: 2, ReasoningTokens: 1, Counted: record.ByUsage, Streamed: true,
			Coalesced: 1, ConnNew: true, Reconnects: 1, Addr: "127.0.0.1:80", Class: "c", Tenant: "t"},
		{Phase: record.Warmup, Outcome: llm.Unsent, Error: "never begun"},
	} {
		must.Do(t, w.Write(&r))
	}
	begun := record.Record{ID: 7, Session: 2, Turn: 1, Inputs: 3, Natural: true, Class: "c", Tenant: "t", Phase: record.Measure, Try: 1,
		Due: 1, Begin: 2, Slot: 3, Conn: 4, Sent: 5, Head: 6, First: 7, AskedPrompt: 8, AskedOutput: 9, Streamed: true}
	must.Do(t, w.Mark(12, []*record.Record{begun.Opening()}))
	for line := range bytes.Lines(log.Bytes()) {
		if err := check(t, "record", line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestLinesThatAreRefused(t *testing.T) {
	t.Parallel()
	const request = `{"id":1,"session":1,"turn":0,"try":1,"outcome":"ok","chunks_us":[1,2]%s}`
	const truth = `{"id":"a","conn":"b","arrived_ns":1,"before_ns":[1],"after_ns":[2]%s}`
	for _, good := range []struct{ name, document string }{{"record", request}, {"truth", truth}} {
		if err := check(t, good.name, fmt.Appendf(nil, good.document, "")); err != nil {
			t.Errorf("%s: %v", good.name, err)
		}
	}
	for _, bad := range []struct{ name, document string }{
		{"record", fmt.Sprintf(request, `,"extra":1`)},
		{"record", fmt.Sprintf(request, `,"phase":"later"`)},
		{"record", fmt.Sprintf(request, `,"due":-1`)},
		{"record", fmt.Sprintf(request, `,"error":5`)},
		{"record", strings.Replace(fmt.Sprintf(request, ""), `"ok"`, `"fine"`, 1)},
		{"record", `{"schema":"redline/record/1","run":"r","origin_unix_ns":1}`},
		{"record", `{"schema":"redline/record/1","run":"r","origin_unix_ns":1,"origin_mono_ns":1}`},
		{"record", `{"mark":-1}`},
		{"record", `{"mark":1,"id":2}`},
		{"truth", fmt.Sprintf(truth, `,"extra":1`)},
		{"truth", `{"id":"a","conn":"b","arrived_ns":1,"before_ns":[1]}`},
		{"truth", `{"id":"a","conn":"b","before_ns":[1],"after_ns":[2]}`},
		{"truth", `{"id":1,"conn":"b","arrived_ns":1,"before_ns":[1],"after_ns":[2]}`},
	} {
		if check(t, bad.name, []byte(bad.document)) == nil {
			t.Errorf("%s: the schema accepts %s", bad.name, bad.document)
		}
	}
}

func asJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	var value any
	must.Do(t, yaml.Unmarshal(text, &value))
	data := must.Get(json.Marshal(value))(t)
	return data
}

func TestPlansFitTheirSchema(t *testing.T) {
	t.Parallel()
	template := must.Read(t, "../../plan/config/testdata/benchmark-config.yaml")
	resolved := must.Get(config.Resolve(config.Input{Flags: map[string][]string{
		"workload": {"fixed(64,100)"}, "slo": {"ttft:p99<500ms"}, "warmup": {"0s"}, "label": {"x"}}}))(t)
	text := must.Get(resolved.YAML())(t)
	block := []byte("workload: {preset: chat, prompt: {fixed: 5}, output: 7}\nmetadata: {precision: 8}\nload_profile: {warmup: 1m30s}\n")
	flat := []byte("url: http://a\nmodel: m\nrate: 5\nrequests: 200\nrates: [1, 2]\nlabel: night\nduration: 30s\nslo: ['ttft:p99<500ms']\n")
	for _, plan := range [][]byte{template, text, block, flat} {
		if err := check(t, "plan", asJSON(t, plan)); err != nil {
			t.Errorf("%v in\n%s", err, plan)
		}
	}
	for _, bad := range []string{"extra: 1", "provider: {modle: m}", "load_profile: {rate: fast}", "load_profile: {duration: 30}",
		"sla_thresholds: {p95_latency_ms: soon}", "optimizations: {prefix_caching: 1}", "workload: {prompt: {median: x}}",
		"server: {sim: {gpus: 1}}", "rate: fast", "duration: 30", "metrics: {percentiles: 50%}"} {
		if check(t, "plan", asJSON(t, []byte(bad))) == nil {
			t.Errorf("the schema accepts %s", bad)
		}
	}
}
