package result

import (
	"slices"

	"redline/internal/judge/metric"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

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

// Engines is how many engines served it, as their metrics or their replies name them;
// 1 where neither does.
func (p *Point) Engines() int {
	n := 0
	for _, g := range slices.Concat(p.Replicas, p.Prefillers) {
		if g.Name != metric.Unnamed {
			n++
		}
	}
	n = max(n, 1)
	if p.Server != nil {
		n = max(n, p.Server.Replicas)
	}
	return n
}

// IsWatched reports whether the server's metrics are of every engine that served it:
// those of some account for no other's time.
func (p *Point) IsWatched() bool {
	return p.Server != nil && !p.Server.InTurn && max(1, p.Server.Replicas) >= p.Engines()
}

// Load is what was offered.
type Load struct {
	Mode string `json:"mode"` // "open", "closed" or "capped"; NotKnown of some imported runs
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

// NotKnown stands for what the file of another benchmark does not say.
const NotKnown = "not known"

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
	// Tiers are the shares that each tier of the cache had by the server's counters,
	// in its words: device, host, disk; else by the replies; absent where neither tells
	// them apart.
	Tiers map[string]float64 `json:"tiers,omitempty"`
	// Early is the share over the first fifth of the load, its warm-up included,
	// and Steady over the second half of the window: by usage where that says it,
	// else by the server's counters.
	Early  *float64 `json:"early,omitempty"`
	Steady *float64 `json:"steady,omitempty"`
	// Warming is how long the cache took to be warm after it was emptied; absent where
	// it was not, or replies do not say what was cached.
	Warming *Warming `json:"warming,omitempty"`
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
