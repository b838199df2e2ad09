package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// planOf is a plan with one setting.
func planOf(key string, values []string) []byte {
	value := values[0]
	if len(values) > 1 {
		value = "['" + strings.Join(values, "', '") + "']"
	}
	parts := strings.Split(key, ".")
	return []byte(strings.Join(parts, ": {") + ": " + value + strings.Repeat("}", len(parts)-1) + "\n")
}

// A setting can be written under the name of its flag, and is the same then.
func TestAPlanTakesTheNamesOfFlags(t *testing.T) {
	t.Parallel()
	for i := range Options {
		o := &Options[i]
		if o.Also == "" {
			continue
		}
		var got [2][]string
		for j, key := range []string{o.Key, o.Also} {
			c := newConfig()
			if err := c.load("plan.yaml", planOf(key, samples[o.Flag]), noEnv); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			got[j] = o.values(c)
			if _, known := c.places[o.Key]; !known {
				t.Errorf("%s: %s has no place", key, o.Key)
			}
		}
		if diff := cmp.Diff(got[0], got[1]); diff != "" || got[0] == nil {
			t.Errorf("%s and %s differ: %s", o.Key, o.Also, diff)
		}
		if flag := strings.ReplaceAll(o.Flag, "-", "_"); !strings.HasSuffix("."+o.Also, "."+flag) {
			t.Errorf("%s is not called as --%s", o.Also, o.Flag)
		}
	}
}
