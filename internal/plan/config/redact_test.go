package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// everything is a plan that uses every block.
const everything = `
provider:
  name: alpha
  api_endpoint: ["http://box:8000/v1?api-version=2&api_key=hidden-query", "http://other:8000/v1"]
  model: m
  api_key: ${KEY}
  headers:
    Authorization: Bearer ${TOKEN}
    X-Api-Key: literal-secret
    X-Team: blue
    X-From-Variable: ${TEAM}
    Cookie: sid=literal-cookie
    Proxy-Authorization: Basic half-secret-${TEAM}
  extra_body: {top_k: 20, nested: {flag: true, list: [1, a, 2.5], none: null}, api_key: body-secret, from: "${TEAM}"}
  tls: {insecure: true, ca_cert: ca.pem, client_cert: me.pem}
  stream: false
  timeouts: {header: 5s, first_token: 10s, idle: 3s, total: 30s}
load_profile:
  rate: 2.5
  arrival: gamma(0.5)
  max_concurrency: 8
  total_requests: 100
  duration: 1m30s
  warmup: 0s
  drain: 10s
  max_tokens_total: 1000000
  max_spend: 1.5
  retries: {max: 2, outcomes: [rejected, timeout], backoff: 1s, max_wait: 20s}
  max_error_rate: 0.25
  context_distribution: {weights: [1, 3], token_counts: [100, 200]}
workload: {preset: chat, output: "uniform(10,20)"}
generation: {preset: product, temperature: 0, top_p: 0.5, seed: -4, stop: ["END", "$${x}"]}
server: {sim: {gpu: H200, tp: 2}}
telemetry: {metrics_url: "http://h:9/m?token=metrics-secret", interval: 2s, scrape: true, accelerator: "dcgm=http://h:8/m?token=device-secret"}
sla_thresholds: {p99_ttft_ms: 500, p999_e2e_ms: 9000, mean_tpot_ms: 30, min_throughput_tps: 45,
  max_kv_cache_mb_per_request: 1024, max_error_rate: 0.01, min_good_fraction: 0.99, max_cost_per_1m_output_tokens: 3}
metrics: {percentiles: [99.9, 50], track_prefill: true, track_decode: false, kv_cache_estimation: true, output_format: text}
optimizations: {speculative_decoding: true, prefix_caching: false, chunked_prefill: true, dynamic_batching: true}
cost: {per_1m_prompt_tokens: 0.25, per_1m_output_tokens: 1.25, per_hour: 12, currency: EUR}
metadata: {label: night, note: "the key is key-from-variable", hardware: 8xH200, precision: 8, rack: r7}
seed: 0
`

var secretEnv = map[string]string{"KEY": "key-from-variable", "TOKEN": "token-from-variable", "TEAM": "team-from-variable"}

func TestResolvedPlanLoadsAgain(t *testing.T) {
	t.Parallel()
	plans := map[string]Input{
		"nothing":       {Seed: 3},
		"closed loop":   {Flags: flags("--concurrency=4", "--requests=10")},
		"odd model":     {Flags: flags("--model=llama-3.1-70b", "--gpu=H200", "--tp=8", "--max-num-seqs=64", "--enable-chunked-prefill=false")},
		"fixed lengths": {Flags: flags("--workload=fixed(64,100)", "--url=http://h", "--no-stream", "--slo=ttft:p99<500ms")},
		"telemetry":     {Flags: flags("--url=http://h", "--metrics-url=http://h:9/m", "--metrics-url=http://i:9/m", "--telemetry-interval=5s", "--accelerator=ssh gpu1 nvidia-smi")},
		"no telemetry":  {Flags: flags("--url=http://h", "--no-telemetry")},
		"seed template": {PlanPath: "testdata/benchmark-config.yaml", LookupEnv: env(map[string]string{"INFERENCE_API_KEY": "k-123456"})},
	}
	for name, in := range plans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := mustResolve(t, in)
			text := must.Get(first.YAML())(t)
			again, err := Resolve(Input{PlanPath: writePlan(t, string(text)), LookupEnv: in.LookupEnv, Seed: 99})
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if diff := cmp.Diff(first, again, sameConfig); diff != "" {
				t.Errorf("%s\n%s", diff, text)
			}
		})
	}
}

