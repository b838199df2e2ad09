package validity

import (
	"fmt"
	"math"
	"slices"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

const (
	// unsentShare moves a p99 to a p99.1 at most.
	unsentShare = 0.001
	// cpuShare leaves room for the bursts inside a second that a mean over
	// the window does not show.
	cpuShare = 0.85
	// idleShare: a client that uses so little is not what keeps itself busy.
	idleShare = 0.3
	// maxClockStep is the smallest step that shows in a figure given in ms.
	maxClockStep = time.Millisecond
	// lengthShare is MLPerf's rule for output lengths; vocabularies differ on
	// plain text by less than that as well.
	lengthShare = 0.1
	// templateTokens is what a chat template adds, some dozens at most.
	templateTokens = 64
	// strictShare is the part of a figure that no reader would ask about,
	// gapShare that of a gap between tokens, of which a window has many.
	strictShare, gapShare = 0.01, 0.1
	// maxLag is what even the fastest server leaves unharmed, floorMS in ms.
	maxLag  = time.Millisecond
	floorMS = float64(maxLag / time.Millisecond)
)

// about lists the verdicts on some metrics.
func about(judged []slo.Verdict, metrics []string) []slo.Verdict {
	return slices.DeleteFunc(slices.Clone(judged), func(v slo.Verdict) bool {
		o, err := slo.Parse(v.Objective)
		return err != nil || !slices.Contains(metrics, o.Metric)
	})
}

// askLag bounds the p99 of our own lateness: 1 ms at least, twelve times what the
// pacing thread is late at its own p99.
func askLag(e Evidence) outcome {
	p99, ok := e.Summary.Latency.Lag.Get("p99")
	if !ok {
		return unread("no request was sent in the window")
	}
	worst := ""
	for _, w := range e.Workers {
		// One that is late spoils the tail that all share.
		if w.LagP99MS != nil && *w.LagP99MS > p99 {
			p99, worst = *w.LagP99MS, "worker "+w.Name+": "
		}
	}
	o := atMost(p99, max(floorMS, strictShare*typical(e.Summary.Latency.TTFT)), worst+"p99 ")
	if busy := e.Client.Machine.MachineShare; worst == "" && e.Client.CPUs > 0 && e.Client.CPUShare < idleShare {
		o.cure = "redline was starved of CPU: other programs or the hypervisor took its cores; run again when the machine is quiet"
		if busy != nil {
			o.cure += fmt.Sprintf(" (%s busy in all)", text.RoughPercent(*busy))
		}
	}
	return o
}

// typical is the median of a figure, 0 where it has none.
func typical(d *metric.Dist) float64 {
	v, _ := d.Get("p50")
	return v
}

// The server saw another arrival process than was asked for where requests had
// bunchedBy times as many others just before them as they were to have, and by
// bunchedMin more.
const bunchedBy, bunchedMin = 2, 1

// askBunching asks whether requests that were sent late came together with
// others, so that the server met another load than was asked for.
func askBunching(e Evidence) outcome {
	b := e.Summary.Bunching
	if b == nil {
		return silent
	}
	return outcome{
		mark: okOrBad(b.Sent <= bunchedBy*b.Due || b.Sent-b.Due <= bunchedMin),
		figure: fmt.Sprintf("on average %s other requests were sent in the %s before each, %s were due",
			text.Rough(b.Sent), millis(b.WithinMS), text.Rough(b.Due)),
		threshold: fmt.Sprintf("≤ %s × as many, or ≤ %s more", text.Rough(bunchedBy), text.Rough(bunchedMin)),
	}
}

// askUnsent compares what was sent with what was due. Requests that a cap held
// back to the end are the server's doing.
func askUnsent(e Evidence) outcome {
	n := e.Summary.Requests
	switch {
	case n.Due == 0:
		return unread("no request was due in the window")
	case e.lostWorker():
		return unread("a worker was lost, and its requests were not sent")
	case e.Load.Mode == "capped" && n.Unsent > 0:
		return unread(fmt.Sprintf("the cap held back %s of %s to the end; slot_wait shows the waiting", text.Count(n.Unsent), text.Plural(n.Due, "request")))
	}
	share := float64(n.Unsent) / float64(n.Due)
	return outcome{
		mark:      okOrBad(share <= unsentShare),
		figure:    fmt.Sprintf("%s of %s unsent", text.Count(n.Unsent), text.Plural(n.Due, "request")),
		threshold: "≤ " + text.RoughPercent(unsentShare),
	}
}

func askCPU(e Evidence) outcome {
	if e.Client.CPUs == 0 {
		return unwatchedClient
	}
	if e.Client.CPUSeconds <= 0 {
		return unread("the system does not say how much CPU time the process took")
	}
	took, bound := percents(e.Client.CPUShare, cpuShare)
	return outcome{
		mark:      okOrBad(e.Client.CPUShare < cpuShare),
		figure:    fmt.Sprintf("this process took %s of %s", took, text.Plural(e.Client.CPUs, "core")),
		threshold: "< " + bound,
	}
}

// unwatchedClient is the answer about a run that was killed before it could look at
// itself.
var unwatchedClient = unread("the run was killed before it recorded how its client did")

// askClock matters only to kernel stamps, which are on the real-time clock.
func askClock(e Evidence) outcome {
	if e.Client.CPUs == 0 || e.Client.Timestamps.Source == "" {
		return unwatchedClient
	}
	if e.Client.Timestamps.Source != "kernel" {
		return unread("arrivals are stamped with the monotonic clock, which does not step")
	}
	return atMost(math.Abs(e.Client.ClockStepMS), float64(maxClockStep/time.Millisecond), "largest ")
}

// lengthCure is the cure where a server does not do as it is asked by a word that its
// API has for that.
func lengthCure(asked bool) string {
	if !asked {
		return ""
	}
	return `this server ignores ignore_eos, which vLLM, SGLang and llama.cpp honor: if it has another parameter for that, pass it, ` +
		`such as --extra-body '{"min_tokens":100}'; otherwise let the model end its replies (workload.natural: true)`
}

// askOutputLengths compares the output that came with what was asked for, in
// the mean over ok requests.
func askOutputLengths(e Evidence) outcome {
	n, t := e.Summary.Requests, e.Summary.Tokens
	switch {
	case n.OK == 0:
		return unread("no request succeeded")
	case t.AskedOutput == 0 && t.Output == 0:
		return silent
	case t.AskedOutput == 0:
		return unread("no output length was asked for")
	case e.Natural:
		return unread("the model ends replies by itself, as the workload asks")
	case t.Counted["usage"] == 0:
		return unread("the server reports no usage: its tokens were not counted in its own vocabulary")
	}
	mean, asked := float64(t.Output)/float64(n.OK), float64(t.AskedOutput)/float64(n.OK)
	return outcome{
		cure:      lengthCure(e.KeepsLength),
		mark:      okOrBad(math.Abs(mean-asked) <= lengthShare*asked),
		figure:    fmt.Sprintf("mean %s, %s asked; %s of %s of another length", text.Units(text.FixedNumber(mean, 0), "token"), text.FixedNumber(asked, 0), text.Count(n.Short), replies(n.OK)),
		threshold: "± " + text.RoughPercent(lengthShare),
	}
}

// askPromptLengths compares the server's count of prompt tokens with the
// designed one, in the mean over ok requests.
func askPromptLengths(e Evidence) outcome {
	t := e.Summary.Tokens
	if t.PromptLengths == nil || t.Prompt == 0 {
		return unread("the server reports no prompt tokens")
	}
	if t.AskedPrompt == 0 {
		return unread("no prompt length was designed")
	}
	n := float64(t.PromptLengths.N)
	if e.Summary.Images != nil && t.Vision == 0 {
		return unread("the server does not tell the tokens of images from those of text")
	}
	mean, asked := float64(t.Prompt-t.Vision)/n, float64(t.AskedPrompt)/n
	room := lengthShare*asked + templateTokens
	if e.Summary.Calls != nil && mean > asked+room {
		return unread("the model's chat template writes out the tools that a request carries, at a length of its own")
	}
	return outcome{
		mark:      okOrBad(math.Abs(mean-asked) <= room),
		figure:    fmt.Sprintf("mean %s, %s asked", text.Units(text.FixedNumber(mean, 0), "token"), text.FixedNumber(asked, 0)),
		threshold: "± " + text.Units(text.FixedNumber(room, 0), "token"),
	}
}

// askEngine bounds the embedded engine's own lateness by a share of the times
// that are judged, or of the token time that it is supposed to show.
func askEngine(e Evidence) outcome {
	switch {
	case !e.Embedded:
		return silent
	case e.Engine == nil:
		return unread("the embedded engine did not report its timing")
	}
	late := float64(e.Engine.P99) / 1e6
	o := atMost(late, max(floorMS, gapShare*typical(e.Summary.Latency.TPOT)), "p99 ")
	o.figure += ", max " + millis(float64(e.Engine.Max)/1e6)
	return o
}

func atMost(ms, limit float64, what string) outcome {
	unit, by := text.TimeUnit(max(ms, limit))
	measured, bound := text.RoughPair(ms/by, limit/by)
	return outcome{mark: okOrBad(ms <= limit), figure: what + measured + " " + unit, threshold: "≤ " + bound + " " + unit}
}

// percents writes a share and its limit, which look equal only if they are.
func percents(share, limit float64) (figure, bound string) {
	figure, bound = text.RoughPair(100*share, 100*limit)
	return text.Percentage(figure), text.Percentage(bound)
}

// millis writes a time with two significant digits, or whole milliseconds up to
// three: no check needs more.
func millis(ms float64) string {
	unit, by := text.TimeUnit(ms)
	return text.Rough(ms/by) + " " + unit
}
