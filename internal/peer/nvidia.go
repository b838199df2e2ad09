package peer

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
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
	amount(One, "concurrency", "", "concurrency"),
	amount(One, "request-rate", "", "rate"),
	amount(One, "request-count num-requests", "", "requests"),
	flag(One, "warmup-request-count num-warmup-requests", "0", ""),
	flag(One, "random-seed", "", "seed"),
	flag(Many, "goodput g", "", "slo"),
	flag(One, "artifact-dir output-artifact-dir", "artifacts", "out"),
	flag(One, "profile-export-file profile-export-prefix", "", "out"),
	flag(One, "isl synthetic-input-tokens-mean prompt-input-tokens-mean input-tokens-mean", "550", "workload"),
	flag(One, "isl-stddev synthetic-input-tokens-stddev prompt-input-tokens-stddev input-tokens-stddev", "0", "workload"),
	flag(One, "osl output-tokens-mean prompt-output-tokens-mean", "", "workload"),
	flag(One, "osl-stddev output-tokens-stddev prompt-output-tokens-stddev", "0", "workload"),
	{Names: []string{"num-dataset-entries", "num-prompts"}, Takes: One, Idle: "every request has a prompt of its own, and none comes twice"},
	amount(One, "batch-size batch-size-text prompt-batch-size b", "1", "workload"),
	flag(One, "num-prefix-prompts prompt-prefix-pool-size prefix-prompt-pool-size", "0", "workload"),
	flag(One, "prefix-prompt-length prompt-prefix-length", "0", "workload"),
	amount(One, "num-sessions num-conversations conversation-num", "", "requests"),
	flag(One, "session-turns-mean conversation-turn-mean", "1", "workload"),
	flag(One, "session-turns-stddev conversation-turn-stddev", "0", "workload"),
	flag(One, "session-turn-delay-mean conversation-turn-delay-mean", "0", "workload"),
	flag(One, "session-turn-delay-stddev conversation-turn-delay-stddev", "0", "workload"),
	flag(One, "session-delay-ratio conversation-turn-delay-ratio", "1", "workload"),
	flag(None, "fixed-schedule", "", "workload"),
	flag(None, "verbose v", "", "verbose"),
}

// nvidiaLists are the flags that take several values, of which each makes a run.
var nvidiaLists = []string{"concurrency", "request-rate", "request-count", "num-sessions", "isl", "osl"}

// nvidiaPlans make a plan for each combination of the values of lists, as often as
// runs are asked for.
func nvidiaPlans(v *Values) ([]Plan, error) {
	var plans []Plan
	for _, one := range nvidiaGrid(v) {
		plan := nvidiaPlan(one)
		if v.err == nil {
			v.err = one.err
		}
		runs := max(1, v.count("num-profile-runs"))
		for i := range runs {
			plan.part = one.part
			if runs > 1 {
				plan.part = filepath.Join(plan.part, fmt.Sprintf("profile_runs/run_%04d", i+1))
			}
			plans = append(plans, plan)
		}
	}
	return plans, v.err
}

// nvidiaVariants are command lines whose differences are written out one by one:
// name: isl=128, osl=64.
func nvidiaVariants(v *Values) (list []*Values) {
	for i, said := range v.list("variant") {
		other := v.with("variant", strconv.Itoa(i+1))
		if name, rest, named := strings.Cut(said, ":"); named && !strings.Contains(name, "=") {
			said, other.part = rest, strings.TrimSpace(name)
		}
		for pair := range strings.SplitSeq(said, ",") {
			key, value, ok := strings.Cut(pair, "=")
			f := v.peer.find(strings.TrimSpace(key))
			if !ok || f == nil || f.Cannot != "" || f.Idle != "" {
				v.fail("variant", "NAME: KEY=VALUE, KEY=VALUE with keys that are honored")
				return nil
			}
			v.read[f.Names[0]] = true
			other.given[f.Names[0]] = []string{strings.TrimSpace(value)}
		}
		list = append(list, other)
	}
	return list
}

// nvidiaGrid takes lists apart: all combinations, or their values in turn.
func nvidiaGrid(v *Values) []*Values {
	if v.Given("variant") {
		return nvidiaVariants(v)
	}
	grid := []*Values{v}
	for _, name := range nvidiaLists {
		items := strings.Split(v.text(name), ",")
		if len(items) == 1 {
			continue
		}
		zip := v.text("sweep-type") == "zip" && len(grid) > 1
		if zip && len(items) != len(grid) {
			v.refuse("sweep-type", "all lists must have the same length")
			break
		}
		var next []*Values
		for i, before := range grid {
			of := items
			if zip {
				of = items[i : i+1]
			}
			for _, item := range of {
				next = append(next, before.with(name, strings.TrimSpace(item)))
			}
		}
		grid = next
	}
	return grid
}

