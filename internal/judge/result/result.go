// Package result is the versioned document that a run ends in: every block of
// it as plain data. Packages of meaning fill it, packages of showing render
// it; it computes nothing itself.
package result

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// Schema names the document's format.
const Schema = "redline/result/2"

// How a run was cut short.
const (
	ByUser   = "interrupted"
	Killed   = "killed"
	Running  = "running"           // it goes on
	DiskFull = "the disk was full" // the end of what could be written, not of the run
)

// The limits of a plan on what a run may use, as one that reaches one names it.
const (
	TokensLimit = "--max-tokens-total"
	SpendLimit  = "--max-spend"
	reached     = " reached"
)

// BudgetReached reports whether a run ended because a limit on tokens or money
// was reached, and names it.
func BudgetReached(interrupted string) (limit string, ok bool) {
	limit, ok = strings.CutSuffix(interrupted, reached)
	return limit, ok && (limit == TokensLimit || limit == SpendLimit)
}

// CutShort reports whether the run did not come to its end. A single run that used
// what it was given, with every request answered, did.
func (r *Result) CutShort() bool {
	if _, used := BudgetReached(r.Interrupted); !used || r.Kind() != OfRun || len(r.Points) == 0 {
		return r.Interrupted != ""
	}
	n := r.Points[0].Requests
	return n.Censored+n.Unsent+n.Cancelled > 0
}

