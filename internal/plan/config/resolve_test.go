package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/drive/client"
	"redline/internal/drive/load"
	"redline/internal/expect"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/traffic/workload"
)

// env gives a lookup over a literal environment.
func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// writePlan puts a plan into a file named plan.yaml and gives its path.
func writePlan(t *testing.T, text string) string {
	t.Helper()
	path := must.File(t, "plan.yaml", text)
	return path
}

// flags reads "--rate=5 --json" into what a command line would give.
func flags(words ...string) map[string][]string {
	out := map[string][]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(strings.TrimPrefix(w, "--"), "=")
		out[name] = append(out[name], value)
	}
	return out
}

func mustResolve(t *testing.T, in Input) *Config {
	t.Helper()
	c := must.Get(Resolve(in))(t)
	return c
}

// sameConfig compares what two configurations say, not where it was said.
var sameConfig = cmpopts.IgnoreUnexported(Config{})

func TestTemplateLoadsUnchanged(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{
		PlanPath:  "testdata/benchmark-config.yaml",
		LookupEnv: env(map[string]string{"INFERENCE_API_KEY": "sk-very-secret"}),
		Seed:      9,
	})
	if got := c.Mode(); got != Closed {
		t.Errorf("mode is %s, want %s", got, Closed)
	}
	if c.Embedded() {
		t.Error("the embedded engine is the target, want the endpoint")
	}
	wantProvider := client.Spec{
		Name:   "production-cluster-alpha",
		URLs:   []string{"https://api.provider.com/v1/messages"},
		API:    "anthropic-messages",
		Model:  "claude-sonnet-4-20250514",
		APIKey: "sk-very-secret",

		Timeouts: client.Timeouts{Total: 10 * time.Minute},
	}
	wantLoad := LoadProfile{
		Bounds: load.Spec{MaxConcurrency: 32, TotalRequests: 1000, Drain: new(time.Minute)},
		ContextDistribution: &workload.ContextDistribution{
			Weights:     []float64{0.15, 0.25, 0.30, 0.20, 0.10},
			TokenCounts: []int{512, 2048, 8192, 16384, 32768},
		},
	}
	wantObjectives := Objectives{
		{Metric: "e2e", Stat: "p95", P: 0.95, Limit: float64(1200 * time.Millisecond), Text: "e2e:p95<1200ms"},
		{Metric: "kv", Stat: "max", Limit: 1024, Text: "kv:max<1024MB"},
		{Metric: "throughput", Stat: "min", Above: true, Limit: 45, Text: "throughput:min>45"},
	}
	wantMetrics := Metrics{Percentiles: []float64{50, 95, 99}, TrackPrefill: new(true), TrackDecode: new(true),
		KVCacheEstimation: new(true), OutputFormat: "json"}
	wantOptimizations := Optimizations{SpeculativeDecoding: new(false), PrefixCaching: new(true),
		ChunkedPrefill: new(true), DynamicBatching: new(true)}
	for _, diff := range []string{
		cmp.Diff(wantProvider, c.Provider),
		cmp.Diff(wantLoad, c.Load),
		cmp.Diff(wantObjectives, c.Objectives, cmpopts.IgnoreFields(slo.Objective{}, "Text")),
		cmp.Diff(wantMetrics, c.Metrics),
		cmp.Diff(wantOptimizations, c.Optimizations),
		cmp.Diff(Output{JSON: true}, c.Output),
		cmp.Diff(uint64(9), c.Seed),
	} {
		if diff != "" {
			t.Error(diff)
		}
	}
}

func TestNothingGivenIsTheFirstRun(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{Seed: 7})
	if !c.Embedded() || c.Mode() != Open {
		t.Errorf("embedded %t, mode %s; want the embedded engine in an open loop", c.Embedded(), c.Mode())
	}
	got := []any{c.Load.Rate, c.Load.Process, c.Load.Bounds.Duration, c.Seed, c.Server.Sim.Model, c.Server.Sim.GPU, c.Server.Sim.TP}
	want := []any{10.0, "poisson", time.Minute, uint64(7), "llama-3.1-8b", "H100", 1}
	expect.Same(t, want, got)
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	const plan = "load_profile:\n  rate: 1\n"
	set := map[string]string{"REDLINE_RATE": "2"}
	tests := []struct {
		name string
		in   Input
		want float64
	}{
		{"nothing: the default", Input{}, 10},
		{"plan over default", Input{PlanPath: writePlan(t, plan)}, 1},
		{"environment over plan", Input{PlanPath: writePlan(t, plan), LookupEnv: env(set)}, 2},
		{"flag over environment", Input{PlanPath: writePlan(t, plan), LookupEnv: env(set), Flags: flags("--rate=3")}, 3},
		{"the last of two flags", Input{Flags: flags("--rate=3", "--rate=4")}, 4},
		{"an empty variable says nothing", Input{LookupEnv: env(map[string]string{"REDLINE_RATE": ""})}, 10},
	}
	for _, tt := range tests {
		if got := mustResolve(t, tt.in).Load.Rate; got != tt.want {
			t.Errorf("%s: rate %g, want %g", tt.name, got, tt.want)
		}
	}
}

func TestLoops(t *testing.T) {
	t.Parallel()
	tests := []struct {
		flags    []string
		mode     string
		rate     float64
		duration time.Duration
		requests int
	}{
		{nil, Open, 10, time.Minute, 0},
		{[]string{"--concurrency=8"}, Closed, 0, time.Minute, 0},
		{[]string{"--rate=5", "--concurrency=8"}, Capped, 5, time.Minute, 0},
		{[]string{"--requests=60"}, Open, 10, 0, 60},
		{[]string{"--requests=60", "--duration=5s"}, Open, 10, 5 * time.Second, 60},
		{[]string{"--rate=0.5", "--arrival=gamma(0.5)"}, Open, 0.5, time.Minute, 0},
	}
	for _, tt := range tests {
		c := mustResolve(t, Input{Flags: flags(tt.flags...)})
		got := []any{c.Mode(), c.Load.Rate, c.Load.Bounds.Duration, c.Load.Bounds.TotalRequests}
		expect.NoDiff(t, cmp.Diff([]any{tt.mode, tt.rate, tt.duration, tt.requests}, got), "%v", tt.flags)
	}
}

