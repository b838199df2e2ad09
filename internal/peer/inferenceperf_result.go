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

// inferenceSummary is the lifecycle report of one stage, or of all.
func inferenceSummary(v *Values, requests []Request, stage *Run) any {
	all := &Run{Requests: requests}
	var o, load, latencies, throughput, successes, failures, tokens, outTokens object
	first, last, end, delays := math.Inf(1), 0.0, 0.0, series{}
	for i := range requests {
		q := &requests[i]
		first, last, end = min(first, q.Start), max(last, q.Start), max(end, q.Start+q.Whole)
		delays = append(delays, q.Start-q.Due)
	}
	all.Duration = end - first
	completed, failed, in, out := all.counts()
	o.put("benchmark_time_seconds", all.Duration)
	load.put("count", len(requests))
	load.put("schedule_delay", inferenceSpread(v, delays))
	load.put("send_duration", last-first)
	if stage != nil {
		for _, s := range stage.Plan.Settings {
			if s[0] == "rate" {
				rate, _ := strconv.ParseFloat(s[1], 64)
				load.put("requested_rate", rate)
			}
		}
		load.put("achieved_rate", orNull(float64(len(requests))/(last-first)))
	}
	o.put("load_summary", &load)
	latencies.put("request_latency", inferenceSpread(v, all.each(whole)))
	latencies.put("normalized_time_per_output_token", inferenceSpread(v, all.each(func(q *Request) (float64, bool) {
		if q.Out == 0 {
			return 0, true
		}
		return q.Whole / float64(q.Out), true
	})))
	streamed := func(of func(*Request) (float64, bool)) func(*Request) (float64, bool) {
		return func(q *Request) (float64, bool) {
			v, has := of(q)
			return v, has && len(q.Gaps) > 0
		}
	}
	latencies.put("time_per_output_token", inferenceSpread(v, all.each(streamed(tpot))))
	latencies.put("time_to_first_token", inferenceSpread(v, all.each(streamed(ttft))))
	latencies.put("inter_token_latency", inferenceSpread(v, all.gaps()))
	throughput.put("input_tokens_per_sec", all.per(float64(in)))
	throughput.put("output_tokens_per_sec", all.per(float64(out)))
	throughput.put("total_tokens_per_sec", all.per(float64(in+out)))
	throughput.put("requests_per_sec", all.per(float64(completed)))
	tokens.put("total", in)
	tokens.put("distribution", inferenceSpread(v, all.each(inputs)))
	outTokens.put("total", out)
	outTokens.put("distribution", inferenceSpread(v, all.each(outputs)))
	successes.put("count", completed)
	successes.put("latency", &latencies)
	successes.put("throughput", &throughput)
	successes.put("prompt_tokens", &tokens)
	successes.put("output_tokens", &outTokens)
	successes.put("output_len", inferenceSpread(v, all.each(outputs)))
	failures.put("count", failed)
	failures.put("by_label", inferenceFailures(requests))
	o.put("successes", &successes)
	o.put("failures", &failures)
	return &o
}

func inferenceFailures(requests []Request) any {
	count := map[string]int{}
	for i := range requests {
		if !requests[i].OK {
			count[requests[i].Outcome]++
		}
	}
	byLabel := map[string]any{}
	for label, n := range count {
		byLabel[label] = map[string]any{"count": n}
	}
	return byLabel
}

func inferenceSpread(v *Values, s series) any {
	if len(s) == 0 {
		return nil
	}
	var o object
	o.put("mean", s.mean())
	o.put("min", s.min())
	percents := []float64{0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}
	var asked []float64
	if json.Unmarshal([]byte(v.text("report.request-lifecycle.percentiles")), &asked) == nil && len(asked) > 0 {
		percents = asked
	}
	for _, p := range percents {
		name := "p" + number(p)
		if p == 50 {
			name = "median"
		}
		o.put(name, s.at(p))
	}
	o.put("max", s.max())
	return &o
}

// together lays the requests of all stages on one line of time.
func together(runs []*Run) (all []Request) {
	for _, r := range runs {
		shift := r.Started.Sub(runs[0].Started).Seconds()
		for _, q := range r.Requests {
			q.Start, q.Due = q.Start+shift, q.Due+shift
			all = append(all, q)
		}
	}
	return all
}

func inferencePerfTable(_ *Values, runs []*Run) string {
	rows := [][]string{{"Stage", "Requests", "Failed", "Req/s", "Output tok/s", "TTFT mean (s)", "TTFT p99 (s)", "TPOT mean (s)", "ITL p99 (s)", "Latency p99 (s)"}}
	for i, r := range runs {
		completed, failed, _, out := r.counts()
		cells := []string{strconv.Itoa(i), strconv.Itoa(completed), strconv.Itoa(failed)}
		for _, v := range []float64{float64(completed) / r.span(), float64(out) / r.span(), r.each(ttft).mean(), r.each(ttft).at(99), r.each(tpot).mean(), r.gaps().at(99),
			r.each(whole).at(99)} {
			cells = append(cells, strconv.FormatFloat(v, 'f', 3, 64))
		}
		rows = append(rows, cells)
	}
	return boxed("Benchmark Results", rows)
}

func inferencePerfFiles(v *Values, runs []*Run) ([]File, error) {
	dir := firstOf(v.text("storage.local-storage.path"), "reports-"+runs[0].Started.Format("20060102-150405"))
	prefix := v.text("storage.local-storage.report-file-prefix")
	documents := map[string]any{"summary_lifecycle_metrics": inferenceSummary(v, together(runs), nil)}
	for i, r := range runs {
		documents[fmt.Sprintf("stage_%d_lifecycle_metrics", i)] = inferenceSummary(v, r.Requests, r)
	}
	if v.on("report.request-lifecycle.per-request") {
		documents["per_request_lifecycle_metrics"] = inferenceRequests(together(runs))
	}
	var files []File
	for name, document := range documents {
		content, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: filepath.Join(dir, prefix+name+".json"), Content: content})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, v.err
}

func inferenceRequests(requests []Request) []any {
	return listed(len(requests), func(i int) any {
		q, times := &requests[i], []float64{}
		at := q.Start + q.TTFT
		if q.OK {
			times = append(times, at)
			for _, gap := range q.Gaps {
				at += gap
				times = append(times, at)
			}
		}
		var o object
		o.put("start_time", q.Start)
		o.put("end_time", q.Start+q.Whole)
		o.put("request", "")
		o.put("response", "")
		o.put("info", map[string]any{"request_metrics": map[string]any{"text": map[string]any{"input_tokens": q.In}},
			"response_metrics": map[string]any{"output_tokens": q.Out, "output_token_times": times}})
		o.put("error", nil)
		if !q.OK {
			o.put("error", map[string]any{"error_type": q.Outcome, "error_msg": q.Error})
		}
		return &o
	})
}
