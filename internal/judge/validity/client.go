package validity

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
	// clockStepMS is the smallest step that shows in a figure given in ms.
	clockStepMS = 1
	// lengthShare is MLPerf's rule for output lengths; vocabularies differ on
	// plain text by less than that as well.
	lengthShare = 0.1
	// templateTokens is what a chat template adds, some dozens at most.
	templateTokens = 64
	// errorShare is the part of a figure below which an error is lost in what
	// runs differ by; gapShare that of a gap between tokens, of which a window
	// has many; strictShare is one that no reader would ask about.
	errorShare, gapShare, strictShare = 0.05, 0.1, 0.01
	// floorMS is what even the fastest server leaves unharmed.
	floorMS = 1
)

// scaled is a threshold in ms: a share of the typical value of a figure, as an
// error below it is lost in that figure, but never below a floor that even the
// fastest server leaves unharmed.
func scaled(floor, share float64, d *metric.Dist) float64 {
	typical, ok := d.Get("p50")
	if !ok {
		return floor
	}
	return max(floor, share*typical)
}

// about lists the verdicts on some metrics.
func about(judged []slo.Verdict, metrics []string) []slo.Verdict {
	return slices.DeleteFunc(slices.Clone(judged), func(v slo.Verdict) bool {
		o, err := slo.Parse(v.Objective)
		return err != nil || !slices.Contains(metrics, o.Metric)
	})
}

// tolerance bounds the error of figures by a share of each that depends on its
// metric.
type tolerance func(metric string) float64

// bears is the error in ms that a verdict bears: a share of the figure judged or
// of its limit, whichever is more, because a smaller error could not have
// changed the verdict; more where the verdict is clearer than that, and never
// below the floor. of says what it is a share of.
func (share tolerance) bears(v slo.Verdict) (ms float64, of string) {
	o, err := slo.Parse(v.Objective)
	if err != nil {
		return math.Inf(1), ""
	}
	own := share(o.Metric)
	ms, of = own*v.Limit, text.RoughPercent(own)+" of "+v.Objective
	if v.Value != nil && *v.Value > v.Limit {
		ms, of = own**v.Value, text.RoughPercent(own)+" of the "+millis(*v.Value)+" of "+v.Objective
	}
	if by, why := distance(v); by > ms {
		ms, of = by, why
	}
	if ms < floorMS {
		return floorMS, ""
	}
	return ms, of
}

// distance is the error in ms that cannot turn a verdict: what is left between
// the bound of a figure that is met and its limit, and what a figure that is
// missed lies beyond it. Where the figure is that no answer came it is the limit
// itself, as no lateness of ours below that explains it.
func distance(v slo.Verdict) (ms float64, of string) {
	switch {
	case v.Standing == slo.Missed && v.Value == nil:
		return v.Limit, "the limit of " + v.Objective + ", which is missed for want of answers"
	case v.Standing == slo.Missed:
		return *v.Value - v.Limit, "what " + v.Objective + " is missed by"
	case v.Standing == slo.Met && v.Value != nil:
		return v.Limit - *cmp.Or(v.Bound, v.Value), "what " + v.Objective + " is met by"
	}
	return 0, ""
}

// least is what all of some verdicts bear.
func (share tolerance) least(judged []slo.Verdict) (ms float64, of string) {
	ms = math.Inf(1)
	for _, v := range judged {
		if bears, why := share.bears(v); bears < ms {
			ms, of = bears, why
		}
	}
	return ms, of
}

// judge compares an error in ms with the least tolerant of some verdicts, and
// names all those for which it is too much.
func (share tolerance) judge(ms float64, what string, judged []slo.Verdict) outcome {
	limit, of := share.least(judged)
	var spoils []string
	for _, v := range judged {
		if bears, _ := share.bears(v); ms > bears {
			spoils = append(spoils, v.Objective)
		}
	}
	o := atMost(ms, limit, what).because(of)
	o.spoils = spoils
	return o
}

// because adds to the threshold what it is a share of.
func (o outcome) because(of string) outcome {
	if of != "" {
		o.threshold += ", " + of
	}
	return o
}

// askLag bounds the p99 of our own lateness by a share of the figures that are
// counted from due: 1 ms at least, twelve times what the pacing thread is late
// at its own p99.
func askLag(e Evidence) outcome {
	p99, ok := e.Summary.Latency.Lag.Get("p99")
	if !ok {
		return outcome{why: "no request was sent in the window"}
	}
	o, worst := lagOutcome(e, p99), ""
	for _, w := range e.Workers {
		// One that is late spoils the tail that all share.
		if w.LagP99MS != nil && *w.LagP99MS > p99 {
			if late := lagOutcome(e, *w.LagP99MS); late.failed() {
				o, p99, worst = late, *w.LagP99MS, w.Name
			}
		}
	}
	if worst != "" {
		o.figure = "worker " + worst + ": " + o.figure
		return o
	}
	if busy := e.Client.Machine.MachineShare; e.Client.CPUs > 0 && e.Client.CPUShare < idleShare {
		o.cure = "redline was starved of CPU: other programs or the hypervisor took its cores; run again when the machine is quiet"
		if busy != nil {
			o.cure += fmt.Sprintf(" (%s busy in all)", text.RoughPercent(*busy))
		}
	}
	return o
}

