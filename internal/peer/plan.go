package peer

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"redline/internal/text"
)

// Plan is one load of a peer in redline's words.
type Plan struct {
	// Settings are flags of redline run with their values, in the order in which
	// they are best read.
	Settings [][2]string
	// Workload is the plan's workload block, where flags cannot say it.
	Workload string
	// Before are URLs that are asked by POST before the load, as to empty a cache.
	Before []string
	// Warmups is how many requests are sent, and answered, before the load.
	Warmups int
	// Notes are what is not the same here, a sentence each.
	Notes []string

	body map[string]any // goes into every request
	part string         // which of several runs, as part of a path
}

// set gives one of our flags a value.
func (p *Plan) set(flag, value string) { p.Settings = append(p.Settings, [2]string{flag, value}) }

// setIf gives it one that is not empty.
func (p *Plan) setIf(flag, value string) {
	if value != "" && value != "None" {
		p.set(flag, value)
	}
}

// note says what is not the same.
func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// extend adds keys to every request's body.
func (p *Plan) extend(keys map[string]any) {
	if p.body == nil {
		p.body = map[string]any{}
	}
	maps.Copy(p.body, keys)
}

// finish writes what was gathered on the way.
func (p *Plan) finish() {
	if name, ok := p.body["model"].(string); ok {
		delete(p.body, "model")
		p.set("model", name)
	}
	for _, key := range []string{"max_tokens", "max_completion_tokens"} {
		if n, ok := p.body[key].(float64); ok && n >= 1 && p.setOutput(fmt.Sprintf("fixed(%d)", int(n))) {
			delete(p.body, key)
		}
	}
	if len(p.body) > 0 {
		body, _ := json.Marshal(p.body) // it was read from JSON, or is numbers
		p.set("extra-body", string(body))
	}
}

// setOutput puts another length of replies in place, where the workload is of one kind.
func (p *Plan) setOutput(length string) bool {
	for i, s := range p.Settings {
		if in, _, ok := strings.Cut(s[1], " out="); s[0] == "workload" && ok {
			p.Settings[i][1] = in + " out=" + length
			return true
		}
	}
	if p.Workload == "" || strings.Contains(p.Workload, "  classes:") {
		return false
	}
	lines := slices.DeleteFunc(strings.SplitAfter(p.Workload, "\n"), func(line string) bool { return strings.HasPrefix(line, "  output: ") })
	p.Workload = strings.Join(lines, "")
	p.block("output", length)
	return true
}

// warmUp asks for requests before the load.
func (p *Plan) warmUp(requests int) {
	if p.Warmups = requests; requests > 0 {
		p.note("%s sent before the load, not measured; the command above has --warmup TIME for it", text.Plural(requests, "request"))
	}
}

// Warmup is the plan of the requests before the load, as the load sends its own.
func (p *Plan) Warmup() Plan {
	warm := *p
	warm.Settings = slices.DeleteFunc(slices.Clone(p.Settings), func(s [2]string) bool { return one(s[0], "requests", "duration", "seed", "slo", "otlp") })
	for i, s := range warm.Settings {
		if most, err := strconv.Atoi(s[1]); s[0] == "concurrency" && err == nil {
			warm.Settings[i][1] = strconv.Itoa(min(most, p.Warmups))
		}
	}
	warm.set("requests", strconv.Itoa(p.Warmups))
	return warm
}

// load is what the plan offers: a rate, else a concurrency.
func (p *Plan) load() (by, value string) {
	for _, s := range p.Settings {
		if s[0] == "rate" || s[0] == "concurrency" && by == "" {
			by, value = s[0], s[1]
		}
	}
	return by, value
}

// Flags are the settings as config takes them.
func (p *Plan) Flags() map[string][]string {
	flags := map[string][]string{}
	for _, s := range p.Settings {
		flags[s[0]] = append(flags[s[0]], s[1])
	}
	return flags
}

// bearer is the header that carries a key.
const bearer = "Authorization=Bearer "

// Native is the command that says the same. A workload that flags cannot say
// stands in the plan at path.
func (p *Plan) Native(path string) string {
	if p.Workload != "" {
		return "redline run --plan " + text.Shell(path)
	}
	words := []string{"redline run"}
	for _, s := range p.Settings {
		if s[0] == "header" && strings.HasPrefix(s[1], bearer) {
			s = [2]string{"api-key-env", "OPENAI_API_KEY"} // a key has no place on a command line
		}
		words = append(words, "--"+s[0])
		if s[1] != "true" {
			words = append(words, text.Shell(s[1]))
		}
	}
	return strings.Join(words, " ")
}

// offer says how much load: all at once where the rate is infinite, as a peer
// without warm-up, staggered start or load behind the last request does it.
func (p *Plan) offer(rate, burstiness float64, limit, requests int) {
	if !math.IsInf(rate, 1) && rate > 0 {
		p.set("rate", number(rate))
		if burstiness > 0 {
			p.set("arrival", Arrival(burstiness))
		}
	} else if limit == 0 || requests > 0 && limit > requests {
		limit = requests
	}
	if limit > 0 {
		p.set("concurrency", strconv.Itoa(limit))
	}
	if requests > 0 {
		p.set("requests", strconv.Itoa(requests))
	}
	p.set("plain", "true")
}

