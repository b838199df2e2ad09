package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const guidellmVersion = "0.8.1"

// guidellm is `guidellm benchmark` with its flags up to 0.5, and `guidellm run`
// with those since, in which an option is kind=NAME,key=value.
var guidellm = &Peer{
	Name: "GuideLLM", Version: guidellmVersion,
	Commands: []string{"guidellm benchmark run", "guidellm benchmark", "guidellm run"},
	Flags:    guidellmFlags,
	Plans:    guidellmPlans,
	Next:     guidellmNext,
	Close:    guidellmTable,
	Files:    guidellmFiles,
}

var guidellmFlags = slices.Concat([]Flag{
	flag(One, "target", "", "url"),
	flag(One, "backend backend-type", "openai_http", "api"),
	flag(One, "backend-kwargs backend-args", "", "extra-body"),
	flag(One, "model", "", "model"),
	flag(One, "processor tokenizer", "", "tokenizer"),
	flag(Each, "data", "", "workload"),
	flag(One, "rate-type profile", "sweep", "profile"),
	amount(Each, "rate", "", "rates"),
	amount(One, "max-seconds", "", "duration"),
	amount(One, "max-requests", "", "requests"),
	flag(One, "max-error-rate", "", "max-error-rate"),
	flag(Each, "constraint", "", "duration"),
	flag(Many, "override", "", "rates"),
	flag(One, "request-type request-format", "chat_completions", "api"),
	flag(Each, "output", "", "out"),
	flag(One, "output-path output-dir", "", "out"),
	{Names: []string{"outputs"}, Takes: Each, Idle: "the results are written as JSON"},
	flag(One, "random-seed seed", "42", "seed"),
	flag(Each, "label l", "", "label"),
},
	idle(One, "the window is measured whole", "warmup warmup-percent", "cooldown cooldown-percent"),
	idle(One, "a run measures what it is asked for", "rampup", "sample-requests request-samples output-sampling", "metrics", "max-errors", "max-global-error-rate", "over-saturation",
		"stop-over-saturated detect-saturation"),
	idle(One, "files are read as they are", "data-args", "data-sampler", "data-column-mapper", "data-preprocessor", "data-finalizer", "data-loader", "data-samples",
		"data-num-workers", "dataloader-kwargs", "processor-args", "output-extras", "data-request-formatter"),
	idle(None, "progress goes to stderr, --quiet turns it off", "disable-progress disable-console-interactive", "disable-console disable-console-outputs", "display-scheduler-stats"),
	cannot(One, "a plan has it: redline run --plan FILE (docs/reference/PLAN.md)", "config scenario c"),
)

// guidellmOptions are an option's parts: its kind, and the rest by name. An option
// of the older form is its kind, or JSON.
func guidellmOptions(said string) (kind string, rest map[string]string) {
	rest = map[string]string{}
	if strings.HasPrefix(said, "{") {
		var keys map[string]any
		if json.Unmarshal([]byte(said), &keys) == nil {
			for k, value := range keys {
				rest[k] = fmt.Sprint(value)
			}
		}
		return rest["kind"], rest
	}
	last := ""
	for part := range strings.SplitSeq(said, ",") {
		key, value, ok := strings.Cut(part, "=")
		switch {
		case ok:
			last = strings.TrimSpace(key)
			rest[last] = strings.TrimSpace(value)
		case last != "": // rate=1,2,4
			rest[last] += "," + part
		default:
			rest["kind"] = part
		}
	}
	return rest["kind"], rest
}

// guidellmArgs is a command line, whichever form it has.
type guidellmArgs struct {
	target, model, path, profile, tokenizer string
	rates                                   []string
	levels                                  int    // of a sweep
	process                                 string // of its rates: constant or poisson
	seconds                                 float64
	requests                                int
	data                                    map[string]string
	images                                  map[string]string // of synthetic images beside the data, nil for none
	dataKind, dataSaid                      string
	timeScale                               string // of the profile replay
	sessions                                int    // of it that are live, 0 where rows come at their times
}

// or puts a value into what is kept where there is one.
func or(into *string, value string) {
	if value != "" {
		*into = value
	}
}

