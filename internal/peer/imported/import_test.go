package imported

import (
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"redline/internal/drive/table"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/peer"
	"redline/internal/run/adopt"
	"redline/internal/show/report"
	"redline/internal/store"
)

// Every file that redline writes in a peer's stead is read again, with the figures that were in
// it.
func TestFilesAreReadAgain(t *testing.T) {
	for _, c := range []struct {
		line    string
		file    int
		singles bool
	}{
		{"vllm bench serve --save-result --save-detailed", 0, true},
		{"vllm bench serve --save-result", 0, false},
		{"sglang.bench_serving --output-details", 0, false},
		{"sglang.bench_serving", 0, false},
		{"aiperf profile", 0, false},
		{"aiperf profile", 2, true},
		{"genai-perf profile", 0, false},
		{"genai-perf profile", 2, true},
		{"guidellm benchmark", 0, true},
		{"inference-perf --report.request_lifecycle.per_request true", 0, true},
		{"inference-perf", 1, false},
		{"token_benchmark_ray.py --results-dir d", 0, false},
		{"token_benchmark_ray.py --results-dir d", 1, true},
	} {
		p, rest := peer.Find(strings.Fields(c.line))
		v := must.Get(p.Parse(rest))(t)
		files := must.Get(p.Files(v, []*peer.Run{{Run: sample()}}))(t)
		runs, err := Import(files[c.file].Content)
		if err != nil {
			t.Errorf("%s: %s: %v", c.line, files[c.file].Path, err)
			continue
		}
		r := runs[0]
		if (r.Figures == nil) != c.singles || r.Source != p.Name {
			t.Errorf("%s: %s of %s has single requests: %t", c.line, files[c.file].Path, r.Source, r.Figures == nil)
			continue
		}
		got := 0.0
		for _, q := range r.Requests {
			if q.OK {
				got += 1000 * q.TTFT / 3
			}
		}
		if !c.singles {
			got = r.Figures.TTFT.Mean
		}
		if math.Abs(got-300) > 0.01 {
			t.Errorf("%s: %s has a mean ttft of %v ms, want 300", c.line, files[c.file].Path, got)
		}
		if missing := rowsMissing(t, r); len(missing) > 0 {
			t.Errorf("%s: %s: reports have no rows for %v", c.line, files[c.file].Path, missing)
		}
	}
}

// rowsMissing are the latencies of a result that a report of it has no row for.
func rowsMissing(t *testing.T, r *table.Run) (missing []string) {
	t.Helper()
	hold := &store.Hold{Command: "redline import", Say: t.Logf}
	defer hold.Release()
	res, _ := must.Get2(adopt.Keep(r, adopt.Options{File: "f", Dir: filepath.Join(t.TempDir(), "run"), Now: time.Unix(1e9, 0), Hold: hold}))(t)
	for format, write := range map[string]func(io.Writer, *result.Result) error{
		"terminal": func(w io.Writer, r *result.Result) error { return report.Terminal(w, r, report.TerminalOptions{}) },
		"explained": func(w io.Writer, r *result.Result) error {
			return report.Terminal(w, r, report.TerminalOptions{Explain: true})
		},
		"markdown": report.Markdown,
		"html":     report.HTML,
	} {
		var page strings.Builder
		must.Do(t, write(&page, res))
		for _, name := range []string{"ttft", "tpot", "itl", "e2e"} {
			row := regexp.MustCompile(`(?m)^(  |\| |<tr><th scope="row">)` + name + `( from (due|sent))?[^\w-].*\d`)
			if d := res.Points[0].Latency.JudgedDist(name); d != nil && d.N > 0 && !row.MatchString(page.String()) {
				missing = append(missing, format+": "+name)
			}
		}
	}
	return missing
}

