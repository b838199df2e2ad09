// Package config turns a plan file, flags and the environment into a Config:
// the specifications of all the other packages, composed, checked and
// complete. It takes text and gives data; every mistake is answered with the
// place where it was made. It opens no connection, and nothing here knows how
// a run is carried out.
package config

import (
	"strings"

	"redline/internal/answer/capacity"
	"redline/internal/answer/tune"
	"redline/internal/catalog"
	"redline/internal/drive/client"
	"redline/internal/drive/load"
	"redline/internal/drive/wire"
	"redline/internal/judge/price"
	"redline/internal/judge/quality"
	"redline/internal/judge/slo"
	"redline/internal/launch"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
	"redline/internal/traffic/arrival"
	"redline/internal/traffic/workload"
	"redline/internal/twin/sim"
	"redline/internal/yaml"
)

// Config is everything that a run needs to know. Its yaml keys are the plan's
// vocabulary.
type Config struct {
	Provider   client.Spec         `yaml:"provider,omitempty"`
	Load       LoadProfile         `yaml:"load_profile,omitempty"`
	Workload   workload.Spec       `yaml:"workload,omitempty"`
	Generation workload.Generation `yaml:"generation,omitempty"`
	// Tokenizer is an embedded vocabulary, a tokenizer.json, or ByServer.
	Tokenizer string `yaml:"tokenizer,omitempty"`
	Server    Server `yaml:"server,omitempty"`
	// Telemetry is how the server's own metrics are read.
	Telemetry telemetry.Spec `yaml:"telemetry,omitempty"`
	// Objectives are what to judge by, in the order given.
	Objectives Objectives `yaml:"sla_thresholds,omitempty"`
	// Confidence is one minus the chance of a wrong verdict of either kind.
	Confidence float64 `yaml:"confidence,omitempty"`
	// Strict makes every check of the run itself final.
	Strict bool `yaml:"strict,omitempty"`
	// TokenTimes is the share of requests that the times of single tokens are kept
	// of; 0 means all.
	TokenTimes float64 `yaml:"token_times,omitempty"`
	// CheckText keeps every reply's text until it has been looked at for garbage.
	CheckText  bool       `yaml:"check_text,omitempty"`
	Metrics    Metrics    `yaml:"metrics,omitempty"`
	Workers    Workers    `yaml:"workers,omitempty"`
	Experiment Experiment `yaml:"experiment,omitempty"`
	// Tune is which settings of a launched server are tried.
	Tune          tune.Spec     `yaml:"tune,omitempty"`
	Optimizations Optimizations `yaml:"optimizations,omitempty"`
	Cost          price.Spec    `yaml:"cost,omitempty"`
	// Capacity is the load to plan instances for.
	Capacity capacity.Spec `yaml:"capacity,omitempty"`
	Quality  quality.Spec  `yaml:"quality,omitempty"`
	Metadata Metadata      `yaml:"metadata,omitempty" secret:"text"`
	Seed     uint64        `yaml:"seed"`

	// Catalog names files of models and accelerators, and Known is what is in
	// them, beside what is built in.
	Catalog []string         `yaml:"catalog,omitempty"`
	Known   *catalog.Catalog `yaml:"-"`

	// Output says where the answer goes. It is no part of the plan.
	Output Output `yaml:"-"`

	// asked is the embedded engine as it was asked for, before its defaults
	// were filled in.
	asked sim.Spec
	// keyEnv names the variable that the key came from.
	keyEnv string
	// places says where each key was set, and templates what the plan says
	// where that names variables.
	places    map[string]place
	templates map[string]yaml.Template
	// variables holds the values of the plan's variables whose names say that
	// they are secrets.
	variables []string
}

// LoadProfile is how much load, when, and for how long.
type LoadProfile struct {
	arrival.Spec `yaml:",inline"`
	Bounds       load.Spec `yaml:",inline"`
	// Cancel is the share of requests that redline closes before they end, and
	// CancelAfter when.
	Cancel      *float64 `yaml:"cancel,omitempty"`
	CancelAfter string   `yaml:"cancel_after,omitempty"`
	// At is what is made to happen while the load goes on, each as "TIME: COMMAND".
	At []string `yaml:"at,omitempty"`
	// ContextDistribution takes the place of the workload's own prompt
	// lengths.
	ContextDistribution *workload.ContextDistribution `yaml:"context_distribution,omitempty"`
}

// Server is what redline runs itself: a server that it launches, or the
// embedded engine, where no endpoint is given.
type Server struct {
	launch.Spec `yaml:",inline"`
	// Engine is a file that describes the engine, as a calibration writes it;
	// what Sim says goes before.
	Engine string   `yaml:"engine,omitempty"`
	Sim    sim.Spec `yaml:"sim,omitempty"`
}

