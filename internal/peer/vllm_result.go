package peer

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"redline/internal/drive/table"
)

// vllmFigure is one of the latencies of vLLM's table.
type vllmFigure struct {
	key, name, header string
	of                func(*Run) table.Series
	showMax           bool // is shown too
}

var vllmFigures = []vllmFigure{
	{"ttft", "TTFT", "Time to First Token", func(r *Run) table.Series { return r.Each(ttft) }, false},
	{"tpot", "TPOT", "Time per Output Token (excl. 1st token)", func(r *Run) table.Series { return r.Each(tpot) }, false},
	{"itl", "ITL", "Inter-token Latency", (*Run).Gaps, false},
	{"e2el", "E2EL", "End-to-end Latency", func(r *Run) table.Series { return r.Each(latency) }, false},
	{"client_queue_time", "Client Queue Time", "Client-side Queueing", func(r *Run) table.Series { return r.Each(queue) }, false},
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
	for q := range r.OK() {
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
	completed, failed, in, out := r.Counts()
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
	row(&b, "Request throughput (req/s):", r.PerSecond(float64(completed)))
	if v.Given("goodput") {
		row(&b, "Request goodput (req/s):", r.PerSecond(float64(r.good(v.pairs("goodput", ":")))))
	}
	events, requests := peaks(r)
	row(&b, "Output token throughput (tok/s):", r.PerSecond(float64(out)))
	row(&b, "Peak output token throughput (tok/s):", events)
	row(&b, "Peak concurrent requests:", requests)
	row(&b, "Total token throughput (tok/s):", r.PerSecond(float64(in+out)))
	latencyRows(&b, r, vllmShown(v), v.percents("metric-percentiles"))
	b.WriteString(strings.Repeat("=", 50) + "\n")
	return b.String()
}

// latencyRows are the rows of each latency, in ms, as vLLM and SGLang print them.
// Of the gaps SGLang shows the longest too.
func latencyRows(b *strings.Builder, r *Run, figures []vllmFigure, percents []float64) {
	for _, f := range figures {
		s := f.of(r).Times(1000)
		b.WriteString(titleRule(f.header, "-"))
		row(b, "Mean "+f.name+" (ms):", s.Mean())
		row(b, "Median "+f.name+" (ms):", s.At(50))
		for _, p := range percents {
			row(b, "P"+number(p)+" "+f.name+" (ms):", s.At(p))
		}
		if f.showMax {
			row(b, "Max "+f.name+" (ms):", s.Max())
		}
	}
}

// latencyKeys are the same in a result file.
func latencyKeys(o *object, r *Run, figures []vllmFigure, percents []float64) {
	for _, f := range figures {
		s := f.of(r).Times(1000)
		o.put("mean_"+f.key+"_ms", s.Mean())
		o.put("median_"+f.key+"_ms", s.At(50))
		o.put("std_"+f.key+"_ms", s.Deviation(0))
		for _, p := range percents {
			o.put("p"+number(p)+"_"+f.key+"_ms", s.At(p))
		}
	}
}

// requestLists are the lengths and times of single requests in a result file.
func requestLists(o *object, r *Run) {
	n := len(r.Requests)
	o.put("input_lens", makeList(n, func(i int) int { return r.Requests[i].In }))
	o.put("output_lens", makeList(n, func(i int) int { return okOut(&r.Requests[i]) }))
	o.put("ttfts", makeList(n, func(i int) float64 { return r.Requests[i].TTFT }))
	o.put("itls", makeList(n, func(i int) []float64 { return append([]float64{}, r.Requests[i].Gaps...) }))
}

// requestTexts are what single requests said, which is not kept, and their errors.
func requestTexts(o *object, r *Run) {
	n := len(r.Requests)
	o.put("generated_texts", makeList(n, func(int) string { return "" }))
	o.put("errors", makeList(n, func(i int) string { return failure(&r.Requests[i]) }))
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
	completed, failed, in, out := r.Counts()
	o.put("duration", r.Duration)
	o.put("completed", completed)
	o.put("failed", failed)
	o.put("total_input_tokens", in)
	o.put("total_output_tokens", out)
	o.put("request_throughput", r.PerSecond(float64(completed)))
	o.put("request_goodput", nil)
	if v.Given("goodput") {
		o.put("request_goodput", r.PerSecond(float64(r.good(v.pairs("goodput", ":")))))
	}
	o.put("output_throughput", r.PerSecond(float64(out)))
	o.put("total_token_throughput", r.PerSecond(float64(in+out)))
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
	events, requests := peaks(r)
	o.put("max_output_tokens_per_s", events)
	o.put("max_concurrent_requests", int(requests))
	o.put("rtfx", 0.0)
	latencyKeys(o, r, vllmShown(v), v.percents("metric-percentiles"))
}

// okOut is 0 for a request that failed, as vLLM counts.
func okOut(q *table.Request) int {
	if !q.OK {
		return 0
	}
	return q.Out
}

// failure is "" for a request that succeeded.
func failure(q *table.Request) string {
	if q.OK {
		return ""
	}
	return q.Error
}

// peaks are vLLM's: the most output events, and the most requests that touch it,
// of any second since the first request.
func peaks(r *Run) (events, requests float64) {
	first, last := math.Inf(1), 0.0
	for q := range r.OK() {
		first, last = min(first, q.Start), max(last, q.Start+q.Latency)
	}
	if math.IsInf(first, 1) {
		return 0, 0
	}
	seconds := int(math.Ceil(last-first)) + 1
	arrived, touched := make(table.Series, seconds), make(table.Series, seconds)
	for q := range r.OK() {
		at := q.Start - first + q.TTFT
		arrived[min(int(at), seconds-1)]++
		for _, gap := range q.Gaps {
			at += gap
			arrived[min(int(at), seconds-1)]++
		}
		for s := int(q.Start - first); s <= int(q.Start-first+q.Latency) && s < seconds; s++ {
			touched[s]++
		}
	}
	return arrived.Max(), touched.Max()
}

// ExportVLLM is vLLM's result file of a run that was not asked for in its words.
func ExportVLLM(r *table.Run, api string) ([]byte, error) {
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
	return json.Marshal(vllmResult(v, &Run{Run: r}))
}
