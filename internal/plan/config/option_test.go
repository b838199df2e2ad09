package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples holds a value for each option that is not its default.
var samples = map[string][]string{
	"url": {"http://a", "http://b"}, "api": {"anthropic-messages"}, "model": {"m"}, "api-key-env": {"NAME"},
	"header": {"A=b", "C=d"}, "extra-body": {`{"top_k":20}`}, "insecure": {"true"}, "ca-cert": {"a.pem"},
	"client-cert": {"b.pem"}, "timeout": {"1m30s"}, "header-timeout": {"5s"}, "first-token-timeout": {"10s"}, "idle-timeout": {"2s"}, "no-stream": {"true"},
	"catalog": {"a.yaml", "b/config.json"}, "metrics-url": {"http://a:9/m", "http://b:9/m"}, "telemetry-interval": {"5s"}, "no-telemetry": {"true"}, "engine-log": {"kubectl logs -f vllm-0"}, "accelerator": {"ssh gpu1 nvidia-smi"},
	"rate": {"2.5"}, "at-once": {"true"}, "pace": {"1s"}, "prefix": {"512"}, "prefix-groups": {"8"}, "arrival": {"constant"}, "concurrency": {"8"}, "agents": {"8"}, "working-set": {"8..64"}, "kv-offloading-size": {"4"}, "eviction-policy": {"mru"}, "reset-cache": {"true"}, "idle-cap": {"10s"}, "images": {"1080p:0.3,512x512:0.7 count=uniform(1,4)"}, "limit-mm-per-prompt": {"4"}, "max-pixels": {"1000000"}, "encoder-cache-size": {"4096"}, "overflow": {"skip"}, "agents-from": {"start"}, "rules": {"agentx"}, "history": {"live"}, "time-scale": {"0.5"}, "requests": {"60"}, "duration": {"5s"},
	"warmup": {"2s"}, "drain": {"3s"}, "plain": {"true"}, "max-retries": {"3"}, "cancel": {"0.1"}, "at": {"1s: true"}, "cancel-after": {"tokens(20)"}, "max-error-rate": {"0.5"}, "max-spend": {"1.5"}, "max-tokens-total": {"1000"},
	"tools": {"fixed(8)"}, "tools-file": {"tools.json"}, "tool-tokens": {"fixed(120)"}, "tool-share": {"0.5"}, "tool-sets": {"3"}, "tool-choice": {"required"},
	"schemas": {"10"}, "schemas-file": {"schemas.json"}, "schema-tokens": {"fixed(150)"}, "schema-share": {"0.5"}, "adapters": {"lora-1", "lora-2"}, "adapter-count": {"8"},
	"adapter-popularity": {"zipf(1)"}, "token-ids": {"true"}, "traceparent": {"true"}, "spread": {"sticky"}, "replica-header": {"X-Pod"}, "structured-error": {"0.1"}, "grammar-compile-time": {"20ms"},
	"scheduling-policy": {"priority"}, "lora-modules": {"lora-1", "lora-2"}, "max-loras": {"4"}, "lora-load-time": {"5ms"},
	"profile": {"ramp(1..50,5m)"}, "limit": {"22"},
	"workload": {"fixed(64,100)"}, "workload-format": {"azure"}, "column": {"output=o", "prompt=p"}, "skip-bad-rows": {"true"}, "sort": {"true"},
	"speedup": {"4"}, "from": {"10m0s"}, "for": {"5m0s"}, "loop": {"true"}, "cache": {"cold"}, "salt": {"s"}, "tokenizer": {"server"},
	"generation": {"product"}, "temperature": {"0"}, "top-p": {"0.9"},
	"gen-seed": {"-5"}, "stop": {"END", "a, b"}, "seed": {"7"},
	"engine":            {"engine.yaml"},
	"served-model-name": {"my-model"},
	"gpu":               {"H200"}, "tp": {"2"}, "max-num-seqs": {"16"}, "max-num-batched-tokens": {"2048"},
	"gpu-memory-utilization": {"0.8"}, "max-model-len": {"4096"}, "enable-prefix-caching": {"false"},
	"enable-chunked-prefill": {"true"}, "reasoning-tokens": {"5"}, "tool-calls": {"true"}, "tokens-per-chunk": {"4"},
	"net-delay": {"40ms"}, "replicas": {"4"}, "prefill": {"2"}, "decode": {"2"}, "router": {"prefix"}, "gateway-delay": {"3ms"}, "failover": {"5s"}, "kv-transfer-rate": {"50"}, "slow-replica": {"2:1.5", "0:2"}, "failing-replica": {"1:10%"}, "mbu": {"0.2"}, "rate-limit": {"5"}, "cold-start": {"20s"}, "num-gpu-blocks-override": {"500"}, "prefill-first": {"true"},
	"static-batching": {"true"}, "speculative-tokens": {"4"}, "speculative-acceptance": {"0.8"}, "speculative-context": {"8000"}, "speculative-draft-share": {"0.1"},
	"fault":        {"reset:2%", "429(2s):#5"},
	"quantization": {"int4"}, "answer-error": {"0.1"}, "answer-error-under-load": {"0.3"},
	"golden": {"questions.jsonl"}, "quality-threshold": {"overall>=0.95", "math>=0.8"}, "keep-text": {"true"},
	"rates": {"1,2.5,10"}, "percentiles": {"50,99.9"}, "metrics-listen": {":9464"}, "workers": {"4"}, "nats": {"nats://nats:4222"}, "nats-listen": {"0.0.0.0:4222"}, "workers-wait": {"2m0s"}, "otlp": {"http://localhost:4318"}, "concurrencies": {"1,2,4"}, "find-limit": {"true"}, "isolation": {"true"}, "sustained": {"2m0s"}, "thorough": {"true"},
	"budget": {"10m0s"}, "start": {"3"}, "ceiling": {"64"}, "repeat": {"3"}, "rounds": {"12"}, "cooldown": {"10s"}, "tolerance": {"0.1"},
	"toggle": {"prefix_caching", "chunked_prefill"}, "on-url": {"http://a:1"}, "off-url": {"http://b:1"},
	"accept": {"limit>20", "ttft:p95<1s"}, "scale": {"0.1"},
	"server-command": {"serve --port {port} -n {n}"}, "knob": {"n=1,8,64", "m=a,b"}, "objective": {"goodput", "ttft:p99"}, "server-port": {"9000"},
	"ready": {"/ready"}, "ready-timeout": {"2m0s"}, "side-by-side": {"true"}, "anyway": {"true"}, "strict": {"true"},
	"price-per-1m-prompt-tokens": {"0.15"}, "price-per-1m-cached-tokens": {"0.07"}, "price-per-1m-output-tokens": {"0.6"}, "price-per-hour": {"98.32"}, "price-per-gpu-hour": {"2.5"}, "price-gpu": {"H100"}, "reserved-per-gpu-hour": {"1.6"}, "price-per-kwh": {"0.3"}, "watts": {"5600"}, "gpus-per-instance": {"8"}, "utilization": {"0.6"},
	"slo": {"ttft:p99<500ms", "error:rate<1%"}, "label": {"night"}, "note": {"a note"}, "out": {"dir"},
	"max-duration": {"10m0s"}, "rare": {"2m0s"}, "confidence": {"0.99"}, "token-times": {"0.05"}, "check-text": {"true"},
	"force": {"true"}, "json": {"true"}, "dry-run": {"true"}, "quiet": {"true"}, "fail-on": {"missed,worse"}, "progress": {"line"}, "verbose": {"true"}, "explain": {"true"},
}

