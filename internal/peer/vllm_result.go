package peer

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// vllmFigure is one of the latencies of vLLM's table.
type vllmFigure struct {
	key, name, header string
	of                func(*Run) series
	showMax           bool // is shown too
}

var vllmFigures = []vllmFigure{
	{"ttft", "TTFT", "Time to First Token", func(r *Run) series { return r.each(ttft) }, false},
	{"tpot", "TPOT", "Time per Output Token (excl. 1st token)", func(r *Run) series { return r.each(tpot) }, false},
	{"itl", "ITL", "Inter-token Latency", (*Run).gaps, false},
	{"e2el", "E2EL", "End-to-end Latency", func(r *Run) series { return r.each(latency) }, false},
	{"client_queue_time", "Client Queue Time", "Client-side Queueing", func(r *Run) series { return r.each(queue) }, false},
}

// vllmShown are the figures that were asked for.
func vllmShown(v *Values) []vllmFigure {
	asked := v.text("percentile-metrics")
	if asked == "" {
		asked = "ttft,tpot,itl"
	}
	words := strings.Split(strings.ReplaceAll(asked, " ", ""), ",")
	for _, word := range words {
		if !slices.ContainsFunc(vllmFigures, func(f vllmFigure) bool { return f.key == word }) {
			v.fail("percentile-metrics", "ttft, tpot, itl, e2el or client_queue_time, with commas between them")
		}
	}
	return slices.DeleteFunc(slices.Clone(vllmFigures), func(f vllmFigure) bool { return !slices.Contains(words, f.key) })
}

// percents are the percentiles that were asked for.
func (v *Values) percents(name string) (list []float64) {
	for word := range strings.SplitSeq(v.text(name), ",") {
		p, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			v.fail(name, "percentages such as 50,99")
			return nil
		}
		list = append(list, p)
	}
	return list
}

// good counts the requests that keep all limits, given in milliseconds.
func (r *Run) good(limits [][2]string) int {
	n := 0
	for q := range r.ok() {
		keeps := true
		for _, l := range limits {
			limit, _ := strconv.ParseFloat(l[1], 64)
			figure := map[string]float64{"ttft": q.TTFT, "tpot": q.TPOT(), "e2el": q.Latency}[l[0]]
			keeps = keeps && 1000*figure <= limit
		}
		if keeps {
			n++
		}
	}
	return n
}

func row(b *strings.Builder, label string, value any) {
	format := "%-40s %-10v\n"
	if _, fraction := value.(float64); fraction {
		format = "%-40s %-10.2f\n"
	}
	fmt.Fprintf(b, format, label, value)
}

// titleRule is a title within a rule, fifty columns wide.
func titleRule(title string, with string) string {
	left := (50 - len(title)) / 2
	return strings.Repeat(with, max(0, left)) + title + strings.Repeat(with, max(0, 50-len(title)-left)) + "\n"
}

func vllmTable(v *Values, runs []*Run) string {
	var b strings.Builder
	r := runs[0]
	completed, failed, in, out := r.counts()
	b.WriteString(titleRule(" Serving Benchmark Result ", "="))
	row(&b, "Successful requests:", completed)
	row(&b, "Failed requests:", failed)
	if v.Given("max-concurrency") {
		row(&b, "Maximum request concurrency:", v.count("max-concurrency"))
	}
	if rate := v.number("request-rate"); !math.IsInf(rate, 1) {
		row(&b, "Request rate configured (RPS):", rate)
	}
	row(&b, "Benchmark duration (s):", r.Duration)
	row(&b, "Total input tokens:", in)
	row(&b, "Total generated tokens:", out)
	row(&b, "Request throughput (req/s):", r.per(float64(completed)))
	if v.Given("goodput") {
		row(&b, "Request goodput (req/s):", r.per(float64(r.good(v.pairs("goodput", ":")))))
	}
	events, requests := r.peaks()
	row(&b, "Output token throughput (tok/s):", r.per(float64(out)))
	row(&b, "Peak output token throughput (tok/s):", events)
	row(&b, "Peak concurrent requests:", requests)
	row(&b, "Total token throughput (tok/s):", r.per(float64(in+out)))
	latencyRows(&b, r, vllmShown(v), v.percents("metric-percentiles"))
	b.WriteString(strings.Repeat("=", 50) + "\n")
	return b.String()
}

