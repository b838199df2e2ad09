package figure

import "cmp"

// All is the table: every figure, in the order in which pages and METRICS.md
// show them. Stamps: due (when the schedule wanted it), begin, slot (the cap let
// it through), conn (its connection was ready), sent (just before the first
// byte), first, answer and last (arrivals of output), end.
var All = fillNames([]*Figure{
	{Name: "ttft_due", Title: "ttft from due", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.ttft_due_ms",
		Formula: "first − due", Note: "as the user lives it: our lateness and waiting for a slot count", Not: dueForm("ttft")},
	{Name: "ttft", Unit: Milliseconds, Of: Request, Phase: First, Due: "ttft_due", At: "latency.ttft_ms",
		Compared: []string{"p50", "p99"}, Watched: []string{"p50", "p95"}, Paired: true,
		Formula: "first − sent", Note: "time to first token: server, network and upload"},
	{Name: "ttfa", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.ttfa_ms",
		Formula: "answer − sent", Note: "time to the first output that is not reasoning"},
	{Name: "ttft_per_image", Title: "ttft/image", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.ttft_per_image_ms",
		Formula: "ttft / images of the request", Note: "what one image takes until the first token, its share of the text and of the upload included"},
	{Name: "tpot", Unit: Milliseconds, Of: Request, Phase: Stream, At: "latency.tpot_ms",
		Compared: []string{"p50", "p99"}, Watched: []string{"p50", "p95"}, Paired: true,
		Formula: "(last − first) / (streamed_tokens − k_first)",
		Note:    "time per output token after the first event, which brought k_first tokens; one value per request. Some tools divide by all: (last − first) / output_tokens, a smaller figure"},
	{Name: "itl", Aliases: []string{"tbt"}, Unit: Milliseconds, Of: Gap, Phase: Stream, At: "latency.itl_ms", Compared: []string{"p99"},
		Formula: "g/k, k times, for k tokens that came g after the group before", Note: "gaps between tokens, pooled over requests; only where the tokens of each event are known"},
	{Name: "icl", Unit: Milliseconds, Of: Gap, Phase: Stream, At: "latency.icl_ms",
		Formula: "gap between consecutive distinct chunk stamps", Note: "gaps as they arrived, whatever they carried"},
	{Name: "stall", Unit: Milliseconds, Of: Request, Phase: Stream, At: "latency.stall_ms", Paired: true,
		Formula: "the largest icl of a request", Note: "the longest time without output; a gap that several tokens end counts whole, never g/k"},
	{Name: "e2e_due", Title: "e2e from due", Unit: Milliseconds, Of: Request, Phase: Whole, At: "latency.e2e_due_ms",
		Formula: "last − due", Note: "the whole reply as the user lives it", Not: dueForm("e2e")},
	{Name: "e2e", Aliases: []string{"latency"}, Unit: Milliseconds, Of: Request, Phase: Whole, Due: "e2e_due", At: "latency.e2e_ms",
		Compared: []string{"p50", "p99"}, Watched: []string{"p95"}, Paired: true,
		Formula: "last − sent", Note: "the whole reply; end − sent where it is no text"},
	{Name: "decode", Unit: Milliseconds, Of: Request, Phase: Stream, At: "latency.decode_ms", Formula: "last − first", Note: "the streaming phase"},
	{Name: "decode_share", Title: "decode share", Unit: Fraction, Of: Window, Phase: Stream, At: "phases.decode",
		Formula: "mean decode / mean e2e from due", Note: "of streamed replies; the rest is the time to the first token, in parts where the server states them, and waiting in the client",
		Not: map[Use]string{Promise: neither, Compare: neither}},
	{Name: "overhead", Key: "overhead_share", Title: "overhead", Unit: Fraction, Of: Window, Phase: First, At: "phases.overhead", Zero: true,
		Formula: "(mean e2e from due − mean decode − the server's mean prefill) / mean e2e from due",
		Note:    "what of a reply's time is neither prefill nor decode: queueing, tokenizing, network, front end and waiting in the client; absent where the server does not state its prefill", Not: noObjectiveReasons},
	{Name: "slot_wait", Title: "slot wait", Unit: Milliseconds, Of: Request, At: "latency.slot_wait_ms",
		Formula: "slot − begin", Note: "waiting for the in-flight cap, over all requests begun: a slow server under a cap shows here, never as lag", Not: ours("")},
	{Name: "lag", Unit: Milliseconds, Of: Request, At: "latency.lag_ms",
		Formula: "sent − max(due, slot, conn)", Note: "our own lateness, whatever caused it, over all requests sent", Not: ours("it stands beside the checks")},
	{Name: "upload", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.upload_ms",
		Formula: "written − sent", Note: "the time to send head and body, over all requests sent: part of ttft. Until the kernel had taken the last byte; what its send buffer holds may still be on the way"},
	{Name: "connect", Unit: Milliseconds, Of: Request, At: "latency.connect_ms", Formula: "TCP set-up of a new connection",
		Note: "from the beginning of the last dialing to its end, not the wait for a dead connection before it; outside ttft", Not: ours("it stands beside the connections opened")},
	{Name: "tls", Unit: Milliseconds, Of: Request, At: "latency.tls_ms",
		Formula: "TLS set-up of a new connection", Note: "outside ttft", Not: ours("it stands beside the connections opened")},
	{Name: "gateway", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.gateway_ms", Formula: "what gateways took, by the reply", Note: toldNote, Not: inLedger},
	{Name: "front_end", Title: "front end", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.front_end_ms",
		Formula: "from the engine's front end to its scheduler, by the reply", Note: toldNote, Not: inLedger},
	{Name: "queue", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.queue_ms", Formula: "waiting to be scheduled, by the reply", Note: toldNote, Not: inLedger},
	{Name: "prefill", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.prefill_ms", Formula: "from being scheduled to the first token, by the reply", Note: toldNote, Not: inLedger},
	{Name: "transfer", Title: "KV transfer", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.transfer_ms",
		Formula: "moving the prompt's keys and values between pools, by the reply", Note: toldNote, Not: inLedger},
	{Name: "first_write", Title: "first write", Unit: Milliseconds, Of: Request, Phase: First, At: "latency.first_write_ms",
		Formula: "from the engine's first token to its writing, by the reply", Note: toldNote, Not: inLedger},
	{Name: "fluidity", Title: "tokens on time", Unit: Fraction, More: true, Of: Window, Phase: Stream, At: "fluidity", Formula: "mean share of tokens on time",
		Note: "token 1 is due at due + the ttft threshold, each next one a tpot threshold after the later of its predecessor's deadline and, if that was late, its arrival; slack carries over, and a late token counts once",
		Not:  map[Use]string{Promise: "its deadlines are the ttft and tpot objectives themselves"}},
	{Name: "interactivity", Unit: TokenRate, More: true, Of: Request, Phase: Stream, Stat: "p50", At: "interactivity", Formula: "1 / tpot",
		Title: "tokens/s/user", Note: "tokens per second of one stream: the percentile of tpot first, then inverted, so that p99 is what the slowest hundredth of requests saw",
		Not: map[Use]string{Promise: "it is the inverse of tpot: use tpot", Tabulate: "it is the inverse of tpot"}},
	{Name: "tail_ratio", Title: "p99/p50", Of: Window, Formula: "p99 / p50", Not: forAllUses("it is made of two percentiles, which stand themselves")},

	{Name: "asked_rate", Unit: "requests/s", More: true, Of: Window, At: "rates.asked", Formula: "the plan's arrival rate",
		Note: "its mean over the window where it changes; of sessions, where they have several turns: what is compared with it then is the first turns; absent in a closed loop", Not: loadReasons},
	{Name: "offered_rate", Title: "due per second", Unit: "requests/s", More: true, Of: Window, At: "rates.offered", Formula: "requests due in the window / its length",
		Note: "differs from the asked one by random variation, ± 2/√n", Not: loadReasons},
	{Name: "sent_rate", Title: "sent per second", Unit: "requests/s", More: true, Of: Window, At: "rates.sent", Formula: "requests sent in the window / its length",
		Note: "validity compares it with the offered one", Not: loadReasons},
	{Name: "requests", Key: "completed_rate", Title: "completed per second", Unit: "requests/s", More: true, Of: Window, Phase: Whole, At: "rates.completed",
		Formula: "requests due in the window that ended ok / its length", Note: "also those that ended after it: goodput is a part of them", Not: noObjectiveReasons},
	{Name: "ended_rate", Title: "within the window", Unit: "requests/s", More: true, Of: Window, Phase: Whole, At: "rates.ended",
		Formula: "ok requests that ended in the window / its length", Note: "whenever they were due: what the server got done in it, which saturation looks at", Not: noObjectiveReasons},
	{Name: "throughput", Key: "output_tokens_per_s", Aliases: []string{"throughput_tps"}, Title: "output tokens/s", Unit: TokenRate, More: true, Of: Window, Phase: Whole, Stat: "min",
		At: "throughput.output_tokens_per_s", Interval: ByReplies, Compared: windowStatistic, Watched: windowStatistic,
		Formula: "output tokens that arrived in the window / its length",
		Note:    "a request's usage spread over its events by text length where unknown. Tokens of requests that failed later count here, never as accepted"},
	{Name: "prompt_throughput", Key: "prompt_tokens_per_s", Title: "prompt tokens/s", Unit: TokenRate, More: true, Of: Window, Phase: First, At: "throughput.prompt_tokens_per_s",
		Formula: "uncached prompt tokens of requests whose first output came in the window / its length", Note: "cached ones are shown apart", Not: noObjectiveReasons},
	{Name: "inputs", Key: "inputs_per_s", Title: "inputs/s", Unit: "inputs/s", More: true, Of: Window, Phase: Whole, At: "throughput.inputs_per_s",
		Formula: "texts of the ok requests due in the window / its length", Note: "of embeddings: those embedded; of rerank: the documents ranked", Not: noObjectiveReasons},
	{Name: "images", Key: "images_per_s", Title: "images/s", Unit: "images/s", More: true, Of: Window, Phase: Whole, At: "throughput.images_per_s",
		Formula: "images of the ok requests due in the window / its length", Note: "their mean bytes and pixels stand beside it", Not: noObjectiveReasons},
	{Name: "total_throughput", Key: "total_tokens_per_s", Unit: TokenRate, More: true, Of: Window, Phase: Whole, At: "throughput.total_tokens_per_s",
		Formula: "output_tokens_per_s + prompt_tokens_per_s", Note: "never shown alone", Not: noObjectiveReasons},
	{Name: "tokens-per-accelerator", Key: "output_tokens_per_s_per_accelerator", Title: "tokens/s/accelerator", Unit: TokenRate, More: true, Of: Window, Phase: Whole,
		At: "throughput.output_tokens_per_s", Over: "hardware.count",
		Formula: "output_tokens_per_s / accelerators of the server", Note: "absent where it is not known how many there are",
		Not: map[Use]string{Promise: "write throughput", Compare: "write throughput"}},
	{Name: "concurrency", Key: "in_flight_mean", Aliases: []string{"in_flight"}, Title: "in flight", Unit: "requests", More: true, Of: Window, Phase: Whole, At: "concurrency.mean",
		Formula: "time-weighted mean of requests between sent and end", Note: "its maximum stands beside it. Little's law as a check: sent rate × mean (end − sent) of all outcomes", Not: loadReasons},
	{Name: "goodput", Unit: "requests/s", More: true, Of: Window, Phase: Whole, At: "goodput.requests_per_s", Zero: true,
		Formula: "requests due in the window that met every per-request objective about them / its length",
		Not:     map[Use]string{Promise: "write good:fraction, its share of all due", Compare: "write good:fraction, its share of all due"}},
	{Name: "good", Key: "good_fraction", Title: "met every objective", Unit: Fraction, More: true, Of: Window, Phase: Whole, Stat: "fraction", At: "goodput.fraction",
		Interval: ByCrowds, Compared: windowStatistic, Formula: "requests that met every per-request objective about them / all due"},
	{Name: "error", Key: "error_rate", Aliases: []string{"errors"}, Title: "error rate", Unit: Fraction, Of: Window, Phase: Whole, Stat: "rate", At: "requests.failed", Over: due, Interval: ByCount,
		Compared: windowStatistic, Formula: "failed / all due", Note: "every fault but a rejection"},
	{Name: "reject", Key: "reject_rate", Title: "reject rate", Unit: Fraction, Of: Window, Phase: Whole, Stat: "rate", At: "requests.rejected", Over: due, Interval: ByCount,
		Compared: windowStatistic, Formula: "rejected / all due", Note: "status 429 or 503, or an answer that says the server is overloaded"},
	{Name: "fault", Key: "fault_rate", Title: "fault rate", Unit: Fraction, Of: Window, Phase: Whole, Stat: "rate", At: "requests.failed+requests.rejected", Over: due, Interval: ByCount,
		Watched: windowStatistic, Formula: "(failed + rejected) / all due", Note: "error_rate + reject_rate",
		Not: map[Use]string{Promise: "use error:rate and reject:rate, which it is the sum of"}},
	{Name: "unfinished", Key: "unfinished_rate", Title: "unfinished", Unit: Fraction, Of: Window, Phase: Whole, Stat: "rate", At: "requests.censored+requests.unsent", Over: due,
		Interval: ByCount, Formula: "(censored + unsent) / all due", Note: "latencies are those of the others; live comparisons judge it where there are any",
		Not: map[Use]string{Promise: "a request that never ends breaks the objectives on latency by itself"}},
	{Name: "retry", Key: "retry_rate", Title: "retry rate", Unit: Fraction, Of: Window, Phase: Whole, Stat: "rate", At: "requests.retried", Over: due, Interval: ByCount,
		Formula: "requests tried more than once / all due"},
	{Name: "calls_ok", Key: "calls_ok_fraction", Title: "calls ok", Unit: Fraction, More: true, Of: Window, Phase: Whole, Stat: "fraction", At: "calls.ok_fraction", Interval: ByCount,
		Compared: windowStatistic, Zero: true, Formula: "ok replies all of whose tool calls are of a tool that was offered, with arguments that keep its schema / ok replies that call a tool or had to",
		Note: "a reply that had to call and did not counts as wrong; one that was free to and did not is left out, unless its text is a call that was cut off"},
	{Name: "schema_ok", Key: "schema_ok_fraction", Title: "schema ok", Unit: Fraction, More: true, Of: Window, Phase: Whole, Stat: "fraction", At: "schemas.ok_fraction", Interval: ByCount,
		Compared: windowStatistic, Zero: true, Formula: "ok replies whose text is JSON that keeps the schema they were asked to / ok replies that were asked to",
		Note: "one that was cut off at the length asked for does not keep it; replies that call a tool in place of a text are left out"},
	{Name: "lost", Key: "lost_rate", Title: "lost", Unit: Fraction, Of: Window, Phase: Whole, Stat: "rate", At: "fire.lost_rate", Zero: true,
		Formula: "requests that failed from an event (--at) until service was back / all due", Note: "a request that was retried and answered is not lost"},
	{Name: "recovery", Key: "recovery_ms", Title: "recovery", Unit: Milliseconds, Of: Window, Phase: Whole, Stat: "max", At: "fire.recovery_ms", Zero: true,
		Formula: "due time of the last request that missed an objective because of an event (--at) − the event", Note: "the longest of several events; where it never came, objectives on it are missed"},
	{Name: "leak", Key: "kv_leak_per_1000", Title: "kv leak", Unit: Fraction, Of: Window, Phase: Whole, Stat: "rate", At: "leak.kv_per_1000", Zero: true,
		Formula: "(KV use at rest after the load − before it) × 1,000 / requests closed before their end", Note: "by the server's gauge, medians of five readings"},
	{Name: "prefix_hit_rate", Title: "cache", Unit: Fraction, More: true, Of: Window, Phase: First, At: "prefix_cache.usage", Formula: "cached prompt tokens / prompt tokens",
		Note: "designed: the share that the workload sends again, were nothing ever evicted; by usage: over ok replies; by the server's counters: hits / queries over the window; early: over the first fifth of the load, its warm-up included; steady: over the second half of the window", Not: noObjectiveReasons},

	{Name: "kv", Key: "kv_cache_mb_per_request", Title: "kv", Unit: Memory, Of: Window, Phase: Whole, Stat: "max", At: "kv.max_mb_per_request",
		Formula: "Σ over layers of min(tokens, window) × that layer's bytes per token: 2 · kv_heads · head_dim · bytes (GQA); (kv_lora_rank + rope_dim) · bytes (MLA)",
		Note:    "its maximum over the requests due in the window that had any output"},
	{Name: "kv_peak", Key: "kv_peak_mb", Title: "kv cache", Unit: Memory, Of: Window, Phase: Whole, At: "kv.peak_mb",
		Formula: "maximum over time of kv_cache_mb_per_request for tokens so far, over requests between first and end",
		Note:    "an upper bound with shared prefixes counted for each request; a lower one (peak_low_mb) with what requests found in the server's cache, by usage, counted once. The server's own gauge × its room stands beside both (server_peak_mb)", Not: noObjectiveReasons},
	{Name: "kv_fragmentation", Title: "kv fragmentation", Unit: Fraction, Of: Window, Phase: Whole, At: "server.kv_fragmentation.mean",
		Formula: "1 − tokens held / tokens that the blocks in use have room for",
		Note:    "by the engine's own count of the tokens held; else half of a block is taken to be empty at the end of each running sequence. Its mean over the window, from the server's gauges", Not: noObjectiveReasons},
	{Name: "evictions", Title: "evicted", Unit: "evictions", Of: Window, Phase: Whole, At: "server.evictions", Zero: true,
		Formula: "what the server's prefix cache gave up in the window to make room",
		Note:    "in the engine's own unit (eviction_unit): tokens, blocks, or blocks of a sample. A preemption is another thing: a running request that loses its place", Not: noObjectiveReasons},
	{Name: "predicted", Of: Window, Formula: "the median that the model's shape, the accelerator's peak rates and the engine's front end give for the run's own requests, offered as they came",
		Note: "replayed in virtual time, so waiting for others is in it; the measured figure beside it is the median of the same requests. Of runs that cannot be replayed (pooled ones, static batching, speculation) both are means (statistic)", Not: forAllUses("it is ttft, tpot and the KV peak by arithmetic, and measures nothing")},
	{Name: "mbu", Title: "peak bandwidth", Unit: Fraction, More: true, Of: Window, Phase: Stream, At: "prediction.mbu",
		Formula: "bytes of weights and cache that a decode step reads / (mean tpot × peak bandwidth)", Note: "the share of the peak bandwidth reached while decoding; what prompts in between take lowers it", Not: noObjectiveReasons},
	{Name: "mfu", Title: "peak arithmetic", Unit: Fraction, More: true, Of: Window, Phase: Whole, At: "prediction.mfu",
		Formula: "operations for the window's uncached prompt and output tokens / (its length × peak rate)", Note: "the share of the peak arithmetic reached over the window, idle time included", Not: noObjectiveReasons},
	{Name: "prefill_slope", Title: "prompts", Unit: Milliseconds, Of: Window, Phase: First, At: "prefill_slope.ms_per_1k_tokens",
		Formula: "ms of ttft for each 1,000 uncached prompt tokens, by Theil and Sen's line over requests beside which no other was in flight",
		Note:    "an estimate of prefill, of a server that does not tell it", Not: noObjectiveReasons},
	{Name: "energy", Key: "joules_per_output_token", Title: "J/token", Unit: "J", Of: Window, Phase: Whole, At: "accelerator.joules_per_output_token",
		Formula: "energy of all accelerators over the window / output tokens that arrived in it",
		Note:    "energy by the devices' own counter, else their power integrated by the trapezoid rule; absent where readings cover less than 80% of the window, and the rest of it counts as if it were like what is covered", Not: noObjectiveReasons},
	{Name: "cost", Key: "cost_per_1m_output_tokens", Title: "per 1M output tokens", Unit: "$/1M tokens", Of: Window, Phase: Whole, Stat: "max", At: "cost.cost_per_1m_output_tokens",
		Interval: ByReplies, Watched: windowStatistic, Formula: "price of the whole deployment for the window / output tokens that arrived in it, × 1,000,000",
		Note: "plus tokens at their own prices; at the measured point and at the planned utilization; by class, tenant and model"},
	{Name: "cost", Key: "cost_per_request", Title: "a request", Unit: "$/request", Of: Window, Phase: Whole, Stat: "request", At: "cost.cost_per_request",
		Interval: ByReplies, Formula: "price of the whole deployment for the window / requests due in it that ended ok"},
	{Name: "cost", Key: "cost_per_1k_tokens", Title: "per 1k tokens", Unit: "$/1k tokens", Of: Window, Phase: Whole, Stat: "1k", At: "cost.cost_per_1k_tokens",
		Interval: ByReplies, Formula: "price of the whole deployment for the window / (prompt + output tokens), × 1,000"},
	{Name: "cost", Key: "cost_per_1m_accepted_tokens", Aliases: []string{"cost-accepted"}, Title: "per 1M accepted", Unit: "$/1M accepted", Of: Window, Phase: Whole, Stat: "accepted",
		At: "cost.cost_per_1m_accepted_tokens", Interval: ByReplies, Formula: "cost_per_1m_output_tokens / the share of output that was accepted",
		Note: "accepted: the output of requests due in the window that met every per-request objective; never less than the cost of any output token"},
	{Name: "quality", Key: "score", Title: "share of right answers", Unit: Fraction, More: true, Of: Window, Phase: Whole, At: "quality", Watched: windowStatistic,
		Formula: "weighted share of right answers among those that were answered and judged", Note: "of the phase in which most questions of the set were judged: under load where that is the whole set, else alone",
		Not: notScored},
	{Name: "quality", Key: "score_alone", Title: "share of right answers alone", Unit: Fraction, More: true, Of: Window, Phase: Whole, Stat: "alone", At: "quality",
		Formula: "the same before the load", Not: notScored},
	{Name: "quality", Key: "score_after", Title: "share of right answers after the load", Unit: Fraction, More: true, Of: Window, Phase: Whole, Stat: "after", At: "quality",
		Formula: "the same once the load is over", Not: notScored},
	{Name: "quality", Key: "score_under_load", Title: "share of right answers under load", Unit: Fraction, More: true, Of: Window, Phase: Whole, Stat: "under_load", At: "quality",
		Formula: "the same beside the load", Note: "beside a short load only some questions are asked", Not: notScored},
	{Name: "limit", Unit: "requests/s", More: true, Of: Window, Phase: Whole, At: "limit.rate", Watched: windowStatistic,
		Formula: "the highest rate at which at least half of the runs of the sustained length meet every objective",
		Not:     map[Use]string{Promise: ofResult, Compare: ofResult, Plot: ofResult, Export: ofResult}},
	{Name: "n_eff", Of: Window, Formula: "n / clustering",
		Note: "the independent samples that the values are worth; clustering: the variance of the number of values beyond a wider percentile between twelve stretches of the window over that of independent ones, at least 1",
		Not:  forAllUses("it is of a verdict, not of a point")},

	{Name: "job", Key: "job_time", Title: "job", Unit: Milliseconds, Of: Job, Phase: Whole, At: "jobs.time_ms", Compared: []string{"p50", "p95"},
		Formula: "last reply of a job − due of its first request", Note: "of jobs that began in the window; a job with a failed request counts as longer than any limit", Not: ownTable},
	{Name: "job_serving", Title: "serving", Unit: Milliseconds, Of: Job, Phase: Whole, At: "jobs.serving_ms",
		Formula: "time of a job in which at least one of its requests was due or in flight", Note: "its time without tools, people and other pauses", Not: ownTable},
	{Name: "job_first", Title: "first token", Unit: Milliseconds, Of: Job, Phase: First, At: "jobs.first_ms",
		Formula: "first output of a job that is not reasoning − due of its first request", Note: "of its own agent, not of subagents: what its user sees first", Not: ownTable},
	{Name: "job_ok", Key: "job_ok_fraction", Title: "jobs ok", Unit: Fraction, More: true, Of: Window, Phase: Whole, Stat: "fraction", At: "jobs.ok_fraction", Compared: windowStatistic,
		Formula: "jobs all of whose requests ended ok / jobs that ended", Note: "of jobs that began in the window; those that had not ended count as Kaplan and Meier's estimate has them"},
	{Name: "jobs_per_hour", Title: "jobs/h", Unit: JobRate, More: true, Of: Window, Phase: Whole, Stat: "min", At: "jobs.per_hour", Zero: true,
		Formula: "jobs that ended ok in the window / its length", Note: "whenever they began"},
	{Name: "jobs-per-accelerator", Key: "jobs_per_hour_per_accelerator", Title: "jobs/h/accelerator", Unit: JobRate, More: true, Of: Window, Phase: Whole, At: "jobs.per_hour", Over: "hardware.count", Zero: true,
		Formula: "jobs_per_hour / accelerators of the server", Note: "absent where it is not known how many there are", Not: map[Use]string{Promise: "write jobs_per_hour", Compare: "write jobs_per_hour"}},
	{Name: "live_agents", Title: "live agents", Unit: "jobs", More: true, Of: Window, Phase: Whole, At: "jobs.live_mean",
		Formula: "time-weighted mean of jobs between the due time of their first request and their end", Note: "its maximum stands beside it", Not: loadReasons},
	{Name: "tokens_per_job", Title: "tokens a job", Unit: "tokens", Of: Window, Phase: Whole, At: "jobs.prompt_tokens+jobs.output_tokens",
		Formula: "mean of prompt and output tokens over the jobs that ended ok", Note: "weighted as the percentiles of their time", Not: noObjectiveReasons},
	{Name: "cost", Key: "cost_per_job", Title: "a job", Unit: "$/job", Of: Window, Phase: Whole, Stat: "job", At: "cost.cost_per_job",
		Interval: ByReplies, Formula: "price of the whole deployment for the window / jobs that ended ok in it", Note: "what failed jobs took is paid for by the others"},
	{Name: "cost", Key: "cost_per_1k_jobs", Title: "per 1k jobs", Unit: "$/1k jobs", Of: Window, Phase: Whole, Stat: "1k_jobs", At: "cost.cost_per_1k_jobs",
		Interval: ByReplies, Formula: "cost_per_job × 1,000"},
})

const due = "requests.due"

const neither = "neither more nor less of it is better"

const ofResult = "it is of a whole result, and of no point in it"

var windowStatistic = []string{""}

// Why rows cannot be used for something.

var ownTable = map[Use]string{Tabulate: "jobs have a table of their own"}

var noObjectiveReasons = map[Use]string{Promise: "no objective on it is judged"}

var notScored = map[Use]string{Promise: "its thresholds stand with the golden set (quality in a plan)", Compare: "compared by itself, question by question",
	Export: "its phases have columns of their own"}

var loadReasons = map[Use]string{Promise: "it is the load, and not what came of it", Compare: "it is the load, and not what came of it"}

func dueForm(of string) map[Use]string {
	why := "write " + of + ", which counts from due here"
	return map[Use]string{Promise: why, Compare: why, Plot: why}
}

// toldNote and inLedger are of the parts of the first token that only a server knows.
const toldNote = "part of ttft; only of replies that tell it: by Server-Timing, vLLM's metrics, SGLang's meta_info, Dynamo's nvext.timing"

var inLedger = map[Use]string{Tabulate: "it stands in the ledger of the first token", Export: "tables of requests have it"}

func ours(instead string) map[Use]string {
	why := "it is the client's own time"
	return map[Use]string{Promise: why, Compare: why, Plot: why, Tabulate: instead}
}

func forAllUses(why string) map[Use]string {
	return map[Use]string{Promise: why, Compare: why, Plot: why, Export: why}
}

// fillNames gives every row its key and title.
func fillNames(rows []*Figure) []*Figure {
	for _, f := range rows {
		f.Key = cmp.Or(f.Key, f.Name)
		f.Title = cmp.Or(f.Title, f.Key)
	}
	return rows
}