// Every option keeps what it is given, and gives nothing before.
func TestOptionsKeepTheirValues(t *testing.T) {
	t.Parallel()
	for i := range Options {
		o := &Options[i]
		if o.Flag == "plan" {
			continue
		}
		c := &Config{}
		if got := o.values(c); got != nil {
			t.Errorf("--%s is %q before it is set", o.Flag, got)
		}
		want, ok := samples[o.Flag]
		if !ok {
			t.Errorf("--%s has no sample value", o.Flag)
			continue
		}
		if err := o.Set(c, want); err != nil {
			t.Errorf("--%s: %v", o.Flag, err)
		}
		if diff := cmp.Diff(want, o.values(c)); diff != "" {
			t.Errorf("--%s: %s", o.Flag, diff)
		}
	}
}

func TestOptionTableIsConsistent(t *testing.T) {
	t.Parallel()
	keys := append(keysOf(reflect.TypeFor[Config](), ""), "metadata.label", "metadata.note")
	seen := map[string]bool{}
	for i := range Options {
		o := &Options[i]
		switch {
		case seen[o.Flag]:
			t.Errorf("--%s stands twice", o.Flag)
		case o.Key != "" && !slices.Contains(keys, o.Key):
			t.Errorf("--%s: the plan has no key %s", o.Flag, o.Key)
		case !slices.Contains(Groups, o.Group):
			t.Errorf("--%s: group %q is not listed", o.Flag, o.Group)
		case o.Kind == Bool != (o.Value == ""):
			t.Errorf("--%s: kind %s with value name %q", o.Flag, o.Kind, o.Value)
		case o.Help == "" || strings.HasSuffix(o.Help, "."):
			t.Errorf("--%s: help %q, want one without a full stop", o.Flag, o.Help)
		}
		seen[o.Flag] = true
		if o.set == nil {
			checkKind(t, o)
		}
	}
}

// checkKind holds an option's kind to the type of the field it is kept in.
func checkKind(t *testing.T, o *Option) {
	t.Helper()
	typ := lookUp(&Config{}, o.Key, true).Type()
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := Text
	switch {
	case typ.String() == "time.Duration":
		want = Duration
	case typ.Kind() == reflect.Bool:
		want = Bool
	case typ.Kind() == reflect.Float64:
		want = Float
	case typ.Kind() == reflect.Int, typ.Kind() == reflect.Int64, typ.Kind() == reflect.Uint64:
		want = Int
	}
	if o.Kind != want {
		t.Errorf("--%s is of kind %s, but %s is a %s", o.Flag, o.Kind, o.Key, typ)
	}
}

func TestVariablesAreNamedAfterFlags(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for i := range Options {
		got[Options[i].Flag] = Options[i].Env()
	}
	for flag, want := range map[string]string{"rate": "REDLINE_RATE", "max-spend": "REDLINE_MAX_SPEND", "force": ""} {
		if got[flag] != want {
			t.Errorf("--%s is the variable %q, want %q", flag, got[flag], want)
		}
	}
}

func TestSwitchesUnderstandShells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "1": true, "true": true, "yes": true, "ON": true, "0": false, "false": false, "no": false} {
		c := mustResolve(t, Input{Flags: map[string][]string{"quiet": {text}}})
		if c.Output.Quiet != want {
			t.Errorf("--quiet=%s is %t, want %t", text, c.Output.Quiet, want)
		}
	}
}
