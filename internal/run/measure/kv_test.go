package measure

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// Every record says what its request took in the cache: 128 KiB a token of this
// model, and half of that where the cache is kept in eight bits.
func TestEveryRecordHasItsCache(t *testing.T) {
	for _, tt := range []struct {
		name, model, kv string
		perToken        int
	}{
		{"by the model's name", "meta-llama/Llama-3.1-8B-Instruct", "bf16", 2 * 32 * 8 * 128 * 2},
		{"in the precision that is stated", "llama-3.1-8b", "fp8", 32 * 8 * 128 * 2},
		{"left out where the shape is not known", "our-own", "bf16", 0},
	} {
		flags := map[string][]string{"url": {"http://sim"}, "model": {tt.model}, "rate": {"5"}, "arrival": {"constant"}, "requests": {"20"},
			"warmup": {"0s"}, "workload": {"fixed(100,10)"}}
		plan := must.File(t, "plan.yaml", "metadata: {kv_precision: "+tt.kv+"}\n")
		runVirtualOn(t, sim.Spec{Model: "llama-3.1-8b", GPU: "H100"}, flags, plan, func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
			n := 0
			for rec, err := range dir.Records() {
				must.Do(t, err)
				if rec.First > 0 {
					n++
				}
				if want := (rec.PromptTokens + rec.OutputTokens) * tt.perToken; rec.KVBytes != want {
					t.Errorf("%s: %d bytes for %d + %d tokens, want %d", tt.name, rec.KVBytes, rec.PromptTokens, rec.OutputTokens, want)
				}
			}
			if known := res.Points[0].KV != nil; n < 20 || known != (tt.perToken > 0) {
				t.Errorf("%s: %d records, a cache in the result: %v", tt.name, n, known)
			}
		})
	}
}

// An objective on a cache of unknown shape beside others is said not to be judged,
// and the others are. Where the server shows no metrics either, nothing could ever
// judge it: it is skipped, and the others decide. Metrics that were not asked for are
// not missing.
func TestAnUnknownCacheIsLeftUnjudged(t *testing.T) {
	for _, tt := range []struct {
		flag, value string
		skipped     bool
		whole       slo.Standing
	}{{"metrics-url", "http://sim/metrics", false, slo.Undecided}, {"no-telemetry", "true", false, slo.Undecided}, {"metrics-url", "http://sim/none", true, slo.Met}} {
		flags := map[string][]string{"url": {"http://sim"}, "model": {"claude-sonnet-4-20250514"}, "rate": {"5"}, "arrival": {"constant"}, "requests": {"20"},
			"warmup": {"0s"}, "workload": {"fixed(100,10)"}, "slo": {"ttft:mean<10s", "kv:max<1024MB"}, tt.flag: {tt.value}}
		runVirtualOn(t, sim.Spec{Model: "llama-3.1-8b", GPU: "H100"}, flags, "", func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
			for i, want := range []slo.Standing{slo.Met, slo.NotJudged} {
				if got := res.Points[0].Objectives[i]; got.Standing != want {
					t.Errorf("%s: %s (%s), want %s", got.Objective, got.Standing, got.Note, want)
				}
			}
			if kv := res.Points[0].Objectives[1]; kv.Skipped != tt.skipped || strings.Contains(kv.Note, "skipped") != tt.skipped || res.Verdict.SLO != tt.whole {
				t.Errorf("--%s %s: %s (skipped: %v, %s), all together %s; want skipped: %v, %s", tt.flag, tt.value, kv.Objective, kv.Skipped, kv.Note, res.Verdict.SLO, tt.skipped, tt.whole)
			}
		})
	}
}

// An objective on a cache of unknown shape alone is refused before anything is asked.
func TestAnUnknownCacheIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/completions") {
			t.Errorf("%s was asked", r.URL)
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	cfg := must.Get(config.Resolve(config.Input{Flags: map[string][]string{"url": {server.URL}, "model": {"claude-sonnet-4-20250514"},
		"slo": {"kv:max<1024MB"}, "out": {t.TempDir() + "/run"}}, LookupEnv: func(string) (string, bool) { return "", false }}))(t)
	_, _, err := Run(t.Context(), Options{Config: cfg})
	const want = `kv:max<1024MB cannot be judged: the shape of the model "claude-sonnet-4-20250514" is not known: name its config.json with --catalog, or leave the objective out`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
