// Package validity asks whether a run can be and was sound: whether the load is
// offered as asked and the figures are the server's and not ours. One table of checks
// is asked at three moments: of this machine and an endpoint by the doctor, of the
// first replies before a load, and of the summary of a window and what the client
// knows of itself after it. It gives figures, thresholds and cures, and the
// questions that could not be asked. It never judges the server: errors, rejections
// and slow tails are findings, not faults of the run. It measures nothing itself.
package validity

import (
	"cmp"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
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
	// GoldenPrompt is how many prompt tokens the golden questions had that were asked
	// beside the load: again and again, so that a cache has them.
	GoldenPrompt int
	// Natural says that some replies end where the model ends them, and
	// KeepsLength that the API has a word by which it does not, which was sent.
	Natural, KeepsLength bool
	// OwnTokenizer says that replies were counted with the model's own.
	OwnTokenizer bool
	// Judged are the objectives that the plan asks for; without any, every
	// figure counts.
	Judged []slo.Verdict
	// Dispersion is the variance of the number of arrivals over its mean.
	Dispersion float64
	// Plain says that the window outlasts the arrivals: it lasts until the last
	// request has ended.
	Plain bool
	// Workers are the processes that sent the load, where it was not this one.
	Workers []result.Worker
	// Events says that something was made to happen to the server on purpose.
	Events bool
	// Partial says that requests that were in flight left no record.
	Partial bool
	// Strict also asks whether the client's machine was quiet, and no objective
	// excuses a check.
	Strict bool
}

// Traffic is how many requests were counted between the same two moments.
type Traffic struct {
	Ours, Theirs float64
}

// Lateness is how far behind its own schedule an embedded engine put tokens
// out, in ns.
type Lateness struct {
	P99, Max int64
}

// Judgement is what came of all questions. The run is valid where all checks
// are ok; Notes are about checks that are passed.
type Judgement struct {
	Checks    []result.Check
	Unchecked []result.SkippedCheck
	Notes     []result.Warning
}

// Judge asks every question. What the client's machine did to the figures is in
// their ends, so that only Strict asks for more.
func Judge(e Evidence) Judgement {
	j := Judgement{Checks: []result.Check{}, Unchecked: []result.SkippedCheck{}}
	for _, c := range checks {
		if c.run == nil || c.strict && !e.Strict {
			continue
		}
		o := c.each(e)
		if o.touches != nil {
			c.spoils = o.touches
		}
		if o.mark == Bad && !e.Strict && c.spoils != nil && len(c.spoiledFigures(e.Judged)) == 0 {
			o.mark, o.note = Warn, "but no objective is about what that spoils"
			o.threshold += ", where one is about " + strings.Join(c.spoils, ", ")
		}
		j.add(c, o, e.Judged)
	}
	return j
}

// spoiledFigures names what a failure can have spoiled.
func (c check) spoiledFigures(judged []slo.Verdict) []string {
	if c.spoils == nil || len(judged) == 0 {
		return c.spoils
	}
	return text.Each(about(judged, c.spoils), func(v slo.Verdict) string { return v.Objective })
}

func (j *Judgement) add(c check, o outcome, judged []slo.Verdict) {
	answer := result.Check{Name: c.name, OK: o.mark != Bad, Figure: o.figure, Threshold: o.threshold}
	switch o.mark {
	case "":
		return
	case Unread:
		j.Unchecked = append(j.Unchecked, result.SkippedCheck{Name: c.name, Why: o.figure})
		return
	case Warn:
		j.Notes = append(j.Notes, result.Warning{Figure: "client", Text: c.name + ": " + o.figure + ", " + o.note})
	case Bad:
		answer.Cure, answer.Setup, answer.Spoils = cmp.Or(o.cure, c.cure), c.setup, c.spoiledFigures(judged)
	}
	j.Checks = append(j.Checks, answer)
}
