package peer

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// jobBlock is the plan's block of settings for jobs of agents, "" for none.
type jobBlock []string

func (b *jobBlock) add(key, value string) {
	if value != "" {
		*b = append(*b, key+": "+value)
	}
}

// addSeconds adds a time; 0 is none.
func (b *jobBlock) addSeconds(key string, seconds float64) {
	if seconds > 0 {
		b.add(key, number(seconds)+"s")
	}
}

func (b jobBlock) String() string {
	if len(b) == 0 {
		return ""
	}
	return "{" + strings.Join(b, ", ") + "}"
}

// aiperfJobs are the types of AIPerf's files that are always jobs, by our names of
// their formats.
var aiperfJobs = map[string]string{"dag_jsonl": "dag_jsonl", "multi_turn": "multi_turn", "weka_trace": "weka", "bailian_trace": "bailian"}

// agentxScenarios are the names of AIPerf's scenario whose rules redline has.
var agentxScenarios = []string{"inferencex-agentx-mvp", "inferencex-agentx"}

// nvidiaFile sends what a file holds: a trace, prompts, or jobs.
func nvidiaFile(v *Values, p *Plan, path string) {
	var jobs jobBlock
	format := aiperfJobs[v.text("custom-dataset-type")]
	scenario := v.text("scenario")
	if scenario != "" {
		if !one(scenario, agentxScenarios...) {
			v.refuse("scenario", "redline has "+strings.Join(agentxScenarios, " and ")+" of these")
		}
		jobs.add("rules", "agentx")
		if low, high := v.text("trajectory-start-min-ratio"), v.text("trajectory-start-max-ratio"); v.Given("trajectory-start-max-ratio") && v.number("trajectory-start-max-ratio") == 0 {
			jobs.add("agents_from", "start")
		} else if v.Given("trajectory-start-min-ratio") || v.Given("trajectory-start-max-ratio") {
			p.note("agents are met anywhere in their jobs, not between %s and %s of them", low, high)
		}
	}
	for _, name := range []string{"trace-idle-gap-cap-seconds", "max-idle-gap-cap-seconds", "inter-turn-delay-cap-seconds", "system-idle-gap-cap-seconds"} {
		if v.Given(name) {
			jobs.addSeconds("idle_cap", v.number(name))
			if name == "system-idle-gap-cap-seconds" {
				p.note("--%s caps each pause, not the idle time of all agents together", name)
			}
			break
		}
	}
	if v.Given("max-context-length") {
		jobs.add("overflow", "skip")
		p.note("jobs with a request that is longer than the server's own context are left out, whatever --max-context-length says")
	}
	if format == "" && scenario == "" && len(jobs) == 0 {
		p.block("file", quoteYAML(path), "replay", nvidiaReplay(v))
		return
	}
	factor := 1.0
	for _, name := range []string{"replay-speedup", "synthesis-speedup-ratio"} {
		if by := v.number(name); by > 0 {
			factor /= by
		}
	}
	if v.on("ignore-trace-delays") {
		factor = 0
	}
	if factor != 1 {
		jobs.add("time_scale", number(factor))
	}
	p.block("file", quoteYAML(path), "format", format, "jobs", jobs.String())
}

// inferenceJobs replays the sessions of a folder or a file of inference-perf.
func inferenceJobs(v *Values, p *Plan) {
	key, format, wait := "data.weka-trace-replay", "weka", 60.0
	if v.text("data.type") == "otel_trace_replay" {
		key, format, wait = "data.otel-trace-replay", "otel_sessions", 15.0
	}
	var s struct {
		Folder    string   `json:"trace_directory"`
		Files     []string `json:"trace_files"`
		Hub       any      `json:"hf_dataset_path"`
		MaxWait   *float64 `json:"max_wait_ms"`
		Cap       *float64 `json:"trace_idle_gap_cap_seconds"`
		NoDelays  bool     `json:"ignore_trace_delays"`
		NoReplies bool     `json:"disable_output_substitution"`
		Model     string   `json:"static_model_name"`
		Filter    any      `json:"filter"`
	}
	if said := v.text(key); said == "" || json.Unmarshal([]byte(said), &s) != nil {
		v.fail(key, "a block with trace_directory or trace_files")
		return
	}
	path := s.Folder
	if path == "" && len(s.Files) == 1 {
		path = s.Files[0]
	}
	switch {
	case s.Hub != nil:
		v.refuse(key, "download it and give its folder by trace_directory")
	case s.Filter != nil:
		v.refuse(key, "no filter; leave the other sessions out of the folder")
	case path == "":
		v.refuse(key, "give trace_directory, or one file in trace_files")
	}
	p.setIf("model", s.Model)
	var jobs jobBlock
	if s.MaxWait != nil {
		wait = *s.MaxWait / 1000
	}
	if s.Cap != nil {
		wait = *s.Cap
	}
	jobs.addSeconds("idle_cap", wait)
	if s.NoDelays {
		jobs.add("time_scale", "0")
	}
	if format == "otel_sessions" && !s.NoReplies {
		jobs.add("history", "live")
	}
	p.block("file", quoteYAML(path), "format", format, "jobs", jobs.String())
	p.note("sessions come in the order of the folder, and begin again with other text after the last; prompts have the recorded lengths, of redline's own words")
}

// guidellmTraces are the kinds of GuideLLM's data that are replayed, by our names of
// their formats; "" is a trace of single requests.
var guidellmTraces = map[string]string{"weka": "weka", "otel": "otel_sessions", "opentelemetry": "otel_sessions", "mooncake": "", "trace_synthetic": ""}

// guidellmKinds are the kinds of GuideLLM's data that redline has.
var guidellmKinds = append([]string{"synthetic_text", "text_file", "csv_file", "json_file"}, slices.Sorted(maps.Keys(guidellmTraces))...)

// guidellmReplay sends a trace or sessions, and reports whether the data are such.
func guidellmReplay(v *Values, p *Plan, a *guidellmArgs) bool {
	format, known := guidellmTraces[a.dataKind]
	if !known {
		return false
	}
	path := a.data["path"]
	or(&path, a.data["source.path"])
	scale := 1.0
	for _, said := range []string{a.data["time_scale"], a.timeScale} {
		if said != "" {
			scale *= v.above("data", said)
		}
	}
	switch {
	case path == "":
		v.refuse("data", "give the file by source.path; redline downloads nothing")
	case a.profile != "replay":
		v.refuse("rate-type", "data of the kind "+a.dataKind+" are for the profile replay")
	}
	if format == "" {
		replay, columns := "", jobBlock{}
		if scale != 1 {
			replay = "{speedup: " + number(1/scale) + "}"
		}
		for _, c := range [][2]string{{"time", "timestamp_column"}, {"prompt", "prompt_tokens_column"}, {"output", "output_tokens_column"}} {
			columns.add(c[0], a.data[c[1]])
		}
		p.block("file", quoteYAML(path), "columns", columns.String(), "replay", replay)
		return true
	}
	var jobs jobBlock
	if wait := a.data["max_wait"]; wait != "" {
		jobs.addSeconds("idle_cap", v.above("data", wait))
	}
	if scale != 1 {
		jobs.add("time_scale", number(scale))
	}
	if a.data["history"] == "runtime" {
		jobs.add("history", "live")
	}
	a.sessions = 1
	if n := a.data["min_concurrent_sessions"]; n != "" {
		a.sessions = int(v.above("data", n))
	}
	p.block("file", quoteYAML(path), "format", format, "jobs", jobs.String())
	p.note("as many sessions as min_concurrent_sessions, or one, are live all the time; the times at which they began and max_session_wait are not used")
	return true
}
