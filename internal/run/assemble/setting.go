package assemble

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/text"
	"redline/internal/traffic/token"
)

// setting is a result without its figures: what ran on what, as the plan says
// and as it was found.
func (in Run) setting() *result.Result {
	res := blank(in.Plan, in.ID, in.Started)
	res.Command, res.Version, res.Interrupted, res.Client = in.Command, in.Version, in.Interrupted, in.Client
	res.Workers, res.Conductor = in.Workers, in.Conductor
	e, w := &res.Engine, &res.Workload
	e.Name, e.Version, e.API = in.Engine.Name, in.Engine.Version, in.Engine.API
	e.URL, e.Embedded = in.Engine.URL, in.Engine.Embedded
	res.Model.Name = cmp.Or(in.Model, res.Model.Name)
	w.Name, w.Tokenizer = cmp.Or(in.Workload.Name, w.Name), in.Workload.Tokenizer
	w.TemplateTokens, w.TemplateHash = in.Workload.TemplateTokens, in.Workload.TemplateHash
	res.Warnings = append(res.Warnings, in.Warnings...)
	nameHardware(res, in.Accelerators)
	describe(res, in.Plan, in.Facts, in.Server)
	return res
}

// blank fills in what the plan alone says.
func blank(c *config.Config, id string, started time.Time) *result.Result {
	res := &result.Result{Schema: result.Schema, ID: id, Started: started.UTC().Truncate(time.Millisecond),
		Seed: c.Seed, Label: c.MaskText(c.Metadata["label"]), Note: c.MaskText(c.Metadata["note"]), Plan: c.RedactedMap()}
	declare(res, c)
	res.Engine.Declared = c.DeclaredOptimizations()
	res.Workload.Name = c.Workload.String()
	switch {
	case c.Recorded():
		res.Workload.Arrival = c.Workload.Timing()
	case c.Load.Open():
		res.Workload.Arrival = c.Load.Spec.String()
	}
	res.Verdict = result.Verdict{Valid: result.Valid, SLO: slo.None, Reasons: []string{}, Checks: []result.Check{}, Unchecked: []result.SkippedCheck{}}
	res.Points = []result.Point{}
	return res
}

// declare fills in what the plan says of the set-up. It is believed before
// whatever a server tells, whose owner may know better than its flags.
func declare(res *result.Result, c *config.Config) {
	said := func(key string) string { return c.MaskText(c.Metadata.Get(key)) }
	devices, accelerator := splitCount(said("hardware"))
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

// describe fills in what the server tells and the plan does not.
func describe(res *result.Result, c *config.Config, f engine.Facts, server *telemetry.ServerUse) {
	e, m := &res.Engine, &res.Model
	e.Name, e.Version = believe(res, c, "engine", cmp.Or(e.Name, f.Engine)), believe(res, c, "engine_version", cmp.Or(e.Version, f.Version))
	e.Parallelism = believe(res, c, "parallelism", f.Parallelism)
	if own := layoutText(e.Flags); own != "" && c.Metadata.Get("parallelism") == "" {
		if f.Parallelism != "" && !sameLayout(own, f.Parallelism) {
			warnDifference(res, "parallelism", own, f.Parallelism)
		}
		e.Parallelism = own
	}
	m.Revision, m.Tokenizer = believe(res, c, "model_revision", f.Revision), believe(res, c, "tokenizer", f.Tokenizer)
	m.Precision, m.Quantization = believe(res, c, "precision", f.Precision), believe(res, c, "quantization", f.Quantization)
	m.Size = sizeOf(c, m.Name)
	if a, err := c.Known.Accelerator(res.Hardware.Accelerator); err == nil && res.Hardware.MemoryMB == 0 {
		res.Hardware.MemoryMB = int(a.Memory / mb)
	}
	readParallelism(e, c)
	m.MaxLen = cmp.Or(m.MaxLen, f.MaxLen)
	flags := maps.Clone(f.Flags)
	if server != nil {
		e.Name = cmp.Or(e.Name, server.Engine)
		flags = joinedFlags(flags, server.Config)
		if longest, err := strconv.Atoi(server.Config["context_len"]); err == nil {
			m.MaxLen = cmp.Or(m.MaxLen, longest)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Flags)) {
		if other, ok := flags[name]; ok && !sameFact(e.Flags[name], other) && !sameNumber(e.Flags[name], other) {
			warnDifference(res, name, e.Flags[name], other)
		}
	}
	e.Flags = joinedFlags(e.Flags, flags)
	confirmFlags(res)
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

// optionFlags are those by which engines say whether they do what a plan declares;
// inverse ones say that they do not.
var optionFlags = []struct {
	option, flag string
	inverse      bool
}{
	{"prefix_caching", "enable_prefix_caching", false}, {"prefix_caching", "disable_radix_cache", true},
	{"chunked_prefill", "enable_chunked_prefill", false}, {"chunked_prefill", "chunked_prefill_enabled", false},
}

// confirmFlags compares what the plan declares with the server's own settings.
func confirmFlags(res *result.Result) {
	for _, o := range optionFlags {
		value := res.Engine.Flags[o.flag]
		if on, err := strconv.ParseBool(strings.ToLower(value)); err == nil {
			confirm(res, o.option, on != o.inverse, "'s "+o.flag+" is "+value)
		}
	}
}

// confirmGuesses compares what the plan declares of speculative decoding with
// the server's count of guessed tokens.
func confirmGuesses(res *result.Result, server *telemetry.ServerUse) {
	found := " counted no guessed token"
	switch {
	case server == nil, server.SpecAcceptance == nil && !engine.ByName(server.Engine).CountsDrafts:
		return
	case server.SpecAcceptance != nil:
		found = " took " + text.RoughPercent(*server.SpecAcceptance) + " of the tokens that it guessed"
	}
	confirm(res, "speculative_decoding", server.SpecAcceptance != nil, found)
}

// confirm marks what a plan declares of an option as true or not, as the server
// was found.
func confirm(res *result.Result, option string, on bool, found string) {
	const unverified = "not verified"
	declared := res.Engine.Declared[option]
	if !strings.HasSuffix(declared, unverified) {
		return
	}
	said := "as the server says"
	if strings.HasPrefix(declared, "on") != on {
		said = "but the server says otherwise"
		word, _, _ := strings.Cut(declared, ",")
		res.Warnings = append(res.Warnings, result.Warning{Figure: "engine", Text: fmt.Sprintf("the plan declares %s %s, but the server%s", option, word, found)})
	}
	res.Engine.Declared[option] = strings.Replace(declared, unverified, said, 1)
}

// OwnTokenizer reports whether replies are counted with the model's own
// tokenizer: one that the user gave as a file, or the one that the server names.
func OwnTokenizer(c *config.Config, named string) bool {
	if c.Tokenizer == config.ByServer {
		return false // asked before the load only
	}
	_, embedded := token.EmbeddedVocabulary(c.Tokenizer)
	return !embedded || named == c.Tokenizer
}

// unknowns lists what a reader of any benchmark asks and nobody answered. A
// simulated engine has nothing to hide.
func unknowns(res *result.Result) []string {
	if res.Engine.Embedded {
		return nil
	}
	var list []string
	for _, fact := range []struct{ name, value string }{
		{"engine", res.Engine.Name}, {"engine version", res.Engine.Version}, {"serving flags", strings.Join(slices.Collect(maps.Keys(res.Engine.Flags)), "")},
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
