package twin

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"redline/internal/text"
	"redline/internal/twin/sim"
)

// Constants is a fitted engine as it is shown.
type Constants struct {
	WeightsUS           float64 `json:"weights_us"`
	TokenUS             float64 `json:"token_us"`
	Corner              float64 `json:"corner"`
	ExpertsUS           float64 `json:"experts_us,omitempty"`
	ExpertShare         float64 `json:"expert_share,omitempty"`
	ExpertSpread        float64 `json:"expert_spread,omitempty"`
	PromptUS            float64 `json:"prompt_us,omitempty"`
	EagerUS             float64 `json:"eager_us,omitempty"`
	EagerSequenceUS     float64 `json:"eager_sequence_us,omitempty"`
	EagerTokens         int     `json:"eager_tokens,omitempty"`
	ClockDrop           float64 `json:"clock_drop,omitempty"`
	SequenceUS          float64 `json:"sequence_us"`
	ContextUS           float64 `json:"context_us"`
	PairUS              float64 `json:"pair_us"`
	StepOverheadMS      float64 `json:"step_overhead_ms"`
	RequestOverheadMS   float64 `json:"request_overhead_ms"`
	FrontRequestMS      float64 `json:"frontend_request_ms,omitempty"`
	FrontTokenUS        float64 `json:"frontend_token_us,omitempty"`
	FrontEventUS        float64 `json:"frontend_event_us,omitempty"`
	FrontStepUS         float64 `json:"frontend_step_us,omitempty"`
	AsyncScheduling     bool    `json:"async_scheduling,omitempty"`
	MaxNumSeqs          int     `json:"max_num_seqs"`
	MaxNumBatchedTokens int     `json:"max_num_batched_tokens"`
	MaxModelLen         int     `json:"max_model_len"`
	KVBlocks            int     `json:"num_gpu_blocks,omitempty"`
	PrefillFirst        bool    `json:"prefill_first,omitempty"`
	// What serves what requests carry, and the caches that were simulated.
	PrefixCache      bool      `json:"enable_prefix_caching,omitempty"`
	HostBlocks       int       `json:"host_blocks,omitempty"`
	HostBlockUS      float64   `json:"host_block_us,omitempty"`
	SchedulingPolicy string    `json:"scheduling_policy,omitempty"`
	MaxLoras         int       `json:"max_loras,omitempty"`
	LoraLoadMS       float64   `json:"lora_load_time_ms,omitempty"`
	GrammarMS        *float64  `json:"grammar_compile_time_ms,omitempty"`
	SpecTokens       int       `json:"speculative_tokens,omitempty"`
	SpecCurve        []float64 `json:"speculative_curve,omitempty"`
}

// constantsOf rounds to four digits: the measurement knows no more.
func constantsOf(s sim.Spec) Constants {
	k := Constants{
		WeightsUS: text.Round(s.Law.WeightsUS, 4), TokenUS: text.Round(s.Law.TokenUS, 4), Corner: s.Law.Corner,
		ExpertsUS: text.Round(s.Law.ExpertsUS, 4), ExpertShare: s.Law.ExpertShare, ExpertSpread: s.Law.ExpertSpread,
		PromptUS: s.Law.PromptUS, EagerUS: text.Round(s.Law.EagerUS, 4), EagerSequenceUS: s.Law.EagerSequenceUS, EagerTokens: s.Law.EagerTokens, ClockDrop: text.Round(s.Law.ClockDrop, 4),
		SequenceUS: text.Round(s.Law.SequenceUS, 4), ContextUS: text.Round(s.Law.ContextUS, 4), PairUS: text.Round(s.Law.PairUS, 4),
		StepOverheadMS: text.Round(s.StepOverhead.Seconds()*1e3, 4), RequestOverheadMS: text.Round(s.RequestOverhead.Seconds()*1e3, 4),
		FrontRequestMS: text.Round(s.FrontEnd.Request.Seconds()*1e3, 4), FrontTokenUS: text.Round(s.FrontEnd.TokenUS, 4),
		FrontEventUS: text.Round(s.EventUS, 4), FrontStepUS: s.StepUS, AsyncScheduling: s.AsyncScheduling,
		MaxNumSeqs: s.MaxNumSeqs, MaxNumBatchedTokens: s.MaxNumBatchedTokens, MaxModelLen: s.MaxModelLen,
		KVBlocks: s.NumGPUBlocksOverride, PrefillFirst: s.PrefillFirst,
		PrefixCache: s.EnablePrefixCaching != nil && *s.EnablePrefixCaching, HostBlocks: s.Law.HostBlocks, HostBlockUS: text.Round(s.Law.HostBlockUS, 4),
		SchedulingPolicy: s.SchedulingPolicy, MaxLoras: s.MaxLoras, SpecTokens: s.Speculation.Tokens,
	}
	for _, mean := range s.Curve {
		k.SpecCurve = append(k.SpecCurve, text.Round(mean, 4))
	}
	if s.LoraLoadTime != nil {
		k.LoraLoadMS = text.Round(s.LoraLoadTime.Seconds()*1e3, 4)
	}
	if s.GrammarCompileTime != nil {
		k.GrammarMS = new(text.Round(s.GrammarCompileTime.Seconds()*1e3, 4))
	}
	return k
}

