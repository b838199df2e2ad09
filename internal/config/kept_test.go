package config

import (
	"slices"
	"strings"
	"testing"
)

// TestSecretsOfABody: what a body's keys call secret is hidden, however deep,
// and what a template only names is not.
func TestSecretsOfABody(t *testing.T) {
	t.Parallel()
	c, err := Resolve(Input{Flags: map[string][]string{"url": {"http://h:1"}, "extra-body": {`{"auth":{"api_key":"deep-secret-1"},"top_k":5}`}}})
	if err != nil {
		t.Fatal(err)
	}
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
	c, err = Resolve(Input{PlanPath: plan, LookupEnv: env(map[string]string{"MY_KEY": "from-env-3"})})
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"plain-secret-2", "from-env-3"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the plan shows %s:\n%s", secret, text)
		}
	}
	if !strings.Contains(string(text), "${MY_KEY}") || !strings.Contains(string(text), "token_name") {
		t.Errorf("the plan lost what is no secret:\n%s", text)
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
