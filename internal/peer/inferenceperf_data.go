package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"redline/internal/text"
)

// inferenceSpan is inference-perf's distribution of lengths.
type inferenceSpan struct {
	Type           string
	Min, Max       int
	Mean           float64
	StdDev         float64 `json:"std_dev"`
	Variance, Skew *float64
	Count          any `json:"total_count"` // as many as are needed are drawn
}

var inferenceSpanKeys = []string{"type", "min", "max", "mean", "std_dev", "variance", "skew", "total_count"}

// unknownKey is the first key of a distribution that inference-perf does not have.
func unknownKey(said string) string {
	var keys map[string]any
	if json.Unmarshal([]byte(said), &keys) != nil {
		return ""
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(inferenceSpanKeys, k) {
			return k
		}
	}
	return ""
}

// inferenceLength reads a fixed length or a distribution of a key.
func inferenceLength(v *Values, key, said, usual string) (length string, mean float64) {
	if said == "" || said == "null" {
		return usual, 0
	}
	if n, err := strconv.Atoi(said); err == nil {
		return uniformLength(n, n), float64(n)
	}
	d := inferenceSpan{Type: "normal", Min: 10, Max: 1024, Mean: 512, StdDev: 200}
	if !strictly(said, &d) {
		if wrong := unknownKey(said); wrong != "" && v.err == nil {
			v.err = fmt.Errorf("%s: --%s: unknown key %s; %s", v.peer.Commands[0], key, text.Quote(wrong), text.Cure(wrong, inferenceSpanKeys))
		}
		v.fail(key, "a length, or a distribution such as {mean: 512, std_dev: 200, min: 10, max: 1024}")
		return usual, 0
	}
	if d.Variance != nil {
		d.StdDev = math.Sqrt(*d.Variance)
	}
	clip := fmt.Sprintf(",%d..%d)", d.Min, d.Max)
	switch {
	case d.Type == "uniform" || d.Min == d.Max:
		return uniformLength(d.Min, d.Max), float64(d.Min+d.Max) / 2
	case d.Type == "fixed" || d.StdDev == 0:
		return uniformLength(int(d.Mean), int(d.Mean)), d.Mean
	case d.Type == "lognormal":
		sigma := math.Sqrt(math.Log(1 + d.StdDev*d.StdDev/d.Mean/d.Mean))
		return fmt.Sprintf("lognormal(%d,%.4g", int(math.Round(d.Mean*math.Exp(-sigma*sigma/2))), sigma) + clip, d.Mean
	case d.Type == "poisson":
		d.StdDev = math.Round(10*math.Sqrt(d.Mean)) / 10 // what it comes to at such lengths
	case d.Type == "skew_normal" && d.Skew != nil && *d.Skew != 0:
		v.refuse(key, "a skew; redline has normal, lognormal, uniform, poisson and fixed of these")
	}
	return fmt.Sprintf("normal(%s,%s", number(d.Mean), number(d.StdDev)) + clip, d.Mean
}

// inferenceData says what is sent, and how many turns a conversation has on
// average, 0 for single requests.
func inferenceData(v *Values, p *Plan) (turns float64) {
	natural := ""
	if !v.on("server.ignore-eos") {
		natural = "true"
	}
	if one(v.text("data.type"), "random", "synthetic", "shared_prefix") {
		inferenceImages(v, p)
	}
	switch v.text("data.type") {
	case "weka_trace_replay", "otel_trace_replay":
		inferenceJobs(v, p)
	case "random", "synthetic", "mock":
		inferenceRandom(v, p, natural)
	case "shared_prefix":
		turns = inferencePrefix(v, p, natural)
	case "conversation_replay":
		turns = inferenceConversations(v, p, natural)
	case "shareGPT":
		p.block("file", quoteYAML(cmp.Or(v.text("data.path"), shareGPTFile)), "format", "sharegpt", "natural", natural)
	default:
		v.refuse("data.type", "redline has random, synthetic, shared_prefix, conversation_replay, weka_trace_replay, otel_trace_replay and shareGPT of these; a trace is replayed by redline run --workload FILE")
	}
	inferenceAdapters(v, p)
	return turns
}

// inferenceRandom are prompts of given lengths, of a text where one is given, or
// those of a trace.
func inferenceRandom(v *Values, p *Plan, natural string) {
	for _, key := range []string{"load.trace", "data.trace"} {
		if trace := v.object(key); trace != nil && v.text("load.type") == "trace_replay" {
			if trace["format"] != "AzurePublicDataset" {
				v.refuse(key, "redline has the format AzurePublicDataset of these; redline run --workload FILE reads more")
			}
			p.Workload = ""
			p.block("file", quoteYAML(fmt.Sprint(trace["file"])), "format", "azure", "natural", natural)
		}
	}
	if p.Workload != "" {
		return
	}
	const usual = "normal(512,200,10..1024)"
	in, _ := inferenceLength(v, "data.input-distribution", v.text("data.input-distribution"), usual)
	out, _ := inferenceLength(v, "data.output-distribution", v.text("data.output-distribution"), usual)
	text := v.text("data.corpus-file-path")
	if natural == "" && text == "" {
		p.lengths(in, out)
		return
	}
	if text != "" {
		p.block("file", quoteYAML(text), "format", "text")
	}
	p.block("prompt", in, "output", out, "natural", natural)
}

