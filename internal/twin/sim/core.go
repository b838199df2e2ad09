// Package sim is the simulated inference engine: a continuous-batching
// scheduler in the manner of vLLM v1 over a roofline step-time model, and a
// metronome. It is pure: time is an argument, there is no goroutine and no
// clock. It plays whole workloads in virtual time; package simserver puts it
// on a socket.
package sim

import (
	"time"

	"redline/internal/catalog"
	"redline/internal/twin/queue"
)

// Core is a pure engine. Times are nanoseconds on any scale that the caller
// chooses; it must not go backwards.
type Core interface {
	// Submit queues a job at now. It reports why a job can never run.
	Submit(now int64, j *Job) error
	// Cancel forgets a job whose client has gone.
	Cancel(now int64, id uint64)
	// Step does everything that is due at now: it calls emit for each token
	// that comes out by now, in order of time, and gives the time at which it
	// wants to be called next, or Idle. Calling it early is harmless, and
	// calling it late changes no token's time. emit must not call the core.
	Step(now int64, emit func(Token)) (next int64)
	// Stats is the engine's own view of itself.
	Stats() Stats
}

// Forgetful is a core with a prefix cache that can be emptied.
type Forgetful interface {
	// Forget empties the cache; it does nothing and reports false while blocks are
	// in use.
	Forget() bool
}

// Idle is the next time of a core that has nothing to do until Submit.
const Idle = queue.Idle

// Job is one request as the engine sees it.
type Job struct {
	ID     uint64
	Prompt []int32 // token ids: block hashes come from them
	// PromptLength takes the place of Prompt for an engine that goes by lengths alone,
	// and Beginnings for a router that goes by prompts: what of it others may begin
	// with too, the shortest first.
	PromptLength int
	Beginnings   []uint64
	Output       int // tokens to generate
	// Reply is the ids of the tokens to generate, where they are known: a
	// later prompt that repeats them then finds them in the prefix cache.
	Reply []int32
	// Images are those of the prompt, in their order.
	Images []Image
	// Priority is the place in the line where the policy goes by it, the lower
	// number first; Adapter is what is laid over the model, and Grammar what the
	// reply has to keep, by its text.
	Priority         int
	Adapter, Grammar string
	// Session names the conversation, for routers.
	Session string
	// Transferred is how many tokens of the prompt come with their cache, from an
	// engine that prefilled them.
	Transferred int
	// Replica is the engine of a fleet that serves the job, Prefiller the one that
	// prefilled it; AtGateway is when the fleet got it, and Prefilled when its prompt
	// was done. The fleet sets them.
	Replica, Prefiller   int
	AtGateway, Prefilled int64
	// Timeline, set by the core, on its time scale: Received by the front end,
	// Arrived in the engine; First and Last are when the engine had these tokens.
	Received, Arrived, Scheduled, First, Last int64
	Cached                                    int // prompt tokens found in the prefix cache
	Preempted                                 int
	Drafted, Accepted                         int // tokens of the reply, guessed and guessed right
	// Leaks says that its cache is not freed where it is cancelled.
	Leaks bool
	// Owner is whoever submitted the job; the core does not look at it.
	Owner any
	way   *passage // through a fleet
}

// Token is one generated token.
type Token struct {
	Job   *Job
	Index int // 0 is the first
	Last  bool
	More  bool  // others of the same request come out with it
	Cut   bool  // it is none: the engine that had the job is gone, and the job with it
	At    int64 // when it came out, at or before the Step that emits it
}

// Stats is what the engine reports as metrics: gauges now, counters since the
// start.
type Stats struct {
	Running, Waiting           int
	KVUsage                    float64
	KVBlocks                   int
	KVTokens                   int64 // held in the blocks in use
	EvictedBlocks              int64 // cached blocks that made room for others
	Preemptions                int64
	PrefixQueries, PrefixHits  int64 // tokens
	HostHits                   int64 // tokens that the host's memory had
	PromptTokens, OutputTokens int64
	MMQueries, MMHits          int64 // images, in the encoder's cache
	Finished                   int64
	Steps                      int64
	StepTokens                 int64 // scheduled in the last step
	// SpecDrafts counts the times that tokens were guessed, SpecDrafted those
	// tokens, SpecAccepted those that were right, SpecAcceptedAt by their place
	// in the draft.
	SpecDrafts, SpecDrafted, SpecAccepted int64
	SpecAcceptedAt                        [maxSpeculativeTokens]int64
}

// add takes in the stats of another engine; gauges that are shares are summed too.
func (s *Stats) add(o Stats) {
	s.Running, s.Waiting = s.Running+o.Running, s.Waiting+o.Waiting
	s.KVUsage, s.KVBlocks, s.KVTokens = s.KVUsage+o.KVUsage, s.KVBlocks+o.KVBlocks, s.KVTokens+o.KVTokens
	s.EvictedBlocks, s.Preemptions = s.EvictedBlocks+o.EvictedBlocks, s.Preemptions+o.Preemptions
	s.PrefixQueries, s.PrefixHits = s.PrefixQueries+o.PrefixQueries, s.PrefixHits+o.PrefixHits
	s.PromptTokens, s.OutputTokens = s.PromptTokens+o.PromptTokens, s.OutputTokens+o.OutputTokens
	s.Finished, s.Steps = s.Finished+o.Finished, s.Steps+o.Steps
}

