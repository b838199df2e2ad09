// Package validity asks whether a run itself was sound: whether the load was
// offered as asked and the figures are the server's and not ours. It takes the
// summary of a window and what the client knows of itself, and gives the
// checks with their figures, thresholds and cures, and the questions that
// could not be asked. It never judges the server: errors, rejections and slow
// tails are findings, not faults of the run.
package validity

import (
	"cmp"
	"time"

	"redline/internal/metric"
	"redline/internal/result"
	"redline/internal/telemetry"
)

// Evidence is everything the checks look at.
type Evidence struct {
	Summary metric.Summary
	Client  result.Client
	Load    result.Load
	// Embedded says that the engine ran in this process; Engine is then its
	// own account of how late it was.
	Embedded bool
	Engine   *Lateness
	// Server is the server's own account of the window, nil where it gives
	// none.
	Server *telemetry.ServerUse
	// Traffic lays its count of requests beside ours, over the whole run.
	Traffic *Traffic
	// Shortage is how many connections this machine refused to open for lack
	// of files or ports.
	Shortage int64
	// Repeat is how long a request took that was sent twice.
	Repeat *Repeat
	// DesignedCache is the share of prompt tokens that the workload repeats on
	// purpose, nil where that is not known any more.
	DesignedCache *float64
	// Natural says that some replies end where the model ends them, and
	// KeepsLength that the API has a word by which it does not, which was sent.
	Natural, KeepsLength bool
}

// Traffic is how many requests were counted between the same two moments.
type Traffic struct {
	Ours, Theirs float64
}

// Repeat is the time of a request that was new to the server and of one that
// was not.
type Repeat struct {
	Fresh, Again time.Duration
}

// Lateness is how far behind its own schedule an embedded engine put tokens
// out, in ns.
type Lateness struct {
	P99, Max int64
}

// outcome is a check's answer. Where why is set the question could not be
// asked; where skip is set it does not arise.
type outcome struct {
	ok                bool
	figure, threshold string
	why               string
	skip              bool
	// cure takes the place of the check's own where the evidence tells more.
	cure string
}

// check is one question about the run.
type check struct {
	name string
	cure string
	ask  func(Evidence) outcome
}

// checks is every question, in the order in which reports show them.
var checks = []check{
	{"lag", "redline itself sent late: lower the rate, give the client more cores, or spread the load over machines", askLag},
	{"due against sent", "the client did not send what the schedule wanted: lower the rate or lengthen --drain", askUnsent},
	{"own CPU", "give the client more cores, lower the rate, or run the server on another machine", askCPU},
	{"GC pause", "give the client more memory (GOMEMLIMIT, GOGC) or lower the rate", askPause},
	{"clock steps", "stop the time service from stepping the clock during a run, then run again", askClock},
	{"output lengths", "this API has no word that keeps a reply to its length: let the model end its replies (workload.natural: true), or ask for lengths that it reaches by itself", askOutputLengths},
	{"prompt lengths", "the server counts another number of tokens than was designed: give the model's own tokenizer, or look for a system prompt that is added", askPromptLengths},
	{"engine schedule", "the embedded engine could not keep its own times: lower the rate or run it apart with redline sim", askEngine},
	{"scheduler delay", "give the client more cores, lower the rate, or stop what else runs on this machine", askScheduler},
	{"client-side coalescing", "the client reads later than tokens come: give it more cores, lower the rate, or spread the load over machines", askCoalescing},
	{"buffered stream", "a proxy or the server holds events back: turn its buffering off (nginx: proxy_buffering off)", askBuffered},
	{"ports and files", "raise the limit of open files (ulimit -n)", askFiles},
	{"throttled machine", "run the client where no quota, hypervisor or heat holds it back", askThrottled},
	{"shared host", "run the server on another machine: here the two take cores from each other", askSharedHost},
	{"cache contamination", "the server has seen these prompts before: change --seed, or restart it or reset its prefix cache", askCache},
	{"response cache", "the server answers repeated requests from a cache: turn it off", askRepeat},
	{"foreign traffic", "someone else uses this server: measure it alone", askForeign},
	{"server restart", "the server restarted while it was measured: look at its log, then run again", askRestart},
	{"realised work", "the load that came due is not the load that was asked for: lengthen the window, or tell us", askWork},
}

// Judge asks every question. The run is valid where all checks are ok.
func Judge(e Evidence) ([]result.Check, []result.Unchecked) {
	answered, open := []result.Check{}, []result.Unchecked{}
	for _, c := range checks {
		o := c.ask(e)
		switch {
		case o.skip:
		case o.why != "":
			open = append(open, result.Unchecked{Name: c.name, Why: o.why})
		default:
			answer := result.Check{Name: c.name, OK: o.ok, Figure: o.figure, Threshold: o.threshold}
			if !o.ok {
				answer.Cure = cmp.Or(o.cure, c.cure)
			}
			answered = append(answered, answer)
		}
	}
	return answered, open
}
