package config

import (
	"strconv"
	"strings"

	"redline/internal/drive/wire"
	"redline/internal/judge/slo"
	"redline/internal/traffic/token"
	"redline/internal/traffic/workload"
	"redline/internal/twin/sim"
)

// Options is every knob there is, in the order in which --help and the manual
// show them. Flags, environment variables and plan keys all come from here.
var Options = []Option{
	{Flag: "url", Key: "provider.api_endpoint", Group: TargetGroup, Kind: Text, Value: "URL", Repeatable: true,
		Default: "the embedded engine",
		Help:    "base URL or full path of the server (also unix:SOCKET); a known path selects the API; several are used in turn"},
	{Flag: "api", Values: wire.Names(), Key: "provider.api", Group: TargetGroup, Kind: Text, Value: "NAME",
		Default: "from the URL's path, else openai-chat",
		Help:    strings.Join(wire.Names(), ", ") + " (described in the plan's provider.template)"},
	{Flag: "model", Key: "provider.model", Group: TargetGroup, Kind: Text, Value: "NAME",
		Default: "the first that the server lists",
		Help:    "model to ask; for the embedded engine one of the catalog's"},
	{Flag: "api-key-env", Key: "provider.api_key", Group: TargetGroup, Kind: Text, Value: "NAME",
		Default: "OPENAI_API_KEY or ANTHROPIC_API_KEY, by API",
		Help:    "environment variable that holds the key; in the plan ${NAME}", set: setKeyEnv, get: getKeyEnv},
	{Flag: "header", Key: "provider.headers", Group: TargetGroup, Kind: Text, Value: "NAME=VALUE", Repeatable: true,
		Help: "header to send with every request", set: setHeaders, get: getHeaders},
	{Flag: "extra-body", Key: "provider.extra_body", Group: TargetGroup, Kind: Text, Value: "JSON",
		Help: "object whose keys are added to every request's body", set: setExtraBody, get: getExtraBody},
	{Flag: "insecure", Key: "provider.tls.insecure", Group: TargetGroup, Kind: Bool, Default: "false",
		Help: "do not verify the server's certificate"},
	{Flag: "ca-cert", Key: "provider.tls.ca_cert", Group: TargetGroup, Kind: Text, Value: "FILE",
		Default: "the system's", Help: "PEM file of the authorities to trust"},
	{Flag: "client-cert", Key: "provider.tls.client_cert", Group: TargetGroup, Kind: Text, Value: "FILE",
		Help: "PEM file with the client's certificate and key"},
	{Flag: "timeout", Key: "provider.timeouts.total", Group: TargetGroup, Kind: Duration, Value: "TIME",
		Default: "10m", Help: "longest time for one request, from its first byte sent to its end"},
	{Flag: "header-timeout", Key: "provider.timeouts.header", Group: TargetGroup, Kind: Duration, Value: "TIME",
		Default: "the total", Help: "longest time from a request's first byte sent to its reply's head"},
	{Flag: "first-token-timeout", Key: "provider.timeouts.first_token", Group: TargetGroup, Kind: Duration, Value: "TIME",
		Default: "the total", Help: "longest time from a request's first byte sent to the first output of its stream"},
	{Flag: "idle-timeout", Key: "provider.timeouts.idle", Group: TargetGroup, Kind: Duration, Value: "TIME",
		Default: "the total", Help: "longest silence of a stream whose output has begun"},
	{Flag: "no-stream", Key: "provider.stream", Group: TargetGroup, Kind: Bool, Default: "false",
		Help: "ask for whole replies; in the plan stream: false", set: setNoStream, get: getNoStream},
	{Flag: "metrics-url", Key: "telemetry.metrics_url", Group: TargetGroup, Kind: Text, Value: "URL", Repeatable: true,
		Default: "/metrics of the server",
		Help:    "URL of the engine's Prometheus page if it is not /metrics; give one per replica, the figures are added up"},
	{Flag: "telemetry-interval", Key: "telemetry.interval", Group: TargetGroup, Kind: Duration, Value: "TIME", Default: "1s",
		Help: "time between two readings of the engine's metrics, 100ms to 1m"},
	{Flag: "no-telemetry", Key: "telemetry.scrape", Group: TargetGroup, Kind: Bool, Default: "false",
		Help: "do not read the engine's metrics; in the plan scrape: false", set: setNoTelemetry, get: getNoTelemetry},
	{Flag: "catalog", Key: "catalog", Group: TargetGroup, Kind: Text, Value: "FILE", Repeatable: true,
		Help: "file of further models and accelerators, or the config.json of the served model"},
	{Flag: "engine-log", Key: "telemetry.engine_log", Group: TargetGroup, Kind: Text, Value: "FILE|COMMAND",
		Help: "keep what the engine logs during the run and count errors, OOMs and preemptions in it; a file, or a command such as 'docker logs -f --tail 0 vllm'"},
	{Flag: "accelerator", Values: []string{"auto", "off", "nvidia-smi", "amd-smi"}, Key: "telemetry.accelerator", Group: TargetGroup, Kind: Text, Value: "SOURCE",
		Default: "auto: nvidia-smi or amd-smi of this machine, where the server is on it too",
		Help: "source of accelerator readings: auto, off, nvidia-smi, amd-smi, a command that runs one such as 'ssh gpu1 nvidia-smi', " +
			"or the URL of an exporter (DCGM, AMD)"},

	{Flag: "rate", Key: "load_profile.rate", Group: loadGroup, Kind: Float, Value: "R",
		Default: "10, unless a concurrency is given",
		Help:    "requests per second to send, whether or not the server keeps up (open loop)"},
	{Flag: "arrival", Values: []string{"constant", "poisson", "gamma(0.5)"}, Key: "load_profile.arrival", Group: loadGroup, Kind: Text, Value: "PROCESS", Default: "poisson",
		Help: "how arrivals spread over time: constant, poisson or gamma(SHAPE), a shape below 1 being burstier"},
	{Flag: "profile", Values: []string{"steady", "burst", "overload", "hot-spot", "steps(10:1m,20:1m)", "ramp(1..50,5m)", "onoff(50:10s,5:20s)", "diurnal(5..20,24h)"}, Key: "load_profile.profile", Group: loadGroup, Kind: Text, Value: "SHAPE", Default: "steady",
		Help: "the rate over time: steady, burst, overload (1.5 times --limit), hot-spot (80% from one tenant), 'steps(10:1m,20:1m)', 'ramp(1..50,5m)', " +
			"'ramp(1..50,5m,exp)', 'onoff(50:10s,5:20s)' or 'diurnal(5..20,24h)'"},
	{Flag: "limit", Key: "load_profile.limit", Group: loadGroup, Kind: Text, Value: "R|DIR",
		Help: "requests per second that the server is known to sustain, or the directory of the run that found them; for --profile overload",
		set:  setLimit, get: getLimit},
	{Flag: "concurrency", Key: "load_profile.max_concurrency", Group: loadGroup, Kind: Int, Value: "N", Default: "no cap",
		Help: "maximum requests in flight; without a rate, the number of users, each of whom sends the next request after the reply and their think time (closed loop)"},
	{Flag: "requests", Key: "load_profile.total_requests", Group: loadGroup, Kind: Int, Value: "N",
		Help: "requests to measure"},
	{Flag: "duration", Key: "load_profile.duration", Group: loadGroup, Kind: Duration, Value: "TIME",
		Default: "until each objective is decided, else 1m", Help: "length of the measured window"},
	{Flag: "max-duration", Key: "load_profile.max_duration", Group: loadGroup, Kind: Duration, Value: "TIME", Default: "5m",
		Help: "longest window of a run without a length, which ends once each objective is decided, after 1m at the earliest"},
	{Flag: "warmup", Key: "load_profile.warmup", Group: loadGroup, Kind: Duration, Value: "TIME",
		Default: "50 requests and twice their mean time, at most 1m; of conversations until their turns come evenly, at most 3m", Help: "load before the measured window"},
	{Flag: "drain", Key: "load_profile.drain", Group: loadGroup, Kind: Duration, Value: "TIME", Default: "1m",
		Help: "longest wait after the window for its last requests to end, under continued load"},
	{Flag: "max-retries", Key: "load_profile.retries.max", Group: loadGroup, Kind: Int, Value: "N", Default: "0",
		Help: "retries of a request that was rejected or could not connect, honoring Retry-After"},
	{Flag: "max-error-rate", Key: "load_profile.max_error_rate", Group: loadGroup, Kind: Float, Value: "SHARE", Default: "no limit",
		Help: "stop the run when more than this share of the last 100 requests (at least 50) failed or were rejected"},
	{Flag: "max-spend", Key: "load_profile.max_spend", Group: loadGroup, Kind: Float, Value: "MONEY", Default: "no limit",
		Help: "stop before spending more than this, at the prices of the plan's cost block"},
	{Flag: "max-tokens-total", Key: "load_profile.max_tokens_total", Group: loadGroup, Kind: Int, Value: "N", Default: "no limit",
		Help: "stop before using more prompt and output tokens than this"},

	{Flag: "workload", Values: workload.Names(), Key: "workload", Group: WorkloadGroup, Kind: Text, Value: "NAME", Default: "chat",
		Help: "preset (" + strings.Join(workload.Names(), ", ") + "), lengths such as 'in=lognormal(500,0.8,50..4000) out=fixed(128)', " +
			"or a file: prompts, conversations, a trace, a fitted workload"},
	{Flag: "workload-format", Values: workload.FileFormats(), Key: "workload.format", Group: WorkloadGroup, Kind: Text, Value: "FORMAT",
		Default: "by the file's content", Help: "how to read the workload's file: " + strings.Join(workload.FileFormats(), ", ")},
	{Flag: "column", Key: "workload.columns", Group: WorkloadGroup, Kind: Text, Value: "ROLE=NAME", Repeatable: true,
		Help: "column of a log that holds the time, prompt, output, session, tenant, class or text", set: setColumns, get: getColumns},
	{Flag: "skip-bad-rows", Key: "workload.skip_bad_rows", Group: WorkloadGroup, Kind: Bool, Default: "false",
		Help: "skip rows of the workload's file that cannot be used, and count them"},
	{Flag: "sort", Key: "workload.sort", Group: WorkloadGroup, Kind: Bool, Default: "false",
		Help: "sort the rows of a trace by time first"},
	{Flag: "speedup", Key: "workload.replay.speedup", Group: WorkloadGroup, Kind: Float, Value: "FACTOR", Default: "1",
		Help: "speed factor of a trace replay"},
	{Flag: "from", Key: "workload.replay.from", Group: WorkloadGroup, Kind: Duration, Value: "TIME", Default: "its beginning",
		Help: "start of the replayed part of a trace"},
	{Flag: "for", Key: "workload.replay.for", Group: WorkloadGroup, Kind: Duration, Value: "TIME", Default: "to its end",
		Help: "length of the replayed part of a trace, in its own time"},
	{Flag: "loop", Key: "workload.replay.loop", Group: WorkloadGroup, Kind: Bool, Default: "false",
		Help: "start a trace again when it ends"},
	{Flag: "cache", Values: []string{"warm", "cold"}, Key: "workload.cache", Group: WorkloadGroup, Kind: Text, Value: "WORD", Default: "warm",
		Help: "warm, or cold: give every request a prefix of its own where the workload shares some, all else equal"},
	{Flag: "salt", Key: "workload.salt", Group: WorkloadGroup, Kind: Text, Value: "TEXT", Default: "a new one for every run",
		Help: "text that makes prompts differ from those of other runs, so that a rerun does not measure the cache; false: no salt"},
	{Flag: "tokenizer", Values: append(token.EmbeddedNames(), "server"), Key: "tokenizer", Group: WorkloadGroup, Kind: Text, Value: "NAME", Default: token.EmbeddedNames()[0],
		Help: strings.Join(token.EmbeddedNames(), ", ") + ", a Hugging Face tokenizer.json, or server: ask the server's /tokenize"},
	{Flag: "generation", Values: []string{"deterministic", "product"}, Key: "generation.preset", Group: WorkloadGroup, Kind: Text, Value: "PRESET",
		Help: "deterministic or product: settings for how the model picks its tokens"},
	{Flag: "temperature", Key: "generation.temperature", Group: WorkloadGroup, Kind: Float, Value: "T",
		Default: "the preset's", Help: "sampling temperature"},
	{Flag: "top-p", Key: "generation.top_p", Group: WorkloadGroup, Kind: Float, Value: "P",
		Default: "the preset's", Help: "nucleus sampling"},
	{Flag: "gen-seed", Key: "generation.seed", Group: WorkloadGroup, Kind: Int, Value: "N",
		Default: "the preset's", Help: "seed that is sent to the server"},
	{Flag: "stop", Key: "generation.stop", Group: WorkloadGroup, Kind: Text, Value: "TEXT", Repeatable: true,
		Help: "text at which the model stops"},
	{Flag: "seed", Key: "seed", Group: WorkloadGroup, Kind: Int, Value: "N", Default: "a new one for every run",
		Help: "decides arrival times, prompts and lengths; the same seed gives the same load"},

	{Flag: "engine", Key: "server.engine", Group: EngineGroup, Kind: Text, Value: "FILE", Default: "one of the catalog's",
		Help: "engine file written by redline calibrate; other settings override it"},
	{Flag: "served-model-name", Key: "server.sim.served_model_name", Group: EngineGroup, Kind: Text, Value: "NAME",
		Default: "the model's", Help: "name under which clients ask for the model"},
	{Flag: "gpu", Key: "server.sim.gpu", Group: EngineGroup, Kind: Text, Value: "NAME", Default: "H100",
		Help: "accelerator to simulate, one of the catalog's"},
	{Flag: "tp", Key: "server.sim.tp", Group: EngineGroup, Kind: Int, Value: "N", Default: "1",
		Help: "accelerators that share the model (tensor parallel)"},
	{Flag: "max-num-seqs", Key: "server.sim.max_num_seqs", Group: EngineGroup, Kind: Int, Value: "N",
		Default: "vLLM's", Help: "maximum requests in one batch"},
	{Flag: "max-num-batched-tokens", Key: "server.sim.max_num_batched_tokens", Group: EngineGroup, Kind: Int, Value: "N",
		Default: "vLLM's", Help: "token budget of one step"},
	{Flag: "gpu-memory-utilization", Key: "server.sim.gpu_memory_utilization", Group: EngineGroup, Kind: Float, Value: "SHARE",
		Default: "vLLM's", Help: "share of the accelerator's memory that the engine may use"},
	{Flag: "max-model-len", Key: "server.sim.max_model_len", Group: EngineGroup, Kind: Int, Value: "N",
		Default: "the model's", Help: "maximum prompt and output tokens of one request"},
	{Flag: "enable-prefix-caching", Key: "server.sim.enable_prefix_caching", Group: EngineGroup, Kind: Bool,
		Default: "true", Help: "reuse the cache of equal prompt beginnings"},
	{Flag: "enable-chunked-prefill", Key: "server.sim.enable_chunked_prefill", Group: EngineGroup, Kind: Bool,
		Default: "true", Help: "split long prompts over several steps"},
	{Flag: "reasoning-tokens", Key: "server.sim.reasoning_tokens", Group: EngineGroup, Kind: Int, Value: "N", Default: "0",
		Help: "reasoning tokens at the start of every reply"},
	{Flag: "tool-calls", Key: "server.sim.tool_calls", Group: EngineGroup, Kind: Bool, Default: "false",
		Help: "end every reply with a tool call"},
	{Flag: "tokens-per-chunk", Key: "server.sim.tokens_per_chunk", Group: EngineGroup, Kind: Int, Value: "N", Default: "1",
		Help: "tokens in one stream event"},
	{Flag: "fault", Values: sim.FaultNames(), Key: "server.sim.faults", Group: EngineGroup, Kind: Text, Value: "FAULT", Repeatable: true,
		Help: "inject a fault: a name, a time in parentheses where it takes one, and into which requests, such as 'reset:2%', " +
			"'429(2s):#5' (the fifth request) or 'crlf' (all); names: " + strings.Join(sim.FaultNames(), ", ")},

	{Flag: "net-delay", Key: "server.sim.net_delay", Group: EngineGroup, Kind: Duration, Value: "TIME", Default: "0s",
		Help: "network delay, added in each direction"},
	{Flag: "mbu", Key: "server.sim.memory_share", Group: EngineGroup, Kind: Float, Value: "SHARE", Default: "0.8",
		Help: "share of the accelerator's peak memory bandwidth that reading the weights reaches; 0.2 is an inefficient engine"},
	{Flag: "rate-limit", Key: "server.sim.rate_limit", Group: EngineGroup, Kind: Float, Value: "R", Default: "none",
		Help: "requests per second above which the engine answers 429"},
	{Flag: "cold-start", Key: "server.sim.cold_start", Group: EngineGroup, Kind: Duration, Value: "TIME", Default: "0s",
		Help: "time after the first request during which the engine is eight times slower"},
	{Flag: "num-gpu-blocks-override", Key: "server.sim.num_gpu_blocks_override", Group: EngineGroup, Kind: Int, Value: "N",
		Default: "what fits the memory", Help: "blocks of 16 tokens in the KV cache"},
	{Flag: "prefill-first", Key: "server.sim.prefill_first", Group: EngineGroup, Kind: Bool, Default: "false",
		Help: "each step is either prompts or generation, prompts first, as vLLM worked before v1"},
	{Flag: "static-batching", Key: "server.sim.static_batching", Group: EngineGroup, Kind: Bool, Default: "false",
		Help: "form a batch of the waiting requests and finish it before starting the next"},
	{Flag: "speculative-tokens", Key: "server.sim.speculative_tokens", Group: EngineGroup, Kind: Int, Value: "N", Default: "0, no speculation",
		Help: "tokens that a draft model guesses ahead in every step"},
	{Flag: "speculative-acceptance", Key: "server.sim.speculative_acceptance", Group: EngineGroup, Kind: Float, Value: "CHANCE",
		Default: strconv.FormatFloat(sim.DefaultSpeculativeAcceptance, 'g', -1, 64), Help: "chance that a guessed token is right if those before it were"},
	{Flag: "speculative-context", Key: "server.sim.speculative_context", Group: EngineGroup, Kind: Int, Value: "TOKENS", Default: "never",
		Help: "context over which that chance halves"},
	{Flag: "speculative-draft-share", Key: "server.sim.speculative_draft_share", Group: EngineGroup, Kind: Float, Value: "SHARE",
		Default: strconv.FormatFloat(sim.DefaultSpeculativeDraftShare, 'g', -1, 64), Help: "time of the draft model as a share of the model's for the same tokens"},

	{Flag: "quantization", Key: "server.sim.quantization", Group: EngineGroup, Kind: Text, Value: "NAME",
		Default: "none", Help: "how the weights are stored: fp8, int8, int4 and their like; fewer bits are faster, and answer more golden questions wrongly"},
	{Flag: "answer-error", Key: "server.sim.answer_error", Group: EngineGroup, Kind: Float, Value: "SHARE", Default: "0",
		Help: "share of the golden questions (--golden) that the engine answers wrongly"},
	{Flag: "answer-error-under-load", Key: "server.sim.answer_error_under_load", Group: EngineGroup, Kind: Float, Value: "SHARE",
		Default: "as alone", Help: "share of the golden questions that it answers wrongly while it serves two other requests or more"},

	{Flag: "toggle", Values: append(optimizationNames(), "all"), Key: "experiment.toggles", Group: ExperimentGroup, Kind: Text, Value: "NAME", Repeatable: true,
		Help: "optimization to measure with and without: " + strings.Join(optimizationNames(), ", ") + ", or all"},
	{Flag: "on-url", Key: "experiment.on_url", Group: ExperimentGroup, Kind: Text, Value: "URL", Default: "the embedded engine, switched on",
		Help: "server that runs with the optimization"},
	{Flag: "off-url", Key: "experiment.off_url", Group: ExperimentGroup, Kind: Text, Value: "URL", Default: "the embedded engine, switched off",
		Help: "the same server without it"},
	{Flag: "rates", Key: "experiment.rates", Group: ExperimentGroup, Kind: Text, Value: "LIST",
		Default: "doubling until the server is saturated", Help: "levels of a sweep in requests per second: 1,2,5,10",
		set: setRates, get: getRates},
	{Flag: "concurrencies", Key: "experiment.concurrencies", Group: ExperimentGroup, Kind: Text, Value: "LIST",
		Help: "levels of a sweep as requests in flight: 1,2,4,8", set: setConcurrencies, get: getConcurrencies},
	{Flag: "find-limit", Key: "experiment.find_limit", Group: ExperimentGroup, Kind: Bool, Default: "false",
		Help: "search for the highest rate that meets the objectives, and confirm one with a sustained run"},
	{Flag: "sustained", Key: "experiment.sustained", Group: ExperimentGroup, Kind: Duration, Value: "TIME", Default: "3m",
		Help: "length of the runs that the limit is about"},
	{Flag: "thorough", Key: "experiment.thorough", Group: ExperimentGroup, Kind: Bool, Default: "false",
		Help: "a sustained run of half an hour"},
	{Flag: "budget", Key: "experiment.budget", Group: ExperimentGroup, Kind: Duration, Value: "TIME", Default: "10m",
		Help: "wall-clock time of the whole search, of which a third, at most --sustained, is the sustained run; a small one ends in a wider interval"},
	{Flag: "start", Key: "experiment.start", Group: ExperimentGroup, Kind: Float, Value: "R", Default: "1",
		Help: "rate at which the ramp of a search begins, or the first level of a sweep; a good guess saves time"},
	{Flag: "repeat", Key: "experiment.repeat", Group: ExperimentGroup, Kind: Int, Value: "N", Default: "1",
		Help: "number of runs of the same load, with fresh seeds and prompts; reports how runs vary"},
	{Flag: "rounds", Key: "experiment.rounds", Group: ExperimentGroup, Kind: Int, Value: "N", Default: "10",
		Help: "rounds of a live comparison"},
	{Flag: "tolerance", Key: "experiment.tolerance", Group: ExperimentGroup, Kind: Float, Value: "SHARE",
		Default: "0.05; 0.01 to call a difference that rounds or repeated runs show",
		Help:    "relative difference between two runs that does not matter, however certain it is"},
	{Flag: "anyway", Key: "experiment.anyway", Group: ExperimentGroup, Kind: Bool, Default: "false",
		Help: "count what is invalid or not comparable instead of leaving it out or refusing it; the answer is then marked invalid (exit code 5)"},
	{Flag: "accept", Key: "experiment.accept", Group: ExperimentGroup, Kind: Text, Value: "CONDITION", Repeatable: true,
		Help: "acceptance criterion: an objective, or a limit such as 'limit>20'"},
	{Flag: "scale", Key: "experiment.scale", Group: ExperimentGroup, Kind: Float, Value: "SHARE", Default: "1",
		Help: "shorten every stage of a protocol or matrix by this factor, for a quick trial; the results are exploratory"},

	{Flag: "server-command", Key: "server.command", Group: TuneGroup, Kind: Text, Value: "COMMAND",
		Help: "command line that starts the server, with {port} and a {name} for each knob; {redline} is this program"},
	{Flag: "knob", Key: "tune.knobs", Group: TuneGroup, Kind: Text, Value: "NAME=BASELINE,VALUE…", Repeatable: true,
		Help: "setting to try other values of, one at a time; a hypothesis for each stands in the plan", set: setKnobs, get: getKnobs},
	{Flag: "objective", Key: "tune.objective", Group: TuneGroup, Kind: Text, Value: "FIGURE", Repeatable: true,
		Default: "good:fraction (throughput without objectives), tpot:p50, ttft:p50",
		Help:    "what better means: good:fraction, throughput, cost, ttft:p99 and the like; of several the first that shows a difference decides"},
	{Flag: "server-port", Key: "server.port", Group: TuneGroup, Kind: Int, Value: "PORT", Default: "two free ones",
		Help: "port for the server; the one above it is used too where both sides of a comparison run at once"},
	{Flag: "ready", Key: "server.ready", Group: TuneGroup, Kind: Text, Value: "PATH", Default: "/health, else /v1/models",
		Help: "page of the server that answers with success once it is ready"},
	{Flag: "ready-timeout", Key: "server.ready_timeout", Group: TuneGroup, Kind: Duration, Value: "TIME", Default: "10m",
		Help: "longest time for a server to become ready; one that takes longer is rejected"},
	{Flag: "side-by-side", Key: "tune.side_by_side", Group: TuneGroup, Kind: Bool, Default: "false",
		Help: "run baseline and winner at once in the last comparison, where the machine holds both"},

	{Flag: "price-per-hour", Key: "cost.per_hour", Group: CostGroup, Kind: Float, Value: "MONEY",
		Help: "price of an hour of the whole deployment"},
	{Flag: "price-per-gpu-hour", Key: "cost.per_accelerator_hour", Group: CostGroup, Kind: Float, Value: "MONEY",
		Help: "price of an hour of one accelerator"},
	{Flag: "price-gpu", Key: "cost.accelerator", Group: CostGroup, Kind: Text, Value: "NAME",
		Help: "accelerator whose catalog price to use; such prices are dated and rough"},
	{Flag: "reserved-per-gpu-hour", Key: "cost.reserved_per_accelerator_hour", Group: CostGroup, Kind: Float, Value: "MONEY",
		Help: "price of an hour of one accelerator under a longer contract"},
	{Flag: "gpus-per-instance", Key: "cost.accelerators", Group: CostGroup, Kind: Int, Value: "N",
		Default: "what the run found, else 1", Help: "accelerators of one instance, the deployment that is measured"},
	{Flag: "utilization", Key: "cost.utilization", Group: CostGroup, Kind: Float, Value: "SHARE",
		Help: "average share of the measured load in production; cost is shown at it too, idle time included"},

	{Flag: "slo", Values: slo.PresetNames(), Key: "sla_thresholds", Group: runGroup, Kind: Text, Value: "OBJECTIVE", Repeatable: true,
		Help: "objective: 'ttft:p99<500ms', 'error:rate<1%', or a preset: " + presets() + "; replaces those of the plan"},
	{Flag: "confidence", Key: "confidence", Group: runGroup, Kind: Float, Value: "SHARE", Default: "0.95",
		Help: "how sure a verdict must be, 0.5 to 0.999: one minus the chance that an objective is called met or missed wrongly"},
	{Flag: "strict", Key: "strict", Group: runGroup, Kind: Bool, Default: "false",
		Help: "make every failed check of the run itself final, whether or not it can change a verdict; no stage is repeated or left out"},
	{Flag: "golden", Values: []string{"builtin"}, Key: "quality.golden", Group: runGroup, Kind: Text, Value: "FILE",
		Help: "golden set to ask before the load, beside it and after it: a file of JSON Lines, or builtin"},
	{Flag: "quality-threshold", Key: "quality.thresholds", Group: runGroup, Kind: Text, Value: "GATE", Repeatable: true,
		Help: "least share of right answers: 'overall>=0.95', of a tag such as 'math>=80%', structured_validity or determinism; replaces those of the plan",
		set:  setThresholds, get: getThresholds},
	{Flag: "keep-text", Key: "quality.keep_text", Group: runGroup, Kind: Bool, Default: "false",
		Help: "keep the worst answers to golden questions, with their text, in quality.jsonl beside the result"},
	{Flag: "label", Key: "metadata.label", Group: runGroup, Kind: Text, Value: "NAME",
		Help: "short name of the run; part of the name of its directory", set: setLabel, get: getLabel},
	{Flag: "note", Key: "metadata.note", Group: runGroup, Kind: Text, Value: "TEXT",
		Help: "free text, kept with the run", set: setNote, get: getNote},
	{Flag: "out", Group: runGroup, Kind: Text, Value: "DIR", Default: "runs/<time>-<label>",
		Help: "directory for the plan, records and result", set: setOut, get: getOut},
	{Flag: "force", Group: runGroup, Kind: Bool, Default: "false", FlagOnly: true,
		Help: "write into a directory that already holds a run", set: setForce, get: getForce},
	{Flag: "json", Key: "metrics.output_format", Group: runGroup, Kind: Bool, Default: "false",
		Help: "print the result as JSON and nothing else; in the plan output_format: json", set: setJSON, get: getJSON},
	{Flag: "quiet", Group: runGroup, Kind: Bool, Default: "false",
		Help: "no progress display", set: setQuiet, get: getQuiet},
	{Flag: "verbose", Short: "v", Group: runGroup, Kind: Bool, Default: "false",
		Help: "show one request as it goes over the wire, secrets masked", set: setVerbose, get: getVerbose},
	{Flag: "percentiles", Key: "metrics.percentiles", Group: runGroup, Kind: Text, Value: "LIST", Default: "50,90,95,99",
		Help: "latency percentiles to show: 50,99.9; the result keeps the usual ones too", set: setPercentiles, get: getPercentiles},
	{Flag: "explain", Group: runGroup, Kind: Bool, Default: "false",
		Help: "print how each figure is defined, the checklist, and what could not be checked", set: setExplain, get: getExplain},
	{Flag: "plan", Group: runGroup, Kind: Text, Value: "FILE",
		Help: "plan file; flags and environment override it", set: setPlan, get: getPlan},
}

