package peer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What AIPerf and GenAI-Perf, which it replaces, have in common.

// nvidiaLoad are the flags that both have, by the names of either.
var nvidiaLoad = []Flag{
	flag(Many, "model model-names m", "", "model"),
	flag(Many, "url u", "localhost:8000", "url"),
	flag(One, "endpoint custom-endpoint", "", "url"),
	flag(One, "endpoint-type", "chat", "api"),
	flag(None, "streaming", "", "no-stream"),
	flag(Each, "header H", "", "header"),
	flag(Each, "extra-inputs", "", "extra-body"),
	flag(One, "tokenizer", "", "tokenizer"),
	flag(One, "input-file", "", "workload"),
	flag(One, "concurrency", "", "concurrency"),
	flag(One, "request-rate", "", "rate"),
	flag(One, "request-count num-requests", "", "requests"),
	flag(One, "random-seed", "", "seed"),
	{Names: []string{"goodput", "g"}, Takes: Many, Cannot: "redline run --slo 'ttft:p99<500ms' judges objectives"},
	flag(One, "artifact-dir output-artifact-dir", "artifacts", "out"),
	flag(One, "profile-export-file profile-export-prefix", "", "out"),
	flag(One, "isl synthetic-input-tokens-mean prompt-input-tokens-mean", "550", "workload"),
	flag(One, "isl-stddev synthetic-input-tokens-stddev prompt-input-tokens-stddev", "0", "workload"),
	flag(One, "osl output-tokens-mean prompt-output-tokens-mean", "", "workload"),
	flag(One, "osl-stddev output-tokens-stddev prompt-output-tokens-stddev", "0", "workload"),
	flag(One, "num-dataset-entries num-prompts", "", ""),
	flag(One, "batch-size batch-size-text prompt-batch-size b", "1", "workload"),
	flag(One, "num-prefix-prompts prompt-prefix-pool-size prefix-prompt-pool-size", "0", "workload"),
	flag(One, "prefix-prompt-length prompt-prefix-length", "0", "workload"),
	flag(One, "session-turns-mean conversation-turn-mean", "1", "workload"),
	flag(One, "session-turns-stddev conversation-turn-stddev", "0", "workload"),
	flag(One, "session-turn-delay-mean conversation-turn-delay-mean", "0", "workload"),
	{Names: []string{"session-turn-delay-stddev", "conversation-turn-delay-stddev"}, Takes: One, Idle: "pauses between turns are all of the mean length"},
	{Names: []string{"num-sessions", "num-conversations", "conversation-num"}, Takes: One, Cannot: "give the number of requests: --request-count"},
	flag(None, "fixed-schedule", "", "workload"),
	flag(None, "verbose v", "", "verbose"),
}

// nvidiaPlans make a plan for each concurrency or rate of a list.
func nvidiaPlans(v *Values, usual func(*Values, int) int) ([]Plan, error) {
	var plans []Plan
	loads, by := strings.Split(v.text("concurrency"), ","), "concurrency"
	if rates := strings.Split(v.text("request-rate"), ","); v.Given("request-rate") && (len(rates) > 1 || !v.Given("concurrency")) {
		loads, by = rates, "request-rate"
	}
	for _, load := range loads {
		one := &Values{peer: v.peer, given: map[string][]string{}, Env: v.Env, Read: v.Read}
		for name, values := range v.given {
			one.given[name] = values
		}
		if load != "" {
			one.given[by] = []string{load}
		}
		plan := nvidiaPlan(one, usual)
		if v.err == nil {
			v.err = one.err
		}
		plans = append(plans, plan)
	}
	return plans, v.err
}

func nvidiaPlan(v *Values, usual func(*Values, int) int) Plan {
	p := &Plan{}
	nvidiaTarget(v, p)
	nvidiaWorkload(v, p)
	most := v.count("concurrency")
	rate := v.number("request-rate")
	if most == 0 && rate == 0 {
		most = 1
	}
	requests := v.count("request-count")
	seconds := v.number("benchmark-duration")
	if requests == 0 && seconds == 0 {
		requests = usual(v, most)
	}
	switch {
	case v.on("fixed-schedule"):
		p.set("plain", "true")
	case rate > 0:
		shape := 1.0
		switch v.text("arrival-pattern") {
		case "constant":
			shape = math.Inf(1)
		case "gamma":
			shape = v.number("arrival-smoothness")
		}
		p.offer(rate, shape, most, requests)
	default:
		p.offer(math.Inf(1), 0, most, requests)
	}
	if seconds > 0 && !v.on("fixed-schedule") {
		p.set("duration", number(seconds)+"s")
	}
	if v.Given("random-seed") {
		p.set("seed", strconv.Itoa(v.count("random-seed")))
	}
	p.finish()
	return *p
}

// nvidiaPaths are where each type of endpoint is.
var nvidiaPaths = map[string]string{"chat": "/v1/chat/completions", "completions": "/v1/completions", "embeddings": "/v1/embeddings",
	"responses": "/v1/responses", "messages": "/v1/messages", "huggingface_generate": "/generate_stream", "rankings": "/v1/rerank", "nim_rankings": "/v1/rerank"}