// with is the same command line with another value of one flag.
func (v *Values) with(name, value string) *Values {
	other := *v
	other.given = maps.Clone(v.given)
	other.given[name] = []string{value}
	other.part = filepath.Join(v.part, strings.ReplaceAll(name, "-", "_")+value)
	return &other
}

func nvidiaPlan(v *Values) Plan {
	p := &Plan{}
	nvidiaTarget(v, p)
	nvidiaWorkload(v, p)
	nvidiaOffer(v, p)
	p.warmUp(v.count("warmup-request-count"))
	aiperfAccuracy(v, p)
	if percent := v.number("request-cancellation-rate"); percent > 0 {
		p.set("cancel", number(percent)+"%")
		after := "queue"
		if delay := v.number("request-cancellation-delay"); delay > 0 {
			after = number(delay) + "s"
		}
		p.set("cancel-after", after)
	}
	if seconds := v.number("request-timeout-seconds"); seconds > 0 {
		p.set("timeout", number(seconds)+"s")
	}
	p.setIf("max-error-rate", v.text("failed-request-threshold"))
	p.setIf("otlp", v.text("otel-url"))
	if v.on("verbose") {
		p.set("verbose", "true")
	}
	if v.on("reset-kv-cache") {
		p.Before = append(p.Before, endpoint(address(v.text("url"), "", ""), v.text("reset-kv-cache-path")))
	}
	if v.Given("random-seed") {
		p.set("seed", strconv.Itoa(v.count("random-seed")))
	}
	p.finish()
	return *p
}

// nvidiaOffer says how much load, and for how long: where nothing does, ten
// requests or two for each in flight.
func nvidiaOffer(v *Values, p *Plan) {
	if v.on("fixed-schedule") {
		p.set("plain", "true")
		return
	}
	most, rate := max(v.count("concurrency"), v.count("session-concurrency")), v.number("request-rate")
	if most == 0 && rate == 0 {
		most = 1
	}
	requests, seconds := v.count("request-count"), v.number("benchmark-duration")
	if requests == 0 && v.Given("measurement-interval") {
		seconds = v.number("measurement-interval") / 1000
	}
	if requests == 0 && v.Given("num-sessions") {
		requests = int(float64(v.count("num-sessions")) * max(1, v.number("session-turns-mean")))
	}
	if requests == 0 && seconds == 0 && v.text("scenario") == "" {
		requests = max(10, 2*most)
	}
	if rate == 0 {
		rate = math.Inf(1)
	}
	shape := 1.0
	switch v.text("arrival-pattern") {
	case "constant":
		shape = math.Inf(1)
	case "gamma":
		shape = v.number("arrival-smoothness")
	}
	p.offer(rate, shape, most, requests)
	if seconds > 0 {
		p.set("duration", number(seconds)+"s")
	}
}

// nvidiaPaths are where each type of endpoint is.
var nvidiaPaths = map[string]string{"chat": "/v1/chat/completions", "completions": "/v1/completions", "embeddings": "/v1/embeddings",

	"vision": "/v1/chat/completions", "multimodal": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages", "huggingface_generate": "/generate_stream", "rankings": "/v1/rerank", "nim_rankings": "/v1/rerank"}

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
		p.set("header", bearer+v.text("api-key"))
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
		nvidiaFile(v, p, path)
		return
	}
	if name := v.text("public-dataset"); name != "" {
		if name != "sharegpt" {
			v.refuse("public-dataset", "redline has sharegpt of these; download others and give the file: --input-file FILE")
		}
		p.block("file", quoteYAML(shareGPTFile), "format", "sharegpt", "natural", "true")
		return
	}
	if v.text("scenario") != "" {
		v.refuse("scenario", "give the recorded sessions by --input-file")
	}
	if v.Given("seq-dist") {
		p.block("classes", nvidiaClasses(v))
		return
	}
	if v.Given("image-width-mean") || one(v.text("endpoint-type"), "vision", "multimodal") {
		nvidiaImages(v, p)
	}
	in, out, natural := nvidiaLengths(v)
	if natural != "" {
		p.note("without --osl the model ends its replies, at 1,024 tokens at the latest")
	}
	texts := max(v.count("batch-size"), 1)
	if one(v.text("endpoint-type"), "rankings", "nim_rankings") && v.Given("rankings-passages-mean") {
		texts = v.count("rankings-passages-mean")
	}
	groups, prefix := max(1, v.count("num-prefix-prompts")), v.count("prefix-prompt-length")
	if shared := v.count("shared-system-prompt-length"); shared > 0 {
		groups, prefix = 1, shared
	}
	context, session := v.number("user-context-prompt-length"), nvidiaSession(v, p)
	if context > 0 && session != "" {
		session = strings.TrimSuffix(session, "}") + ", prompt: " + in + "}"
	}
	if context > 0 {
		in = around(v.number("isl")+context, v.number("isl-stddev"))
	}
	if p.Workload == "" && natural == "" && prefix == 0 && session == "" && texts == 1 {
		p.lengths(in, out)
		return
	}
	p.block("prompt", in, "output", out, "natural", natural, "session", session)
	if prefix > 0 {
		p.block("prefix", fmt.Sprintf("{groups: %d, tokens: %d}", groups, prefix))
	}
	if texts > 1 {
		p.block("inputs", strconv.Itoa(texts))
	}
}

