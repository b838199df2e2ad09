// Package imported reads the result files of other benchmarks: each is recognized
// by its keys, and what cannot have been measured is refused.
package imported

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"redline/internal/drive/table"
	"redline/internal/peer"
)

// tree is a document whose keys are not all known.
type tree map[string]any

// shape is one kind of file: how it is recognized, and how it is read.
type shape struct {
	name string
	is   func(tree) bool
	read func(tree) (*table.Run, error)
}

// shapes are the result files that can be read, the more telling first. Those
// with a line or an entry for each request are read from all of them together.
var shapes = []shape{
	{"GuideLLM", has("benchmarks", "metadata"), nil},
	{"GenAI-Perf", has("experiments", "service_kind"), nil},
	{"AIPerf", has("aiperf_version", "request_throughput"), nvidiaSummary("AIPerf")},
	{"GenAI-Perf", has("request_throughput", "input_config"), nvidiaSummary("GenAI-Perf")},
	{"SGLang", has("total_input_text_tokens", "mean_ttft_ms"), servingRun("SGLang")},
	{"vLLM", has("request_throughput", "duration", "completed"), servingRun("vLLM")},
	{"inference-perf", has("load_summary", "successes"), inferenceRun},
	{"LLMPerf", has("results_ttft_s_mean"), llmperfRun},
	{"optimum-benchmark", has("prefill", "decode"), optimumRun},
}

func has(keys ...string) func(tree) bool {
	return func(t tree) bool {
		return !slices.ContainsFunc(keys, func(k string) bool { _, ok := t[k]; return !ok })
	}
}

// notJSON is what Python writes for what JSON cannot say.
var notJSON = regexp.MustCompile(`([:\[,]\s*)-?(Infinity|NaN)\b`)

// MaxBytes is how long a file may be: reading takes several times its length.
const MaxBytes = 256 << 20

// Import reads a result file of a peer: one run, or several. Numbers that are none
// are not known, and those that cannot be are an error.
func Import(content []byte) ([]*table.Run, error) {
	content = notJSON.ReplaceAll(content, []byte("${1}null"))
	documents, err := documents(content)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		if found := findExtreme(map[string]any(d), ""); found != "" {
			return nil, errors.New(found)
		}
	}
	runs, err := importAll(documents)
	for _, r := range runs {
		if err == nil {
			err = check(r)
		}
	}
	return runs, err
}

func importAll(documents []tree) ([]*table.Run, error) {
	first := documents[0]
	switch {
	case has("metadata", "metrics")(first):
		return single(aiperfRequests(documents))
	case has("ttft_s", "end_to_end_latency_s")(first):
		return single(llmperfRequests(documents))
	case has("start_time", "end_time", "info")(first):
		return single(inferenceRuns(documents))
	}
	var runs []*table.Run
	for _, d := range documents {
		list, err := importOne(d)
		if err != nil {
			return nil, err
		}
		runs = append(runs, list...)
	}
	return runs, nil
}

func single(r *table.Run, err error) ([]*table.Run, error) { return []*table.Run{r}, err }

const supportedFormats = "import reads result files of vLLM, SGLang, AIPerf, GenAI-Perf, GuideLLM, inference-perf, LLMPerf and optimum-benchmark"

var errEmpty = errors.New("holds no result: it is empty; " + supportedFormats)

func importOne(d tree) ([]*table.Run, error) {
	for _, s := range shapes {
		switch {
		case !s.is(d):
		case s.read != nil:
			return single(s.read(d))
		case s.name == "GuideLLM":
			return guidellmRuns(d)
		default:
			return genaiPerfRuns(d)
		}
	}
	keys := slices.Sorted(maps.Keys(d))
	if len(keys) == 0 {
		return nil, errEmpty
	}
	return nil, fmt.Errorf("not a result file that is known: it has the keys %s; %s", strings.Join(keys[:min(8, len(keys))], ", "), supportedFormats)
}