func nvidiaTarget(v *Values, p *Plan) {
	path, known := nvidiaPaths[strings.ReplaceAll(v.text("endpoint-type"), "-", "_")]
	if !known {
		v.refuse("endpoint-type", "redline speaks chat, completions, responses, embeddings and rankings of these; --api of redline run has more")
	}
	if v.Given("endpoint") {
		path = v.text("endpoint")
	}
	urls := v.list("url")
	if len(urls) == 0 {
		urls = []string{v.text("url")}
	}
	for _, u := range urls {
		p.set("url", endpoint(address(u, "", ""), path))
	}
	models := strings.Split(strings.Join(v.list("model"), ","), ",")
	p.setIf("model", models[0])
	if len(models) > 1 {
		p.block("tenants", tenants(models))
	}
	if !v.on("streaming") && !one(v.text("endpoint-type"), "embeddings", "rankings", "nim_rankings") {
		p.set("no-stream", "true")
	}
	for _, h := range v.pairs("header", ":") {
		p.set("header", h[0]+"="+h[1])
	}
	if v.Given("api-key") {
		p.set("header", "Authorization=Bearer "+v.text("api-key"))
	}
	for _, item := range v.list("extra-inputs") {
		if strings.HasPrefix(item, "{") {
			var keys map[string]any
			if json.Unmarshal([]byte(item), &keys) != nil {
				v.fail("extra-inputs", "KEY:VALUE or a JSON object")
			}
			p.extend(keys)
			continue
		}
		key, value, _ := strings.Cut(item, ":")
		p.extend(map[string]any{key: jsonOr(value)})
	}
	p.tokenizer(v.text("tokenizer"))
}

// jsonOr reads a number, a truth value, or leaves a text.
func jsonOr(value string) any {
	var v any
	if json.Unmarshal([]byte(value), &v) == nil {
		return v
	}
	return value
}

func nvidiaWorkload(v *Values, p *Plan) {
	if path := v.text("input-file"); path != "" {
		p.block("file", quoted(path))
		return
	}
	in, out := around(v.number("isl"), v.number("isl-stddev")), around(v.number("osl"), v.number("osl-stddev"))
	natural := ""
	if !v.Given("osl") {
		out, natural = "fixed(1024)", "true"
		p.note("without --osl the model ends its replies, at 1,024 tokens at the latest")
	}
	prefix, turns := v.count("prefix-prompt-length"), v.number("session-turns-mean")
	if p.Workload == "" && natural == "" && prefix == 0 && turns <= 1 && v.count("batch-size") <= 1 {
		p.lengths(in, out)
		return
	}
	p.block("prompt", in, "output", out, "natural", natural)
	if prefix > 0 {
		p.block("prefix", fmt.Sprintf("{groups: %d, tokens: %d}", max(1, v.count("num-prefix-prompts")), prefix))
	}
	if turns > 1 {
		delay := v.number("session-turn-delay-mean")
		p.block("session", fmt.Sprintf("{turns: %s, think: %sms}", around(turns, v.number("session-turns-stddev")), number(delay)))
	}
	if n := v.count("batch-size"); n > 1 {
		p.block("inputs", strconv.Itoa(n))
	}
}

// nvidiaFigure is one metric of the tables.
type nvidiaFigure struct {
	tag, title, unit string
	of               func(*Run) series // nil for one that is a single number
	single           func(*Run) float64
}

func milliseconds(of func(*Request) (float64, bool)) func(*Run) series {
	return func(r *Run) series { return r.each(of).times(1000) }
}

var nvidiaFigures = []nvidiaFigure{
	{"time_to_first_token", "Time to First Token", "ms", milliseconds(ttft), nil},
	{"time_to_second_token", "Time to Second Token", "ms", milliseconds(func(q *Request) (float64, bool) {
		if len(q.Gaps) == 0 {
			return 0, false
		}
		return q.Gaps[0], true
	}), nil},
	{"request_latency", "Request Latency", "ms", milliseconds(latency), nil},
	{"inter_token_latency", "Inter Token Latency", "ms", milliseconds(tpot), nil},
	{"output_token_throughput_per_user", "Output Token Throughput Per User", "tokens/sec/user",
		func(r *Run) series {
			return r.each(func(q *Request) (float64, bool) { return 1 / q.TPOT(), q.Out > 1 && q.TPOT() > 0 })
		}, nil},
	{"output_sequence_length", "Output Sequence Length", "tokens", func(r *Run) series { return r.each(outputs) }, nil},
	{"input_sequence_length", "Input Sequence Length", "tokens", func(r *Run) series { return r.each(inputs) }, nil},
	{"output_token_throughput", "Output Token Throughput", "tokens/sec", nil, func(r *Run) float64 { return r.each(outputs).sum() / r.span() }},
	{"request_throughput", "Request Throughput", "requests/sec", nil, func(r *Run) float64 { return float64(len(r.each(latency))) / r.span() }},
	{"request_count", "Request Count", "requests", nil, func(r *Run) float64 { return float64(len(r.each(latency))) }},
}

