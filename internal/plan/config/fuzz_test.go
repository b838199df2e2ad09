package config

import (
	"errors"
	"strings"
	"testing"

	"redline/internal/must"
)

// A plan is a configuration or a mistake that one line explains; what is a
// configuration can be written and read again.
func FuzzPlan(f *testing.F) {
	template := must.Read(f, "testdata/benchmark-config.yaml")
	for _, text := range []string{string(template), everything, "", "seed: 1", "a: &a [*a]", "? {a: b}\n: c", "- - -",
		"provider: {api_endpoint: [http://[::1]:80, unix:x]}", "workload: {prompt: 5}", "sla_thresholds: [ttft:p99<1s]",
		"provider: |\n  text", "!!map {}", "%YAML 1.2\n---\nseed: 1", "metadata: {label: \"\\u2028\"}", "{", "a:\n- b\n c",
		"provider:\n  extra_body: {a: [{b: .inf}, ~, 0x1F, 1e3]}", "load_profile: {rate: .nan}"} {
		f.Add([]byte(text))
	}
	lookup := func(name string) (string, bool) {
		return "value-of-" + name, name != "NOPE" && !strings.HasPrefix(name, "REDLINE_")
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := fromBytes(data, lookup)
		if err != nil {
			checkOneLine(t, err)
			return
		}
		text, err := c.YAML()
		if err != nil {
			t.Fatalf("the resolved plan cannot be written: %v", err)
		}
		if _, err := fromBytes(text, lookup); err != nil {
			t.Fatalf("the resolved plan cannot be read again: %v\n%s", err, text)
		}
	})
}

func fromBytes(data []byte, lookup func(string) (string, bool)) (*Config, error) {
	c := newConfig()
	if err := c.load("plan.yaml", data, lookup); err != nil {
		return nil, err
	}
	return c, c.complete(Input{LookupEnv: lookup})
}

func checkOneLine(t *testing.T, err error) {
	t.Helper()
	var usage *Error
	if !errors.As(err, &usage) {
		t.Fatalf("got %T, want *Error", err)
	}
	if text := err.Error(); text == "" || strings.ContainsAny(text, "\r\n") {
		t.Fatalf("%q is not one line", text)
	}
}
