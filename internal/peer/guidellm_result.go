package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"redline/internal/drive/table"
)

// guidellmFigures are GuideLLM's latencies. Its TPOT counts from the start.
var guidellmFigures = []struct {
	key string
	of  func(*Run) table.Series
}{
	{"request_latency", func(r *Run) table.Series { return r.Each(whole) }},
	{"prompt_token_count", func(r *Run) table.Series { return r.Each(inputs) }},
	{"output_token_count", func(r *Run) table.Series { return r.Each(outputs) }},
	{"total_token_count", func(r *Run) table.Series {
		return r.Each(func(q *table.Request) (float64, bool) { return float64(q.In + q.Out), true })
	}},
	{"time_to_first_token_ms", milliseconds(ttft)},
	{"time_to_first_output_token_ms", milliseconds(ttft)},
	{"time_per_output_token_ms", milliseconds(func(q *table.Request) (float64, bool) { return q.Latency / float64(max(1, q.Out)), q.Out > 0 })},
	{"inter_token_latency_ms", guidellmITL},
	{"output_tokens_per_second", func(r *Run) table.Series {
		return r.Each(func(q *table.Request) (float64, bool) { return float64(q.Out) / q.Whole, q.Whole > 0 })
	}},
}

// guidellmITL counts a request's mean gap once for each of its gaps.
func guidellmITL(r *Run) table.Series {
	var s table.Series
	for q := range r.OK() {
		for range max(0, q.Out-1) {
			s = append(s, 1000*q.TPOT())
		}
	}
	return s
}

// guidellmName names a benchmark: synchronous, concurrent@4, constant@2.00.
func guidellmName(r *Run) string {
	if r.Plan.part != "" {
		return r.Plan.part
	}
	switch by, load := r.Plan.load(); by {
	case "rate":
		rate, _ := strconv.ParseFloat(load, 64)
		return fmt.Sprintf("constant@%.2f", rate)
	case "concurrency":
		return "concurrent@" + load
	}
	return "benchmark"
}

// formatFixed are the cells of a table with so many digits after the point.
func formatFixed(digits int, values ...float64) (cells []string) {
	for _, v := range values {
		cells = append(cells, strconv.FormatFloat(v, 'f', digits, 64))
	}
	return cells
}

func guidellmTable(_ *Values, runs []*Run) string {
	var b strings.Builder
	b.WriteString("ℹ Request Latency Statistics (Completed Requests)\n")
	head := []string{"Benchmark", "Latency s Mean", "Mdn", "p95", "TTFT ms Mean", "Mdn", "p95", "ITL ms Mean", "Mdn", "p95", "TPOT ms Mean", "Mdn", "p95"}
	rows := [][]string{head}
	for _, r := range runs {
		cells := []string{guidellmName(r)}
		for _, s := range []table.Series{r.Each(whole), r.Each(ttft).Times(1000), guidellmITL(r), guidellmFigures[6].of(r)} {
			cells = append(cells, formatFixed(1, s.Mean(), s.At(50), s.At(95))...)
		}
		rows = append(rows, cells)
	}
	b.WriteString(drawTable(rows))
	b.WriteString("\nℹ Server Throughput Statistics (All Requests)\n")
	rows = [][]string{{"Benchmark", "Concurrency Mean", "Requests Per Sec", "Input Tok Per Sec", "Output Tok Per Sec", "Total Tok Per Sec"}}
	for _, r := range runs {
		completed, _, in, out := r.Counts()
		span := r.span()
		rows = append(rows, append([]string{guidellmName(r)},
			formatFixed(1, r.Each(whole).Sum()/span, float64(completed)/span, float64(in)/span, float64(out)/span, float64(in+out)/span)...))
	}
	b.WriteString(drawTable(rows))
	return b.String()
}

// drawTable draws a table as GuideLLM does.
func drawTable(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, c := range cells {
			widths[i] = max(widths[i], len(c))
		}
	}
	rule := func(with string) string {
		s := "|"
		for _, w := range widths {
			s += strings.Repeat(with, w+2) + "|"
		}
		return s + "\n"
	}
	out := rule("=")
	for i, cells := range rows {
		for j, c := range cells {
			out += fmt.Sprintf("| %-*s ", widths[j], c)
		}
		out += "|\n"
		if i == 0 {
			out += rule("-")
		}
	}
	return out + rule("=")
}