// latencyRows are the rows of each latency, in ms, as vLLM and SGLang print them.
// Of the gaps SGLang shows the longest too.
func latencyRows(b *strings.Builder, r *Run, figures []vllmFigure, percents []float64) {
	for _, f := range figures {
		s := f.of(r).times(1000)
		b.WriteString(titleRule(f.header, "-"))
		row(b, "Mean "+f.name+" (ms):", s.mean())
		row(b, "Median "+f.name+" (ms):", s.at(50))
		for _, p := range percents {
			row(b, "P"+number(p)+" "+f.name+" (ms):", s.at(p))
		}
		if f.showMax {
			row(b, "Max "+f.name+" (ms):", s.max())
		}
	}
}

// latencyKeys are the same in a result file.
func latencyKeys(o *object, r *Run, figures []vllmFigure, percents []float64) {
	for _, f := range figures {
		s := f.of(r).times(1000)
		o.put("mean_"+f.key+"_ms", s.mean())
		o.put("median_"+f.key+"_ms", s.at(50))
		o.put("std_"+f.key+"_ms", s.deviation(0))
		for _, p := range percents {
			o.put("p"+number(p)+"_"+f.key+"_ms", s.at(p))
		}
	}
}

// requestLists are the lengths and times of single requests in a result file.
func requestLists(o *object, r *Run) {
	n := len(r.Requests)
	o.put("input_lens", makeList(n, func(i int) int { return r.Requests[i].In }))
	o.put("output_lens", makeList(n, func(i int) int { return r.Requests[i].okOut() }))
	o.put("ttfts", makeList(n, func(i int) float64 { return r.Requests[i].TTFT }))
	o.put("itls", makeList(n, func(i int) []float64 { return append([]float64{}, r.Requests[i].Gaps...) }))
}

// requestTexts are what single requests said, which is not kept, and their errors.
func requestTexts(o *object, r *Run) {
	n := len(r.Requests)
	o.put("generated_texts", makeList(n, func(int) string { return "" }))
	o.put("errors", makeList(n, func(i int) string { return r.Requests[i].failure() }))
}

func vllmFiles(v *Values, runs []*Run) ([]File, error) {
	if !v.on("save-result") && !v.on("append-result") {
		return nil, v.err
	}
	r := runs[0]
	content, err := json.Marshal(vllmResult(v, r))
	if err != nil {
		return nil, err
	}
	name := v.text("result-filename")
	if name == "" {
		name = vllmFileName(v, r)
	}
	f := File{Path: filepath.Join(v.text("result-dir"), name), Content: content}
	if v.on("append-result") {
		f.Append, f.Content = true, append([]byte("\n"), content...)
	}
	return []File{f}, v.err
}

// pythonFloat writes a number as Python does: 5 is 5.0, infinity inf.
func pythonFloat(v float64) string {
	if math.IsInf(v, 1) {
		return "inf"
	}
	if v == math.Trunc(v) {
		return number(v) + ".0"
	}
	return number(v)
}

func vllmFileName(v *Values, r *Run) string {
	label := v.text("label")
	if label == "" {
		label = v.text("backend")
	}
	load := pythonFloat(v.number("request-rate")) + "qps"
	if s := v.text("ramp-up-strategy"); s != "" {
		load = fmt.Sprintf("ramp-up-%s-%dqps-%dqps", s, v.count("ramp-up-start-rps"), v.count("ramp-up-end-rps"))
	}
	if v.Given("max-concurrency") {
		load += "-concurrency" + v.text("max-concurrency")
	}
	return fmt.Sprintf("%s-%s-%s-%s.json", label, load, filepath.Base(r.Model), r.Started.Format("20060102-150405"))
}

