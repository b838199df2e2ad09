package imported

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"redline/internal/drive/table"
	"redline/internal/peer"
)

// guidellmRuns reads each benchmark of a GuideLLM report.
func guidellmRuns(t tree) ([]*table.Run, error) {
	var runs []*table.Run
	for _, item := range t.items("benchmarks") {
		b := branch(item)
		start := cmp.Or(b.num("start_time"), b.num("scheduler_metrics", "start_time"))
		r := &table.Run{Source: "GuideLLM", Version: t.str("metadata", "guidellm_version"), DueKnown: true, Duration: b.num("duration"), Started: time.Unix(0, int64(start*1e9)),
			Model: cmp.Or(b.str("config", "backend", "model"), t.str("config", "spec", "backend", "model")), URL: b.str("config", "backend", "target"),
			Path: guidellmPaths[b.str("config", "backend", "request_format")],
			Rate: b.num("config", "strategy", "rate"), MaxInFlight: int(cmp.Or(b.num("config", "strategy", "streams"), b.num("config", "strategy", "max_concurrency")))}
		switch kind := b.str("config", "strategy", "type_"); {
		case r.Rate > 0:
			r.MaxInFlight, r.Arrival = 0, arrivals[kind]
		case kind == "synchronous":
			r.MaxInFlight = 1
		}
		for _, status := range []string{"successful", "errored"} {
			for _, one := range b.items("requests", status) {
				r.Requests = append(r.Requests, guidellmOne(branch(one), start, status == "successful"))
			}
		}
		slices.SortStableFunc(r.Requests, func(a, b table.Request) int {
			if a.Start < b.Start {
				return -1
			}
			return 1
		})
		early := 0.0 // some are due before the benchmark says that it began
		for _, q := range r.Requests {
			early = min(early, q.Due)
		}
		for i := range r.Requests {
			q := &r.Requests[i]
			q.ID, q.Session, q.Due, q.Start = i, i, q.Due-early, q.Start-early
		}
		r.Started, r.Duration = r.Started.Add(time.Duration(early*1e9)), r.Duration-early
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return nil, missingFieldError(&table.Run{Source: "GuideLLM", Version: t.str("metadata", "guidellm_version")}, "no benchmarks")
	}
	return runs, nil
}

// guidellmPaths are the APIs that GuideLLM names by themselves or by their paths.
var guidellmPaths = map[string]string{"chat_completions": "/v1/chat/completions", "/v1/chat/completions": "/v1/chat/completions",
	"text_completions": "/v1/completions", "/v1/completions": "/v1/completions", "responses": "/v1/responses", "/v1/responses": "/v1/responses"}

func guidellmOne(t tree, start float64, ok bool) table.Request {
	at := func(name string) float64 { return t.num("info", "timings", name) }
	begin := cmp.Or(at("request_start"), at("resolve_start"))
	q := table.Request{Start: begin - start, Due: cmp.Or(at("targeted_start"), begin) - start, OK: ok, Streamed: at("first_token_iteration") > 0,
		In: int(cmp.Or(t.num("prompt_tokens"), t.num("input_metrics", "text_tokens"))), Out: int(cmp.Or(t.num("output_tokens"), t.num("output_metrics", "text_tokens"))),
		Whole: at("request_end") - begin}
	if q.Streamed {
		q.TTFT, q.Latency = at("first_token_iteration")-begin, at("last_token_iteration")-begin
	} else {
		q.Latency = q.Whole
	}
	q.Due = min(q.Due, q.Start)
	if !ok {
		q.Outcome, q.Error = "http", cmp.Or(t.str("info", "error"), "errored")
	}
	return q
}

