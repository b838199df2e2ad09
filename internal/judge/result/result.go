// Package result is the versioned document that a run ends in: every block of
// it as plain data. Packages of meaning fill it, packages of showing render
// it; it computes nothing itself.
package result

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	WorkingSet *WorkingSet `json:"working_set,omitempty"`
	// Toggles are optimizations that were measured with and without.
	Toggles []Toggle `json:"toggles,omitempty"`
	// ToggleLoads is what each does at several loads, where it was measured at them.
	ToggleLoads []ToggleLoads `json:"toggle_loads,omitempty"`
	Isolation   *Isolation    `json:"isolation,omitempty"`
	Capacity    *Capacity     `json:"capacity,omitempty"`
	Protocol    *Protocol     `json:"protocol,omitempty"`
	Tuning      *Tuning       `json:"tuning,omitempty"`
	Diagnosis   []Finding     `json:"diagnosis,omitempty"`
	Checklist   []Item        `json:"checklist,omitempty"`
	// Choices is the decision matrix for the measured workload.
	Choices []Choice `json:"decision_matrix,omitempty"`
	// AntiPatterns are ways in which a sound result may mislead all the same.
	AntiPatterns []AntiPattern `json:"anti_patterns,omitempty"`
	// Unknown lists what a reader should know of model, engine and hardware
	// and that is unknown: "driver", "model revision".
	Unknown []string `json:"unknown,omitempty"`
	Stages  []Stage  `json:"stages,omitempty"`
	// Billed is what everything that was sent costs at the plan's prices, also before
	// and after windows; absent without prices.
	Billed   *float64  `json:"billed,omitempty"`
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
// the window, of several workers the one that was held up longest. What that may have
// done to each figure stands with the figure.
type Holdups struct {
	Times  int     `json:"times"`
	TotalS float64 `json:"total_s"`
	MaxMS  float64 `json:"max_ms"`
}

// Add takes in another stage.
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

// Outcome is how the result stands with what was asked of it: its objectives, and
// whether it tells two sides apart. Without a winner of a tuning nothing is missed.
func (r *Result) Outcome() slo.Standing {
	open := slices.ContainsFunc(r.Toggles, func(t Toggle) bool {
		return !slices.ContainsFunc(t.Metrics, func(m ToggleMetric) bool { return m.Standing != slo.Undecided })
	})
	switch {
	case r.Tuning != nil && (r.Tuning.Standing == slo.Undecided || r.Tuning.Standing == slo.Unconfirmed):
		return slo.Undecided
	case r.Verdict.SLO == slo.Missed, r.Tuning != nil:
		return r.Verdict.SLO
	case open, r.Comparison != nil && r.Comparison.Standing == slo.Undecided:
		return slo.Undecided
	}
	return r.Verdict.SLO
}

// HasServed reports whether there is a finding about the server: some request
// succeeded, or of a load that its user set objectives for it streamed some and
// ended none in time, or refused every one.
func (r *Result) HasServed() bool {
	due, refused, closed, streamed := 0, 0, 0, false
	for i := range r.Points {
		n := &r.Points[i].Requests
		if n.OK > 0 {
			return true
		}
		due, refused, closed = due+n.Due, refused+n.Rejected, closed+n.Abandoned
		streamed = streamed || r.Points[i].Throughput.Output > 0
	}
	if due > 0 && closed == due {
		return true // as the load asks
	}
	_, asked := r.Plan["sla_thresholds"]
	return asked && (streamed || refused > 0 && refused == due) && r.Verdict.SLO == slo.Missed
}