func guidellmFiles(v *Values, runs []*Run) ([]File, error) {
	path := v.text("output-path")
	for _, o := range v.list("output") {
		if kind, rest := guidellmOptions(o); kind == "json" {
			path = cmp.Or(rest["path"], "benchmarks.json")
		}
	}
	if path == "" {
		path = "benchmarks.json"
	}
	if filepath.Ext(path) != ".json" {
		path = filepath.Join(path, "benchmarks.json")
	}
	var o, meta object
	meta.put("version", 2)
	meta.put("guidellm_version", guidellmVersion)
	o.put("metadata", &meta)
	o.put("config", map[string]any{})
	o.put("benchmarks", makeList(len(runs), func(i int) any { return guidellmBenchmark(runs[i]) }))
	content, err := json.MarshalIndent(&o, "", "  ")
	return []File{{Path: path, Content: content}}, err
}

func guidellmBenchmark(r *Run) any {
	var o, strategy, config, made, metrics object
	start := float64(r.Started.UnixNano()) / 1e9
	completed, failed, in, out := r.Counts()
	name, load, _ := strings.Cut(guidellmName(r), "@")
	strategy.put("type_", name)
	n, _ := strconv.ParseFloat(load, 64)
	switch name {
	case "constant":
		strategy.put("rate", n)
	case "concurrent":
		strategy.put("streams", int(n))
	}
	config.put("strategy", &strategy)
	config.put("backend", map[string]any{"model": r.Model})
	made.put("successful", completed)
	made.put("errored", failed)
	made.put("incomplete", 0)
	made.put("total", len(r.Requests))
	metrics.put("request_totals", &made)
	for _, f := range guidellmFigures {
		metrics.put(f.key, guidellmSpread(f.of(r)))
	}
	for key, total := range map[string]float64{"requests_per_second": float64(completed), "prompt_tokens_per_second": float64(in),
		"output_tokens_per_second": float64(out), "tokens_per_second": float64(in + out), "request_concurrency": r.Each(whole).Sum()} {
		metrics.put(key, guidellmSpread(table.Series{total / r.span()}))
	}
	slices.Sort(metrics.keys)
	o.put("type_", "generative_benchmark")
	o.put("config", &config)
	o.put("scheduler_metrics", map[string]any{"start_time": start, "end_time": start + r.Duration, "requests_made": &made})
	o.put("metrics", &metrics)
	requests := map[string][]any{"successful": {}, "incomplete": {}, "errored": {}}
	for i := range r.Requests {
		of := "errored"
		if r.Requests[i].OK {
			of = "successful"
		}
		requests[of] = append(requests[of], guidellmRequest(&r.Requests[i], start))
	}
	o.put("requests", requests)
	o.put("start_time", start)
	o.put("end_time", start+r.Duration)
	o.put("duration", r.Duration)
	o.put("warmup_duration", 0.0)
	o.put("cooldown_duration", 0.0)
	return &o
}

func guidellmSpread(s table.Series) any {
	var p object
	for _, q := range []struct {
		name    string
		percent float64
	}{{"p001", 0.1}, {"p01", 1}, {"p05", 5}, {"p10", 10}, {"p25", 25}, {"p50", 50}, {"p75", 75}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"p999", 99.9}} {
		p.put(q.name, s.At(q.percent))
	}
	all := objectOf("mean", s.Mean(), "median", s.At(50), "variance", s.Deviation(0)*s.Deviation(0), "std_dev", s.Deviation(0),
		"min", s.Min(), "max", s.Max(), "count", len(s), "total_sum", s.Sum(), "percentiles", &p)
	return map[string]any{"successful": all, "total": all}
}

func guidellmRequest(q *table.Request, start float64) any {
	at := start + q.Start
	return map[string]any{
		"request_id": fmt.Sprint(q.ID), "output": "", "request_args": "",
		"info": map[string]any{"status": map[bool]string{true: "completed", false: "errored"}[q.OK], "error": orNone(failure(q)),
			"timings": map[string]any{"targeted_start": start + q.Due, "request_start": at, "first_token_iteration": at + q.TTFT, "last_token_iteration": at + q.Latency,
				"request_end": at + q.Whole, "token_iterations": len(q.Gaps) + 1}},
		"input_metrics": map[string]any{"text_tokens": q.In}, "output_metrics": map[string]any{"text_tokens": q.Out},
		"request_latency": q.Whole, "time_to_first_token_ms": 1000 * q.TTFT, "inter_token_latency_ms": 1000 * q.TPOT(), "prompt_tokens": q.In, "output_tokens": q.Out,
	}
}