// documents are the objects of a file: one, a list of them, or one after another.
func documents(content []byte) ([]tree, error) {
	var list []tree
	if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &list); err != nil {
			return nil, parseError(content, err)
		}
	} else {
		for d := json.NewDecoder(bytes.NewReader(content)); d.More(); {
			var one tree
			if err := d.Decode(&one); err != nil {
				return nil, parseError(content, err)
			}
			list = append(list, one)
		}
	}
	if len(list) == 0 || list[0] == nil {
		return nil, errEmpty
	}
	return list, nil
}

// at gives what stands at a path of keys.
func (t tree) at(path ...string) any {
	var v any = map[string]any(t)
	for _, key := range path {
		below, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = below[key]
	}
	return v
}

func (t tree) num(path ...string) float64 { v, _ := t.at(path...).(float64); return v }
func (t tree) str(path ...string) string  { v, _ := t.at(path...).(string); return v }
func (t tree) items(path ...string) []any { v, _ := t.at(path...).([]any); return v }

// hasNumber reports whether a number stands there.
func (t tree) hasNumber(path ...string) bool { _, is := t.at(path...).(float64); return is }

// percentiles reads p50 and its like from keys that begin and end like this.
func (t tree) percentiles(factor float64, begin, end string) map[string]float64 {
	p := map[string]float64{}
	for key, value := range t {
		name, begins := strings.CutPrefix(key, begin)
		name, ends := strings.CutSuffix(name, end)
		if v, is := value.(float64); is && begins && ends && name != "" && name[0] >= '0' && name[0] <= '9' {
			p["p"+name] = factor * v
		}
	}
	return p
}

func branch(v any) tree { m, _ := v.(map[string]any); return m }

func floats(v any) []float64 {
	list, _ := v.([]any)
	var out []float64
	for _, item := range list {
		n, is := item.(float64)
		if !is {
			n = math.NaN()
		}
		out = append(out, n)
	}
	return out
}

func nth(list []float64, i int) float64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// servingRun reads what vLLM and SGLang write.
func servingRun(source string) func(tree) (*table.Run, error) {
	return func(t tree) (*table.Run, error) {
		r := &table.Run{Source: source, Model: cmp.Or(t.str("model_id"), t.str("model")), Label: cmp.Or(t.str("label"), t.str("tag")), Duration: t.num("duration"), Rate: t.num("request_rate"),
			MaxInFlight: int(t.num("max_concurrency")), Peak: int(t.num("max_concurrent_requests")), Path: peer.PathOf(source, cmp.Or(t.str("backend"), t.str("endpoint_type")))}
		if _, stated := t["request_rate"]; stated && r.Rate == 0 && r.MaxInFlight == 0 {
			r.MaxInFlight = int(t.num("completed") + t.num("failed")) // an infinite rate sends all at once
		}
		if r.Rate > 0 && (source == "SGLang" || t.num("burstiness") > 0) {
			r.Arrival = peer.Arrival(cmp.Or(t.num("burstiness"), 1))
		}
		r.Started, _ = time.ParseInLocation("20060102-150405", t.str("date"), time.Local)
		if lens := floats(t["input_lens"]); len(lens) > 0 {
			return r, servingRequests(r, t, lens)
		}
		r.Figures = &table.Figures{OK: int(t.num("completed")), Failed: int(t.num("failed")), In: int64(t.num("total_input_tokens")), Out: int64(t.num("total_output_tokens")),
			TTFT: servingSpread(t, "ttft"), TPOT: servingSpread(t, "tpot"), ITL: servingSpread(t, "itl"), E2E: servingSpread(t, "e2el")}
		if r.Figures.E2E == nil {
			r.Figures.E2E = servingSpread(t, "e2e_latency")
		}
		countGaps(r.Figures)
		return r, nil
	}
}