// How one answer is shown is no part of its plan; what the plan itself says of
// it stays.
func TestFormatOfTheAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		plan, flag string
		json       bool   // this answer
		kept       string // in the resolved plan
	}{
		{"{}", "", false, ""},
		{"{}", "--json", true, ""},
		{"metrics: {output_format: json}", "", true, "json"},
		{"metrics: {output_format: json}", "--json=false", false, "json"},
		{"metrics: {output_format: text}", "--json", true, "text"},
	} {
		in := Input{PlanPath: writePlan(t, tt.plan)}
		if tt.flag != "" {
			in.Flags = flags(tt.flag)
		}
		c := mustResolve(t, in)
		if c.Output.JSON != tt.json || c.Metrics.OutputFormat != tt.kept {
			t.Errorf("%s %s: JSON %t and %q, want %t and %q", tt.plan, tt.flag, c.Output.JSON, c.Metrics.OutputFormat, tt.json, tt.kept)
		}
	}
}

// A plan with secrets comes back without those that were written out: it cannot
// be run so, but a report reads it, and it is the same plan from then on.
func TestEverythingLoadsAgain(t *testing.T) {
	t.Parallel()
	in := Input{PlanPath: writePlan(t, everything), LookupEnv: env(secretEnv)}
	first := must.Get(mustResolve(t, in).YAML())(t)
	c := newConfig()
	path := writePlan(t, string(first))
	must.Do(t, c.load(path, first, in.LookupEnv))
	must.Do(t, c.complete(Input{LookupEnv: in.LookupEnv}))
	second := must.Get(c.YAML())(t)
	expect.Same(t, string(first), string(second))
}

func TestSecretsAreGone(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{PlanPath: writePlan(t, everything), LookupEnv: env(secretEnv)})
	text := must.Get(c.YAML())(t)
	data := must.Get(json.Marshal(c.RedactedMap()))(t)
	for _, secret := range []string{"key-from-variable", "token-from-variable", "team-from-variable", "literal-secret",
		"literal-cookie", "half-secret", "hidden-query", "body-secret", "metrics-secret", "device-secret"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the resolved plan shows %s", secret)
		}
		if strings.Contains(string(data), secret) {
			t.Errorf("the resolved data shows %s", secret)
		}
	}
	provider, _ := c.RedactedMap()["provider"].(map[string]any)
	got := []any{provider["api_key"], provider["api_endpoint"], provider["headers"]}
	want := []any{
		"${KEY}",
		[]any{"http://box:8000/v1?api-version=2&api_key=***", "http://other:8000/v1"},
		map[string]any{"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "***", "X-Team": "blue",
			"X-From-Variable": "${TEAM}", "Cookie": "***", "Proxy-Authorization": "***"},
	}
	expect.Same(t, want, got)
}

func TestCleanURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://box:8000/v1":             "http://box:8000/v1",
		"http://user:pass@box/v1":        "http://box/v1",
		"http://user:pa ss@box/v1":       "***@box/v1",
		"https://h/v1?api-version=2":     "https://h/v1?api-version=2",
		"https://h/v1?sig=abc&a=b":       "https://h/v1?sig=***&a=b",
		"https://h/v1?subscription-key=": "https://h/v1?subscription-key=***",
	} {
		if got := cleanURL(text); got != want {
			t.Errorf("cleanURL(%q) is %s, want %s", text, got, want)
		}
	}
}

