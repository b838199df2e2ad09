package adopt

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/drive/table"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/peer/imported"
	"redline/internal/store"
)

func keep(t *testing.T, r *table.Run) *result.Result {
	t.Helper()
	hold := &store.Hold{Command: "redline import", Say: t.Logf}
	defer hold.Release()
	dir := filepath.Join(t.TempDir(), "run")
	must.Get2(Keep(r, Options{File: "f", Dir: dir, Now: time.Unix(1e9, 0), Hold: hold}))(t)
	d := must.Get(store.Open(dir))(t)
	res := must.Get(d.Result())(t) // as it is read again
	return res
}

// file gives the runs of a file that the real peer wrote.
func file(t *testing.T, name string) []*table.Run {
	t.Helper()
	content := must.Read(t, filepath.Join("..", "..", "peer", "testdata", "files", name))
	runs := must.Get(imported.Import(content))(t)
	return runs
}

// near compares with a figure of the peer, to the six digits that a result keeps.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4*math.Abs(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The peer's own figures are found again from the single requests of its file.
func TestFiguresOfRealFilesAreFoundAgain(t *testing.T) {
	res := keep(t, file(t, "aiperf-0.13.0.jsonl")[0])
	p := res.Points[0]
	sum := file(t, "aiperf-0.13.0.json")[0].Figures
	near(t, "AIPerf ttft mean", p.Latency.TTFT.Mean, sum.TTFT.Mean)
	near(t, "AIPerf ttft p50", p.Latency.TTFT.P["p50"], sum.TTFT.P["p50"])
	near(t, "AIPerf ttft p99", p.Latency.TTFT.P["p99"], sum.TTFT.P["p99"])
	near(t, "AIPerf itl mean, our tpot", p.Latency.TPOT.Mean, sum.TPOT.Mean)
	near(t, "AIPerf latency p99", p.Latency.E2E.P["p99"], sum.E2E.P["p99"])
	if p.Requests.OK != sum.OK || p.Tokens.Output != sum.Out || p.Tokens.Prompt != sum.In {
		t.Errorf("%d ok, %d and %d tokens, want %d, %d and %d", p.Requests.OK, p.Tokens.Prompt, p.Tokens.Output, sum.OK, sum.In, sum.Out)
	}

	var doc struct {
		Benchmarks []struct {
			Metrics map[string]struct {
				Successful struct{ Mean, Median, Max float64 }
			}
		}
	}
	content, err := os.ReadFile("../../peer/testdata/files/guidellm-0.8.1.json")
	if err == nil {
		err = json.Unmarshal(content, &doc)
	}
	must.Do(t, err)
	res = keep(t, file(t, "guidellm-0.8.1.json")[0])
	p, of := res.Points[0], doc.Benchmarks[0].Metrics
	// Its times are seconds since 1970 in a float: they end at a microsecond.
	near(t, "GuideLLM ttft mean", p.Latency.TTFT.Mean, of["time_to_first_token_ms"].Successful.Mean)
	near(t, "GuideLLM ttft max", p.Latency.TTFT.Max, of["time_to_first_token_ms"].Successful.Max)
	near(t, "GuideLLM itl mean, our tpot", p.Latency.TPOT.Mean, of["inter_token_latency_ms"].Successful.Mean)
	if p.Latency.ITL != nil || p.Latency.Stall != nil {
		t.Error("GuideLLM keeps no times of single tokens, but there is an itl or a stall")
	}
	if *p.Load.Concurrency != 4 || res.Model.Name != "llama-3.1-8b" {
		t.Errorf("load %v, model %s", p.Load, res.Model.Name)
	}
}

