package measure

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/twin/catalog"
	"redline/internal/twin/sim"
)

// declare fills in what the plan says of the set-up. It is believed before
// whatever a server tells, whose owner may know better than its flags.
func declare(res *result.Result, c *config.Config) {
	said := func(key string) string { return c.Masked(c.Metadata.Get(key)) }
	devices, accelerator := counted(said("hardware"))
	res.Hardware = result.Hardware{Accelerator: accelerator, Count: devices, Driver: said("driver"), CUDA: said("cuda"),
		Interconnect: said("interconnect"), Notes: said("notes")}
	if n, err := strconv.Atoi(said("gpus")); err == nil && n > 0 {
		res.Hardware.Count = n
	}
	res.Model = result.Model{Name: c.Provider.Model, Revision: said("model_revision"), Tokenizer: said("tokenizer"),
		Precision: said("precision"), Quantization: said("quantization")}
	res.Engine.Parallelism = said("parallelism")
	res.Engine.Flags = flagsOf(said("flags"))
	if c.Embedded() {
		res.Hardware.Accelerator, res.Hardware.Count = c.Server.Sim.GPU, c.Server.Sim.TP
	}
	for _, doubt := range c.Metadata.Doubts() {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "metadata", Text: doubt})
	}
}

// flagsOf takes a command line apart: "--max-num-seqs 256 --enforce-eager".
// What is none stands as it is.
func flagsOf(text string) map[string]string {
	if text == "" {
		return nil
	}
	flags, last := map[string]string{}, ""
	for _, word := range strings.Fields(text) {
		name, isFlag := strings.CutPrefix(word, "--")
		switch {
		case isFlag:
			key, value, _ := strings.Cut(name, "=")
			last, flags[key] = key, cmp.Or(value, "true")
		case last == "":
			return map[string]string{"flags": text}
		case flags[last] == "true":
			flags[last] = word
		default:
			flags[last] += " " + word
		}
	}
	return flags
}

// describe fills in what the server tells and the plan does not.
func describe(res *result.Result, c *config.Config, f engine.Facts, server *telemetry.ServerUse) {
	e, m := &res.Engine, &res.Model
	e.Name = cmp.Or(e.Name, f.Engine, c.Masked(c.Metadata.Get("engine")))
	e.Version = cmp.Or(e.Version, f.Version, c.Masked(c.Metadata.Get("engine_version")))
	e.Parallelism = cmp.Or(e.Parallelism, f.Parallelism)
	m.Revision, m.Tokenizer = cmp.Or(m.Revision, f.Revision), cmp.Or(m.Tokenizer, f.Tokenizer)
	m.Precision, m.Quantization = cmp.Or(m.Precision, f.Precision), cmp.Or(m.Quantization, f.Quantization)
	m.MaxLen = cmp.Or(m.MaxLen, f.MaxLen)
	flags := maps.Clone(f.Flags)
	if server != nil {
		e.Name = cmp.Or(e.Name, server.Engine)
		flags = joinedFlags(flags, server.Config)
		if longest, err := strconv.Atoi(server.Config["context_len"]); err == nil {
			m.MaxLen = cmp.Or(m.MaxLen, longest)
		}
	}
	e.Flags = joinedFlags(e.Flags, flags)
	confirm(res)
	confirmGuesses(res, server)
	res.Unknown = append(res.Unknown, unknowns(res)...)
}

// joinedFlags gives all of both; where both have one, the first is right.
func joinedFlags(first, second map[string]string) map[string]string {
	if len(first) == 0 && len(second) == 0 {
		return nil
	}
	all := maps.Clone(second)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, first)
	return all
}

// told are the settings by which engines say whether they do what a plan
// declares; inverse ones say that they do not.
var told = []struct {
	option, flag string
	inverse      bool
}{
	{"prefix_caching", "enable_prefix_caching", false}, {"prefix_caching", "disable_radix_cache", true},
	{"chunked_prefill", "enable_chunked_prefill", false}, {"chunked_prefill", "chunked_prefill_enabled", false},
}

// confirm holds the plan's declarations against the server's own settings.
func confirm(res *result.Result) {
	for _, t := range told {
		on, err := strconv.ParseBool(strings.ToLower(res.Engine.Flags[t.flag]))
		declared, is := res.Engine.Declared[t.option]
		if err != nil || !is || !strings.HasSuffix(declared, "not verified") {
			continue
		}
		on = on != t.inverse
		if strings.HasPrefix(declared, "on") == on {
			res.Engine.Declared[t.option] = strings.Replace(declared, "not verified", "as the server says", 1)
			continue
		}
		res.Engine.Declared[t.option] = strings.Replace(declared, "not verified", "but the server says otherwise", 1)
		res.Warnings = append(res.Warnings, result.Warning{Figure: "engine",
			Text: fmt.Sprintf("the plan declares %s %s, but the server's %s is %s", t.option, strings.SplitN(declared, ",", 2)[0], t.flag, res.Engine.Flags[t.flag])})
	}
}

// unknowns lists what a reader of any benchmark asks and nobody answered. A
// simulated engine has nothing to hide.
func unknowns(res *result.Result) []string {
	if res.Engine.Embedded {
		return nil
	}
	var list []string
	for _, fact := range []struct{ name, value string }{
		{"engine", res.Engine.Name}, {"engine version", res.Engine.Version}, {"serving flags", strings.Join(keysOf(res.Engine.Flags), "")},
		{"parallelism", res.Engine.Parallelism}, {"model revision", res.Model.Revision}, {"tokenizer", res.Model.Tokenizer},
		{"precision", res.Model.Precision + res.Model.Quantization},
		{"accelerator", res.Hardware.Accelerator}, {"driver", res.Hardware.Driver}, {"cuda", res.Hardware.CUDA},
	} {
		if fact.value == "" {
			list = append(list, fact.name)
		}
	}
	if res.Hardware.Count > 1 && res.Hardware.Interconnect == "" {
		list = append(list, "interconnect")
	}
	return list
}

func keysOf(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// simFacts is what the embedded engine knows of itself.
func simFacts(s sim.Spec, version string) engine.Facts {
	f := engine.Facts{Engine: simName, Version: version, Model: s.Model, Revision: "simulated", Tokenizer: simTokenizer,
		Precision: s.Dtype, Quantization: s.Quantization, MaxLen: s.MaxModelLen, Parallelism: fmt.Sprintf("tp %d", max(1, s.TP)),
		Flags: map[string]string{
			"max_num_seqs": strconv.Itoa(s.MaxNumSeqs), "max_num_batched_tokens": strconv.Itoa(s.MaxNumBatchedTokens),
			"gpu_memory_utilization": strconv.FormatFloat(s.GPUMemoryUtilization, 'g', -1, 64),
			"max_model_len":          strconv.Itoa(s.MaxModelLen), "scheduling_policy": "fcfs"}}
	if s.EnablePrefixCaching != nil {
		f.Flags["enable_prefix_caching"] = strconv.FormatBool(*s.EnablePrefixCaching)
	}
	if s.EnableChunkedPrefill != nil {
		f.Flags["enable_chunked_prefill"] = strconv.FormatBool(*s.EnableChunkedPrefill)
	}
	if m, err := catalog.FindModel(s.Model); err == nil && (f.Precision == "" || f.Precision == "auto") {
		f.Precision = string(m.Precision)
	}
	return f
}

// simTokenizer is what the simulated engine counts with.
const simTokenizer = "o200k_base"