// PathOf is where the requests of a peer go whose file names this backend or type
// of endpoint, "" where that is not known.
func PathOf(peer, backend string) string {
	switch peer {
	case "vLLM":
		return vllmPaths[backend]
	case "SGLang":
		return sglangBackends[backend].path
	}
	return nvidiaPaths[strings.ReplaceAll(backend, "-", "_")]
}

// Arrival is the process of vLLM's burstiness: the shape of a gamma distribution.
func Arrival(burstiness float64) string {
	switch {
	case math.IsInf(burstiness, 1):
		return "constant"
	case burstiness == 1:
		return "poisson"
	}
	return "gamma(" + number(burstiness) + ")"
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// uniformLength is a length drawn evenly between two bounds.
func uniformLength(low, high int) string {
	low, high = max(low, 1), max(high, 1)
	if low == high {
		return fmt.Sprintf("fixed(%d)", low)
	}
	return fmt.Sprintf("uniform(%d,%d)", low, high)
}

// around is a length with a mean and a standard deviation.
func around(mean, deviation float64) string {
	if deviation == 0 {
		return fmt.Sprintf("fixed(%d)", max(1, int(mean)))
	}
	return fmt.Sprintf("normal(%s,%s)", number(mean), number(deviation))
}

// lengths sets a workload of lengths alone.
func (p *Plan) lengths(prompt, output string) { p.set("workload", "in="+prompt+" out="+output) }

// block sets a workload as a block of keys, in their order.
func (p *Plan) block(keys ...string) {
	var b strings.Builder
	for i := 0; i+1 < len(keys); i += 2 {
		if keys[i+1] != "" {
			fmt.Fprintf(&b, "  %s: %s\n", keys[i], keys[i+1])
		}
	}
	p.Workload += b.String()
}

// shareGPTFile is the one that SGLang and inference-perf fetch where none is named.
const shareGPTFile = "hf:anon8231489123/ShareGPT_Vicuna_unfiltered/ShareGPT_V3_unfiltered_cleaned_split.json"

// classes sets a mix of workloads in equal shares.
func (p *Plan) classes(names []string, keys func(name string) []string) {
	var b strings.Builder
	for _, name := range names {
		var inner Plan
		inner.block(keys(name)...)
		lines := strings.Split(strings.TrimRight(inner.Workload, "\n"), "\n")
		fmt.Fprintf(&b, "\n    - {name: %s, weight: 1, workload: {%s}}", quoteYAML(strings.TrimSpace(name)), strings.Join(text.Each(lines, strings.TrimSpace), ", "))
	}
	p.block("classes", b.String())
}

// quoteYAML is a text as YAML takes it.
func quoteYAML(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// local reports whether a tokenizer is a file, not a name of a hub.
func local(tokenizer string) bool {
	return strings.HasSuffix(tokenizer, ".json") || strings.HasPrefix(tokenizer, "/") || strings.HasPrefix(tokenizer, "./")
}

// tokenizer sets one that is a file, or of a repository (org/name) as redline run
// takes it; another is named.
func (p *Plan) tokenizer(name string) {
	switch {
	case name == "" || name == "None" || name == "builtin":
	case local(name) || strings.Count(name, "/") == 1:
		p.set("tokenizer", name)
	default:
		p.note("tokenizer %s is no file and no repository: prompts are made with o200k_base, and figures count by the server's usage; --tokenizer takes a tokenizer.json or org/name", name)
	}
}

// address is a base URL, from what a peer calls it or from a host and a port.
func address(base, host, port string) string {
	if base == "" || base == "None" {
		if host == "0.0.0.0" {
			host = "127.0.0.1"
		}
		base = "http://" + host + ":" + port
	}
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	return strings.TrimSuffix(base, "/")
}

// endpoint joins a base URL and a path.
func endpoint(base, path string) string {
	base = strings.TrimSuffix(base, "/")
	if strings.HasSuffix(base, "/v1") && strings.HasPrefix(path, "/v1/") {
		base = strings.TrimSuffix(base, "/v1")
	}
	if path != "" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return base + path
}

// target is where requests go and what they ask for, by the flags that vLLM's and
// SGLang's benchmarks share.
func (p *Plan) target(v *Values, port, path string) {
	p.set("url", endpoint(address(v.text("base-url"), v.text("host"), port), path))
	p.setIf("model", v.text("model"))
	p.setIf("model", v.text("served-model-name"))
	for _, h := range v.pairs("header", "=") {
		p.set("header", h[0]+"="+h[1])
	}
	p.tokenizer(v.text("tokenizer"))
}

// adapters asks for several models, and reports whether there are any.
func (p *Plan) adapters(models []string) bool {
	if len(models) == 0 {
		return false
	}
	if p.Workload == "" {
		p.asBlock()
	}
	p.block("tenants", tenants(models))
	return true
}

// tenants asks for several models, evenly, as adapters are.
func tenants(models []string) string {
	var b strings.Builder
	for _, m := range models {
		fmt.Fprintf(&b, "\n    - {name: %s, share: 1, model: %s}", quoteYAML(m), quoteYAML(m))
	}
	return b.String()
}

// one reports whether a word is among others.
func one(word string, of ...string) bool { return slices.Contains(of, word) }