func guidellmRead(v *Values) guidellmArgs {
	a := guidellmArgs{target: v.text("target"), model: v.text("model"), seconds: v.number("max-seconds"), requests: v.count("max-requests")}
	guidellmBackend(v, &a)
	var profile map[string]string
	a.profile, profile = guidellmOptions(v.text("rate-type"))
	rates := strings.Join(v.list("rate"), ",")
	or(&rates, profile["rate"])
	or(&rates, profile["streams"])
	if o := v.list("override"); len(o) == 2 {
		rates = o[1]
	}
	if rates != "" {
		a.rates = strings.Split(strings.Trim(rates, "[]"), ",")
	}
	for _, c := range v.list("constraint") {
		switch kind, limit := guidellmOptions(c); kind {
		case "max_duration":
			a.seconds = v.above("constraint", limit["seconds"])
		case "max_requests":
			a.requests = int(v.above("constraint", limit["count"]))
		default:
			v.refuse("constraint", "redline has max_duration and max_requests of these, and --max-error-rate")
		}
	}
	for _, said := range v.list("data") {
		kind, keys := guidellmOptions(said)
		_, named := keys["kind"]
		switch {
		case kind == "synthetic_video":
			v.refuse("data", noVideo)
		case kind == "synthetic_image":
			a.images = keys
		case named && strings.ContainsAny(said, "={") && !one(kind, guidellmKinds...):
			v.refuse("data", "redline has the kinds "+strings.Join(guidellmKinds, ", "))
		case a.data != nil:
			v.refuse("data", "redline takes one source, and synthetic images beside it; a plan mixes several (docs/guide/WORKLOADS.md)")
		default:
			a.dataKind, a.data, a.dataSaid = kind, keys, said
		}
	}
	if a.images != nil && a.data == nil { // images alone
		a.data = map[string]string{"prompt_tokens": "1"}
	}
	_, tokenizer := guidellmOptions(v.text("processor"))
	a.tokenizer = v.text("processor")
	or(&a.tokenizer, tokenizer["model"])
	a.timeScale = profile["time_scale"]
	if a.seconds == 0 && a.requests == 0 && a.profile != "replay" {
		a.requests = 1000
	}
	if a.profile == "sweep" {
		a.readSweep(v, profile)
	}
	return a
}

// guidellmBackend says where requests go, and in which form.
func guidellmBackend(v *Values, a *guidellmArgs) {
	kind, backend := guidellmOptions(v.text("backend"))
	if !one(kind, "openai_http", "") {
		v.refuse("backend", "redline speaks openai_http of these")
	}
	or(&a.target, backend["target"])
	or(&a.model, backend["model"])
	format := v.text("request-type")
	or(&format, backend["request_format"])
	a.path = map[string]string{"chat_completions": "/v1/chat/completions", "text_completions": "/v1/completions"}[format]
	if strings.HasPrefix(format, "/") {
		a.path = format
	}
	if a.path == "" {
		v.refuse("request-type", "redline has chat_completions and text_completions of these")
	}
	if a.target == "" {
		v.refuse("target", "give the server's URL")
	}
}

// throughputStreams is how many requests a throughput run has in flight.
const throughputStreams = "512"

// readSweep takes the parts of a sweep: its rate is the number of its levels.
func (a *guidellmArgs) readSweep(v *Values, profile map[string]string) {
	levels := "10"
	if len(a.rates) > 0 {
		levels = a.rates[0]
	}
	or(&levels, profile["sweep_size"])
	n, err := strconv.Atoi(strings.TrimSpace(levels))
	if err != nil || n < 2 || len(a.rates) > 1 {
		v.fail("rate", "the number of levels of the sweep, from 2")
	}
	a.levels, a.process = n, cmp.Or(profile["strategy_type"], "constant")
	if !one(a.process, "constant", "poisson") {
		v.refuse("rate-type", "redline has the strategy_type constant and poisson of these")
	}
}

// as is the same with another profile.
func (a guidellmArgs) as(profile string) guidellmArgs {
	a.profile = profile
	return a
}

// guidellmNext gives the rates of a sweep, evenly spread from what one request at a
// time reaches, which was measured, to what the server reaches at most.
func guidellmNext(v *Values, runs []*Run) []Plan {
	a := guidellmRead(v)
	if a.profile != "sweep" || len(runs) != 2 {
		return nil
	}
	rate := func(r *Run) float64 {
		completed, _, _, _ := r.Counts()
		return float64(completed) / r.span()
	}
	low, high := rate(runs[0]), rate(runs[1])
	var plans []Plan
	steps := a.levels - 2
	for i := 1; i <= steps; i++ {
		level := low + (high-low)*float64(i)/float64(steps)
		if level = math.Round(level*1e4) / 1e4; level > 0 {
			plans = append(plans, guidellmPlan(v, a.as(a.process), number(level)))
		}
	}
	return plans
}

