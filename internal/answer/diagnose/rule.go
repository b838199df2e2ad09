package diagnose

// rule is one regime and what speaks for it.
type rule struct {
	// Regime is its name in documents, Name in words.
	Regime, Name string
	// When says which figures speak for it, Sure what decides the confidence,
	// and Settled how the confirming measurement answers: for people to read.
	When, Sure, Settled string
	// Response is what to try first, with any engine.
	Response []string
	// Explains lists the regimes that follow from this one, which are not
	// shown beside it.
	Explains []string

	about phase
	// others says that it speaks of other requests than the one that is slow.
	others bool
	// OfAgents says that it speaks of the turns of agents' jobs.
	OfAgents bool
	judge    func(*scene) *claim
	confirm  func(*scene) string
}

// Rules is every regime, those that explain the others first: what never
// reached the engine, then what the engine lacks, then what its work costs.
var Rules = []rule{
	{
		Regime: "rate-limited", Name: "rate limit",
		When:     "5 requests and 1% of those due were rejected (429, 503)",
		Sure:     "certain where the messages say 429; likely where they do not: an overloaded server sheds load by 503; possible where as many of the requests are rejected when few come as when many do",
		Settled:  "a rate below the one that was let through is answered whole",
		Response: []string{"stay below the rate that is let through, or have the quota raised", "let clients retry as Retry-After says"},
		Explains: []string{"queueing", "scheduler-saturation", "network-bound"},
		about:    either, judge: rateLimited, confirm: confirmRate,
	},
	{
		Regime: "grammar-compilation", Name: "grammar compilation",
		When:     "30 requests and more with a schema, and as many without it but with the same tools, in the same window; the mean ttft with one is 20 ms and twice as long as without, plus as much as its prompts are longer, and longer in the same seconds by the interval at 95%; or, of 200 each, its p99 is twice as long and 20 ms longer; and an objective on the first token is missed, or it is a second and more",
		Sure:     "certain by the means; likely by p99 alone",
		Settled:  "with a single schema the wait is gone after its first request: it is the grammars",
		Response: []string{"fewer different schemas, equal to the last byte: a compiled grammar is kept", "send a request of each schema before the traffic comes", "a grammar backend that compiles as it goes"},
		Explains: []string{"cold-start", "scheduler-saturation", "host-bound", "front-end-bound", "network-bound", "interference", "queueing", "device-full", "prefill-bound", "batching-trade-off"},
		about:    first, judge: grammarWait, confirm: confirmSchema,
	},
	{
		Regime: "cold-start", Name: "cold start",
		When:     "of the requests in the first fifth of the window the lower quartile of tpot is 1.5 times the upper one of those in its second half, and of ttft 1.2 times (or 1.1 and 5 times; 4 times of tpot where long prompts come among short ones, as below), the queue not growing and less than two requests waiting on average; without a tpot, of ttft 2 times",
		Sure:     "likely; possible without a tpot",
		Settled:  "the same load behind a warm-up of two minutes has no slow beginning",
		Response: []string{"warm up before the window (--warmup), and before a replica takes traffic"},
		Explains: []string{"kv-pressure", "scheduler-saturation", "subagent-bursts", "uncached-turns", "host-bound", "front-end-bound", "network-bound", "interference", "queueing", "device-full", "prefill-bound", "inefficient-decode", "batching-trade-off", "decode-memory-bound"},
		about:    either, judge: coldStart, confirm: confirmWarm,
	},
	{
		Regime: "prefill-pool", Name: "prefill pool",
		When:     "engines prefill and decode apart; an objective on the first token is missed or one request and more wait for the engines that prefill on average; and queue and prefill are half of ttft, or the queue grows and requests wait there",
		Sure:     "certain where requests wait for that pool and not for the other; likely otherwise",
		Settled:  "half the rate leaves the queue of that pool empty, and ttft falls to its prefill",
		Response: []string{"more engines that prefill, or more compute for each; a prefix cache that they share", "Dynamo: replicas of the prefill worker in the DynamoGraphDeployment up"},
		Explains: []string{"scheduler-saturation", "prefix-cache", "host-bound", "front-end-bound", "network-bound", "interference", "queueing", "device-full", "prefill-bound", "batching-trade-off"},
		about:    first, judge: prefillPool, confirm: confirmLimit,
	},
	{
		Regime: "decode-pool", Name: "decode pool",
		When:     "engines prefill and decode apart; an objective on the tokens' pace is missed, one request and more wait for the engines that decode on average, or their KV cache is 95% full",
		Sure:     "certain where requests wait or the cache is full in that pool and none wait for the other; likely otherwise",
		Settled:  "half the rate has a lower tpot and no queue in that pool",
		Response: []string{"more engines that decode, or more memory bandwidth for each; fewer requests on each", "Dynamo: replicas of the decode worker in the DynamoGraphDeployment up"},
		Explains: []string{"kv-pressure", "scheduler-saturation", "host-bound", "front-end-bound", "network-bound", "interference", "inefficient-decode", "queueing", "device-full", "batching-trade-off", "decode-memory-bound"},
		about:    either, judge: decodePool, confirm: confirmLimit,
	},
	{
		Regime: "session-cache", Name: "KV cache too small for the live sessions",
		When:     "10 points less of the prompt tokens came from the cache than an endless one has, or 5 points where that is half as many again to compute, and the live jobs come back to 70% and more of the tokens that it holds",
		Sure:     "certain with the server's counters of the cache where more are live than fit; likely by the replies' usage, and where those that are live crowd it; nothing is said without the size of the cache",
		Settled:  "as many agents as fit have the share of an endless cache, and a lower ttft",
		Response: []string{"fewer agents at once, a larger cache, or host memory as its second level", "send all turns of a session to the same replica"},
		Explains: []string{"kv-pressure", "scheduler-saturation", "prefix-cache", "subagent-bursts", "uncached-turns", "network-bound", "interference", "queueing", "device-full", "prefill-bound", "batching-trade-off", "inefficient-decode", "decode-memory-bound"},
		about:    either, OfAgents: true, judge: sessionCache, confirm: confirmFits,
	},
	{
		Regime: "kv-pressure", Name: "KV cache full",
		When:     "requests were preempted, 3 and 0.5% of those answered at least; or the cache was 95% full while one request and more waited on average and the batch was not at its limit",
		Sure:     "certain with the server's count of preemptions; likely by the gauge alone; nothing is said without the server's metrics",
		Settled:  "half the requests in flight cause neither preemptions nor a queue",
		Response: []string{"fewer requests at once, shorter contexts, or more memory for the cache"},
		Explains: []string{"scheduler-saturation", "subagent-bursts", "uncached-turns", "network-bound", "interference", "queueing", "device-full", "prefill-bound", "batching-trade-off", "inefficient-decode", "decode-memory-bound"},
		about:    either, others: true, judge: kvPressure, confirm: confirmHalf,
	},
	{
		Regime: "scheduler-saturation", Name: "batch at its limit",
		When:     "one request and more waited on average while the batch stood at its largest (95% of max_num_seqs at most and 80% on average; where that is not known, its mean within 7% of its maximum, and not as many as the client lets through) and the cache was less than 95% full",
		Sure:     "certain where the limit is known; likely by the plateau alone",
		Settled:  "the same load with a larger limit has no queue; if it has, the accelerator is the limit",
		Response: []string{"a larger batch, if tpot has room for it; else another replica"},
		Explains: []string{"subagent-bursts", "uncached-turns", "queueing", "device-full", "prefill-bound", "network-bound"},
		about:    first, others: true, judge: schedulerFull, confirm: confirmSeqs,
	},
	{
		Regime: "prefix-cache", Name: "prefix cache misses",
		When:     "the workload repeats 15% and more of its prompt tokens, and less than half of that came from the cache",
		Sure:     "certain with the server's counters; likely by the replies' usage",
		Settled:  "a run whose prompts share nothing has the same ttft: the cache does nothing",
		Response: []string{"check that shared prefixes are equal to the last token, variable parts last", "send a prefix's requests to the same replica"},
		Explains: []string{"subagent-bursts", "uncached-turns", "interference", "queueing", "device-full", "prefill-bound"},
		about:    either, judge: cacheMisses, confirm: confirmCold,
	},
	{
		Regime: "subagent-bursts", Name: "bursts of subagents",
		When:     "10 turns and more were sent while others of their session waited for their first token, and their mean ttft is 1.7 times and 100 ms more than that of 10 turns and more alone, plus what their longer prompts take; and an objective on the first token is missed, or it is a second and more; not where the cache lacks as much as above",
		Sure:     "likely",
		Settled:  "with one agent, turns beside others are as slow: it is the job's own subagents that wait for each other",
		Response: []string{"bound how many subagents an agent starts at once, or let them begin with the same prompt", "more replicas: a burst then meets several prefills"},
		Explains: []string{"uncached-turns", "interference", "queueing", "device-full", "prefill-bound", "decode-memory-bound"},
		about:    first, OfAgents: true, judge: subagentBursts, confirm: confirmAgent,
	},
	{
		Regime: "uncached-turns", Name: "turns that the cache does not have",
		When:     "of 10 turns and more the cache had less than half of the prompt, although it does not lack as much as above of what an endless one has; they are half of the prompt tokens to compute, their mean ttft is 3 times that of the others, the queue does not grow, and an objective on the first token is missed or it is a second and more",
		Sure:     "certain where the server's prefill is half of its ttft; likely otherwise",
		Settled:  "with one agent the uncached turns are as slow: it is their prefill, not the others'",
		Response: []string{"append to histories in place of rewriting them: a context that is compacted or edited is computed again", "put what changes last; more compute for prefill, or prefill apart"},
		Explains: []string{"interference", "queueing", "device-full", "prefill-bound", "decode-memory-bound"},
		about:    first, OfAgents: true, judge: uncachedTurns, confirm: confirmAgent,
	},
	{
		Regime: "host-bound", Name: "host-bound",
		When:     "the accelerator is busy 85% of the time at most while 4 requests and more run on average; or, where nobody reads that, a step takes 1.7 times the arithmetic and more, and what is beyond it is twice that of the least load measured",
		Sure:     "certain with the accelerator's readings and the server's count of steps; likely otherwise",
		Settled:  "a single stream of a short prompt is as fast as the prediction: then it is the number of requests and tokens in a step, not the kernels",
		Response: []string{"more of a step in captured graphs, scheduling beside the step, faster cores", "fewer requests on each engine: replicas share the host's work too"},
		Explains: []string{"interference", "inefficient-decode", "queueing", "device-full", "prefill-bound", "batching-trade-off", "decode-memory-bound"},
		about:    either, others: true, judge: hostBound, confirm: confirmStream,
	},
	{
		Regime: "front-end-bound", Name: "front end",
		When:     "what of ttft (of e2e, where the server tells its inference too and that is less) is neither the server's queue nor its prefill, and what passes until the client has it (with many waiting, only where a third of the requests in flight is not in the engine), are 40% of the client's mean ttft; and the process that serves the API keeps 0.7 of a core busy and they are 10 ms, or they are 50 ms (where that process is known to have time, beyond two gaps between tokens: the step under way, and one more where an engine plans ahead), less than one request in twenty waits and half of it lies inside the server's own ttft",
		Sure:     "certain where that process is so busy; likely otherwise",
		Settled:  "whole replies in place of streams end sooner at the same load: it is the events",
		Response: []string{"more processes for the API, fewer and larger stream events, shorter prompts to tokenize"},
		Explains: []string{"network-bound", "queueing", "device-full", "prefill-bound"},
		about:    first, judge: frontEnd, confirm: confirmWhole,
	},
	{
		Regime: "network-bound", Name: "network or front end",
		When:     "the client's mean ttft exceeds the server's own by 10 ms and by 40% of the client's, less than one request waiting on average; or, without the server's, connecting takes 5 ms and half the median ttft",
		Sure:     "certain where connecting takes as long as a good part of the difference; likely otherwise: a gateway in between looks the same",
		Settled:  "doctor shows the round trip; a client beside the server has a ttft near the server's own",
		Response: []string{"bring client and server closer, keep connections open, look at the gateway's buffering"},
		Explains: []string{"queueing", "device-full", "prefill-bound"},
		about:    first, judge: networkBound, confirm: confirmNear,
	},
	{
		Regime: "interference", Name: "mixed workload interferes",
		When:     "the p99 of the gaps between tokens, or the p90 of the longest gap of a reply, is 4 times the median gap and 25 ms more, and the prompts' p95 (p90 of fewer than 100 requests) is 5 times their median and 2000 tokens at least, the queue not growing",
		Sure:     "likely",
		Settled:  "without the long prompts, the tail of the gaps is gone",
		Response: []string{"send long prompts to a pool of their own, or limit their share"},
		Explains: []string{"queueing", "device-full", "prefill-bound", "inefficient-decode", "batching-trade-off", "decode-memory-bound"},
		about:    either, others: true, judge: interference, confirm: confirmShort,
	},
	{
		Regime: "inefficient-decode", Name: "inefficient decode",
		When:     "replies of 32 tokens and more, and both the median gap between tokens and the median tpot are 1.8 times what the accelerator's bandwidth predicts",
		Sure:     "certain where the accelerator's memory was active less than half of the time; likely without that counter",
		Settled:  "a single stream of a short prompt is just as far from the prediction",
		Response: []string{"look at clocks, power limits, other processes, the kernels in the engine's log, and the CPU"},
		Explains: []string{"queueing", "batching-trade-off", "decode-memory-bound"},
		about:    stream, judge: inefficient, confirm: confirmStream,
	},
	{
		Regime: "slow-decode", Name: "slow decode alone",
		When:     "one request at a time, nothing predicted to compare it with, and an objective on the tokens' pace is missed or the median tpot is 50 ms and more",
		Sure:     "likely where the accelerator's memory was active less than half or more than 60% of the time, which tells the two apart; possible otherwise: memory-bound and inefficient decode look the same",
		Settled:  "a plan that names the accelerator (metadata.hardware) has a prediction: tokens as fast as it are memory-bound, slower ones inefficient",
		Response: []string{"look at precision, quantization, kernels and power limits, and read the counter of memory bandwidth"},
		about:    stream, judge: slowDecode, confirm: confirmStream,
	},
	{
		Regime: "device-full", Name: "prompts and tokens share a full device",
		When:     "an objective on the first token is missed, the queue does not grow, and the first token takes five gaps between tokens at most: it waits for no more than the steps that compute it. Tokens come as fast as predicted for that load, within 1.6 times, and half as fast as one stream alone would have them; and an accelerator that is read is busy 95% of the time",
		Sure:     "certain with the accelerator's readings; likely otherwise",
		Settled:  "a search for the limit finds the rate at which the device has time left",
		Response: []string{"a lower rate or another replica", "less work for each token: a shared prefix that is cached, fewer bits, or prefill apart"},
		Explains: []string{"queueing", "prefill-bound", "decode-memory-bound"},
		about:    first, others: true, judge: deviceFull, confirm: confirmLimit,
	},
	{
		Regime: "queueing", Name: "queueing",
		When:     "the queue grows (before all other regimes where 4 times what the server completes comes, or twice that while the median gap between tokens is twice that of one request alone; and one request waits on average, or, without the server's metrics, the growth is 10 requests and the median ttft twice the prediction, where there is one); or the server's mean queue time is half of its ttft and 50 ms; or, without its metrics, the median ttft is 3 times that of the least load measured, or 5 times the prediction and half a second more; or, with that neither, the p99 of ttft is 5 times its median and the prompts' p95 less than 3 times theirs",
		Sure:     "certain where so much more comes, and with the server's queue time or waiting requests; likely by growth, another load or the prediction; possible by the tail alone",
		Settled:  "a search for the limit finds the rate at which the queue begins",
		Response: []string{"offer less, shape bursts, or add replicas: the limit is where the queue begins"},
		Explains: []string{"prefill-bound", "batching-trade-off", "decode-memory-bound"},
		about:    first, others: true, judge: queueing, confirm: confirmLimit,
	},
	{
		Regime: "prefill-bound", Name: "prefill-bound",
		When:     "an objective on the first token is missed, or the median ttft is a second or half of e2e; prompts of 1000 tokens and more on average had to be computed; and the server's prefill is half of its ttft, or, without its metrics, ttft doubles from one prompt-length bucket to a longer one at no more than two requests in flight or within 1.6 times the prediction",
		Sure:     "certain with the server's prefill time; likely otherwise",
		Settled:  "with one request at a time ttft still grows with the prompt",
		Response: []string{"shorter contexts, a shared prefix that can be cached, more compute (tensor parallel), or fp8"},
		Explains: []string{"decode-memory-bound"},
		about:    first, judge: prefillBound, confirm: confirmPrefill,
	},
	{
		Regime: "batching-trade-off", Name: "batching trade-off",
		When:     "an objective on the tokens' pace is missed; at a lower load the median tpot was two thirds or less and the output two thirds or less; or, of a single load, arithmetic says so of one request alone and measurement agrees with it within 1.6 times",
		Sure:     "certain with two loads measured; likely by arithmetic",
		Settled:  "a sweep over concurrencies shows the largest batch whose tpot keeps the objective",
		Response: []string{"choose the batch whose tpot keeps the objective, and add replicas for the rest"},
		Explains: []string{"decode-memory-bound"},
		about:    stream, others: true, judge: batching, confirm: confirmBatch,
	},
	{
		Regime: "decode-memory-bound", Name: "decode memory-bound",
		When:     "an objective on the tokens' pace is missed, or the median tpot is 50 ms and more, and the median tpot is within 0.6 and 1.6 times what the accelerator's bandwidth predicts, and less than 40% of its arithmetic is used",
		Sure:     "certain only where the accelerator's memory was active 60% of the time; likely without that counter",
		Settled:  "a single stream is as slow: nothing but fewer bytes or more bandwidth helps",
		Response: []string{"fewer bytes a token: quantize weights and cache; speculative decoding; or more bandwidth"},
		about:    stream, judge: memoryBound, confirm: confirmStream,
	},
}

func confidence(sure bool) string {
	if sure {
		return certain
	}
	return likely
}