// writeCarried writes what serves what requests carry, and the caches.
func (k Constants) writeCarried(b *strings.Builder) {
	if k.PrefixCache {
		b.WriteString("enable_prefix_caching: true\n")
	}
	if k.SchedulingPolicy != "" {
		fmt.Fprintf(b, "scheduling_policy: %s\n", k.SchedulingPolicy)
	}
	if k.MaxLoras > 0 {
		fmt.Fprintf(b, "lora_modules: [\"*\"]\nmax_loras: %d\nlora_load_time: %sms\n", k.MaxLoras, text.Plain(k.LoraLoadMS))
	}
	if k.GrammarMS != nil {
		fmt.Fprintf(b, "grammar_compile_time: %sms\n", text.Plain(*k.GrammarMS))
	}
	if k.SpecTokens > 0 {
		fmt.Fprintf(b, "speculative_tokens: %d\nspeculative_curve: [%s]\n", k.SpecTokens, strings.Join(text.Each(k.SpecCurve, text.Plain), ", "))
	}
}

// WriteEngine writes the fitted engine as a file for redline sim --engine, with
// where it came from and, in remarks, how far it can be trusted.
func (c *Calibration) WriteEngine(w io.Writer, version string, now time.Time, remarks string) error {
	var b strings.Builder
	k := c.Engine
	fmt.Fprintf(&b, "# An engine that redline calibrate fitted to a measurement.\n# Serve it: redline sim --engine FILE\n#\n")
	for line := range strings.Lines(remarks) {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	fmt.Fprintf(&b, "schema: %s\nmodel: %s\n", sim.EngineSchema, quoteYAML(c.Spec.Model))
	fmt.Fprintf(&b, "max_num_seqs: %d\nmax_num_batched_tokens: %d\nmax_model_len: %d\n", k.MaxNumSeqs, k.MaxNumBatchedTokens, k.MaxModelLen)
	if k.KVBlocks > 0 {
		fmt.Fprintf(&b, "num_gpu_blocks_override: %d\n", k.KVBlocks)
	}
	if k.PrefillFirst {
		b.WriteString("prefill_first: true\nenable_chunked_prefill: false\n")
	}
	fmt.Fprintf(&b, "step_overhead: %s\nrequest_overhead: %s\n", text.Plain(k.StepOverheadMS)+"ms", text.Plain(k.RequestOverheadMS)+"ms")
	if k.FrontEventUS > 0 {
		fmt.Fprintf(&b, "frontend_request: %sms\nfrontend_token_us: %s\nfrontend_event_us: %s\n", text.Plain(k.FrontRequestMS), text.Plain(k.FrontTokenUS), text.Plain(k.FrontEventUS))
		if k.FrontStepUS > 0 {
			fmt.Fprintf(&b, "frontend_step_us: %s\n", text.Plain(k.FrontStepUS))
		}
	}
	if k.AsyncScheduling {
		b.WriteString("async_scheduling: true\n")
	}
	k.writeCarried(&b)
	fmt.Fprintf(&b, "law:\n  weights_us: %s\n  token_us: %s\n  corner: %s\n  sequence_us: %s\n  context_us: %s\n  pair_us: %s\n",
		text.Plain(k.WeightsUS), text.Plain(k.TokenUS), text.Plain(k.Corner), text.Plain(k.SequenceUS), text.Plain(k.ContextUS), text.Plain(k.PairUS))
	if k.ExpertsUS > 0 {
		fmt.Fprintf(&b, "  experts_us: %s\n  expert_share: %s\n", text.Plain(k.ExpertsUS), text.Plain(k.ExpertShare))
	}
	if k.ExpertSpread > 0 {
		fmt.Fprintf(&b, "  expert_spread: %s\n", text.Plain(k.ExpertSpread))
	}
	if k.EagerTokens > 0 {
		fmt.Fprintf(&b, "  prompt_us: %s\n  eager_us: %s\n  eager_sequence_us: %s\n  eager_tokens: %d\n", text.Plain(k.PromptUS), text.Plain(k.EagerUS), text.Plain(k.EagerSequenceUS), k.EagerTokens)
	}
	if k.ClockDrop > 0 {
		fmt.Fprintf(&b, "  clock_drop: %s\n", text.Plain(k.ClockDrop))
	}
	if k.HostBlocks > 0 {
		fmt.Fprintf(&b, "  host_blocks: %d\n  host_block_us: %s\n", k.HostBlocks, text.Plain(k.HostBlockUS))
	}
	fmt.Fprintf(&b, "fitted:\n  by: %s\n  on: %s\n  engine: %s\n  levels: %d\n", quoteYAML("redline "+version), quoteYAML(now.UTC().Format("2006-01-02")),
		quoteYAML(c.Evidence.Engine), len(c.Rows))
	b.WriteString("  from:\n")
	for _, path := range c.Evidence.From {
		fmt.Fprintf(&b, "    - %s\n", quoteYAML(path))
	}
	errorsOf(&b, "fit_error", c.InFit)
	errorsOf(&b, "held_out_error", c.HeldOut)
	_, err := io.WriteString(w, b.String())
	return err
}

func errorsOf(b *strings.Builder, key string, errors map[string]float64) {
	if len(errors) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s:\n", key)
	for _, name := range Figures {
		if e, ok := errors[name]; ok {
			fmt.Fprintf(b, "    %s: %.4f\n", name, e)
		}
	}
}

// quoteYAML is text for YAML, in which nothing stands for a variable.
func quoteYAML(text string) string { return strconv.Quote(strings.ReplaceAll(text, "$", "")) }