func TestForeignFilesAreNamed(t *testing.T) {
	serving := func(more string) string {
		return `{"request_throughput":1,"completed":2,"duration":1,"mean_ttft_ms":5` + more + "}"
	}
	detailed := func(more string) string {
		return serving(`,"input_lens":[9,9],"output_lens":[2,2],"itls":[[0.1],[0.1]],"ttfts":` + more)
	}
	for content, want := range map[string]string{
		`{"a":1,"b":2}`:            "it has the keys a, b; import reads result files of vLLM",
		``:                         "holds no result: it is empty; import reads",
		`null`:                     "holds no result: it is empty; import reads",
		`[]`:                       "holds no result: it is empty; import reads",
		`{}`:                       "holds no result: it is empty; import reads",
		`[{}]`:                     "holds no result: it is empty; import reads",
		`[1]`:                      "expected an object, got a number",
		`{"a":`:                    "it ends early",
		"{\"a\":1}\n{\"b\":oops}":  "line 2: not JSON",
		serving(`,"x":[1,1e300]`):  "x[1]: 1e+300 is beyond any figure",
		serving(`,"x":1e999`):      "got the number 1e999",
		serving(`,"duration":-5`):  "vLLM: it lasts -5 s",
		serving(`,"completed":-2`): "less than no requests",
		detailed("[0.1,NaN]"):      "request 1: its time to first token is NaN s",
		detailed("[0.1,-3]"):       "request 1: its time to first token is -3 s",
		detailed("[0.1,1e12]"):     "request 1: its time to first token is 1e+12 s",
		`{"request_throughput":1,"completed":2,"duration":1,"input_lens":[9,1e12],"ttfts":[1,1]}`:     "request 1: it has 1000000000000 tokens",
		`{"aiperf_version":"7.0","request_throughput":{"avg":3}}`:                                     "recognized by its keys as a file of AIPerf 7.0, but",
		`{"metadata":{"guidellm_version":"9.9"},"benchmarks":[]}`:                                     "GuideLLM 9.9, but it has no benchmarks",
		`{"metadata":{},"benchmarks":[{"requests":{"successful":[{}]}}]}`:                             "no times of its requests",
		`{"experiments":[{"requests":[]}],"service_kind":"openai"}`:                                   "GenAI-Perf, but it has no single requests",
		`{"request_throughput":1,"completed":2,"duration":1,"mean_ttft_ms":NaN,"median_ttft_ms":NaN}`: "vLLM, but it has neither",
	} {
		if _, err := Import([]byte(content)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "peer.") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
}

// What a file has no number for is not known; it is not 0.
func TestNoNumberIsNotKnown(t *testing.T) {
	runs := must.Get(Import([]byte(`{"request_throughput":1,"completed":2,"duration":1,"request_rate":Infinity,"mean_ttft_ms":NaN,"p99_ttft_ms":-Infinity,
		"mean_tpot_ms":4,"median_tpot_ms":NaN,"p99_tpot_ms":NaN,"p90_tpot_ms":7}`)))(t)
	f := runs[0].Figures
	if f.TTFT != nil || f.TPOT.Mean != 4 || len(f.TPOT.P) != 1 || f.TPOT.P["p90"] != 7 || runs[0].Rate != 0 {
		t.Errorf("ttft %v, tpot %v, rate %v", f.TTFT, f.TPOT, runs[0].Rate)
	}
}

// sample is three replies, with a mean ttft of 300 ms, and a refusal.
func sample() *table.Run {
	reply := func(id int, start, first float64) table.Request {
		return table.Request{ID: id, Start: start, Due: start, TTFT: first, Latency: first + 0.03, Whole: first + 0.03, Gaps: []float64{0.01, 0.01, 0.01}, In: 10, Out: 4, OK: true, Streamed: true}
	}
	return &table.Run{Model: "org/m", Started: time.Unix(1.8e9, 0), Duration: 2, Requests: []table.Request{reply(0, 0, 0.1), reply(1, 0.5, 0.2), reply(2, 1, 0.6),
		{ID: 3, Start: 1.5, Due: 1.5, Outcome: "rejected", Error: "429", Status: 429}}}
}

// What a file does not say is refused, or known to be missing; nothing is made up.
func TestNothingIsMadeUp(t *testing.T) {
	t.Parallel()
	nvidia := func(more string) string {
		return `{"request_throughput":{"avg":2},"request_count":{"avg":20},"input_config":{"model_names":["org/m"],"perf_analyzer":{"stimulus":{"concurrency":4}}},"request_latency":` + more + `}`
	}
	record := `{"metadata":{"session_num":1,"turn_index":0,"x_request_id":"a","request_start_ns":5,"benchmark_phase":"profiling"},"metrics":{"request_latency":{"value":10,"unit":"ms"}}}` + "\n"
	serving := func(lists string) string {
		return `{"request_throughput":1,"completed":2,"duration":1,"mean_ttft_ms":5,"total_input_text_tokens":9,` + lists + "}"
	}
	for content, want := range map[string]string{
		nvidia(`{"avg":5,"unit":"furlongs"}`):           `request_latency has the unit "furlongs"`,
		nvidia(`{"avg":5,"unit":"ms","p50":-3}`):        "which cannot be",
		nvidia(`{"avg":5,"unit":"ms","p50":9,"p99":4}`): "which cannot be",
		record + record: "records 1 and 2 are of one request",
		serving(`"input_lens":[9,9],"ttfts":[0.1],"itls":[[],[]]`):    "ttfts has 1 values for 2 requests",
		serving(`"input_lens":[9,9],"output_lens":[2,2]`):             "ttfts has 0 values for 2 requests",
		`[{"ttft_s":0.1,"end_to_end_latency_s":1,"error_code":null}]`: "does not say when it began",
	} {
		if _, err := Import([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
	for unit, want := range map[string]float64{"ms": 5, "sec": 5000, "us": 0.005} {
		runs := must.Get(Import([]byte(nvidia(`{"avg":5,"unit":"` + unit + `"},"output_token_throughput":{"avg":546}`))))(t)
		if r := runs[0]; r.Figures.E2E.Mean != want || r.Figures.Out != 5460 || r.Model != "org/m" || r.MaxInFlight != 4 {
			t.Errorf("%s: %v ms, %d tokens of %s with %d in flight; want %v ms, 5460 tokens in 10 s of org/m with 4", unit, r.Figures.E2E.Mean, r.Figures.Out, r.Model, r.MaxInFlight, want)
		}
	}
	runs, err := Import([]byte(serving(`"input_lens":[9,9],"output_lens":[2,2],"ttfts":[0.1,0.3],"itls":[[0.1],[0.1]],"errors":["",""]`)))
	must.Do(t, err)
	if r := runs[0]; len(r.Requests) > 0 || math.Abs(r.Figures.E2E.Mean-300) > 1e-9 || math.Abs(r.Figures.TTFT.P["p50"]-200) > 1e-9 || r.Crowd() != 1 {
		t.Errorf("without start times: %d requests, %+v, %d in flight", len(r.Requests), r.Figures.E2E, r.Crowd())
	}
	runs, err = Import([]byte(`{"load_summary":{"requested_rate":8,"concurrency":3},"benchmark_time_seconds":4,"successes":{"count":32,"latency":{"request_latency":{"mean":1}}}}`))
	if err != nil || runs[0].MaxInFlight != 0 || runs[0].Rate != 8 {
		t.Errorf("an open loop is imported as %+v (%v)", runs, err)
	}
}

// A report of optimum-benchmark has two phases, one batch at a time.
func TestOptimumBenchmark(t *testing.T) {
	t.Parallel()
	runs := must.Get(Import([]byte(`{"config":{"backend":{"model":"org/m"}},"prefill":{"latency":{"unit":"s","count":10,"mean":0.1,"p50":0.1,"p99":0.2},"throughput":{"unit":"tokens/s","value":500}},
		"decode":{"latency":{"unit":"s","count":10,"mean":0.9,"p50":0.9},"throughput":{"unit":"tokens/s","value":20}},"per_token":{"latency":{"mean":0.05,"p50":0.05}}}`)))(t)
	r := runs[0]
	if r.Model != "org/m" || r.Duration != 10 || r.Figures.OK != 10 || r.Figures.In != 500 || r.Figures.Out != 180 || r.Crowd() != 1 {
		t.Errorf("%s: %v s, %+v, %d in flight; want 10 s, 10 requests with 500 and 180 tokens, one at a time", r.Model, r.Duration, r.Figures, r.Crowd())
	}
	if f := r.Figures; f.TTFT.P["p99"] != 200 || f.TPOT.Mean != 50 || f.E2E.Mean != 1000 || len(f.E2E.P) != 0 {
		t.Errorf("ttft %+v, tpot %+v, e2e %+v", f.TTFT, f.TPOT, f.E2E)
	}
	if _, err := Import([]byte(`{"prefill":{},"decode":{}}`)); err == nil {
		t.Error("an empty report is imported")
	}
}
