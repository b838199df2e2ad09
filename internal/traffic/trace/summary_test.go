package trace

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

func TestSummaryOfAFewRows(t *testing.T) {
	t.Parallel()
	// Prompts of 10 to 50 tokens at 0, 1, 2, 4 and 120.5 seconds.
	path := must.File(t, "log.jsonl", strings.Join([]string{
		`{"ts":100,"prompt_tokens":10,"output_tokens":1,"session":"a","user":"u","model":"m","hash_ids":[1]}`,
		`{"ts":101,"prompt_tokens":20,"output_tokens":2,"session":"a","user":"v","model":"m","hash_ids":[1,2]}`,
		`{"ts":102,"prompt_tokens":30,"output_tokens":3,"session":"b","user":"v","model":"m","hash_ids":[3]}`,
		`{"ts":104,"prompt_tokens":40,"output_tokens":4,"model":"n","hash_ids":[1,2]}`,
		`{"ts":220.5,"prompt_tokens":50,"output_tokens":5,"hash_ids":[]}`,
	}, "\n"))
	got := must.Get(Summarize(open(t, path, Options{Format: "jsonl"})))(t)
	number := func(x float64) *float64 { return &x }
	want := &Summary{
		Format: "jsonl", Requests: 5, Span: number(120.5), Rate: number(round(5/120.5, 4)),
		// Type 7: p90 of five is 0.6 of the way from the fourth to the fifth.
		Prompt: Percentiles{P50: 30, P90: 46, P95: 48, P99: 49.6, Max: 50, Mean: 30},
		Output: Percentiles{P50: 3, P90: 4.6, P95: 4.8, P99: 4.96, Max: 5, Mean: 3},
		PromptHistogram: []Bucket{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 4}, {From: 4, To: 8}, {8, 16, 0.2}, {16, 32, 0.4},
			{From: 32, Share: 0.4}},
		OutputHistogram: []Bucket{{From: 0, To: 1}, {1, 2, 0.2}, {2, 4, 0.4}, {From: 4, Share: 0.4}},
		// Four of 120 seconds have one request; of two minutes one has four.
		Dispersion1s:  number(round((4.0/120-4.0/120*4.0/120)*120/119/(4.0/120), 4)),
		Dispersion60s: number(8.0 / 2),
		// Of 150 tokens half of the second prompt and all of the fourth.
		Prefix:   &Sharing{Share: round(50.0/150, 4), Requests: 0.4, Groups: 1},
		Sessions: 2, Tenants: 2, Classes: 2,
	}
	expect.NoDiff(t, cmp.Diff(want, got), "summary (-want +got)")
}

func TestSummaryOfALogWithoutTimes(t *testing.T) {
	t.Parallel()
	s := must.Get(Summarize(open(t, must.File(t, "lengths.csv", "input_tokens,output_tokens\n1,2\n"), Options{})))(t)
	if s.Span != nil || s.Rate != nil || s.Dispersion1s != nil || s.Dispersion60s != nil || s.Prefix != nil {
		t.Errorf("figures of times or prefixes that are not there: %+v", s)
	}
}

func TestTheConversationTraceOfAzure(t *testing.T) {
	t.Parallel()
	w, s := fitLog(t, FitOptions{}, traces(t, "azure-2023-conv.csv"))
	document := must.Get(json.Marshal(s))(t)
	for _, part := range []string{`"requests":19366,`, `"prompt_tokens":{"p50":1020,"p90":2734.5,"p95":4083,"p99":4142,"max":14050,`,
		`"output_tokens":{"p50":129,"p90":424,"p95":451,"p99":601,"max":1000,`} {
		if !strings.Contains(string(document), part) {
			t.Errorf("no %s in %s", part, document)
		}
	}
	checkLengths(t, w, s)
	checkDispersion(t, w, s)
}

func TestTheCodeTraceOfAzure(t *testing.T) {
	t.Parallel()
	w, s := fitLog(t, FitOptions{}, traces(t, "azure-2023-code.csv"))
	checkLengths(t, w, s)
	checkDispersion(t, w, s)
}

func TestTheConversationTraceOfMooncake(t *testing.T) {
	t.Parallel()
	w, s := fitLog(t, FitOptions{}, traces(t, "mooncake-conversation-3000.jsonl"))
	checkLengths(t, w, s)
	checkDispersion(t, w, s)
	if s.Requests != 3000 || s.Prefix == nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "steps of about 3s") {
		t.Errorf("%d requests, prefix %+v, notes %q", s.Requests, s.Prefix, s.Notes)
	}
}