func TestAPIAndKey(t *testing.T) {
	t.Parallel()
	keys := map[string]string{"OPENAI_API_KEY": "open", "ANTHROPIC_API_KEY": "ant", "MINE": "my-own"}
	tests := []struct {
		flags    []string
		api, key string
	}{
		{[]string{"--url=http://h:8000"}, "openai-chat", "open"},
		{[]string{"--url=http://h:8000/v1"}, "openai-chat", "open"},
		{[]string{"--url=http://h/v1/completions"}, "openai-completions", "open"},
		{[]string{"--url=http://h/v1/messages"}, "anthropic-messages", "ant"},
		{[]string{"--url=http://h", "--api=anthropic-messages"}, "anthropic-messages", "ant"},
		{[]string{"--url=http://h", "--api-key-env=MINE"}, "openai-chat", "my-own"},
		{[]string{"--url=unix:/run/vllm.sock"}, "openai-chat", "open"},
		{nil, "openai-chat", ""},
	}
	for _, tt := range tests {
		c := mustResolve(t, Input{Flags: flags(tt.flags...), LookupEnv: env(keys)})
		if c.Provider.API != tt.api || c.Provider.APIKey != tt.key {
			t.Errorf("%v: API %s with key %q, want %s with %q", tt.flags, c.Provider.API, c.Provider.APIKey, tt.api, tt.key)
		}
	}
}

func TestVariablesExpand(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{
		PlanPath: writePlan(t, `
provider:
  api_endpoint: http://${HOST}:${PORT}/v1
  headers: {X-Team: "a $${b}"}
load_profile:
  rate: "${RATE}"
  duration: ${LONG}
seed: ${SEED}
`),
		LookupEnv: env(map[string]string{"HOST": "box", "PORT": "81", "RATE": "2.5", "LONG": "90s", "SEED": "12"}),
	})
	got := []any{c.Provider.URLs, c.Provider.Headers, c.Load.Rate, c.Load.Bounds.Duration, c.Seed}
	want := []any{[]string{"http://box:81/v1"}, map[string]string{"X-Team": "a ${b}"}, 2.5, 90 * time.Second, uint64(12)}
	expect.Same(t, want, got)
}

func TestRepeatedSettings(t *testing.T) {
	t.Parallel()
	plan := writePlan(t, "provider:\n  headers: {A: plan, B: plan}\nsla_thresholds: {p99_ttft_ms: 200}\n")
	c := mustResolve(t, Input{
		PlanPath: plan,
		Flags:    flags("--url=http://a", "--url=http://b", "--header=B=flag", "--slo=ttft:p99<500ms", "--slo=error:rate<1%"),
	})
	var texts []string
	for _, o := range c.Objectives {
		texts = append(texts, o.Text)
	}
	got := []any{c.Provider.URLs, c.Provider.Headers, texts}
	want := []any{[]string{"http://a", "http://b"}, map[string]string{"A": "plan", "B": "flag"}, []string{"ttft:p99<500ms", "error:rate<1%"}}
	expect.Same(t, want, got)
	lines := mustResolve(t, Input{LookupEnv: env(map[string]string{"REDLINE_URL": "http://a\nhttp://b\n"})})
	expect.Same(t, []string{"http://a", "http://b"}, lines.Provider.URLs)
}

func TestOptimizationsSetTheEmbeddedEngine(t *testing.T) {
	t.Parallel()
	plan := writePlan(t, "optimizations: {speculative_decoding: true, prefix_caching: false, chunked_prefill: true, dynamic_batching: false}\n")
	c := mustResolve(t, Input{PlanPath: plan})
	s := c.Server.Sim
	got := []any{*s.EnablePrefixCaching, *s.EnableChunkedPrefill, s.StaticBatching, s.Speculation.Tokens, s.Speculation.Acceptance}
	expect.Same(t, []any{false, true, true, 4, 0.7}, got)
	want := map[string]string{"speculative_decoding": "on, applied", "prefix_caching": "off, applied", "chunked_prefill": "on, applied", "dynamic_batching": "off, applied"}
	expect.Same(t, want, c.DeclaredOptimizations())
	c = mustResolve(t, Input{PlanPath: plan, Flags: flags("--enable-prefix-caching")})
	if got := []bool{*c.Server.Sim.EnablePrefixCaching, *c.Optimizations.PrefixCaching}; !got[0] || !got[1] {
		t.Errorf("a flag and the declaration are %v, want the flag to win and the declaration to follow", got)
	}
	c = mustResolve(t, Input{PlanPath: plan, Flags: flags("--url=http://h")})
	want = map[string]string{"speculative_decoding": "on, not verified", "prefix_caching": "off, not verified", "chunked_prefill": "on, not verified", "dynamic_batching": "off, not verified"}
	expect.Same(t, want, c.DeclaredOptimizations())
}

func TestErrorsAreUsage(t *testing.T) {
	t.Parallel()
	_, err := Resolve(Input{Flags: flags("--rate=ten")})
	var usage *Error
	if !errors.As(err, &usage) {
		t.Fatalf("got %T, want *Error", err)
	}
	expect.Same(t, &Error{Place: "--rate", What: `expected a number, got "ten"`}, usage)
}