// Result is one run's answer.
type Result struct {
	Schema  string    `json:"schema"`
	ID      string    `json:"id"`
	Path    string    `json:"-"` // where a person said that it is
	Started time.Time `json:"started"`
	Command string    `json:"command"`
	// Experiment is the kind of an experiment of several runs; absent of a single run,
	// and where an earlier version wrote the result.
	Experiment Kind   `json:"kind,omitempty"`
	Version    string `json:"version"`
	Seed       uint64 `json:"seed"`
	Label      string `json:"label,omitempty"`
	Note       string `json:"note,omitempty"`
	// Interrupted says that the run was cut short and how, or by which bound.
	Interrupted string         `json:"interrupted,omitempty"`
	Plan        map[string]any `json:"plan"` // resolved, secrets removed
	Hardware    Hardware       `json:"hardware"`
	Model       Model          `json:"model"`
	Engine      Engine         `json:"engine"`
	Workload    Workload       `json:"workload"`
	Client      Client         `json:"client"`
	// Workers are the processes that sent the load, where it was not the client:
	// that is then the sum of what they did, and the worst of what makes figures
	// doubtful.
	Workers []Worker `json:"workers,omitempty"`
	// Conductor is the process that led them.
	Conductor *Client `json:"conductor,omitempty"`
	Verdict   Verdict `json:"verdict"`
	Points    []Point `json:"points"`
	Curve     *Curve  `json:"curve,omitempty"`
	Limit     *Limit  `json:"limit,omitempty"`
	// Sustained is the index of the point at the limit that lasted.
	Sustained  *int        `json:"sustained,omitempty"`
	Comparison *Comparison `json:"comparison,omitempty"`
	Repeats    *Repeats    `json:"repeats,omitempty"`
	// Toggles are optimizations that were measured with and without.
	Toggles   []Toggle  `json:"toggles,omitempty"`
	Capacity  *Capacity `json:"capacity,omitempty"`
	Protocol  *Protocol `json:"protocol,omitempty"`
	Tuning    *Tuning   `json:"tuning,omitempty"`
	Diagnosis []Finding `json:"diagnosis,omitempty"`
	Checklist []Item    `json:"checklist,omitempty"`
	// Choices is the decision matrix for the measured workload.
	Choices []Choice `json:"decision_matrix,omitempty"`
	// AntiPatterns are ways in which a sound result may mislead all the same.
	AntiPatterns []AntiPattern `json:"anti_patterns,omitempty"`
	// Unknown lists what a reader should know of model, engine and hardware
	// and that is unknown: "driver", "model revision".
	Unknown  []string  `json:"unknown,omitempty"`
	Stages   []Stage   `json:"stages,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Choice is a row of the decision matrix: which set-up suits which traffic, and
// whether the measured workload is such traffic.
type Choice struct {
	Scenario string `json:"scenario"`
	When     string `json:"when"`
	Approach string `json:"approach"`
	Why      string `json:"why"`
	Cost     string `json:"cost"`
	Applies  bool   `json:"applies"`
}

// AntiPattern is a way to benchmark that misleads, why, and what to do instead.
type AntiPattern struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	Cure string `json:"cure"`
}

// Kind is what was done to come to a result.
type Kind string

// The kinds of results.
const (
	OfRun        Kind = "run"
	OfComparison Kind = "comparison"
	ofBench      Kind = "bench"
	ofRepeats    Kind = "repeats"
	OfLimit      Kind = "limit"
	ofSweep      Kind = "sweep"
	ofTune       Kind = "tune"
	ofMatrix     Kind = "matrix"
)

// KindOf is the kind of the results of a command that makes several runs.
func KindOf(command string, findsLimit bool) Kind {
	switch {
	case command == "compare":
		return OfComparison
	case command == "run":
		return ofRepeats
	case findsLimit && command == "sweep":
		return OfLimit
	}
	return Kind(command)
}

// Kind says what was done: as it was written down, else by the answer that the
// result holds.
func (r *Result) Kind() Kind {
	switch {
	case r.Experiment != "":
		return r.Experiment
	case r.Tuning != nil:
		return ofTune
	case r.Comparison != nil:
		return OfComparison
	case r.Protocol != nil:
		return ofBench
	case r.Repeats != nil:
		return ofRepeats
	case r.Limit != nil, len(r.Stages) > 0 && !slices.ContainsFunc(r.Stages, func(s Stage) bool { return s.Purpose != PurposeRamp }):
		return OfLimit
	case r.Curve != nil:
		return ofSweep
	case len(r.Stages) > 0:
		return ofMatrix
	}
	return OfRun
}

// Hardware is what the server runs on, as far as it is known.
type Hardware struct {
	Accelerator  string `json:"accelerator,omitempty"`
	Count        int    `json:"count,omitempty"`
	MemoryMB     int    `json:"memory_mb,omitempty"` // of one accelerator
	Driver       string `json:"driver,omitempty"`
	CUDA         string `json:"cuda,omitempty"`
	Interconnect string `json:"interconnect,omitempty"`
	Notes        string `json:"notes,omitempty"`
}

// String names what is known, in one line.
func (h Hardware) String() string {
	if h.Count > 1 {
		h.Accelerator = fmt.Sprintf("%d × %s", h.Count, h.Accelerator)
	}
	return text.Join(", ", h.Accelerator, h.Interconnect, h.Notes)
}

// Model is what was asked.
type Model struct {
	Name         string `json:"name,omitempty"`
	Revision     string `json:"revision,omitempty"`
	Tokenizer    string `json:"tokenizer,omitempty"`
	Precision    string `json:"precision,omitempty"`
	Quantization string `json:"quantization,omitempty"`
	// Size is how many parameters it has: "8B".
	Size   string `json:"size,omitempty"`
	MaxLen int    `json:"max_len,omitempty"`
}

// Engine is what answered.
type Engine struct {
	Name     string `json:"name,omitempty"`
	Version  string `json:"version,omitempty"`
	API      string `json:"api,omitempty"`
	URL      string `json:"url,omitempty"` // without user info and query
	Embedded bool   `json:"embedded,omitempty"`
	// TP and PP are how many accelerators share each layer, and the layers; 0
	// where that is not known.
	TP int `json:"tp,omitempty"`
	PP int `json:"pp,omitempty"`
	// Parallelism is how the model is laid over accelerators: "tp 4, pp 2".
	Parallelism string `json:"parallelism,omitempty"`
	// Flags are the settings that the server was started with, as it tells
	// them or as the plan's metadata does.
	Flags map[string]string `json:"flags,omitempty"`
	// Declared holds the plan's optimizations with how each was confirmed:
	// "applied" (embedded engine) or "not verified".
	Declared map[string]string `json:"declared,omitempty"`
}

// Workload is what was sent.
type Workload struct {
	Name      string `json:"name"`
	Tokenizer string `json:"tokenizer"`
	// TemplateTokens is what the server adds to a prompt, by its own count, and
	// TemplateHash that of its chat template; absent where it does not show
	// them.
	TemplateTokens *int   `json:"template_tokens,omitempty"`
	TemplateHash   string `json:"template_hash,omitempty"`
	Arrival        string `json:"arrival,omitempty"` // process and profile; absent in a closed loop
	// Point is an index into the points, of several workloads the one that this
	// one was measured in.
	Point int `json:"point,omitempty"`
}

// Client is the machine that drove the load and how it kept time.
type Client struct {
	OS          string     `json:"os"`
	Arch        string     `json:"arch"`
	CPUs        int        `json:"cpus"`
	Timestamps  Timestamps `json:"timestamps"`
	CPUSeconds  float64    `json:"cpu_s"`         // of this process over the window
	CPUShare    float64    `json:"cpu_share"`     // of all cores
	GCPauseMS   float64    `json:"gc_pause_ms"`   // longest stop over the window
	ClockStepMS float64    `json:"clock_step_ms"` // largest step of the real-time clock against the monotonic one
	SharesHost  bool       `json:"shares_host"`   // the server runs on this machine

	// SchedDelayMS is how long goroutines that could run waited for a thread,
	// the p99 as an upper bound.
	SchedDelayMS float64 `json:"sched_delay_ms"`
	// HeldUp is what the machine did to this process; absent where nobody
	// watched.
	HeldUp *Holdups `json:"held_up,omitempty"`
	// Retransmits is TCP segments that this machine had to send again.
	Retransmits int64 `json:"tcp_retransmits"`
	// Unasked is how often a connection brought bytes that no request had
	// asked for.
	Unasked int64 `json:"unasked,omitempty"`
	// Machine is the whole machine over the window; what its system does not
	// tell is absent.
	Machine telemetry.MachineUse `json:"machine"`
}

// Holdups is how often and how long a machine kept a client from running over
// the window. What that may have done to each figure stands with the figure.
type Holdups struct {
	Times  int     `json:"times"`
	TotalS float64 `json:"total_s"`
	MaxMS  float64 `json:"max_ms"`
}

// Add takes in another machine.
func (h *Holdups) Add(o Holdups) {
	h.Times += o.Times
	h.TotalS += o.TotalS
	h.MaxMS = max(h.MaxMS, o.MaxMS)
}

// Worker is one of several processes that sent a load together.
type Worker struct {
	Name    string `json:"name"`
	Host    string `json:"host"`
	Version string `json:"version"`
	// Share is its part of the load.
	Share float64 `json:"share"`
	// Lost says that nothing was heard from it any more, and since when; its
	// requests then count as unfinished or unsent. In an experiment it names the
	// stage.
	Lost string `json:"lost,omitempty"`
	// LagP99MS is how late it sent; nil where it sent nothing in the window.
	LagP99MS *float64    `json:"lag_p99_ms,omitempty"`
	Clock    WorkerClock `json:"clock"`
	Shortage int64       `json:"shortage,omitempty"` // connections that found no port or file
	Client   Client      `json:"client"`
}

// WorkerClock is how well a worker's clock is known against the conductor's.
type WorkerClock struct {
	// RoundTripMS is the shortest way there and back.
	RoundTripMS float64 `json:"round_trip_ms"`
	// UncertaintyMS is by how much its times may be off at most.
	UncertaintyMS float64 `json:"uncertainty_ms"`
	// DriftMS is by how much its clock moved against the conductor's over the run.
	DriftMS float64 `json:"drift_ms"`
	Reads   int     `json:"reads"`
}

// Timestamps says how arrivals were stamped.
type Timestamps struct {
	Source  string `json:"source"` // "kernel" or "user"
	Reads   int64  `json:"reads"`
	Missing int64  `json:"missing"` // reads without a kernel stamp
}

// Validity says whether redline and the set-up did their part.
type Validity string

// Incomplete is a run that ended before its window did.
const (
	Valid      Validity = "yes"
	Invalid    Validity = "no"
	Incomplete Validity = "interrupted"
)

// Verdict leads every report.
type Verdict struct {
	Valid Validity `json:"valid"`
	// SLO is slo.None where nothing was asked of the server.
	SLO       slo.Standing   `json:"slo"`
	Reasons   []string       `json:"reasons"`
	Checks    []Check        `json:"checks"`
	Unchecked []SkippedCheck `json:"unchecked"`
}

// IsUnmade reports whether no check was made, as of a run of another benchmark.
func (v *Verdict) IsUnmade() bool { return len(v.Checks) == 0 && len(v.Unchecked) > 0 }

// Check is one question about the run itself, answered.
type Check struct {
	Name      string `json:"name"`
	OK        bool   `json:"ok"`
	Figure    string `json:"figure"`    // with unit
	Threshold string `json:"threshold"` // with unit
	Cure      string `json:"cure,omitempty"`
	// Setup marks a failure that a repetition does not mend.
	Setup bool `json:"setup,omitempty"`
	// Spoils are the objectives that a failure touches, or without objectives
	// the figures; every figure where there are none. What is not among them
	// stands.
	Spoils []string `json:"affects,omitempty"`
}

// Reason says in one line what a failed check found.
func (c Check) Reason() string { return c.Name + ": " + c.Figure + ", allowed " + c.Threshold }

// FailedChecks are the checks that were not passed.
func (v *Verdict) FailedChecks() []Check {
	var failed []Check
	for _, c := range v.Checks {
		if !c.OK {
			failed = append(failed, c)
		}
	}
	return failed
}

// Adopt takes in the checks of a part: of each the one that failed, else the
// last. A whole is invalid where a part is.
func (v *Verdict) Adopt(name string, part *Verdict) {
	for _, check := range part.Checks {
		if !check.OK {
			check.Figure = name + ": " + check.Figure
		}
		i := slices.IndexFunc(v.Checks, func(c Check) bool { return c.Name == check.Name })
		switch {
		case i < 0:
			v.Checks = append(v.Checks, check)
		case v.Checks[i].OK:
			v.Checks[i] = check
		}
	}
	if part.Valid == Invalid {
		v.Valid = Invalid
	}
}

// FirstStanding is the first of an order at which the objectives of some load stand,
// None where they stand at no such.
func FirstStanding(points []Point, order ...slo.Standing) slo.Standing {
	return slo.First(slo.None, text.Each(points, func(p Point) slo.Standing { return slo.Overall(p.Objectives) }), order...)
}

// SkippedCheck is a question that could not be asked, and why.
type SkippedCheck struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Warning weakens one number; Figure names it ("latency.itl_ms.p99").
type Warning struct {
	Figure string `json:"figure,omitempty"`
	Text   string `json:"text"`
}

// Point is one load and what came of it.
type Point struct {
	Name string `json:"name,omitempty"` // of the stage, where there are several
	// Probe says that the level lasted less than a minute: good for finding
	// the way, not for a claim.
	Probe bool `json:"exploratory,omitempty"`
	// Invalid says why the figures say more about the test than about the
	// server; empty where they do not.
	Invalid string `json:"invalid,omitempty"`
	Load    Load   `json:"load"`
	metric.Summary
	// Distributions are the curves of its latencies, Series the run over time;
	// both absent where the records were not read.
	Distributions *Distributions `json:"distributions,omitempty"`
	Series        *Series        `json:"series,omitempty"`

	KV     *KV                  `json:"kv,omitempty"`
	Cache  *Cache               `json:"prefix_cache,omitempty"`
	Server *telemetry.ServerUse `json:"server,omitempty"` // the server's own account
	// Accelerator is what the server's devices did meanwhile.
	Accelerator *telemetry.AcceleratorUse `json:"accelerator,omitempty"`
	Prediction  *Prediction               `json:"prediction,omitempty"`
	// PrefillSlope is what prompts cost by the client's own times, where the
	// plan asks for it and the server does not tell.
	PrefillSlope *PrefillSlope `json:"prefill_slope,omitempty"`
	// EngineLog is what the engine's log said meanwhile, where it was asked for.
	EngineLog *telemetry.EngineLog `json:"engine_log,omitempty"`
	// CrossChecks lay the server's account beside ours.
	CrossChecks []CrossCheck `json:"cross_checks,omitempty"`
	Cost        *Cost        `json:"cost,omitempty"`
	GroupCosts  []GroupCost  `json:"group_costs,omitempty"`
	Quality     *Quality     `json:"quality,omitempty"`
	// Leak is whether the server gave back what closed requests held; absent where it
	// was not asked for.
	Leak *Leak `json:"leak,omitempty"`
	// Fire is what became of things that were made to happen under load.
	Fire *Fire `json:"fire,omitempty"`
}

// Load is what was offered.
type Load struct {
	Mode string `json:"mode"` // "open", "closed" or "capped"
	// Rate is what was asked for, the mean over the window where it changes.
	Rate *float64 `json:"rate,omitempty"`
	// Profile is how the rate changes over time; absent where it does not.
	Profile     string `json:"profile,omitempty"`
	Concurrency *int   `json:"concurrency,omitempty"`
	// Agents says that the concurrency counts live jobs of agents, which may have
	// several requests in flight or none.
	Agents bool `json:"agents,omitempty"`
	// PaceS is the minimum time between two requests of one user of a closed loop.
	PaceS float64 `json:"pace_s,omitempty"`
}

// Amount orders loads of one mode: the rate, or the requests in flight.
func (l Load) Amount() float64 {
	switch {
	case l.Rate != nil:
		return *l.Rate
	case l.Concurrency != nil:
		return float64(*l.Concurrency)
	}
	return 0
}

// CapName is the load's concurrency: "32 in flight", "32 agents".
func (l Load) CapName() string {
	if l.Agents {
		return text.Plural(*l.Concurrency, "agent")
	}
	return text.Count(*l.Concurrency) + " in flight"
}

// Axis is what loads of its kind are the levels of.
func (l Load) Axis() string {
	switch {
	case l.Rate != nil:
		return "rate"
	case l.Agents:
		return Agents
	case l.Concurrency != nil:
		return "concurrency"
	}
	return ""
}

// Cache is the share of prompt tokens that need not be computed again: as the
// workload was designed, and as it was measured.
type Cache struct {
	// Designed is the share that an endless cache would serve; absent where
	// the workload does not say.
	Designed *float64 `json:"designed,omitempty"`
	// Usage is what the replies' usage says, Server the server's own counters.
	Usage  *float64 `json:"usage,omitempty"`
	Server *float64 `json:"server,omitempty"`
	// Early is the share over the first fifth of the load, its warm-up included,
	// and Steady over the second half of the window: by usage where that says it,
	// else by the server's counters.
	Early  *float64 `json:"early,omitempty"`
	Steady *float64 `json:"steady,omitempty"`
	// LiveTokens is what a live job comes back to on average, by the workload's own
	// times, and RoomTokens what the server's KV cache holds.
	LiveTokens *float64 `json:"live_tokens,omitempty"`
	RoomTokens *float64 `json:"room_tokens,omitempty"`
}

// KV is the key-value cache by arithmetic from the records.
type KV struct {
	MaxMBPerRequest float64 `json:"max_mb_per_request"`
	// PeakMB counts shared prefixes for every request, PeakLowMB those that the
	// server found in its cache only once: what was really held lies between.
	PeakMB    float64 `json:"peak_mb"`
	PeakLowMB float64 `json:"peak_low_mb"`
	// ServerPeakMB is the highest use by the server's own gauge, where it tells
	// its use and its room.
	ServerPeakMB *float64 `json:"server_peak_mb,omitempty"`
	RoomMB       float64  `json:"room_mb,omitempty"` // on the accelerator, where known
	Model        string   `json:"model"`             // whose shape was used
}

// PrefillSlope is how the time to the first token grows with the prompt, over
// the requests that had the server to themselves: what a prompt costs to
// compute, of a server that does not tell. It is a Theil–Sen line.
type PrefillSlope struct {
	// MSPer1K is milliseconds for each 1,000 prompt tokens that were not
	// cached, LowMS and HighMS its 95 % interval.
	MSPer1K float64 `json:"ms_per_1k_tokens"`
	LowMS   float64 `json:"low_ms"`
	HighMS  float64 `json:"high_ms"`
	// BaseMS is what is left of an empty prompt: the way there and back, and
	// what every request takes.
	BaseMS float64 `json:"base_ms"`
	// Requests is how many there were.
	Requests int `json:"requests"`
}

// HasServed reports whether there is a finding about the server: some request
// succeeded, or of a load that its user set objectives for it streamed some and
// ended none in time, or refused every one.
func (r *Result) HasServed() bool {
	due, refused, streamed := 0, 0, false
	for i := range r.Points {
		n := &r.Points[i].Requests
		if n.OK > 0 {
			return true
		}
		due, refused = due+n.Due, refused+n.Rejected
		streamed = streamed || r.Points[i].Throughput.Output > 0
	}
	_, asked := r.Plan["sla_thresholds"]
	return asked && (streamed || refused > 0 && refused == due) && r.Verdict.SLO == slo.Missed
}