// Metrics says which figures to show and in which form.
type Metrics struct {
	// Percentiles to show, in percent.
	Percentiles  []float64 `yaml:"percentiles,omitempty"`
	TrackPrefill *bool     `yaml:"track_prefill,omitempty"`
	TrackDecode  *bool     `yaml:"track_decode,omitempty"`
	// KVCacheEstimation asks for the key-value cache by arithmetic.
	KVCacheEstimation *bool `yaml:"kv_cache_estimation,omitempty"`
	// OutputFormat "json" asks for what the flag --json does, which is no part
	// of the plan; "text" is the default.
	OutputFormat string `yaml:"output_format,omitempty"`
	// Listen is where live figures are served, OTLP where they are pushed to.
	Listen string `yaml:"listen,omitempty"`
	OTLP   string `yaml:"otlp,omitempty"`
}

// Optimizations are what the server is said to do. The embedded engine is set
// accordingly; of any other it is a declaration.
type Optimizations struct {
	SpeculativeDecoding *bool `yaml:"speculative_decoding,omitempty"`
	PrefixCaching       *bool `yaml:"prefix_caching,omitempty"`
	ChunkedPrefill      *bool `yaml:"chunked_prefill,omitempty"`
	DynamicBatching     *bool `yaml:"dynamic_batching,omitempty"`
}

// Objectives are the plan's SLOs. In the plan they stand as keys with numbers
// ("p95_latency_ms: 1200") or as a list of texts ("ttft:p99<500ms").
type Objectives []slo.Objective

// Output is where the answer goes and how much is said on the way.
type Output struct {
	Dir     string // "" for runs/<time>-<label>
	Force   bool
	JSON    bool
	Quiet   bool
	Verbose bool
	Explain bool
	DryRun  bool // say what would be sent, and send nothing
	// FailOn are the Endings that give an exit code; empty for all of them.
	FailOn []string
	// Progress is how a run is shown while it goes on: one of the words below, ""
	// as ProgressAuto.
	Progress string
}

// The ways to show progress.
const (
	ProgressAuto   = "auto"
	ProgressScreen = "screen"
	ProgressLine   = "line"
)

// ByServer is the tokenizer that the server itself offers.
const ByServer = "server"

// The ways to offer load.
const (
	Open   = "open"
	Closed = "closed"
	Capped = "capped"
)

// Mode says which loop the load profile makes: Open, Closed or Capped.
func (c *Config) Mode() string {
	switch {
	case c.Load.Bounds.MaxConcurrency == 0:
		return Open
	case c.Load.Open():
		return Capped
	}
	return Closed
}

// Recorded reports whether requests are due when the workload's own file says.
func (c *Config) Recorded() bool { return c.Mode() == Open && !c.Load.Open() }

// Embedded reports whether the embedded engine is the target.
func (c *Config) Embedded() bool { return len(c.Provider.URLs) == 0 && !c.Launched() }

// Pools reports whether replies are vectors or scores, not text.
func (c *Config) Pools() bool {
	d, known := wire.ByName(c.Provider.API)
	return known && d.Items != nil
}

// Launched reports whether the target is a server that redline starts itself.
func (c *Config) Launched() bool { return len(c.Provider.URLs) == 0 && c.Server.Command != "" }

// UntilDecided reports whether the window has no length of its own: it ends
// once every objective is decided, or with Load.Bounds.MaxDuration.
func (c *Config) UntilDecided() bool {
	b := c.Load.Bounds
	return b.MaxDuration > 0 && b.Duration == 0 && b.TotalRequests == 0
}

// Streaming reports whether replies are streamed.
func (c *Config) Streaming() bool { return c.Provider.Streams() }

// DecodeNode reads both forms of objectives.
func (o *Objectives) DecodeNode(d *yaml.Decoder, n *yaml.Node, path string) error {
	*o = nil
	var wrong error
	if n.Kind == yaml.Mapping {
		for _, e := range n.Entries {
			if err := o.threshold(d, e, join(path, e.Key)); err != nil {
				wrong = yaml.Add(wrong, err)
			}
		}
		return wrong
	}
	var texts []string
	if err := d.Decode(n, &texts, path); err != nil {
		return err
	}
	for i, text := range texts {
		list, err := slo.Expand(text)
		if err != nil {
			wrong = yaml.Add(wrong, d.Fail(n.Item(i), path, "%v", err))
		}
		*o = append(*o, list...)
	}
	return wrong
}

func (o *Objectives) threshold(d *yaml.Decoder, e yaml.Entry, path string) error {
	var limit float64
	if err := d.Value(e, &limit, path); err != nil {
		return err
	}
	objective, err := slo.FromPlan(e.Key, limit)
	if err != nil {
		return fault(yaml.At(d.File, e.Line), "%s%v", strings.TrimSuffix(path, e.Key), err)
	}
	*o = append(*o, objective)
	return nil
}

// EncodeNode gives the canonical texts, which DecodeNode reads back.
func (o Objectives) EncodeNode() any {
	texts := make([]any, len(o))
	for i, objective := range o {
		texts[i] = objective.Text
	}
	return texts
}

// Error is a mistake in a flag, the environment or the plan: the user's to
// mend, so commands answer it with the exit code for usage.
type Error = yaml.Error

var (
	fault = yaml.Fault
	join  = yaml.Join
	quote = text.Quote
)