func guidellmPlans(v *Values) ([]Plan, error) {
	a := guidellmRead(v)
	loads := a.rates
	switch a.profile {
	case "sweep":
		return []Plan{guidellmPlan(v, a.as("synchronous"), "1"), guidellmPlan(v, a.as("throughput"), throughputStreams)}, v.err
	case "synchronous", "replay":
		loads = []string{"1"}
		delete(v.read, "rate")
	case "throughput":
		if len(loads) == 0 {
			loads = []string{throughputStreams}
		}
	case "concurrent", "constant", "poisson", "async":
		if len(loads) == 0 {
			v.refuse("rate-type", "give --rate")
		}
	default:
		v.refuse("rate-type", "redline has sweep, synchronous, throughput, concurrent, constant, poisson and replay of these")
	}
	var plans []Plan
	for _, load := range loads {
		plans = append(plans, guidellmPlan(v, a, load))
	}
	return plans, v.err
}

// guidellmPlan is one load of those that are asked for.
func guidellmPlan(v *Values, a guidellmArgs, load string) Plan {
	p := &Plan{}
	if one(a.profile, "synchronous", "throughput") {
		p.part = a.profile
	}
	p.set("url", endpoint(address(a.target, "", ""), a.path))
	p.setIf("model", a.model)
	p.tokenizer(a.tokenizer)
	if !guidellmReplay(v, p, &a) {
		guidellmWorkload(v, p, a)
	}
	n := v.above("rate", load)
	switch a.profile {
	case "replay":
		switch {
		case a.sessions == 0:
			p.set("plain", "true")
			if a.requests > 0 {
				p.set("requests", strconv.Itoa(a.requests))
			}
		case a.seconds == 0 && a.requests == 0:
			v.refuse("rate-type", "redline replays sessions until a constraint ends it: give max_duration or max_requests")
		default:
			p.offer(math.Inf(1), 0, a.sessions, a.requests)
		}
	case "constant":
		p.offer(n, math.Inf(1), 0, a.requests)
	case "poisson", "async":
		p.offer(n, 1, 0, a.requests)
	default:
		p.offer(math.Inf(1), 0, int(n), a.requests)
	}
	if a.seconds > 0 {
		p.set("duration", number(a.seconds)+"s")
	}
	p.setIf("max-error-rate", v.text("max-error-rate"))
	_, seed := guidellmOptions(v.text("random-seed"))
	p.set("seed", strings.TrimSpace(cmp.Or(seed["seed"], seed["value"], strings.TrimPrefix(v.text("random-seed"), "kind=static,"))))
	extras, _ := v.object("backend-kwargs")["extras"].(map[string]any)
	body, _ := extras["body"].(map[string]any)
	p.extend(body)
	p.finish()
	return *p
}

func guidellmWorkload(v *Values, p *Plan, a guidellmArgs) {
	length := func(key string) string {
		mean, deviation := v.above("data", a.data[key]), 0.0
		if spread := a.data[key+"_stdev"]; spread != "" && spread != "0" {
			deviation = v.above("data", spread)
		}
		said := around(mean, deviation)
		if low, high := a.data[key+"_min"], a.data[key+"_max"]; low != "" && high != "" && deviation > 0 {
			said = strings.TrimSuffix(said, ")") + "," + low + ".." + high + ")"
		}
		return said
	}
	guidellmImages(v, p, a)
	_, synthetic := a.data["prompt_tokens"]
	switch {
	case synthetic:
		if a.data["output_tokens"] == "" {
			v.refuse("data", "give output_tokens too")
		}
		out := length("output_tokens")
		if a.data["prefix_tokens"] == "" {
			p.lengths(length("prompt_tokens"), out)
			return
		}
		p.block("prompt", length("prompt_tokens"), "output", out,
			"prefix", fmt.Sprintf("{groups: %s, tokens: %s}", cmp.Or(a.data["prefix_count"], "1"), a.data["prefix_tokens"]))
	case len(v.list("data")) == 0:
		v.refuse("data", "give the prompts: --data prompt_tokens=512,output_tokens=128, or a file")
	default:
		path := cmp.Or(a.data["path"], a.data["source"], a.dataSaid)
		p.block("file", quoteYAML(path), "natural", "true")
	}
}
