package metric

// Definition is what one number means.
type Definition struct {
	Name    string
	Formula string
	Note    string
}

// Definitions holds the meaning of every number that a report can explain, in
// the order in which reports show them. Stamps: due (when the schedule wanted
// it), begin, slot (the cap let it through), conn (its connection was ready),
// sent (just before the first byte), first, answer and last (arrivals of
// output), end.
var Definitions = []Definition{
	{"ttft", "first − sent", "time to first token: server, network and upload"},
	{"ttft_due", "first − due", "as the user lives it: our lateness and waiting for a slot count"},
	{"ttfa", "answer − sent", "time to the first output that is not reasoning"},
	{"tpot", "(last − first) / (streamed_tokens − k_first)", "time per output token after the first event, which brought k_first tokens; one value per request. Some tools divide by all: (last − first) / output_tokens, a smaller figure"},
	{"itl", "g/k, k times, for k tokens that came g after the group before", "gaps between tokens, pooled over requests; only where the tokens of each event are known"},
	{"icl", "gap between consecutive distinct chunk stamps", "gaps as they arrived, whatever they carried"},
	{"stall", "the largest icl of a request", "the longest time without output; a gap that several tokens end counts whole, never g/k"},
	{"e2e", "last − sent", "the whole reply; end − sent where it is no text"},
	{"e2e_due", "last − due", "the whole reply as the user lives it"},
	{"decode", "last − first", "the streaming phase"},
	{"lag", "sent − max(due, slot, conn)", "our own lateness, over all requests sent"},
	{"slot_wait", "slot − begin", "waiting for the in-flight cap, over all requests begun: a slow server under a cap shows here"},
	{"connect", "TCP set-up of a new connection", "outside ttft"},
	{"tls", "TLS set-up of a new connection", "outside ttft"},
	{"fluidity", "mean share of tokens on time", "token 1 is due at due + the ttft threshold, each next one a tpot threshold after the later of its predecessor's deadline and, if that was late, its arrival; a late token counts once"},
	{"interactivity", "1 / tpot", "tokens per second of one stream: the percentile of tpot first, then inverted"},
	{"tail_ratio", "p99 / p50", ""},
	{"asked_rate", "the plan's arrival rate", "its mean over the window where it changes; of sessions, where they have several turns; absent in a closed loop"},
	{"offered_rate", "requests due in the window / its length", "differs from the asked one by random variation, ± 2/√n"},
	{"sent_rate", "requests sent in the window / its length", ""},
	{"completed_rate", "requests due in the window that ended ok / its length", "also those that ended after it: goodput is a part of them"},
	{"ended_rate", "ok requests that ended in the window / its length", "whenever they were due: what the server got done in it"},
	{"output_tokens_per_s", "output tokens that arrived in the window / its length", "tokens of requests that failed later count here"},
	{"prompt_tokens_per_s", "uncached prompt tokens of requests whose first output came in the window / its length", "cached ones are shown apart"},
	{"inputs_per_s", "texts of the ok requests due in the window / its length", "of embeddings: those embedded; of rerank: the documents ranked"},
	{"total_tokens_per_s", "output_tokens_per_s + prompt_tokens_per_s", "never shown alone"},
	{"concurrency", "time-weighted mean and maximum of requests between sent and end", "Little's law as a check: sent rate × mean (end − sent) of all outcomes"},
	{"goodput", "requests due in the window that met every per-request objective about them / its length", ""},
	{"good_fraction", "requests that met every per-request objective about them / all due", ""},
	{"error_rate", "failed / all due", "every fault but a rejection"},
	{"reject_rate", "rejected / all due", "status 429 or 503"},
	{"retry_rate", "requests tried more than once / all due", ""},
	{"prefix_hit_rate", "cached prompt tokens / prompt tokens", "designed: the share that the workload sends again, were nothing ever evicted; by usage: over ok replies; by the server's counters: hits / queries over the window"},
	{"joules_per_output_token", "energy of all accelerators over the window / output tokens that arrived in it", "energy by the devices' own counter, else their power integrated by the trapezoid rule"},
	{"predicted", "the time that the model's shape and the accelerator's peak rates allow, at the point's mean lengths and concurrency", "without a queue; it is computed from means, so measured figures beside it are means"},
	{"mbu", "bytes of weights and cache that a decode step reads / (mean tpot × peak bandwidth)", "the share of the peak bandwidth reached while decoding; what prompts in between take lowers it"},
	{"mfu", "operations for the window's uncached prompt and output tokens / (its length × peak rate)", "the share of the peak arithmetic reached over the window, idle time included"},
	{"prefill_slope", "ms of ttft for each 1,000 uncached prompt tokens, by Theil and Sen's line over requests beside which no other was in flight", "an estimate of prefill, of a server that does not tell it"},
	{"n_eff", "n / clustering", "the independent samples that the values are worth; clustering: the variance of the number of values beyond a wider percentile between twelve stretches of the window over that of independent ones, at least 1"},
}

// Explain gives the definition of a name, and whether there is one.
func Explain(name string) (Definition, bool) {
	for _, d := range Definitions {
		if d.Name == name {
			return d, true
		}
	}
	return Definition{}, false
}
