package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"redline/internal/drive/table"
)

// inferenceSummary is the lifecycle report of one stage, or of all.
func inferenceSummary(v *Values, requests []table.Request, stage *Run) any {
	all := &Run{Run: &table.Run{Requests: requests}}
	first, end := math.Inf(1), 0.0
	for i := range requests {
		first, end = min(first, requests[i].Start), max(end, requests[i].Start+requests[i].Whole)
	}
	all.Duration = end - first
	var o, failures object
	_, failed, _, _ := all.Counts()
	failures.put("count", failed)
	failures.put("by_label", inferenceFailures(requests))
	o.put("benchmark_time_seconds", all.Duration)
	o.put("load_summary", inferenceOffered(v, requests, stage))
	o.put("successes", inferenceSuccesses(v, all))
	o.put("failures", &failures)
	return &o
}

// inferenceOffered is how the load came out.
func inferenceOffered(v *Values, requests []table.Request, stage *Run) any {
	var load object
	first, last, delays := math.Inf(1), 0.0, table.Series{}
	for i := range requests {
		q := &requests[i]
		first, last = min(first, q.Start), max(last, q.Start)
		delays = append(delays, q.Start-q.Due)
	}
	load.put("count", len(requests))
	load.put("schedule_delay", inferenceSpread(v, delays))
	load.put("send_duration", last-first)
	if stage != nil {
		if by, rate := stage.Plan.load(); by == "rate" {
			load.put("requested_rate", jsonOr(rate))
		}
		load.put("achieved_rate", orNull(float64(len(requests))/(last-first)))
	}
	return &load
}

// inferenceFigures are the latencies of a request, and what a limit of each is
// called. Only of more than one token time are all of them known.
var inferenceFigures = []struct {
	key, limit string
	of         func(*table.Request) (float64, bool)
}{
	{"request_latency", "request_latency", whole},
	{"normalized_time_per_output_token", "ntpot", func(q *table.Request) (float64, bool) {
		return q.Whole / float64(max(1, q.Out)) * float64(min(1, q.Out)), true
	}},
	{"time_per_output_token", "tpot", ifStreamed(tpot)},
	{"time_to_first_token", "ttft", ifStreamed(ttft)},
	{"inter_token_latency", "itl", ifStreamed(func(q *table.Request) (float64, bool) { return table.Series(q.Gaps).Mean(), true })},
}

func ifStreamed(of func(*table.Request) (float64, bool)) func(*table.Request) (float64, bool) {
	return func(q *table.Request) (float64, bool) {
		v, has := of(q)
		return v, has && len(q.Gaps) > 0
	}
}

// inferenceSuccesses are the figures of the requests that succeeded.
func inferenceSuccesses(v *Values, all *Run) any {
	var o, latencies, throughput object
	completed, _, in, out := all.Counts()
	for _, f := range inferenceFigures {
		latencies.put(f.key, inferenceSpread(v, all.Each(f.of)))
	}
	latencies.put("inter_token_latency", inferenceSpread(v, all.Gaps())) // all gaps; a limit holds for a request's mean
	throughput.put("input_tokens_per_sec", all.PerSecond(float64(in)))
	throughput.put("output_tokens_per_sec", all.PerSecond(float64(out)))
	throughput.put("total_tokens_per_sec", all.PerSecond(float64(in+out)))
	throughput.put("requests_per_sec", all.PerSecond(float64(completed)))
	tokens := func(total int, of func(*table.Request) (float64, bool)) any {
		var o object
		o.put("total", total)
		o.put("distribution", inferenceSpread(v, all.Each(of)))
		return &o
	}
	o.put("count", completed)
	o.put("latency", &latencies)
	o.put("throughput", &throughput)
	o.put("prompt_tokens", tokens(in, inputs))
	o.put("output_tokens", tokens(out, outputs))
	o.put("output_len", inferenceSpread(v, all.Each(outputs)))
	if limits := inferenceLimits(v); len(limits) > 0 {
		o.put("goodput_metrics", inferenceGoodput(all, limits))
	}
	return &o
}

