package config

import (
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/text"
	"redline/internal/yaml"

	"github.com/google/go-cmp/cmp"
)

func planOf(key string, values []string) []byte {
	words := text.Each(values, func(value string) string {
		if strings.ContainsAny(value, "(, %#") || value[0] == ':' {
			return "'" + value + "'"
		}
		return value
	})
	value := words[0]
	if len(words) > 1 {
		value = "[" + strings.Join(words, ", ") + "]"
	}
	parts := strings.Split(key, ".")
	return []byte(strings.Join(parts, ": {") + ": " + value + strings.Repeat("}", len(parts)-1) + "\n")
}

// A setting can be written under the name of its flag, in its block or at the top
// of the plan, and is the same then. Two spellings of one setting are refused.
func TestAPlanTakesTheNamesOfFlags(t *testing.T) {
	t.Parallel()
	tops := map[string]bool{}
	for i := range Options {
		o := &Options[i]
		tops[o.Top()] = true
		flag := strings.ReplaceAll(o.Flag, "-", "_")
		for _, also := range []string{o.Also, o.Top()} {
			if also == "" {
				continue
			}
			if !strings.HasSuffix("."+also, "."+flag) {
				t.Errorf("%s is not called as --%s", also, o.Flag)
			}
			values := samples[o.Flag]
			if o.Flag == "rates" || o.Flag == "concurrencies" || o.Flag == "percentiles" {
				values = strings.Split(values[0], ",")
			}
			var got [2][]string
			for j, key := range []string{o.Key, also} {
				c := newConfig()
				if err := c.load("plan.yaml", planOf(key, values), noEnv); err != nil {
					t.Fatalf("%s: %v", key, err)
				}
				got[j] = o.values(c)
				if at := c.places[o.Key]; at.text != "plan.yaml:1" {
					t.Errorf("%s: %s is at %q", key, o.Key, at.text)
				}
			}
			if diff := cmp.Diff(got[0], got[1]); diff != "" || got[0] == nil {
				t.Errorf("%s and %s differ: %s", o.Key, also, diff)
			}
			if strings.Split(o.Key, ".")[0] == strings.Split(also, ".")[0] {
				continue // one block cannot stand twice
			}
			err := newConfig().load("plan.yaml", append(planOf(o.Key, values), planOf(also, values)...), noEnv)
			want := "plan.yaml:2: " + also + ": line 1 has the same setting as " + o.Key + "; keep one of the two"
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	for _, want := range []string{"url", "model", "rate", "concurrency", "requests", "duration", "warmup", "repeat", "rates", "gpu", "label"} {
		if !tops[want] {
			t.Errorf("%s cannot stand at the top of a plan", want)
		}
	}
}

// A plan at whose top only names of flags stand is a whole one.
func TestAFlatPlan(t *testing.T) {
	t.Parallel()
	c := newConfig()
	flat := "url: http://a\nmodel: m\nrate: 5\nrequests: 200\nworkload: chat\nload_profile:\n  warmup: 5s\nslo: ['ttft:p99<500ms']\n"
	must.Do(t, c.load("plan.yaml", []byte(flat), noEnv))
	deep := newConfig()
	must.Do(t, deep.load("plan.yaml", []byte("provider: {api_endpoint: http://a, model: m}\nload_profile: {rate: 5, total_requests: 200, warmup: 5s}\n"+
		"workload: chat\nsla_thresholds: ['ttft:p99<500ms']\n"), noEnv))
	expect.NoDiff(t, cmp.Diff(yaml.Encode(deep), yaml.Encode(c)), "differs from the same with blocks")
	for plan, want := range map[string]string{
		"rate: soon\n":                             "plan.yaml:1: rate: ",
		"url: http://a\nprovider: b":               "plan.yaml:2: provider: expected a block",
		"requests: 5\nload_profile: {requests: 6}": "plan.yaml:1: requests: line 2 has the same setting as load_profile.total_requests; keep one of the two",
	} {
		if err := newConfig().load("plan.yaml", []byte(plan), noEnv); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", plan, err, want)
		}
	}
}
