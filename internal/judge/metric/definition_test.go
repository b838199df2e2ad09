package metric

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestEveryLatencyIsDefined(t *testing.T) {
	t.Parallel()
	for field := range reflect.TypeFor[Latency]().Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		name, isTime := strings.CutSuffix(key, "_ms")
		if d, ok := Explain(name); !isTime || !ok || d.Formula == "" {
			t.Errorf("latency.%s has no definition", key)
		}
	}
	if _, ok := Explain("luck"); ok {
		t.Error("a name that no number has is explained")
	}
}

func TestDefinitionsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range Definitions {
		if seen[d.Name] {
			t.Errorf("%s is defined twice", d.Name)
		}
		seen[d.Name] = true
		if !strings.Contains(string(text), d.Name) {
			t.Errorf("docs/METRICS.md does not know %s", d.Name)
		}
	}
	for _, same := range []string{"ttft", "ttft_due", "ttfa", "tpot", "lag"} {
		d, _ := Explain(same)
		if !strings.Contains(string(text), d.Formula) {
			t.Errorf("docs/METRICS.md has another formula for %s than %q", same, d.Formula)
		}
	}
}

func TestEveryDistributionIsWalked(t *testing.T) {
	t.Parallel()
	var l Latency
	v := reflect.ValueOf(&l).Elem()
	for _, field := range v.Fields() {
		field.Set(reflect.ValueOf(&Dist{}))
	}
	walked := 0
	for name := range l.Each {
		if _, ok := Explain(name); !ok {
			t.Errorf("%s is walked and not defined", name)
		}
		walked++
	}
	if walked != v.NumField() {
		t.Errorf("%d of %d distributions are walked", walked, v.NumField())
	}
}