// servingRequests reads a list for each figure of the requests. Where none says when
// they began, only their sums are known.
func servingRequests(r *table.Run, t tree, lens []float64) error {
	for _, name := range []string{"start_times", "ttfts", "output_lens", "itls", "latencies", "queue_times", "errors"} {
		if n := len(t.items(name)); n != len(lens) && (n > 0 || name == "ttfts") {
			return fmt.Errorf("%s: %s has %d values for %d requests: what the others took is not known", r.Source, name, n, len(lens))
		}
	}
	starts, firsts, outs, gaps := floats(t["start_times"]), floats(t["ttfts"]), floats(t["output_lens"]), t.items("itls")
	latencies, queues, errors := floats(t["latencies"]), floats(t["queue_times"]), t.items("errors")
	origin := 0.0
	if len(starts) > 0 {
		origin = slices.Min(starts)
	}
	for i := range lens {
		q := table.Request{ID: i, Session: i, In: int(lens[i]), Out: int(nth(outs, i)), TTFT: nth(firsts, i), Start: nth(starts, i) - origin, Queue: nth(queues, i), Streamed: true}
		if i < len(gaps) {
			q.Gaps = floats(gaps[i])
		}
		q.Latency = q.TTFT
		for _, gap := range q.Gaps {
			q.Latency += gap
		}
		if latency := nth(latencies, i); latency > 0 {
			q.Whole = latency
		}
		q.Whole = max(q.Whole, q.Latency)
		q.Due = max(0, q.Start-q.Queue)
		if i < len(errors) {
			q.Error, _ = errors[i].(string)
		}
		if q.OK = q.Error == "" && q.Latency > 0; !q.OK {
			q.Outcome = "http"
		}
		r.Requests = append(r.Requests, q)
	}
	if len(starts) == 0 {
		if err := check(r); err != nil {
			return err
		}
		r.Figures, r.Requests = r.Sum(), nil
	}
	return nil
}

// countGaps counts what itl is of, in files that do not say: it pools the tokens
// after the first of each request.
func countGaps(f *table.Figures) {
	if f.ITL != nil {
		f.ITL.N = max(f.ITL.N, int(f.Out)-f.OK)
	}
}

// servingSpread reads mean_X_ms, median_X_ms and pNN_X_ms.
func servingSpread(t tree, name string) *table.Spread {
	if !t.hasNumber("mean_" + name + "_ms") {
		return nil
	}
	s := &table.Spread{N: int(t.num("completed")), Mean: t.num("mean_" + name + "_ms"), P: t.percentiles(1, "p", "_"+name+"_ms")}
	if t.hasNumber("median_" + name + "_ms") {
		s.P["p50"] = t.num("median_" + name + "_ms")
	}
	return s
}

// nvidiaSummary reads the blocks of AIPerf and GenAI-Perf.
func nvidiaSummary(source string) func(tree) (*table.Run, error) {
	return func(t tree) (*table.Run, error) {
		r := &table.Run{Source: source, Version: t.str("aiperf_version"), Duration: t.num("benchmark_duration", "avg")}
		r.Started, _ = time.ParseInLocation("2006-01-02T15:04:05.999999", t.str("start_time"), time.UTC)
		if models := t.items("input_config", "models", "items"); len(models) > 0 {
			r.Model = branch(models[0]).str("name")
		}
		if urls := t.items("input_config", "endpoint", "urls"); len(urls) > 0 {
			r.URL, _ = urls[0].(string)
		}
		nvidiaLoad(r, branch(t["input_config"]))
		ok := int(t.num("request_count", "avg"))
		if r.Duration == 0 && t.num("request_throughput", "avg") > 0 {
			r.Duration = float64(ok) / t.num("request_throughput", "avg")
		}
		var err error
		spread := func(tag string) *table.Spread {
			block := branch(t[tag])
			if !block.hasNumber("avg") {
				return nil
			}
			factor, known := milliseconds[block.str("unit")]
			if !known {
				err = fmt.Errorf("%s: %s has the unit %q; known are ms, sec, us and ns", source, tag, block.str("unit"))
			}
			return &table.Spread{N: ok, Mean: factor * block.num("avg"), Max: factor * block.num("max"), P: block.percentiles(factor, "p", "")}
		}
		// Not every version has sums: then rates and means times their number say the same.
		each := func(sum, mean string) float64 { return cmp.Or(t.num(sum, "avg"), t.num(mean, "avg")*float64(ok)) }
		r.Figures = &table.Figures{OK: ok, Failed: int(t.num("error_request_count", "avg")), In: int64(each("total_isl", "input_sequence_length")),
			Out:  int64(cmp.Or(t.num("total_osl", "avg"), t.num("output_token_throughput", "avg")*r.Duration, each("total_osl", "output_sequence_length"))),
			TTFT: spread("time_to_first_token"), TPOT: spread("inter_token_latency"), ITL: spread("inter_chunk_latency"), E2E: spread("request_latency")}
		countGaps(r.Figures)
		return r, err
	}
}

