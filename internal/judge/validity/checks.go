package validity

import "redline/internal/judge/figure"

// check is one question, asked at up to three moments: by the doctor of this machine
// and of an endpoint, of the first replies before a load is offered, and of a run
// that is over. A new check is one row of checks.
type check struct {
	// name is what results call it, id what the doctor's findings call it and what
	// their line begins with; empty where it is not asked then.
	name, id, what string
	cure           string
	// machine and endpoint are the doctor's questions, preflight that of the first
	// replies, of which a bad one ends the run before its load, and run that of a run
	// that is over.
	machine             func(*Machine) outcome
	endpoint, preflight func(*Endpoint) outcome
	run                 func(Evidence) outcome
	// spoils are the objectives that a failure touches, by their metrics; nil:
	// all.
	spoils []string
	// strict marks what only a strict run asks: what it finds is carried in the
	// ends of the figures otherwise.
	strict bool
	// setup marks what a repetition does not mend.
	setup bool
	// perWorker marks what a run asks of each machine that sends.
	perWorker bool
}

// CacheContamination is the check of prompts that the server has seen before.
const CacheContamination = "cache contamination"

// checks is every question, in the order in which all moments show them: the workers
// and their machines, what was sent, the endpoint, what it answered.
var checks = []check{
	{name: "workers", run: askWorkers, cure: "look at that worker's own output and its machine, then run again"},
	{name: "worker clocks", run: askWorkerClocks, cure: "put the workers nearer to the conductor, or lengthen the window"},
	{id: "cores", what: "cores", machine: judgeCores, cure: "allow at least 2, so that reading and pacing do not wait for each other"},
	{id: "quota", what: "CPU quota", machine: judgeQuota,
		cure: "a process over its quota is stopped for up to 0.1 s: raise the limit, or give whole cores (cpuset)"},
	{id: "governor", what: "CPU governor", machine: judgeGovernor, cure: "cores are slow to wake: cpupower frequency-set -g performance"},
	{id: "load", what: "other load", machine: judgeLoad, cure: "stop what else runs here"},
	{name: "throttled machine", id: "taken", what: "CPU taken away", machine: judgeTaken, run: askThrottled, perWorker: true, strict: true},
	{name: "own CPU", run: askCPU, perWorker: true, strict: true, cure: "give the client more cores, lower the rate, or run the server on another machine"},
	{name: "scheduler delay", run: askScheduler, perWorker: true, strict: true, spoils: times,
		cure: "give the client more cores, lower the rate, or stop other programs on this machine"},
	{name: "ports and files", id: "files", what: "open files", machine: judgeFiles, run: askFiles, perWorker: true, setup: true,
		cure: "each connection takes a file: raise the limit of open files (ulimit -n, LimitNOFILE of a service)"},
	{id: "ports", what: "source ports", machine: judgePorts, cure: "sysctl net.ipv4.ip_local_port_range='10000 65000', or give several --url"},
	{id: "clocksource", what: "clock source", machine: judgeClockSource,
		cure: "every stamp costs that: boot with clocksource=tsc where the processor has a steady one"},
	{id: "sync", what: "clock kept by NTP", machine: judgeSync},
	{name: "clock steps", id: "step", what: "clock steps", machine: judgeStep, run: askClock, perWorker: true, spoils: times,
		cure: "stop the time service from stepping the clock during a run, then run again"},
	{id: "stamps", what: "kernel receive stamps", machine: judgeStamps},
	{id: "moderation", what: "interrupt moderation", machine: judgeModeration},
	{id: "gro", what: "GRO", machine: judgeGRO},
	{id: "loopback", what: "loopback round trip", machine: judgeLoopback, cure: "this process waits for a core: stop what else runs here"},
	{name: "lag", id: "pacing", what: "pacing error", machine: judgePacing, run: askLag, strict: true, spoils: fromDue,
		cure: "requests that are sent late widen the ends of figures: stop what else runs here, lower the rate, give the client more cores, or spread the load over several machines (--workers)"},
	{id: "tokens", what: "tokens it can drive", machine: judgeTokens, cure: moreCores},
	{id: "requests", what: "requests it can drive", machine: judgeRequests, cure: moreCores},
	{name: "due against sent", run: askUnsent, cure: "the client did not send everything that was due: lower the rate or give a longer --drain"},
	{name: "arrivals as asked", run: askBunching,
		cure: "redline was delayed and sent requests in bursts: use a quieter machine, spread the load over several (--workers), or lower the rate"},
	{name: "realised work", run: askWork, setup: true,
		cure: "the load that came due differs from the load asked for: use a longer window, or report a bug"},
	{name: "client-side coalescing", run: askCoalescing, strict: true, spoils: gaps,
		cure: "the client cannot read tokens as fast as they arrive: give it more cores, lower the rate, or spread the load over several machines (--workers)"},
	{name: "engine schedule", run: askEngine, strict: true, spoils: times,
		cure: "the embedded engine fell behind its own schedule: lower the rate, or run it separately with redline sim"},
	{id: "reach", what: "reachable", endpoint: judgeReach, cure: "is --url right?"},
	{name: "shared host", id: "place", what: "on another machine", endpoint: judgePlace, run: askSharedHost, perWorker: true, strict: true,
		cure: "redline and the server compete for cores: run one of them on another machine"},
	{id: "tls", what: "TLS", endpoint: judgeTLS, cure: "--ca-cert FILE trusts an authority, --insecure whoever answers; http:// goes without"},
	{id: "certificate", what: "certificate", endpoint: judgeCertificate},
	{id: "models", what: "models", endpoint: judgeModels, preflight: judgeModels, cure: "give --model"},
	{id: "engine", what: "engine", endpoint: judgeEngine},
	{id: "reply", what: "replies", endpoint: judgeReply, preflight: judgeReply, cure: "-v of redline run shows the exchange"},
	{name: "buffered stream", id: "streaming", what: "streaming", endpoint: judgeStreaming, run: askBuffered, setup: true, spoils: streamed,
		cure: "a proxy or the server buffers the stream: turn buffering off (nginx: proxy_buffering off)"},
	{name: "token counts", id: "usage", what: "usage in the reply", endpoint: judgeUsage, run: askTokens, setup: true,
		cure: "usage does not match the tokens that arrived: do not rely on it; compare with the model's own tokenizer (--tokenizer)"},
	{id: "tokens_per_event", what: "tokens per event", endpoint: judgeTokensPerEvent,
		cure: "the times between tokens inside an event are not known; itl is not shown, icl is"},
	{name: "output lengths", id: "ignore_eos", what: "output length as asked", endpoint: judgeLength, run: askOutputLengths, setup: true,
		cure: "this API cannot force a reply to a length: let the model end its replies (workload.natural: true), or ask for lengths that it reaches by itself"},
	{name: "prompt lengths", run: askPromptLengths, setup: true,
		cure: "the server counts a different number of prompt tokens: use the model's own tokenizer (--tokenizer), or look for a system prompt that the server adds"},
	{id: "metrics", what: "metrics page", endpoint: judgeMetrics, cure: "give the engine's Prometheus page with --metrics-url"},
	{id: "skew", what: "clock against ours", endpoint: judgeSkew, cure: "logs of both sides do not join: keep both clocks by NTP"},
	{name: CacheContamination, run: askCache, setup: true,
		cure: "the server has seen these prompts before: change --seed, or restart it or reset its prefix cache"},
	{name: "response cache", id: "response_cache", what: "response cache", endpoint: judgeResponseCache, run: askRepeat, setup: true,
		cure: "the server likely answers repeated requests from a cache: turn it off"},
	{id: "prefix_cache", what: "prefix cache", endpoint: judgePrefixCache},
	{name: "foreign traffic", run: askForeign, cure: "someone else uses this server: measure it alone"},
	{name: "server restart", run: askRestart, cure: "the server restarted while it was measured: look at its log, then run again"},
}

const moreCores = "run on a machine with more idle cores"

// The objectives that checks touch. ttft and e2e are counted from due, all else
// from what was sent or received.
var (
	fromDue  = figure.Select(func(f *figure.Figure) bool { return f.Due != "" })
	gaps     = append(figure.Select(func(f *figure.Figure) bool { return f.Of == figure.Gap }), "stall")
	streamed = figure.Select((*figure.Figure).Streamed)
	times    = figure.Select((*figure.Figure).Spread)
)