// The functions of the options that live outside the plan's blocks.
var (
	setLabel, getLabel     = metadata("label")
	setNote, getNote       = metadata("note")
	setForce, getForce     = toggle(func(c *Config) *bool { return &c.Output.Force })
	setQuiet, getQuiet     = toggle(func(c *Config) *bool { return &c.Output.Quiet })
	setVerbose, getVerbose = toggle(func(c *Config) *bool { return &c.Output.Verbose })
	setExplain, getExplain = toggle(func(c *Config) *bool { return &c.Output.Explain })
	// How this answer is shown is no part of the plan, whatever its key says.
	setJSON, getJSON = toggle(func(c *Config) *bool { return &c.Output.JSON })

	setNoStream, getNoStream       = opposite(func(c *Config) **bool { return &c.Provider.Stream })
	setNoTelemetry, getNoTelemetry = opposite(func(c *Config) **bool { return &c.Telemetry.Scrape })
)

// presets lists the sets of objectives that have a name, those of a family
// behind it: "chat, batch, mlperf:llama2-70b-server, …-interactive".
func presets() string {
	var words []string
	family := ""
	for _, name := range slo.PresetNames() {
		before, rest, ok := strings.Cut(name, ":")
		switch {
		case ok && before == family:
			name = rest
		case ok:
			family = before
		}
		words = append(words, name)
	}
	return strings.Join(words, ", ")
}

func setOut(c *Config, values []string) error { c.Output.Dir = values[0]; return nil }
func getOut(c *Config) []string               { return nonEmpty(c.Output.Dir) }

// The plan's path is read before any option is set; as an option it only has
// to be known.
func setPlan(*Config, []string) error { return nil }
func getPlan(*Config) []string        { return nil }
