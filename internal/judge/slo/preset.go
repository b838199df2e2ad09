package slo

import (
	"fmt"
	"strings"

	"redline/internal/text"
)

// preset is a set of objectives known by name.
type preset struct {
	Name string
	// About is whom it is for.
	About string
	// Texts are its objectives.
	Texts []string
	// Source is where the figures come from.
	Source string
}

// Where the figures of presets come from.
const (
	fromLoadgen = "MLPerf Inference, loadgen/mlperf.conf"
	fromChat    = "the usual contract for an assistant: 256 prompt and 512 output tokens"
	fromTypical = "the limits that are usual for streamed answers: first token in 200 to 500 ms, a token every 30 to 50 ms"
	fromBatch   = "the first token that is usual where nobody waits for it"
	fromPlan    = "the thresholds of the plan template"
)

// presets is the table of objectives known by name.
var presets = []preset{
	{"chat", "an assistant that people talk to", []string{"ttft:p95<1s", "tpot:p95<40ms", "e2e:p99<15s"}, fromChat},
	{"interactive", "streamed answers that are read as they come", []string{"ttft:p99<500ms", "itl:p99<50ms"}, fromTypical},
	{"batch", "work that nobody waits for", []string{"ttft:p99<2s"}, fromBatch},
	{"production", "short answers as a whole, with a bound on memory", []string{"e2e:p95<1.2s", "throughput:min>45", "kv:max<1024MB"}, fromPlan},

	mlperf("llama2-70b-server", "ttft:p99<2s", "tpot:p99<200ms"),
	mlperf("llama2-70b-interactive", "ttft:p99<450ms", "tpot:p99<40ms"),
	mlperf("llama3.1-8b-server", "ttft:p99<2s", "tpot:p99<100ms"),
	mlperf("llama3.1-8b-interactive", "ttft:p99<500ms", "tpot:p99<30ms"),
	mlperf("llama3.1-405b-server", "ttft:p99<6s", "tpot:p99<175ms"),
	mlperf("llama3.1-405b-interactive", "ttft:p99<4.5s", "tpot:p99<80ms"),
	mlperf("mixtral-8x7b-server", "ttft:p99<2s", "tpot:p99<200ms"),
	mlperf("deepseek-r1-server", "ttft:p99<2s", "tpot:p99<80ms"),
	mlperf("deepseek-r1-interactive", "ttft:p99<1.5s", "tpot:p99<15ms"),
	mlperf("gpt-oss-120b-server", "ttft:p99<3s", "tpot:p99<80ms"),
	// The rules' text allows 20 ms where the file that the load generator
	// reads, and which decides, has 15.
	mlperf("gpt-oss-120b-interactive", "ttft:p99<2s", "tpot:p99<15ms"),
	mlperf("qwen3-vl-235b-server", "e2e:p99<12s"),
	mlperf("gptj-server", "e2e:p99<20s"),
}

func mlperf(name string, texts ...string) preset {
	model, scenario := name, ""
	if at := strings.LastIndexByte(name, '-'); at > 0 {
		model, scenario = name[:at], name[at+1:]
	}
	return preset{"mlperf:" + name, "MLPerf, " + model + ", " + scenario + " scenario", texts, fromLoadgen}
}

// PresetNames lists the presets.
func PresetNames() []string {
	return text.Each(presets, func(p preset) string { return p.Name })
}

// Expand reads an objective, or the name of a preset, which stands for several;
// a scope before the name is that of each.
func Expand(given string) ([]Objective, error) {
	scope, name, err := readScope(given)
	if err != nil || !isPresetName(name) {
		o, err := Parse(given)
		return []Objective{o}, err
	}
	for _, p := range presets {
		if p.Name != clean(name) {
			continue
		}
		list, err := ParseAll(p.Texts)
		for i := range list {
			list[i] = list[i].Within(scope)
		}
		return list, err
	}
	if hint := text.Hint(clean(name), PresetNames()); hint != "" {
		return nil, fmt.Errorf("objective %q: no preset of that name; %s", given, hint)
	}
	return nil, fmt.Errorf("objective %q: expected metric:stat<limit, such as ttft:p99<500ms, or a preset such as %s", given, presets[0].Name)
}

// isPresetName reports whether a text is meant as a preset's name: it bounds nothing,
// and what stands before a colon is no metric.
func isPresetName(text string) bool {
	if text == "" || strings.ContainsAny(text, "<>") {
		return false
	}
	before, _, _ := strings.Cut(text, ":")
	_, known := lookup(clean(before))
	return !known
}