// vllmResult is vLLM's result document of a run. Prompts and texts are not kept.
func vllmResult(v *Values, r *Run) any {
	var o object
	o.put("date", r.Started.Format("20060102-150405"))
	o.put("endpoint_type", v.text("backend"))
	o.put("backend", v.text("backend"))
	o.put("label", orNone(v.text("label")))
	o.put("model_id", r.Model)
	o.put("tokenizer_id", r.Model)
	o.put("num_prompts", v.count("num-prompts"))
	for _, pair := range v.pairs("metadata", "=") {
		o.put(pair[0], pair[1])
	}
	o.put("request_rate", rateOrInf(v.number("request-rate")))
	o.put("burstiness", v.number("burstiness"))
	o.put("max_concurrency", orNone(v.count("max-concurrency")))
	if s := v.text("ramp-up-strategy"); s != "" {
		o.put("ramp_up_strategy", s)
		o.put("ramp_up_start_rps", v.count("ramp-up-start-rps"))
		o.put("ramp_up_end_rps", v.count("ramp-up-end-rps"))
	}
	vllmFiguresOf(&o, v, r)
	return &o
}

// orNone is null where nothing is given.
func orNone[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

func rateOrInf(rate float64) any {
	if math.IsInf(rate, 1) {
		return "inf"
	}
	return rate
}

func vllmFiguresOf(o *object, v *Values, r *Run) {
	completed, failed, in, out := r.counts()
	o.put("duration", r.Duration)
	o.put("completed", completed)
	o.put("failed", failed)
	o.put("total_input_tokens", in)
	o.put("total_output_tokens", out)
	o.put("request_throughput", r.per(float64(completed)))
	o.put("request_goodput", nil)
	if v.Given("goodput") {
		o.put("request_goodput", r.per(float64(r.good(v.pairs("goodput", ":")))))
	}
	o.put("output_throughput", r.per(float64(out)))
	o.put("total_token_throughput", r.per(float64(in+out)))
	n := len(r.Requests)
	if v.on("save-detailed") {
		requestLists(o, r)
	}
	o.put("latencies", makeList(n, func(i int) float64 { return r.Requests[i].Latency }))
	if v.on("save-detailed") {
		o.put("start_times", makeList(n, func(i int) float64 { return r.Requests[i].Start }))
	}
	o.put("queue_times", makeList(n, func(i int) float64 { return r.Requests[i].Queue }))
	if v.on("save-detailed") {
		requestTexts(o, r)
	}
	events, requests := r.peaks()
	o.put("max_output_tokens_per_s", events)
	o.put("max_concurrent_requests", int(requests))
	o.put("rtfx", 0.0)
	latencyKeys(o, r, vllmShown(v), v.percents("metric-percentiles"))
}

// okOut is 0 for a request that failed, as vLLM counts.
func (q *Request) okOut() int {
	if !q.OK {
		return 0
	}
	return q.Out
}

// failure is "" for a request that succeeded.
func (q *Request) failure() string {
	if q.OK {
		return ""
	}
	return q.Error
}

// ExportVLLM is vLLM's result file of a run that was not asked for in its words.
func ExportVLLM(r *Run, api string) ([]byte, error) {
	args := []string{"--save-detailed", "--num-prompts", strconv.Itoa(len(r.Requests)), "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,95,99"}
	if api == "openai-chat" {
		args = append(args, "--backend", api)
	}
	if r.Rate > 0 {
		args = append(args, "--request-rate", number(r.Rate))
	}
	if r.MaxInFlight > 0 {
		args = append(args, "--max-concurrency", strconv.Itoa(r.MaxInFlight))
	}
	if r.Label != "" {
		args = append(args, "--label", r.Label)
	}
	v, err := vllm.Parse(args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(vllmResult(v, r))
}
