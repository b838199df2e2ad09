package config

import (
	"slices"
	"strings"
	"testing"

	"redline/internal/must"
)

// TestSecretsOfABody: what a body's keys call secret is hidden, however deep,
// and what a template only names is not.
func TestSecretsOfABody(t *testing.T) {
	t.Parallel()
	c := must.Get(Resolve(Input{Flags: map[string][]string{"url": {"http://h:1"}, "extra-body": {`{"auth":{"api_key":"deep-secret-1"},"top_k":5}`}}}))(t)
	if !slices.Contains(c.Secrets(), "deep-secret-1") {
		t.Errorf("secrets %q lack that of the body", c.Secrets())
	}
	plan := writePlan(t, `provider:
  api_endpoint: http://h:1/ask
  api: template
  template:
    body: '{"api_key": "plain-secret-2", "token_name": "x", "access_token": "${MY_KEY}", "prompt": "{{prompt}}"}'
    text: reply
`)
	c = must.Get(Resolve(Input{PlanPath: plan, LookupEnv: env(map[string]string{"MY_KEY": "from-env-3"})}))(t)
	text := must.Get(c.YAML())(t)
	for _, secret := range []string{"plain-secret-2", "from-env-3"} {
		if strings.Contains(string(text), secret) || !slices.Contains(c.Secrets(), secret) {
			t.Errorf("secrets %q, and the plan shows %s:\n%s", c.Secrets(), secret, text)
		}
	}
	if !strings.Contains(string(text), "${MY_KEY}") || !strings.Contains(string(text), "token_name") {
		t.Errorf("the plan lost what is no secret:\n%s", text)
	}
}

// TestSecretsFromEverywhere: whatever a plan and its surroundings hold of
// secrets is known, and what only looks like one is not.
func TestSecretsFromEverywhere(t *testing.T) {
	t.Parallel()
	plan := writePlan(t, `provider:
  api_endpoint: 'http://h:1/v1?sig=raw%2Fsig1&SIG=broken%zz2&api-version=2024&code=func-code-3'
  headers: {Authorization: Bearer header-4}
  extra_body: {credentials: {value: nested-5}, chat_template_kwargs: {x: harmless-body}}
telemetry: {metrics_url: 'http://h:1/metrics?token=metrics-6'}
workload: {preset: chat, tenants: [{name: a, api_key: tenant-key-7, headers: {X-Session-Token: tenant-head-8}}, {name: b}]}
quality: {golden: builtin, judge: {url: 'http://j:1?key=judge-query-9', model: m, api_key: judge-key-10}}
`)
	c := must.Get(Resolve(Input{PlanPath: plan, LookupEnv: env(map[string]string{"HTTP_PROXY": "http://user:proxy-pass-11@p:1"})}))(t)
	said := "raw%2Fsig1 raw/sig1 broken%zz2 func-code-3 header-4 nested-5 metrics-6 tenant-key-7 tenant-head-8 judge-query-9 judge-key-10 proxy-pass-11"
	for _, word := range strings.Fields(c.MaskText(said)) {
		if word != masked {
			t.Errorf("%s is shown", word)
		}
	}
	const harmless = "2024 harmless-body Bearer chat"
	if got := c.MaskText(harmless); got != harmless {
		t.Errorf("%s is hidden", got)
	}
	c = must.Get(Resolve(Input{Flags: map[string][]string{"url": {"http://h:1"}}, LookupEnv: env(map[string]string{"OPENAI_API_KEY": "ollama"})}))(t)
	if got := c.MaskText("ollama-chat of ollama"); got != "ollama-chat of ollama" {
		t.Errorf("a key that everybody has hides %s", got)
	}
}

// TestMasksAreNotSent: a plan that a run left behind lacks its secrets, and says
// so in place of sending the mask.
func TestMasksAreNotSent(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{
		"provider: {api_endpoint: http://h:1, api_key: '***'}\n",
		"provider: {api_endpoint: http://h:1, headers: {X-Auth: '***'}}\n",
		"provider: {api_endpoint: http://h:1, extra_body: {a: {api_key: '***'}}}\n",
		"provider: {api_endpoint: 'http://h:1?api_key=***'}\n",
		"workload: {tenants: [{name: a, api_key: '***'}, {name: b}]}\n",
		"workload: {classes: [{name: a, workload: chat, api_key: '***'}]}\n",
		"workload: {classes: [{name: a, workload: chat, body: {auth: {api_key: '***'}}}]}\n",
		"workload: {tenants: [{name: a, headers: {X-Auth: '***'}}, {name: b}]}\n",
		"quality: {golden: builtin, judge: {url: 'http://j:1', model: m, api_key: '***'}}\n",
		"server: {command: 'serve --port {port} --api-key ***'}\n",
	} {
		path := writePlan(t, plan)
		if _, err := Resolve(Input{PlanPath: path}); err == nil || !strings.Contains(err.Error(), "${NAME}") {
			t.Errorf("%s: %v, want a refusal with its cure", plan, err)
		}
		if _, err := Reopen(path); err != nil {
			t.Errorf("a report of %s needs no key, got %v", plan, err)
		}
	}
}

// TestSecretsOfClasses: what a class adds is as secret as what the provider has,
// by the tags of its fields, and what is none stays readable.
func TestSecretsOfClasses(t *testing.T) {
	t.Parallel()
	plan := writePlan(t, `provider: {api_endpoint: 'http://h:1'}
workload:
  classes:
    - {name: a, workload: chat, api_key: "${CLASS_KEY}", headers: {Authorization: Bearer class-head-1, X-Tier: gold}, body: {auth: {api_key: class-body-2}, top_k: 5}, adapter: lora-of-class-body-2}
    - {name: b, workload: chat, api_key: class-key-3}
`)
	c := must.Get(Resolve(Input{PlanPath: plan, LookupEnv: env(map[string]string{"CLASS_KEY": "class-env-4"})}))(t)
	kept := must.Get(c.YAML())(t)
	for _, secret := range []string{"class-head-1", "class-body-2", "class-key-3", "class-env-4"} {
		if strings.Contains(string(kept), secret) || !slices.Contains(c.Secrets(), secret) {
			t.Errorf("secrets %q, and the plan shows %s:\n%s", c.Secrets(), secret, kept)
		}
	}
	for _, harmless := range []string{"${CLASS_KEY}", "X-Tier: gold", "top_k: 5", "lora-of-***"} {
		if !strings.Contains(string(kept), harmless) {
			t.Errorf("%s is gone:\n%s", harmless, kept)
		}
	}
	whole, err := c.Whole()
	if err != nil || !strings.Contains(string(whole), "class-env-4") {
		t.Errorf("a worker's plan lacks the key (%v):\n%s", err, whole)
	}
}