// inferencePrefix are questions behind prompts that groups of them share.
func inferencePrefix(v *Values, p *Plan, natural string) (turns float64) {
	const key = "data.shared-prefix"
	var s struct {
		NumGroups      float64         `json:"num_groups"`
		NumUnique      float64         `json:"num_unique_system_prompts"`
		PerGroup       float64         `json:"num_prompts_per_group"`
		PerPrompt      float64         `json:"num_users_per_system_prompt"`
		System         json.RawMessage `json:"system_prompt_len"`
		Question       json.RawMessage `json:"question_len"`
		QuestionSpread json.RawMessage `json:"question_distribution"`
		Output         json.RawMessage `json:"output_len"`
		OutputSpread   json.RawMessage `json:"output_distribution"`
		MultiTurn      bool            `json:"enable_multi_turn_chat"`
		Seed           any
		Media          any `json:"multimodal"`
	}
	if said := v.text(key); said != "" && !strictly(said, &s) {
		v.fail(key, "a block with num_groups, num_prompts_per_group, system_prompt_len, question_len and output_len")
	}
	if s.Media != nil {
		v.refuse(key, "images of the shared prefix; redline has those of data.multimodal, in every request")
	}
	question, _ := inferenceLength(v, key, cmp.Or(string(s.Question), string(s.QuestionSpread)), "50")
	output, _ := inferenceLength(v, key, cmp.Or(string(s.Output), string(s.OutputSpread)), "50")
	_, system := inferenceLength(v, key, cmp.Or(string(s.System), "100"), "")
	each := cmp.Or(s.PerPrompt, s.PerGroup, 10)
	prefix := fmt.Sprintf("{groups: %s, tokens: %d", number(cmp.Or(s.NumUnique, s.NumGroups, 10)), int(system))
	if s.MultiTurn {
		turns = each
		p.block("session", inferenceSession(v, each, ""))
	} else {
		prefix += ", suffixes: " + number(each)
	}
	p.block("prompt", question, "output", output, "natural", natural, "prefix", prefix+"}")
	if s.Seed != nil {
		p.note("data.shared_prefix.seed is not used: load.base_seed decides the prompts too")
	}
	return turns
}

// inferenceSession is a conversation of so many turns.
func inferenceSession(v *Values, turns float64, more string) string {
	if header := v.text("api.session-id-header-key"); header != "" {
		more += ", header: " + quoteYAML(header)
	}
	return fmt.Sprintf("{turns: %s%s}", quoteYAML(around(math.Round(turns), 0)), more)
}

// inferenceConversations are synthetic conversations behind one system prompt.
func inferenceConversations(v *Values, p *Plan, natural string) (turns float64) {
	const key = "data.conversation-replay"
	var s struct {
		Shared  *int            `json:"shared_system_prompt_len"`
		Dynamic json.RawMessage `json:"dynamic_system_prompt_len"`
		Turns   json.RawMessage `json:"turns_per_conversation"`
		Input   json.RawMessage `json:"input_tokens_per_turn"`
		Output  json.RawMessage `json:"output_tokens_per_turn"`
		Tool    json.RawMessage `json:"tool_call_latency_sec"`
		Seed    any
		Count   any `json:"num_conversations"`
		MaxLen  int `json:"max_model_len"`
	}
	if said := v.text(key); said == "" || !strictly(said, &s) {
		v.fail(key, "a block with turns_per_conversation, input_tokens_per_turn and output_tokens_per_turn")
		return 0
	}
	shared := 8359
	if s.Shared != nil {
		shared = *s.Shared
	}
	in, mean := inferenceLength(v, key, string(s.Input), "512")
	out, _ := inferenceLength(v, key, string(s.Output), "512")
	_, turns = inferenceLength(v, key, string(s.Turns), "")
	_, pause := inferenceLength(v, key, string(s.Tool), "")
	more, first := ", prompt: "+quoteYAML(in), in
	if _, own := inferenceLength(v, key, string(s.Dynamic), ""); own > 0 {
		first = around(mean+own, 0)
	}
	if pause > 0 {
		more += ", think: " + number(pause) + "s"
	}
	if s.MaxLen > 0 {
		more += ", max_context: " + strconv.Itoa(s.MaxLen)
	}
	turns = max(1, turns)
	p.block("prompt", first, "output", out, "natural", natural, "session", inferenceSession(v, turns, more))
	if shared > 0 {
		p.block("prefix", fmt.Sprintf("{groups: 1, tokens: %d}", shared))
	}
	p.note("turns, tool calls and the dynamic system prompt have their mean; load.base_seed decides the prompts")
	return turns
}

func inferenceAdapters(v *Values, p *Plan) {
	said := v.text("load.lora-traffic-split")
	if said == "" {
		return
	}
	var adapters []struct {
		Name  string
		Split float64
	}
	if json.Unmarshal([]byte(said), &adapters) != nil {
		v.fail("load.lora-traffic-split", "a list such as [{name: adapter, split: 1.0}]")
	}
	if p.Workload == "" {
		p.asBlock()
	}
	var b strings.Builder
	for _, a := range adapters {
		fmt.Fprintf(&b, "\n    - {name: %s, share: %s, model: %s}", quoteYAML(a.Name), number(a.Split), quoteYAML(a.Name))
	}
	p.block("tenants", b.String())
}
