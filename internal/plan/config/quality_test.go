package config

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/must"
)

// Questions for a judge model are refused where there is none, before any is asked.
func TestAGoldenSetNeedsItsJudge(t *testing.T) {
	t.Parallel()
	set := filepath.Join(t.TempDir(), "golden.jsonl")
	must.Write(t, set, `{"id": "poem", "prompt": "A poem?", "expect": {"judge": "rhymes"}}`+"\n")
	_, err := Resolve(Input{Command: "run", PlanPath: writePlan(t, "quality: {golden: '"+set+"'}"), LookupEnv: noEnv})
	if err == nil || !strings.Contains(err.Error(), `asks a judge model ("rhymes"), but none is given: give quality.judge`) {
		t.Errorf("got %v", err)
	}
	must.Get(Resolve(Input{Command: "run", PlanPath: writePlan(t, "quality: {golden: '"+set+"', judge: {url: 'http://j:1', model: m}}"), LookupEnv: noEnv}))(t)
}