// nvidiaLengths are those of prompts and replies; natural where the model ends its
// replies.
func nvidiaLengths(v *Values) (in, out, natural string) {
	in, out = around(v.number("isl"), v.number("isl-stddev")), around(v.number("osl"), v.number("osl-stddev"))
	if one(v.text("endpoint-type"), "rankings", "nim_rankings") && v.Given("rankings-passages-prompt-token-mean") {
		in = around(v.number("rankings-passages-prompt-token-mean"), v.number("rankings-passages-prompt-token-stddev"))
	}
	if v.Given("random-range-ratio") {
		of := rangeOf
		if v.text("random-corpus-style") == "sglang" {
			of = upTo
		}
		ratios := v.ratios("random-range-ratio")
		in, out = of(v.count("isl"), ratios[0]), of(v.count("osl"), ratios[1])
	}
	if !v.Given("osl") {
		out, natural = "fixed(1024)", "true"
	}
	return in, out, natural
}

// nvidiaSession is a conversation of several turns, "" for single requests.
func nvidiaSession(v *Values, p *Plan) string {
	turns := v.number("session-turns-mean")
	if turns <= 1 {
		return ""
	}
	ratio := v.number("session-delay-ratio")
	mean, deviation := ratio*v.number("session-turn-delay-mean"), ratio*v.number("session-turn-delay-stddev")
	think := number(mean) + "ms"
	if deviation > 0 {
		half := min(mean, math.Round(math.Sqrt(3)*deviation))
		think = fmt.Sprintf("uniform(%sms,%sms)", number(mean-half), number(mean+half))
		p.note("pauses between turns are drawn evenly around their mean, not from a normal distribution")
	}
	return fmt.Sprintf("{turns: %s, think: %s}", quoteYAML(around(turns, v.number("session-turns-stddev"))), quoteYAML(think))
}

// nvidiaReplay is the part of a trace, and how fast it goes.
func nvidiaReplay(v *Values) string {
	var keys []string
	from, to := v.number("fixed-schedule-start-offset"), v.number("fixed-schedule-end-offset")
	if from > 0 {
		keys = append(keys, "from: "+number(from)+"ms")
	}
	if to > 0 {
		keys = append(keys, "for: "+number(to-from)+"ms")
	}
	for _, name := range []string{"replay-speedup", "synthesis-speedup-ratio"} {
		if factor := v.number(name); factor > 0 && factor != 1 {
			keys = append(keys, "speedup: "+number(factor))
		}
	}
	if keys == nil {
		return ""
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

var lengthPair = regexp.MustCompile(`\(?(\d+)(?:\|(\d+))?,(\d+)(?:\|(\d+))?\)?:([\d.]+)`)

// nvidiaClasses are the pairs of --seq-dist, such as 256|10,128:40;512,256:60.
func nvidiaClasses(v *Values) string {
	var b strings.Builder
	said := strings.ReplaceAll(v.text("seq-dist"), " ", "")
	for i, m := range lengthPair.FindAllStringSubmatch(said, -1) {
		n := make([]float64, len(m))
		for j := range m {
			n[j], _ = strconv.ParseFloat(m[j], 64) // the expression takes numbers alone; a spread that is left out is 0
		}
		fmt.Fprintf(&b, "\n    - {name: pair%d, weight: %s, workload: {prompt: %s, output: %s}}", i+1, m[5], quoteYAML(around(n[1], n[2])), quoteYAML(around(n[3], n[4])))
	}
	if rest := strings.Trim(lengthPair.ReplaceAllString(said, ""), "[];,"); b.Len() == 0 || rest != "" {
		v.fail("seq-dist", "pairs such as 256,128:60;512,256:40")
	}
	return b.String()
}
