package peer

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"redline/internal/drive/table"
)

// llmperf is LLMPerf's token_benchmark_ray.py.
var llmperf = &Peer{
	Name: "LLMPerf", Version: "2024-12",
	Commands: []string{"token_benchmark_ray.py"},
	Flags: []Flag{
		flag(One, "model", "", "model"),
		amount(One, "mean-input-tokens", "550", "workload"),
		flag(One, "stddev-input-tokens", "150", "workload"),
		amount(One, "mean-output-tokens", "150", "workload"),
		flag(One, "stddev-output-tokens", "80", "workload"),
		amount(One, "num-concurrent-requests", "10", "concurrency"),
		amount(One, "timeout", "90", "duration"),
		amount(One, "max-num-completed-requests", "10", "requests"),
		flag(One, "additional-sampling-params", "{}", "extra-body"),
		flag(One, "results-dir", "", "out"),
		flag(One, "llm-api", "openai", "api"),
		flag(One, "metadata", "", "note"),
		idle(None, "prompts are not kept", "log-prompts")[0],
	},
	Plans: llmperfPlans,
	Close: llmperfTable,
	Files: llmperfFiles,
}

func llmperfPlans(v *Values) ([]Plan, error) {
	p := &Plan{}
	if api := v.text("llm-api"); api != "openai" {
		v.refuse("llm-api", "redline speaks openai of these")
	}
	base := v.env("OPENAI_API_BASE")
	if base == "" {
		v.refuse("llm-api", "the variable OPENAI_API_BASE is not set (export OPENAI_API_BASE=http://localhost:8000/v1)")
	}
	p.set("url", endpoint(address(base, "", ""), "chat/completions"))
	p.setIf("model", v.text("model"))
	p.block("prompt", around(v.number("mean-input-tokens"), v.number("stddev-input-tokens")),
		"output", around(v.number("mean-output-tokens"), v.number("stddev-output-tokens")), "natural", "true")
	p.offer(0, 0, v.count("num-concurrent-requests"), v.count("max-num-completed-requests"))
	p.set("duration", strconv.Itoa(v.count("timeout"))+"s")
	p.set("seed", "11111")
	p.extend(v.object("additional-sampling-params"))
	p.note("tokens are the server's own count; LLMPerf counts with the tokenizer of a Llama")
	p.finish()
	return []Plan{*p}, v.err
}

// llmperfFigure is one of LLMPerf's figures, in seconds or tokens.
type llmperfFigure struct {
	key string
	of  func(*table.Request) (float64, bool)
}

var llmperfFigures = []llmperfFigure{
	{"inter_token_latency_s", func(q *table.Request) (float64, bool) {
		// The sum of all gaps, that before the first token too, by tokens.
		if q.Out == 0 {
			return 0, true
		}
		return q.Latency / float64(q.Out), true
	}},
	{"ttft_s", ttft},
	{"end_to_end_latency_s", whole},
	{"request_output_throughput_token_per_s", func(q *table.Request) (float64, bool) { return float64(q.Out) / max(q.Whole, 1e-9), true }},
	{"number_input_tokens", inputs},
	{"number_output_tokens", outputs},
}

var llmperfQuantiles = []float64{25, 50, 75, 90, 95, 99}

func llmperfTable(v *Values, runs []*Run) string {
	var b strings.Builder
	r := runs[0]
	fmt.Fprintf(&b, "\\Results for token benchmark for %s queried with the %s api.\n\n", r.Model, v.text("llm-api"))
	for _, f := range llmperfFigures {
		s := r.Each(f.of)
		fmt.Fprintln(&b, f.key)
		for _, p := range llmperfQuantiles {
			fmt.Fprintf(&b, "    p%s = %v\n", number(p), s.At(p))
		}
		fmt.Fprintf(&b, "    mean = %v\n    min = %v\n    max = %v\n    stddev = %v\n", s.Mean(), s.Min(), s.Max(), s.Deviation(1))
	}
	completed, failed, _, out := r.Counts()
	fmt.Fprintf(&b, "Number Of Errored Requests: %d\n", failed)
	fmt.Fprintf(&b, "Overall Output Throughput: %v\n", r.PerSecond(float64(out)))
	fmt.Fprintf(&b, "Number Of Completed Requests: %d\n", completed)
	fmt.Fprintf(&b, "Completed Requests Per Minute: %v\n", 60*r.PerSecond(float64(completed)))
	return b.String()
}