// milliseconds are those of a unit; a file without units has ms.
var milliseconds = map[string]float64{"": 1, "ms": 1, "s": 1e3, "sec": 1e3, "seconds": 1e3, "us": 1e-3, "µs": 1e-3, "ns": 1e-6}

// nvidiaLoad reads what was asked for, of which versions keep more or less.
func nvidiaLoad(r *table.Run, asked tree) {
	if names := asked.items("model_names"); r.Model == "" && len(names) > 0 {
		r.Model, _ = names[0].(string)
	}
	r.URL = cmp.Or(r.URL, asked.str("endpoint", "url"), asked.str("url"))
	r.Path = peer.PathOf(r.Source, cmp.Or(asked.str("endpoint", "type"), asked.str("endpoint_type")))
	for _, at := range [][]string{{}, {"perf_analyzer", "stimulus"}, {"loadgen"}} {
		r.MaxInFlight = cmp.Or(r.MaxInFlight, int(asked.num(append(at, "concurrency")...)))
		r.Rate = cmp.Or(r.Rate, asked.num(append(at, "request_rate")...))
		r.Arrival = cmp.Or(r.Arrival, arrivals[asked.str(append(at, "arrival_pattern")...)], arrivals[asked.str(append(at, "request_rate_mode")...)])
	}
}

// arrivals are the processes that files name as redline does; others are not known.
var arrivals = map[string]string{"constant": "constant", "poisson": "poisson"}

// aiperfRequests reads AIPerf's line for each request.
func aiperfRequests(lines []tree) (*table.Run, error) {
	r := &table.Run{Source: "AIPerf", DueKnown: true}
	origin := lines[0].num("metadata", "request_start_ns")
	for _, l := range lines {
		if phase := l.str("metadata", "benchmark_phase"); phase == "profiling" {
			origin = min(origin, cmp.Or(l.num("metadata", "credit_issued_ns"), l.num("metadata", "request_start_ns")))
		}
	}
	r.Started = time.Unix(0, int64(origin))
	seen := map[string]int{}
	for i, l := range lines {
		if phase := l.str("metadata", "benchmark_phase"); phase != "" && phase != "profiling" {
			continue
		}
		id := fmt.Sprint(l.at("metadata", "x_request_id"), l.at("metadata", "session_num"), l.at("metadata", "turn_index"), l.at("metadata", "request_start_ns"))
		if before, twice := seen[id]; twice {
			return nil, fmt.Errorf("AIPerf: records %d and %d are of one request: the file holds its records twice; import each once", before+1, i+1)
		}
		seen[id] = i
		value := func(tag string) float64 { return l.num("metrics", tag, "value") }
		q := table.Request{ID: i, Session: int(l.num("metadata", "session_num")), Turn: int(l.num("metadata", "turn_index")), Start: (l.num("metadata", "request_start_ns") - origin) / 1e9,
			TTFT: value("time_to_first_token") / 1e3, Latency: value("request_latency") / 1e3, In: int(value("input_sequence_length")), Out: int(value("output_sequence_length")),
			Gaps: floats(l.at("metrics", "inter_chunk_latency", "value"))}
		for i := range q.Gaps {
			q.Gaps[i] /= 1e3
		}
		q.Streamed = q.TTFT > 0
		q.Due = (cmp.Or(l.num("metadata", "credit_issued_ns"), l.num("metadata", "request_start_ns")) - origin) / 1e9
		q.Whole = q.Latency
		if l["error"] == nil && q.Latency > 0 {
			q.OK = true
		} else {
			q.Outcome, q.Error = "http", cmp.Or(branch(l["error"]).str("message"), "failed")
			q.Whole = (l.num("metadata", "request_end_ns") - l.num("metadata", "request_start_ns")) / 1e9
		}
		r.Requests = append(r.Requests, q)
		r.Duration = max(r.Duration, q.Start+q.Whole)
	}
	return r, nil
}