// Spec configures the engine. The zero value of a field takes the default of
// vLLM's API server for the accelerator.
type Spec struct {
	Model string `yaml:"model,omitempty"`
	// ServedModelName is what clients call the model; the model's own name by
	// default.
	ServedModelName      string  `yaml:"served_model_name,omitempty"`
	GPU                  string  `yaml:"gpu,omitempty"`
	TP                   int     `yaml:"tp,omitempty"`
	MaxNumSeqs           int     `yaml:"max_num_seqs,omitempty"`
	MaxNumBatchedTokens  int     `yaml:"max_num_batched_tokens,omitempty"`
	GPUMemoryUtilization float64 `yaml:"gpu_memory_utilization,omitempty"`
	EnablePrefixCaching  *bool   `yaml:"enable_prefix_caching,omitempty"`
	EnableChunkedPrefill *bool   `yaml:"enable_chunked_prefill,omitempty"`
	MaxModelLen          int     `yaml:"max_model_len,omitempty"`
	// Dtype and Quantization say how the weights are stored, KVCacheDtype the
	// cache; "auto" or nothing is as the model's maker ships it.
	Dtype        string `yaml:"dtype,omitempty"`
	Quantization string `yaml:"quantization,omitempty"`
	KVCacheDtype string `yaml:"kv_cache_dtype,omitempty"`
	// NumGPUBlocksOverride replaces the number of cache blocks that follows
	// from the accelerator's memory.
	NumGPUBlocksOverride int `yaml:"num_gpu_blocks_override,omitempty"`
	// EvictionPolicy is which cached block makes room: lru, the least recently used
	// and the default, or mru, the most recently used.
	EvictionPolicy string `yaml:"eviction_policy,omitempty"`
	// KVOffloadingSize is GiB of the host's memory that keep blocks which the device
	// has evicted.
	KVOffloadingSize float64 `yaml:"kv_offloading_size,omitempty"`
	ReasoningTokens  int     `yaml:"reasoning_tokens,omitempty"`
	ToolCalls        bool    `yaml:"tool_calls,omitempty"`
	TokensPerChunk   int     `yaml:"tokens_per_chunk,omitempty"`
	// StructuredError is the share of tool calls and of replies with a schema that
	// do not keep theirs.
	StructuredError float64 `yaml:"structured_error,omitempty"`
	// GrammarCompileTime is how long the first request of a schema waits for its
	// grammar; nil is 50 ms.
	GrammarCompileTime *time.Duration `yaml:"grammar_compile_time,omitempty"`
	// SchedulingPolicy is fcfs, the default, or priority.
	SchedulingPolicy string `yaml:"scheduling_policy,omitempty"`
	// LoraModules are the adapters that are served, by names in which * stands for
	// any text; MaxLoras is how many different ones a batch can have, 1 where it is
	// 0, and LoraLoadTime what it takes to bring one in; nil is 20 ms.
	LoraModules  []string       `yaml:"lora_modules,omitempty"`
	MaxLoras     int            `yaml:"max_loras,omitempty"`
	LoraLoadTime *time.Duration `yaml:"lora_load_time,omitempty"`
	// Faults are injected into replies, each as NAME[(TIME)][:WHEN].
	Faults []string `yaml:"faults,omitempty"`
	// PrefillFirst makes each step either prompts or generation, prompts
	// first, as vLLM did before v1.
	PrefillFirst bool `yaml:"prefill_first,omitempty"`
	// StaticBatching forms a batch of what waits and runs it to its end before
	// the next one.
	StaticBatching bool `yaml:"static_batching,omitempty"`
	Speculation    `yaml:",inline"`
	Vision         `yaml:",inline"`
	Fleet          `yaml:",inline"`
	// ComputeShare and MemoryShare are the shares of the accelerator's peak
	// rates that matrix products and weight reads reach, where they have been
	// measured; 0 takes the catalog's or the usual ones.
	ComputeShare float64 `yaml:"compute_share,omitempty"`
	MemoryShare  float64 `yaml:"memory_share,omitempty"`
	// StepOverhead is added to every step, and RequestOverhead is what a request
	// spends in front of the engine before it can be scheduled.
	StepOverhead    time.Duration `yaml:"step_overhead,omitempty"`
	RequestOverhead time.Duration `yaml:"request_overhead,omitempty"`
	// FrontEnd is what requests and tokens pass through on their way to the
	// engine and back; by default it takes no time.
	catalog.FrontEnd `yaml:",inline"`
	// AsyncScheduling plans each step while the one before it runs: no step
	// waits for the host, and a request waits one step more.
	AsyncScheduling bool `yaml:"async_scheduling,omitempty"`
	// Law replaces model and accelerator by measured constants.
	Law *catalog.Law `yaml:"law,omitempty"`
	// NetDelay is how far away the server is: it is added to the way of
	// every request and to that of every reply.
	NetDelay time.Duration `yaml:"net_delay,omitempty"`
	// RateLimit is the requests per second above which the server answers
	// 429; 0 is no limit.
	RateLimit float64 `yaml:"rate_limit,omitempty"`
	// ColdStart is how long after its first request the engine is slow.
	ColdStart time.Duration `yaml:"cold_start,omitempty"`
	// Golden is the set of questions that are answered as it says, "" for
	// none; AnswerError is the share of them that is answered wrongly, and
	// AnswerErrorUnderLoad that while other requests are served.
	Golden               string  `yaml:"-"`
	AnswerError          float64 `yaml:"answer_error,omitempty"`
	AnswerErrorUnderLoad float64 `yaml:"answer_error_under_load,omitempty"`
	// Catalog is where the names of model and accelerator are looked up; nil is
	// the built-in one.
	Catalog *catalog.Catalog `yaml:"-"`
	// Jitter is the sigma of the lognormal noise on each step's time; nil is
	// 0.04, 0 none.
	Jitter *float64 `yaml:"jitter,omitempty"`
	Seed   uint64   `yaml:"seed,omitempty"`
}