// genaiPerfRuns reads perf_analyzer's export: the times of every response.
func genaiPerfRuns(t tree) ([]*table.Run, error) {
	var runs []*table.Run
	for _, item := range t.items("experiments") {
		e := branch(item)
		r := &table.Run{Source: "GenAI-Perf", Path: peer.PathOf("GenAI-Perf", t.str("endpoint"))}
		switch value := e.num("experiment", "value"); e.str("experiment", "mode") {
		case "concurrency":
			r.MaxInFlight = int(value)
		case "request_rate":
			r.Rate = value
		}
		requests := e.items("requests")
		origin := 0.0
		for _, one := range requests {
			if at := branch(one).num("timestamp"); origin == 0 || at < origin {
				origin = at
			}
		}
		r.Started = time.Unix(0, int64(origin))
		for i, one := range requests {
			q := genaiPerfOne(branch(one), origin)
			q.ID, q.Session = i, i
			r.Requests = append(r.Requests, q)
			r.Duration = max(r.Duration, q.Start+q.Whole)
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return nil, missingFieldError(&table.Run{Source: "GenAI-Perf"}, "no experiments")
	}
	return runs, nil
}

func genaiPerfOne(t tree, origin float64) table.Request {
	at := t.num("timestamp")
	q := table.Request{Start: (at - origin) / 1e9, Due: (at - origin) / 1e9, Streamed: true}
	times := floats(t["response_timestamps"])
	if len(times) == 0 {
		q.Outcome, q.Error = "http", "no response"
		return q
	}
	q.OK, q.TTFT, q.Latency = true, (times[0]-at)/1e9, (times[len(times)-1]-at)/1e9
	q.Whole, q.Out = q.Latency, len(times)
	for i := 1; i < len(times); i++ {
		q.Gaps = append(q.Gaps, (times[i]-times[i-1])/1e9)
	}
	return q
}

// inferenceRun reads a lifecycle report of inference-perf, in seconds.
func inferenceRun(t tree) (*table.Run, error) {
	ok := int(t.num("successes", "count"))
	r := &table.Run{Source: "inference-perf", Duration: t.num("benchmark_time_seconds"), Rate: t.num("load_summary", "requested_rate"), MaxInFlight: int(t.num("load_summary", "concurrency"))}
	if r.Rate > 0 {
		r.MaxInFlight = 0 // a rate was asked for
	}
	if rate := t.num("successes", "throughput", "requests_per_sec"); r.Duration == 0 && rate > 0 {
		r.Duration = float64(ok) / rate
	}
	spread := func(name string) *table.Spread {
		block := branch(t.at("successes", "latency", name))
		if !block.hasNumber("mean") {
			return nil
		}
		s := &table.Spread{N: ok, Mean: 1e3 * block.num("mean"), Max: 1e3 * block.num("max"), P: block.percentiles(1e3, "p", "")}
		if block.hasNumber("median") {
			s.P["p50"] = 1e3 * block.num("median")
		}
		return s
	}
	r.Figures = &table.Figures{OK: ok, Failed: int(t.num("failures", "count")), In: int64(t.num("successes", "prompt_tokens", "total")), Out: int64(t.num("successes", "output_tokens", "total")),
		TTFT: spread("time_to_first_token"), TPOT: spread("time_per_output_token"), ITL: spread("inter_token_latency"), E2E: spread("request_latency")}
	countGaps(r.Figures)
	return r, nil
}

// inferenceRuns reads inference-perf's entry for each request, on a clock of its
// own.
func inferenceRuns(list []tree) (*table.Run, error) {
	r := &table.Run{Source: "inference-perf"}
	origin := list[0].num("start_time")
	for _, t := range list {
		origin = min(origin, t.num("start_time"))
	}
	for i, t := range list {
		start := t.num("start_time")
		response := branch(t.at("info", "response_metrics"))
		q := table.Request{ID: i, Session: i, Start: start - origin, Due: start - origin, Whole: t.num("end_time") - start, OK: t["error"] == nil,
			In: int(t.num("info", "request_metrics", "text", "input_tokens")), Out: int(response.num("output_tokens"))}
		q.Latency = q.Whole
		if times := floats(response["output_token_times"]); len(times) > 0 {
			q.Streamed, q.TTFT, q.Latency = true, times[0]-start, times[len(times)-1]-start
			for j := 1; j < len(times); j++ {
				q.Gaps = append(q.Gaps, times[j]-times[j-1])
			}
		}
		if !q.OK {
			q.Outcome, q.Error = "http", cmp.Or(branch(t["error"]).str("error_msg"), "failed")
		}
		r.Requests = append(r.Requests, q)
		r.Duration = max(r.Duration, q.Start+q.Whole)
	}
	return r, nil
}

// llmperfRun reads LLMPerf's summary, in seconds.
func llmperfRun(t tree) (*table.Run, error) {
	ok := int(t.num("results_num_completed_requests"))
	r := &table.Run{Source: "LLMPerf", Model: t.str("model"), MaxInFlight: int(t.num("num_concurrent_requests"))}
	if each := t.num("results_num_completed_requests_per_min"); each > 0 {
		r.Duration = 60 * float64(ok) / each
	}
	if at := t.num("timestamp"); at > 0 {
		r.Started = time.Unix(int64(at), 0)
	}
	spread := func(name string) *table.Spread {
		if !t.hasNumber("results_" + name + "_mean") {
			return nil
		}
		return &table.Spread{N: ok, Mean: 1e3 * t.num("results_"+name+"_mean"), Max: 1e3 * t.num("results_"+name+"_max"), P: t.percentiles(1e3, "results_"+name+"_quantiles_p", "")}
	}
	r.Figures = &table.Figures{OK: ok, Failed: int(t.num("results_number_errors")), In: int64(t.num("results_number_input_tokens_mean") * float64(ok)),
		Out: int64(t.num("results_mean_output_throughput_token_per_s") * r.Duration), TTFT: spread("ttft_s"), E2E: spread("end_to_end_latency_s")}
	return r, nil
}

// llmperfRequests reads LLMPerf's entry for each request; few versions say when it
// began.
func llmperfRequests(list []tree) (*table.Run, error) {
	r := &table.Run{Source: "LLMPerf"}
	for i, t := range list {
		if !t.hasNumber("start_time") {
			return nil, fmt.Errorf("LLMPerf: request %d does not say when it began, so rates are not known: import the file _summary.json beside it", i)
		}
		q := table.Request{ID: i, Session: i, Start: t.num("start_time"), TTFT: t.num("ttft_s"), Latency: t.num("end_to_end_latency_s"), In: int(t.num("number_input_tokens")),
			Out: int(t.num("number_output_tokens")), OK: t["error_code"] == nil, Streamed: true, Error: t.str("error_msg")}
		q.Due, q.Whole = q.Start, q.Latency
		if !q.OK {
			q.Outcome = "http"
		}
		r.Requests = append(r.Requests, q)
		r.Duration = max(r.Duration, q.Start+q.Whole)
	}
	return r, nil
}

// optimumRun reads the report of optimum-benchmark, in seconds: one batch after
// another, each read and then answered.
func optimumRun(t tree) (*table.Run, error) {
	ok := int(t.num("prefill", "latency", "count"))
	spread := func(phase string) *table.Spread {
		block := branch(t.at(phase, "latency"))
		if !block.hasNumber("mean") {
			return nil
		}
		return &table.Spread{N: ok, Mean: 1e3 * block.num("mean"), Max: 1e3 * block.num("max"), P: block.percentiles(1e3, "p", "")}
	}
	phase := func(name string) (seconds, tokens float64) {
		seconds = t.num(name, "latency", "mean") * float64(ok)
		return seconds, seconds * t.num(name, "throughput", "value")
	}
	reading, in := phase("prefill")
	answering, out := phase("decode")
	r := &table.Run{Source: "optimum-benchmark", Duration: reading + answering, Model: t.str("config", "backend", "model")}
	r.Figures = &table.Figures{OK: ok, In: int64(in), Out: int64(out), TTFT: spread("prefill"), TPOT: spread("per_token")}
	if ok > 0 { // percentiles of a sum are not known
		r.Figures.E2E = &table.Spread{N: ok, Mean: 1e3 * r.Duration / float64(ok), P: map[string]float64{}}
	}
	return r, nil
}