// span is the time from the first request to the end of the last reply that
// succeeded, by which AIPerf divides.
func (r *Run) span() float64 {
	first, last := math.Inf(1), 0.0
	for q := range r.ok() {
		first, last = min(first, q.Start), max(last, q.Start+q.Latency)
	}
	if last <= first {
		return math.Inf(1)
	}
	return last - first
}

// nvidiaTable is a table as the Rich library draws it.
func nvidiaTable(title, first string, stats []string, figures []nvidiaFigure, r *Run) string {
	rows := [][]string{append([]string{first}, stats...)}
	for _, f := range figures {
		cells := []string{f.title + " (" + f.unit + ")"}
		if f.of == nil {
			cells = append(cells, grouped(f.single(r)))
			for range stats[1:] {
				cells = append(cells, "N/A")
			}
		} else {
			s := f.of(r)
			if len(s) == 0 {
				continue
			}
			for _, stat := range stats {
				cells = append(cells, grouped(s.stat(stat)))
			}
		}
		rows = append(rows, cells)
	}
	return boxed(title, rows)
}

// stat is a statistic by its name.
func (s series) stat(name string) float64 {
	switch name {
	case "avg":
		return s.mean()
	case "min":
		return s.min()
	case "max":
		return s.max()
	case "std":
		return s.deviation(0)
	case "sum":
		return s.sum()
	}
	percent, _ := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
	return s.at(percent)
}

// grouped is a number with two digits after the point and its thousands grouped.
func grouped(v float64) string {
	said := strconv.FormatFloat(v, 'f', 2, 64)
	whole, rest := said[:len(said)-3], said[len(said)-3:]
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + rest
}

// boxed draws a table with a heavy head.
func boxed(title string, rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	rule := func(left, mid, right, line string) string {
		parts := make([]string, len(widths))
		for i, w := range widths {
			parts[i] = strings.Repeat(line, w+2)
		}
		return left + strings.Join(parts, mid) + right + "\n"
	}
	cells := func(edge string, list []string) string {
		var b strings.Builder
		for i, c := range list {
			b.WriteString(edge + strings.Repeat(" ", 1+widths[i]-utf8.RuneCountInString(c)) + c + " ")
		}
		return b.String() + edge + "\n"
	}
	top := rule("┏", "┳", "┓", "━")
	indent := max(0, (utf8.RuneCountInString(top)-1-utf8.RuneCountInString(title))/2)
	out := strings.Repeat(" ", indent) + title + "\n" + top + cells("┃", rows[0]) + rule("┡", "╇", "┩", "━")
	for _, r := range rows[1:] {
		out += cells("│", r)
	}
	return out + rule("└", "┴", "┘", "─")
}

// nvidiaStats are the statistics of a JSON export, in its order.
var nvidiaStats = []string{"avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std"}

// nvidiaBlock is a metric in a JSON export.
func nvidiaBlock(f nvidiaFigure, r *Run) *object {
	o := &object{}
	o.put("unit", f.unit)
	if f.of == nil {
		o.put("avg", orNull(f.single(r)))
		return o
	}
	s := f.of(r)
	if len(s) == 0 {
		return nil
	}
	for _, stat := range nvidiaStats {
		o.put(stat, s.stat(stat))
	}
	o.put("count", len(s))
	o.put("sum", s.sum())
	return o
}

// nvidiaCSV is the CSV export: a row for each metric.
func nvidiaCSV(figures []nvidiaFigure, r *Run) ([]byte, error) {
	stats := []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}
	rows := [][]string{append([]string{"Metric"}, stats...)}
	for _, f := range slices.DeleteFunc(slices.Clone(figures), func(f nvidiaFigure) bool { return f.of == nil || len(f.of(r)) == 0 }) {
		cells := []string{f.title + " (" + f.unit + ")"}
		for _, stat := range stats {
			cells = append(cells, strconv.FormatFloat(f.of(r).stat(stat), 'f', 2, 64))
		}
		rows = append(rows, cells)
	}
	rows = append(rows, nil, []string{"Metric", "Value"})
	for _, f := range figures {
		if f.of == nil {
			rows = append(rows, []string{f.title + " (" + f.unit + ")", strconv.FormatFloat(f.single(r), 'f', 2, 64)})
		}
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

// nvidiaDir is where artifacts go: a directory for each load.
func nvidiaDir(v *Values, r *Run) string {
	if v.Given("artifact-dir") && len(strings.Split(v.text("concurrency"), ",")) == 1 {
		return v.text("artifact-dir")
	}
	load := ""
	for _, s := range r.Plan.Settings {
		switch s[0] {
		case "concurrency":
			load = "concurrency" + s[1]
		case "rate":
			load = "request_rate" + s[1]
		}
	}
	return filepath.Join(v.text("artifact-dir"), strings.ReplaceAll(r.Model, "/", "_")+"-openai-"+v.text("endpoint-type")+"-"+load)
}