var notWord = regexp.MustCompile(`[^\w\d-]+`)

func llmperfFiles(v *Values, runs []*Run) ([]File, error) {
	dir := v.text("results-dir")
	if dir == "" {
		return nil, v.err
	}
	r := runs[0]
	name := notWord.ReplaceAllString(fmt.Sprintf("%s_%s_%s", r.Model, v.text("mean-input-tokens"), v.text("mean-output-tokens")), "-")
	name = regexp.MustCompile(`-{2,}`).ReplaceAllString(name, "-")
	summary, err := json.MarshalIndent(llmperfSummary(v, r, name+"_summary"), "", "    ")
	if err != nil {
		return nil, err
	}
	each, err := json.MarshalIndent(llmperfResponses(r), "", "    ")
	if err != nil {
		return nil, err
	}
	return []File{{Path: filepath.Join(dir, name+"_summary.json"), Content: summary},
		{Path: filepath.Join(dir, name+"_individual_responses.json"), Content: each}}, v.err
}

func llmperfSummary(v *Values, r *Run, name string) any {
	var o object
	completed, failed, _, out := r.Counts()
	o.put("version", "2023-08-31")
	o.put("name", name)
	o.put("model", r.Model)
	for _, key := range []string{"mean-input-tokens", "stddev-input-tokens", "mean-output-tokens", "stddev-output-tokens", "num-concurrent-requests"} {
		o.put(strings.ReplaceAll(key, "-", "_"), v.count(key))
	}
	for _, f := range llmperfFigures {
		s, key := r.Each(f.of), "results_"+f.key
		for _, p := range llmperfQuantiles {
			o.put(key+"_quantiles_p"+number(p), s.At(p))
		}
		o.put(key+"_mean", s.Mean())
		o.put(key+"_min", s.Min())
		o.put(key+"_max", s.Max())
		o.put(key+"_stddev", s.Deviation(1))
	}
	o.put("results_num_requests_started", len(r.Requests))
	o.put("results_error_rate", float64(failed)/float64(max(1, len(r.Requests))))
	o.put("results_number_errors", failed)
	o.put("results_error_code_frequency", llmperfErrors(r))
	o.put("results_mean_output_throughput_token_per_s", r.PerSecond(float64(out)))
	o.put("results_num_completed_requests", completed)
	o.put("results_num_completed_requests_per_min", 60*r.PerSecond(float64(completed)))
	o.put("timestamp", r.Started.Unix())
	for pair := range strings.SplitSeq(v.text("metadata"), ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			o.put(key, value)
		}
	}
	return &o
}

// llmperfErrors is a Python dictionary of error codes, as LLMPerf writes it.
func llmperfErrors(r *Run) string {
	count := map[int]int{}
	var codes []string
	for i := range r.Requests {
		if q := &r.Requests[i]; !q.OK {
			if count[q.Status]++; count[q.Status] == 1 {
				codes = append(codes, strconv.Itoa(q.Status))
			}
		}
	}
	for i, c := range codes {
		n, _ := strconv.Atoi(c)
		codes[i] = fmt.Sprintf("%s: %d", c, count[n])
	}
	return "{" + strings.Join(codes, ", ") + "}"
}

func llmperfResponses(r *Run) []any {
	return makeList(len(r.Requests), func(i int) any {
		q, o := &r.Requests[i], object{}
		o.put("error_code", nil)
		o.put("error_msg", "")
		if !q.OK {
			o.put("error_code", q.Status)
			o.put("error_msg", q.Error)
		}
		for _, f := range llmperfFigures[:4] {
			value, _ := f.of(q)
			o.put(f.key, value)
		}
		o.put("number_total_tokens", q.In+q.Out)
		o.put("number_output_tokens", q.Out)
		o.put("number_input_tokens", q.In)
		o.put("start_time", q.Start)
		return &o
	})
}