// inferenceLimits are those of the report, or of the headers that say them, in
// seconds.
func inferenceLimits(v *Values) map[string]float64 {
	limits := map[string]float64{}
	if said := v.text("report.goodput.constraints"); said != "" && json.Unmarshal([]byte(said), &limits) != nil {
		v.fail("report.goodput.constraints", "seconds by ttft, tpot, itl, ntpot or request_latency")
	}
	unit := v.text("api.slo-unit")
	for _, key := range []string{"ttft", "tpot"} {
		name := cmp.Or(v.text("api.slo-"+key+"-header"), "x-slo-"+key+"-"+unit)
		said := v.object("api.headers")[name]
		if limit, err := strconv.ParseFloat(fmt.Sprint(said), 64); err == nil {
			limits[key] = limit / map[string]float64{"s": 1, "ms": 1e3, "us": 1e6}[unit]
		}
	}
	for key := range limits {
		if _, known := inferenceLimited(key); !known {
			v.fail("report.goodput.constraints", "seconds by ttft, tpot, itl, ntpot or request_latency")
		}
	}
	return limits
}

// inferenceLimited is the figure that a limit of this name holds for.
func inferenceLimited(limit string) (of func(*table.Request) (float64, bool), known bool) {
	for _, f := range inferenceFigures {
		if f.limit == limit {
			return f.of, true
		}
	}
	return nil, false
}

// inferenceGoodput counts the requests that keep all limits, of those that
// succeeded, as inference-perf does. A figure that a request has not keeps none.
func inferenceGoodput(all *Run, limits map[string]float64) any {
	var o object
	total, good, tokens, kept := 0, 0, 0, map[string]int{}
	for q := range all.OK() {
		total++
		keeps := true
		for key, limit := range limits {
			of, _ := inferenceLimited(key)
			if value, known := of(q); known && value <= limit {
				kept[key]++
			} else {
				keeps = false
			}
		}
		if keeps {
			good, tokens = good+1, tokens+q.In+q.Out
		}
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(max(1, total)) }
	o.put("goodput_percentage", share(good))
	o.put("request_goodput", all.PerSecond(float64(good)))
	o.put("token_goodput", all.PerSecond(float64(tokens)))
	o.put("good_requests", good)
	o.put("total_requests", total)
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		o.put(key+"_attainment_percentage", share(kept[key]))
	}
	return &o
}

func inferenceFailures(requests []table.Request) any {
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

func inferenceSpread(v *Values, s table.Series) any {
	if len(s) == 0 {
		return nil
	}
	var o object
	o.put("mean", s.Mean())
	o.put("min", s.Min())
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
		o.put(name, s.At(p))
	}
	o.put("max", s.Max())
	return &o
}

// mergeRequests lays the requests of all stages on one line of time.
func mergeRequests(runs []*Run) (all []table.Request) {
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
		completed, failed, _, out := r.Counts()
		cells := []string{strconv.Itoa(i), strconv.Itoa(completed), strconv.Itoa(failed)}
		rows = append(rows, append(cells, formatFixed(3, float64(completed)/r.span(), float64(out)/r.span(), r.Each(ttft).Mean(), r.Each(ttft).At(99), r.Each(tpot).Mean(),
			r.Gaps().At(99), r.Each(whole).At(99))...))
	}
	return drawBox("Benchmark Results", rows)
}

func inferencePerfFiles(v *Values, runs []*Run) ([]File, error) {
	dir := cmp.Or(v.text("storage.local-storage.path"), "reports-"+runs[0].Started.Format("20060102-150405"))
	prefix := v.text("storage.local-storage.report-file-prefix")
	documents := map[string]any{"summary_lifecycle_metrics": inferenceSummary(v, mergeRequests(runs), nil)}
	for i, r := range runs {
		documents[fmt.Sprintf("stage_%d_lifecycle_metrics", i)] = inferenceSummary(v, r.Requests, r)
	}
	if v.on("report.request-lifecycle.per-request") {
		documents["per_request_lifecycle_metrics"] = inferenceRequests(mergeRequests(runs))
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

func inferenceRequests(requests []table.Request) []any {
	return makeList(len(requests), func(i int) any {
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
