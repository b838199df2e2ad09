package result

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// A result of the first form is read as one of this form that says the same.
func TestReadTheFirstForm(t *testing.T) {
	t.Parallel()
	first := `{"schema":"redline/result/1","id":"a","plan":{"firm":"stays"},
		"points":[{"name":"x","probe":true,"latency":{"ttft_ms":{"n":3,"mean":1.25,"p50":1,"max":2,"firm":["p50"]}},
			"objectives":[{"objective":"ttft:p99<1s","standing":"met","limit":1000}]}],
		"limit":{"rate":12.5,"standing":"found"}}`
	r := must.Get(Read([]byte(first)))(t)
	p := r.Points[0]
	if r.Schema != Schema || !p.Probe || p.Objectives[0].Standing != slo.Met || r.Limit.Standing != LimitFound || !p.Latency.TTFT.IsFirm("p50") {
		t.Errorf("read %+v", r)
	}
	if r.Plan["firm"] != "stays" {
		t.Errorf("the plan has other names: %v", r.Plan)
	}
	again := must.Get(json.Marshal(r))(t)
	second := must.Get(Read(again))(t)
	expect.NoDiff(t, cmp.Diff(r, second), "written and read again it differs (-first +second)")
}

// What decided a condition had the name that its verdict has now.
func TestReadAConditionOfTheFirstForm(t *testing.T) {
	t.Parallel()
	out := must.Get(upgrade([]byte(`{"schema":"redline/result/1","protocol":{"acceptance":{"standing":"not met","conditions":[{"text":"a","standing":"met","outcome":"12"}]}}}`)))(t)
	if want := `"conditions":[{"figure":"12","outcome":"met","text":"a"}],"outcome":"not met"`; !strings.Contains(string(out), want) {
		t.Errorf("%s lacks %s", out, want)
	}
}

func TestReadRefusesOthers(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{`{"schema":"redline/result/9"}`: "redline/result/9", `[]`: "not a result", `{`: "not a result"} {
		if _, err := Read([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", content, err, want)
		}
	}
}
