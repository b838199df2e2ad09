package peer

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// genaiPerf is `genai-perf profile`.
var genaiPerf = &Peer{
	Name: "GenAI-Perf", Version: "0.0.16",
	Commands: []string{"genai-perf profile", "genai-perf analyze"},
	Flags:    genaiPerfFlags,
	Plans:    genaiPerfPlans,
	Close:    genaiPerfTable,
	Files:    genaiPerfFiles,

	PassThrough: "it is for perf_analyzer, which redline does without",
}

var genaiPerfFlags = slices.Concat(nvidiaLoad, imageFlags("100", "png"), []Flag{
	amount(One, "measurement-interval p", "10000", "duration"),
	amount(One, "session-concurrency", "", "concurrency"),
	flag(One, "sweep-type", "concurrency", "concurrencies"),
	amount(One, "sweep-list", "", "concurrencies"),
	flag(One, "sweep-range", "", "concurrencies"),
},
	idle(One, "the window is the one that is asked for", "stability-percentage s"),
	idle(One, "requests go by HTTP to what --endpoint-type and --endpoint say", "backend", "service-kind", "grpc-method"),
	idle(One, "one model is asked", "model-selection-strategy"),
	idle(One, "the newest revision is read", "tokenizer-revision"),
	idle(One, "a run directory is what a run goes on from", "checkpoint-dir"),
	idle(None, "a run directory is what a run goes on from", "enable-checkpointing"),
	idle(None, "no code of a model is run", "tokenizer-trust-remote-code"),
	idle(None, "no configuration file is read", "override-config"),
	idle(None, "every reply is asked for its exact length", "output-tokens-mean-deterministic"),
	idle(None, "report.html in the run directory has the charts", "generate-plots"),
	idle(Many, ownWatching, "server-metrics-url server-metrics-urls"),
	idle(One, "--warmup-request-count warms up by requests", "warmup-interval"),
	cannot(One, "a plan has it: redline run --plan FILE (docs/reference/PLAN.md)", "file f"),
	cannot(One, "redline import reads profile_export.json", "input-directory d"),
	idle(One, "only the endpoint type of sound uses it, which is refused by its name", "audio-depths", "audio-format", "audio-length-mean", "audio-length-stddev",
		"audio-num-channels", "audio-sample-rates", "batch-size-audio"),
)

// genaiPerfPlans take the list or range of genai-perf analyze for that of a flag.
func genaiPerfPlans(v *Values) ([]Plan, error) {
	of := map[string]string{"concurrency": "concurrency", "request_rate": "request-rate", "input_sequence_length": "isl"}[v.text("sweep-type")]
	if of == "" {
		v.refuse("sweep-type", "redline has concurrency, request_rate and input_sequence_length of these")
	}
	list := v.text("sweep-list")
	if said := v.text("sweep-range"); said != "" {
		list = v.sweep(said)
	}
	if list != "" && of != "" {
		v = v.with(of, list)
		v.part = ""
	}
	return nvidiaPlans(v)
}

// sweep lists the values of min:max:step; without a step they double.
func (v *Values) sweep(said string) string {
	var bounds []int
	for word := range strings.SplitSeq(said, ":") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			v.fail("sweep-range", "min:max or min:max:step")
			return ""
		}
		bounds = append(bounds, n)
	}
	var list []string
	for n := bounds[0]; len(bounds) > 1 && n <= bounds[1] && len(list) < 100; {
		list = append(list, strconv.Itoa(n))
		if len(bounds) > 2 {
			n += bounds[2]
		} else {
			n *= 2
		}
	}
	return strings.Join(list, ",")
}

// genaiPerfFigures are AIPerf's, with the titles that came before.
func genaiPerfFigures(v *Values) []nvidiaFigure {
	list := slices.Clone(nvidiaShown(v))
	for i := range list {
		list[i].title = strings.Replace(list[i].title, " to ", " To ", 1)
		switch list[i].tag {
		case "request_throughput":
			list[i].unit = "per sec"
		case "request_count":
			list[i].unit = "count"
		case "goodput":
			list[i].tag, list[i].title, list[i].unit = "request_goodput", "Request Goodput", "per sec"
		}
	}
	return list
}

func genaiPerfTable(v *Values, runs []*Run) string {
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(nvidiaTable("NVIDIA GenAI-Perf | LLM Metrics", "Statistic", []string{"avg", "min", "max", "p99", "p90", "p75"}, genaiPerfFigures(v), r))
	}
	return b.String()
}

func genaiPerfFiles(v *Values, runs []*Run) ([]File, error) {
	var files []File
	for _, r := range runs {
		name := "profile_export.json"
		if v.Given("profile-export-file") {
			name = v.text("profile-export-file")
		}
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		var o object
		for _, f := range genaiPerfFigures(v) {
			if block := nvidiaBlock(f, r); block != nil {
				o.put(f.tag, block)
			}
		}
		o.put("telemetry_stats", map[string]any{})
		o.put("input_config", map[string]any{"model_names": []string{r.Model}})
		document, err := json.MarshalIndent(&o, "", "  ")
		if err != nil {
			return nil, err
		}
		table, err := nvidiaCSV(genaiPerfFigures(v), r)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(genaiPerfRequests(v, r))
		if err != nil {
			return nil, err
		}
		dir := nvidiaDir(v, r)
		files = append(files, File{Path: filepath.Join(dir, stem+"_genai_perf.json"), Content: document},
			File{Path: filepath.Join(dir, stem+"_genai_perf.csv"), Content: table}, File{Path: filepath.Join(dir, name), Content: raw})
	}
	return files, v.err
}

// genaiPerfRequests is perf_analyzer's export of single requests, in epoch ns.
func genaiPerfRequests(v *Values, r *Run) any {
	origin := r.Started.UnixNano()
	requests := makeList(len(r.Requests), func(i int) any {
		q, at := &r.Requests[i], r.Requests[i].Start+r.Requests[i].TTFT
		times := []int64{}
		if q.OK {
			times = append(times, origin+int64(at*1e9))
			for _, gap := range q.Gaps {
				at += gap
				times = append(times, origin+int64(at*1e9))
			}
		}
		return objectOf("timestamp", origin+int64(q.Start*1e9), "request_inputs", map[string]any{}, "response_timestamps", times, "response_outputs", []any{})
	})
	by, load := r.Plan.load()
	mode := "concurrency"
	if by == "rate" {
		mode = "request_rate"
	}
	experiment := objectOf("experiment", objectOf("mode", mode, "value", jsonOr(load)), "requests", requests,
		"window_boundaries", []int64{origin, origin + int64(r.Duration*1e9)})
	return objectOf("service_kind", "openai", "endpoint", v.text("endpoint-type"), "experiments", []any{experiment})
}
