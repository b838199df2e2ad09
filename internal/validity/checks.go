package validity

import (
	"fmt"
	"math"
	"strconv"

	"redline/internal/metric"
)

const (
	// unsentShare moves a p99 to a p99.1 at most.
	unsentShare = 0.001
	// cpuShare leaves room for the bursts inside a second that a mean over
	// the window does not show.
	cpuShare = 0.85
	// idleShare: a client that uses so little is not what keeps itself busy.
	idleShare = 0.3
	// kernelPauseMS: with kernel stamps a stop delays only what is sent during
	// it, and lag counts that; this bounds a stop so long that streams of a
	// window bunch up behind it.
	kernelPauseMS = 10
	// userPauseMS: stamps taken in user space are late by every stop.
	userPauseMS = 1
	// clockStepMS is the smallest step that shows in a figure given in ms.
	clockStepMS = 1
	// lengthShare is MLPerf's rule for output lengths; vocabularies differ on
	// plain text by less than that as well.
	lengthShare = 0.1
	// templateTokens is what a chat template adds, some dozens at most.
	templateTokens = 64
)

// scaled is a threshold in ms: a share of the typical value of a figure, as an
// error below it is lost in that figure, but never below a floor that even the
// fastest server leaves unharmed.
func scaled(floorMS, share float64, d *metric.Dist) float64 {
	typical, ok := d.Get("p50")
	if !ok {
		return floorMS
	}
	return max(floorMS, share*typical)
}

// askLag bounds the p99 of our own lateness by 1 ms, twelve times what the
// pacing thread is late at its own p99, or 1 % of the median ttft, whichever
// is more.
func askLag(e Evidence) outcome {
	p99, ok := e.Summary.Latency.Lag.Get("p99")
	if !ok {
		return outcome{why: "no request was sent in the window"}
	}
	o := atMost(p99, scaled(1, 0.01, e.Summary.Latency.TTFT), "p99 ")
	if busy := e.Client.Machine.MachineShare; e.Client.CPUs > 0 && e.Client.CPUShare < idleShare {
		o.cure = "redline itself sent late although it used little of this machine: other programs or the hypervisor take its cores; run again when it is quiet"
		if busy != nil {
			o.cure += fmt.Sprintf(" (%s busy in all)", percent(*busy))
		}
	}
	return o
}

// askUnsent compares what was sent with what was due. Requests that a cap held
// back to the end are the server's doing.
func askUnsent(e Evidence) outcome {
	n := e.Summary.Requests
	switch {
	case n.Due == 0:
		return outcome{why: "no request was due in the window"}
	case e.Load.Mode == "capped" && n.Unsent > 0:
		return outcome{why: fmt.Sprintf("the cap held %d of %d requests back to the end; slot_wait shows the waiting", n.Unsent, n.Due)}
	}
	share := float64(n.Unsent) / float64(n.Due)
	return outcome{
		ok:        share <= unsentShare,
		figure:    fmt.Sprintf("%d of %d unsent", n.Unsent, n.Due),
		threshold: "≤ " + percent(unsentShare),
	}
}

func askCPU(e Evidence) outcome {
	if e.Client.CPUs == 0 {
		return unwatched
	}
	if e.Client.CPUSeconds <= 0 {
		return outcome{why: "the system does not say how much CPU time the process took"}
	}
	return outcome{
		ok:        e.Client.CPUShare < cpuShare,
		figure:    fmt.Sprintf("%s of %s", percent(e.Client.CPUShare), cores(e.Client.CPUs)),
		threshold: "< " + percent(cpuShare),
	}
}

func cores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return strconv.Itoa(n) + " cores"
}

// unwatched is the answer about a run that was killed before it could look at
// itself.
var unwatched = outcome{why: "the run was killed before it wrote down how its client did"}

func askPause(e Evidence) outcome {
	if e.Client.CPUs == 0 {
		return unwatched
	}
	limit := float64(kernelPauseMS)
	if e.Client.Timestamps.Source != "kernel" {
		limit = scaled(userPauseMS, 0.1, e.Summary.Latency.TPOT)
	}
	return atMost(e.Client.GCPauseMS, limit, "longest ")
}