func TestKeysAreWrittenAsTheirVariables(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   Input
		want any
	}{
		{"named by flag", Input{Flags: flags("--url=http://h", "--api-key-env=MINE"), LookupEnv: env(map[string]string{"MINE": "secret-1"})}, "${MINE}"},
		{"default of the API", Input{Flags: flags("--url=http://h"), LookupEnv: env(map[string]string{"OPENAI_API_KEY": "secret-1"})}, "${OPENAI_API_KEY}"},
		{"written out", Input{PlanPath: writePlan(t, "provider: {api_endpoint: 'http://h', api_key: secret-1}")}, "***"},
		{"partly written out", Input{PlanPath: writePlan(t, "provider: {api_endpoint: 'http://h', api_key: 'sk-${REST}'}"), LookupEnv: env(map[string]string{"REST": "1"})}, "***"},
		{"none", Input{Flags: flags("--url=http://h")}, nil},
	}
	for _, tt := range tests {
		provider, _ := mustResolve(t, tt.in).RedactedMap()["provider"].(map[string]any)
		if got := provider["api_key"]; got != tt.want {
			t.Errorf("%s: api_key is %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The judge model has a key and an address of its own, which are as secret as
// the server's.
func TestJudgeKeepsItsSecrets(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"${JUDGE_KEY}": "${JUDGE_KEY}", "written-out-key": "***", "half-${JUDGE_KEY}": "***"} {
		c := mustResolve(t, Input{
			PlanPath: writePlan(t, `quality: {golden: builtin, judge: {url: "http://j:1/v1?tenant=7&token=query-secret", model: m,
  prompt: "Not judge-secret nor written-out-key.", api_key: "`+key+`"}}`),
			LookupEnv: env(map[string]string{"JUDGE_KEY": "judge-secret"}),
		})
		text := must.Get(c.YAML())(t)
		for _, secret := range []string{"query-secret", c.Quality.Judge.APIKey} {
			if strings.Contains(string(text), secret) {
				t.Errorf("the resolved plan shows %s:\n%s", secret, text)
			}
		}
		block, _ := c.RedactedMap()["quality"].(map[string]any)
		judge, _ := block["judge"].(map[string]any)
		if got := []any{judge["api_key"], judge["url"]}; !cmp.Equal(got, []any{want, "http://j:1/v1?tenant=7&token=***"}) {
			t.Errorf("%s: judge is %v", key, got)
		}
	}
}

func TestJudgeIsAskedOverHTTP(t *testing.T) {
	t.Parallel()
	_, err := Resolve(Input{PlanPath: writePlan(t, "quality: {golden: builtin, judge: {url: 'unix:/run/j.sock', model: m}}"), LookupEnv: env(nil)})
	if err == nil || !strings.Contains(err.Error(), "quality.judge.url: expected a URL that begins with http") {
		t.Errorf("says %v", err)
	}
}

// A secret is taken out wherever else it turns up, and nothing but it.
func TestSecretsAreFoundElsewhere(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{
		PlanPath: writePlan(t, `
provider: {api_endpoint: "http://h/${PATH_TOKEN}/v1", api_key: "${KEY}", headers: {Authorization: "Bearer ${KEY}-longer"}}
workload: chat
metadata: {note: "uses path-token-7 and the-key-1 and the-key-1-longer", label: "${PLACE}"}
`),
		LookupEnv: env(map[string]string{"PATH_TOKEN": "path-token-7", "KEY": "the-key-1", "PLACE": "berlin"}),
	})
	provider, _ := c.RedactedMap()["provider"].(map[string]any)
	got := []any{provider["api_endpoint"], c.RedactedMap()["metadata"]}
	want := []any{[]any{"http://h/***/v1"}, map[string]any{"note": "uses *** and *** and ***", "label": "berlin"}}
	expect.Same(t, want, got)
	c = mustResolve(t, Input{Flags: flags("--url=http://h", "--api-key-env=K", "--workload=summarization"), LookupEnv: env(map[string]string{"K": "summarization"})})
	if got := c.RedactedMap()["workload"]; got != "summarization" {
		t.Errorf("the workload became %v because the key is the same word", got)
	}
}

// A header's template must not outlive the value that it made.
func TestOverriddenHeaderIsNotShownAsItsOldTemplate(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{
		PlanPath:  writePlan(t, "provider: {headers: {X-Team: '${TEAM}'}}"),
		LookupEnv: env(secretEnv),
		Flags:     flags("--header=X-Team=green"),
	})
	provider, _ := c.RedactedMap()["provider"].(map[string]any)
	expect.Same(t, map[string]any{"X-Team": "green"}, provider["headers"])
}

func TestReopenNeedsNoVariable(t *testing.T) {
	t.Parallel()
	first := mustResolve(t, Input{PlanPath: "testdata/benchmark-config.yaml", LookupEnv: env(map[string]string{"INFERENCE_API_KEY": "k-123456"})})
	text := must.Get(first.YAML())(t)
	path := must.File(t, "plan.yaml", text)
	again := must.Get(Reopen(path))(t)
	again.Provider.APIKey = first.Provider.APIKey
	expect.Same(t, first, again, sameConfig)
}