var lagTolerance tolerance = func(string) float64 { return errorShare }

// LagLimit is what the p99 of lag may be, in ms, in a run that goes on: by where
// its objectives stand, or by the median of ttft.
func LagLimit(judged []slo.Verdict, ttft float64, strict bool) float64 {
	share := errorShare
	if strict {
		share = strictShare
	}
	judged = slices.DeleteFunc(about(judged, fromDue), func(v slo.Verdict) bool { return v.Value == nil })
	if len(judged) > 0 && !strict {
		ms, _ := lagTolerance.least(judged)
		return ms
	}
	return scaled(floorMS, share, &metric.Dist{P: map[string]float64{"p50": ttft}})
}

func lagOutcome(e Evidence, p99 float64) outcome {
	if e.Strict {
		return atMost(p99, scaled(floorMS, strictShare, e.Summary.Latency.TTFT), "p99 ")
	}
	if judged := about(e.Judged, fromDue); len(judged) > 0 {
		return lagTolerance.judge(p99, "p99 ", judged)
	}
	first, name := e.Summary.Latency.TTFT, "ttft"
	if first == nil {
		first, name = e.Summary.Latency.E2E, "e2e"
	}
	limit, of := scaled(floorMS, errorShare, first), ""
	if limit > floorMS {
		of = text.RoughPercent(errorShare) + " of the median " + name
	}
	return atMost(p99, limit, "p99 ").because(of)
}

// askUnsent compares what was sent with what was due. Requests that a cap held
// back to the end are the server's doing.
func askUnsent(e Evidence) outcome {
	n := e.Summary.Requests
	switch {
	case n.Due == 0:
		return outcome{why: "no request was due in the window"}
	case e.lost():
		return outcome{why: "a worker was lost, and what it owed was not sent"}
	case e.Load.Mode == "capped" && n.Unsent > 0:
		return outcome{why: fmt.Sprintf("the cap held %d of %d requests back to the end; slot_wait shows the waiting", n.Unsent, n.Due)}
	}
	share := float64(n.Unsent) / float64(n.Due)
	return outcome{
		ok:        share <= unsentShare,
		figure:    fmt.Sprintf("%d of %d unsent", n.Unsent, n.Due),
		threshold: "≤ " + text.RoughPercent(unsentShare),
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
		cause:     true,
		ok:        e.Client.CPUShare < cpuShare,
		figure:    fmt.Sprintf("this process took %s of %s", text.RoughPercent(e.Client.CPUShare), text.Plural(e.Client.CPUs, "core")),
		threshold: "< " + text.RoughPercent(cpuShare),
	}
}

// unwatched is the answer about a run that was killed before it could look at
// itself.
var unwatched = outcome{why: "the run was killed before it wrote down how its client did"}

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
		threshold: "± " + text.RoughPercent(lengthShare),
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

// askEngine bounds the embedded engine's own lateness by a share of the times
// that are judged, or of the token time that it is supposed to show.
func askEngine(e Evidence) outcome {
	switch {
	case !e.Embedded:
		return outcome{skip: true}
	case e.Engine == nil:
		return outcome{why: "the embedded engine gave no account of its times"}
	}
	late := float64(e.Engine.P99) / 1e6
	o := atMost(late, scaled(floorMS, gapShare, e.Summary.Latency.TPOT), "p99 ")
	if judged := about(e.Judged, times); len(judged) > 0 && !e.Strict {
		o = tolerance(ofTimes).judge(late, "p99 ", judged)
	}
	o.figure += ", max " + millis(float64(e.Engine.Max)/1e6)
	return o
}

// ofTimes is the share of a time that an error may have: a window has many
// gaps, so that theirs average out.
func ofTimes(metric string) float64 {
	if metric == "tpot" || slices.Contains(gaps, metric) {
		return gapShare
	}
	return errorShare
}

func atMost(ms, limit float64, what string) outcome {
	return outcome{ok: ms <= limit, figure: what + millis(ms), threshold: "≤ " + millis(limit)}
}

// millis writes a time with two significant digits, or whole milliseconds up to
// three: no check needs more.
func millis(ms float64) string {
	return text.Rough(ms) + " ms"
}