// What a file does not say is not known: no check of the client passes.
func TestNothingIsClaimed(t *testing.T) {
	for _, name := range []string{"aiperf-0.13.0.jsonl", "aiperf-0.13.0.json", "guidellm-0.8.1.json"} {
		res := keep(t, file(t, name)[0])
		if len(res.Verdict.Checks) != 0 || len(res.Verdict.Unchecked) == 0 || len(res.Unknown) == 0 {
			t.Errorf("%s: checks %v, unchecked %v, unknown %v", name, res.Verdict.Checks, res.Verdict.Unchecked, res.Unknown)
		}
		if !strings.Contains(res.Note, "imported from") {
			t.Errorf("%s: note %q", name, res.Note)
		}
	}
}

// The load, the API and the counts are those that the file states, and not known where
// it does not.
func TestWhatAFileStates(t *testing.T) {
	for _, tt := range []struct {
		name, content      string
		mode, arrival, api string
		rate               float64
		limit, peak, gaps  int
	}{
		{name: "vLLM at a rate", mode: "open", arrival: "gamma(0.5)", api: "openai-completions", rate: 3, peak: 10, gaps: 60,
			content: `{"backend":"openai","request_throughput":3,"completed":40,"failed":0,"duration":12,"request_rate":3,"burstiness":0.5,"max_concurrency":null,"max_concurrent_requests":10,
				"total_output_tokens":100,"mean_ttft_ms":5,"mean_itl_ms":4,"p99_itl_ms":6,"mean_e2el_ms":50}`},
		{name: "vLLM, all at once", mode: "closed", api: "openai-chat", limit: 40,
			content: `{"backend":"openai-chat","request_throughput":3,"completed":40,"failed":0,"duration":12,"request_rate":"inf","max_concurrency":null,"mean_ttft_ms":5}`},
		{name: "SGLang", mode: "capped", arrival: "Poisson", api: "sglang-generate", rate: 2, limit: 8,
			content: `{"backend":"sglang","total_input_text_tokens":9,"request_throughput":2,"completed":4,"duration":2,"request_rate":2,"max_concurrency":8,"mean_ttft_ms":5}`},
		{name: "GuideLLM", mode: "open", arrival: "constant", rate: 3, peak: 1,
			content: `{"metadata":{},"benchmarks":[{"start_time":1,"duration":2,"config":{"strategy":{"type_":"constant","rate":3,"max_concurrency":64}},"requests":{"successful":[
				{"prompt_tokens":9,"output_tokens":5,"info":{"timings":{"request_start":1,"first_token_iteration":1.5,"last_token_iteration":2,"request_end":2}}}]}}]}`},
		{name: "inference-perf, single requests", mode: result.NotKnown, peak: 2, gaps: 2,
			content: `[{"start_time":5,"end_time":7,"error":null,"info":{"response_metrics":{"output_tokens":2,"output_token_times":[6,7]}}},
				{"start_time":6,"end_time":9,"error":null,"info":{"response_metrics":{"output_tokens":2,"output_token_times":[7,8]}}}]`},
	} {
		res := keep(t, must.Get(imported.Import([]byte(tt.content)))(t)[0])
		p := res.Points[0]
		rate, limit, gaps := 0.0, 0, 0
		if p.Load.Rate != nil {
			rate = *p.Load.Rate
		}
		if p.Load.Concurrency != nil {
			limit = *p.Load.Concurrency
		}
		if p.Latency.ITL != nil {
			gaps = p.Latency.ITL.N
		}
		got := fmt.Sprint(p.Load.Mode, res.Workload.Arrival, res.Engine.API, rate, limit, p.Concurrency.Max, gaps)
		if want := fmt.Sprint(tt.mode, tt.arrival, tt.api, tt.rate, tt.limit, tt.peak, tt.gaps); got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
		for _, w := range res.Warnings {
			if strings.Contains(w.Text, "tokenizer") {
				t.Errorf("%s: no tokenizer had a part in it: %s", tt.name, w.Text)
			}
		}
		if v, said := p.Latency.TTFT.Statistic("max"); said != (v >= p.Latency.TTFT.Mean) || res.Plan["workload"] != nil {
			t.Errorf("%s: made up: a ttft of %v ms at most, plan %v", tt.name, v, res.Plan)
		}
	}
}
