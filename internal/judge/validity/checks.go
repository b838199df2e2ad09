package validity

import "redline/internal/judge/figure"

// check is one question about the run.
type check struct {
	name string
	cure string
	ask  func(Evidence) outcome
	// spoils are the objectives that a failure touches, by their metrics; nil:
	// all.
	spoils []string
	// strict marks what only a strict run asks: what it finds is carried in the
	// ends of the figures otherwise.
	strict bool
	// setup marks what a repetition does not mend.
	setup bool
	// machine marks what is asked of each machine that sends.
	machine bool
}

// CacheContamination is the check of prompts that the server has seen before.
const CacheContamination = "cache contamination"

// checks is every question, in the order in which reports show them.
var checks = []check{
	{name: "workers", ask: askWorkers, cure: "look at that worker's own output and its machine, then run again"},
	{name: "worker clocks", ask: askWorkerClocks, cure: "put the workers nearer to the conductor, or lengthen the window"},
	{name: "lag", ask: askLag, spoils: fromDue, strict: true,
		cure: "redline sent requests late: lower the rate, give the client more cores, or spread the load over several machines (--workers)"},
	{name: "due against sent", ask: askUnsent,
		cure: "the client did not send everything that was due: lower the rate or give a longer --drain"},
	{name: "arrivals as asked", ask: askBunching,
		cure: "redline was delayed and sent requests in bursts: use a quieter machine, spread the load over several (--workers), or lower the rate"},
	{name: "own CPU", machine: true, strict: true, ask: askCPU, cure: "give the client more cores, lower the rate, or run the server on another machine"},
	{name: "clock steps", machine: true, ask: askClock, spoils: times,
		cure: "stop the time service from stepping the clock during a run, then run again"},
	{name: "output lengths", ask: askOutputLengths, setup: true,
		cure: "this API cannot force a reply to a length: let the model end its replies (workload.natural: true), or ask for lengths that it reaches by itself"},
	{name: "prompt lengths", ask: askPromptLengths, setup: true,
		cure: "the server counts a different number of prompt tokens: use the model's own tokenizer (--tokenizer), or look for a system prompt that the server adds"},
	{name: "token counts", ask: askTokens, setup: true,
		cure: "usage does not match the tokens that arrived: do not rely on it; compare with the model's own tokenizer (--tokenizer)"},
	{name: "engine schedule", ask: askEngine, spoils: times, strict: true,
		cure: "the embedded engine fell behind its own schedule: lower the rate, or run it separately with redline sim"},
	{name: "scheduler delay", machine: true, ask: askScheduler, spoils: times, strict: true,
		cure: "give the client more cores, lower the rate, or stop other programs on this machine"},
	{name: "client-side coalescing", ask: askCoalescing, spoils: gaps, strict: true,
		cure: "the client cannot read tokens as fast as they arrive: give it more cores, lower the rate, or spread the load over several machines (--workers)"},
	{name: "buffered stream", ask: askBuffered, spoils: streamed, setup: true,
		cure: "a proxy or the server buffers the stream: turn buffering off (nginx: proxy_buffering off)"},
	{name: "ports and files", machine: true, ask: askFiles, setup: true, cure: "raise the limit of open files (ulimit -n)"},
	{name: "throttled machine", machine: true, strict: true, ask: askThrottled, cure: "run the client on a machine without a CPU quota, steal or thermal throttling"},
	{name: "shared host", machine: true, strict: true, ask: askSharedHost, cure: "run the server on another machine: here it competes with redline for cores"},
	{name: CacheContamination, ask: askCache, setup: true,
		cure: "the server has seen these prompts before: change --seed, or restart it or reset its prefix cache"},
	{name: "response cache", ask: askRepeat, setup: true, cure: "the server likely answers repeated requests from a cache: turn it off"},
	{name: "foreign traffic", ask: askForeign, cure: "someone else uses this server: measure it alone"},
	{name: "server restart", ask: askRestart, cure: "the server restarted while it was measured: look at its log, then run again"},
	{name: "realised work", ask: askWork, setup: true,
		cure: "the load that came due differs from the load asked for: use a longer window, or report a bug"},
}

// Cure is what mends a run that fails a check, "" where there is no such check.
func Cure(name string) string {
	for _, c := range checks {
		if c.name == name {
			return c.cure
		}
	}
	return ""
}

// The objectives that checks touch. ttft and e2e are counted from due, all else
// from what was sent or received.
var (
	fromDue  = figure.Select(func(f *figure.Figure) bool { return f.Due != "" })
	gaps     = append(figure.Select(func(f *figure.Figure) bool { return f.Of == figure.Gap }), "stall")
	streamed = figure.Select((*figure.Figure).Streamed)
	times    = figure.Select((*figure.Figure).Spread)
)