// askClock matters only to kernel stamps, which are on the real-time clock.
func askClock(e Evidence) outcome {
	if e.Client.CPUs == 0 || e.Client.Timestamps.Source == "" {
		return unwatched
	}
	if e.Client.Timestamps.Source != "kernel" {
		return outcome{why: "arrivals are stamped with the monotonic clock, which does not step"}
	}
	return atMost(math.Abs(e.Client.ClockStepMS), clockStepMS, "largest ")
}

// unheeded is the cure where a server does not do as it is asked.
const unheeded = `this server does not heed ignore_eos, as vLLM, SGLang and llama.cpp do: where it knows another word, give that, ` +
	`such as --extra-body '{"min_tokens":100}'; else let the model end its replies (workload.natural: true)`

// askOutputLengths compares the output that came with what was asked for, in
// the mean over ok requests.
func askOutputLengths(e Evidence) outcome {
	n, t := e.Summary.Requests, e.Summary.Tokens
	switch {
	case n.OK == 0:
		return outcome{why: "no request succeeded"}
	case t.AskedOutput == 0 && t.Output == 0:
		return outcome{skip: true}
	case t.AskedOutput == 0:
		return outcome{why: "no output length was asked for"}
	case e.Natural:
		return outcome{why: "the model ends replies by itself, as the workload wants it"}
	case t.Counted["usage"] == 0:
		return outcome{why: "the server reports no usage: its tokens were not counted in its own vocabulary"}
	}
	mean, asked := float64(t.Output)/float64(n.OK), float64(t.AskedOutput)/float64(n.OK)
	cure := ""
	if e.KeepsLength {
		cure = unheeded
	}
	return outcome{
		cure:      cure,
		ok:        math.Abs(mean-asked) <= lengthShare*asked,
		figure:    fmt.Sprintf("mean %.0f tokens, %.0f asked; %d of %d replies of another length", mean, asked, n.Short, n.OK),
		threshold: "± " + percent(lengthShare),
	}
}

// askPromptLengths compares the server's count of prompt tokens with the
// designed one, in the mean over ok requests.
func askPromptLengths(e Evidence) outcome {
	t := e.Summary.Tokens
	if t.PromptLengths == nil || t.Prompt == 0 {
		return outcome{why: "the server reports no prompt tokens"}
	}
	if t.AskedPrompt == 0 {
		return outcome{why: "no prompt length was designed"}
	}
	n := float64(t.PromptLengths.N)
	mean, asked := float64(t.Prompt)/n, float64(t.AskedPrompt)/n
	room := lengthShare*asked + templateTokens
	return outcome{
		ok:        math.Abs(mean-asked) <= room,
		figure:    fmt.Sprintf("mean %.0f tokens, %.0f asked", mean, asked),
		threshold: fmt.Sprintf("± %.0f tokens", room),
	}
}

// askEngine bounds the embedded engine's own lateness by a tenth of the token
// time that it is supposed to show, and never below 1 ms.
func askEngine(e Evidence) outcome {
	switch {
	case !e.Embedded:
		return outcome{skip: true}
	case e.Engine == nil:
		return outcome{why: "the embedded engine gave no account of its times"}
	}
	o := atMost(float64(e.Engine.P99)/1e6, scaled(1, 0.1, e.Summary.Latency.TPOT), "p99 ")
	o.figure += ", max " + millis(float64(e.Engine.Max)/1e6)
	return o
}

func atMost(ms, limit float64, what string) outcome {
	return outcome{ok: ms <= limit, figure: what + millis(ms), threshold: "≤ " + millis(limit)}
}

// millis writes a time with two significant digits, or whole milliseconds: no
// check needs more.
func millis(ms float64) string {
	return short(ms) + " ms"
}

func percent(share float64) string { return short(100*share) + " %" }

func short(v float64) string {
	if math.Abs(v) >= 10 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	if err != nil {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
