package config

import (
	"strings"
	"testing"

	"redline/internal/must"
)

// TestKeysOfALaunchedServer: what stands in its command or its variables is in
// no plan that is kept, and is masked wherever the server prints it.
func TestKeysOfALaunchedServer(t *testing.T) {
	t.Parallel()
	const plan = `
server:
  command: login --secret=first-literal; HF_TOKEN='hf-literal' serve ${MODEL} --port {port} --api-key sk-literal --auth-token=$THEIR_TOKEN --n {n}
  env: {SOME_KEY: env-literal}
tune: {knobs: [{name: n, baseline: 1, values: [2]}]}
load_profile: {rate: 1}
`
	c := must.Get(Resolve(Input{PlanPath: writePlan(t, plan), LookupEnv: env(map[string]string{"MODEL": "some-model"})}))(t)
	kept := must.Get(c.YAML())(t)
	printed := c.MaskText("started with first-literal, hf-literal, sk-literal, env-literal")
	if printed != "started with ***, ***, ***, ***" {
		t.Errorf("the server's log says %q", printed)
	}
	for _, secret := range []string{"first-literal", "hf-literal", "sk-literal", "env-literal"} {
		if strings.Contains(string(kept), secret) {
			t.Errorf("%s is in the plan that is kept:\n%s", secret, kept)
		}
	}
	for _, name := range []string{"${MODEL}", "$THEIR_TOKEN", "{port}"} {
		if !strings.Contains(string(kept), name) {
			t.Errorf("%s is no secret, but gone:\n%s", name, kept)
		}
	}
}
