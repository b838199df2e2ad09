// Package doctor looks at this machine and at an endpoint before a run. It
// takes the address of a server, or none, gathers evidence for a few seconds, and
// gives what the checks of validity say of it. It must not know plans, loads or how
// a report of a run looks.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/judge/validity"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

const schema = "redline/doctor/1"

// Report is everything that was found, and the evidence for it.
type Report struct {
	Schema string `json:"schema"`
	// Ready is false where anything is bad.
	Ready     bool                 `json:"ready"`
	Verdict   string               `json:"verdict"`
	Findings  []validity.Finding   `json:"findings"`
	Machine   *validity.Machine    `json:"machine"`
	Endpoints []*validity.Endpoint `json:"endpoints,omitempty"`
	// Workers are what others found where they are.
	Workers []*Worker `json:"workers,omitempty"`
}

// Options says what to look at.
type Options struct {
	// Target is the endpoint; each of its addresses is looked at. Without one
	// only the machine is.
	Target client.Spec
	// Telemetry says where the server's metrics are.
	Telemetry telemetry.Spec
	// Pace is how long to look.
	Pace Pace
	// Say is told what is being done, in one line each; nil for silence.
	Say func(line string)
}

// Pace is how much time the parts take. A zero field stands for its default,
// and all defaults together stay below half a minute.
type Pace struct {
	// Sleeps of length Sleep are taken on the pacing thread.
	Sleeps int
	Sleep  time.Duration
	// RoundTrips is how many times a byte goes to and fro over loopback.
	RoundTrips int
	// Step is the length of each step of the load that grows.
	Step time.Duration
	// Steps is how many such steps there are at most.
	Steps int
	// Requests is how long short requests are sent, one after another.
	Requests time.Duration
	// Endpoint is the longest time for one endpoint.
	Endpoint time.Duration
}

func (p Pace) orDefault() Pace {
	full := Pace{Sleeps: 200, Sleep: 5 * time.Millisecond, RoundTrips: 5000, Step: 400 * time.Millisecond,
		Steps: 10, Requests: 1500 * time.Millisecond, Endpoint: 16 * time.Second}
	return Pace{
		Sleeps: cmp.Or(p.Sleeps, full.Sleeps), Sleep: cmp.Or(p.Sleep, full.Sleep), RoundTrips: cmp.Or(p.RoundTrips, full.RoundTrips),
		Step: cmp.Or(p.Step, full.Step), Steps: cmp.Or(p.Steps, full.Steps), Requests: cmp.Or(p.Requests, full.Requests),
		Endpoint: cmp.Or(p.Endpoint, full.Endpoint),
	}
}

func (p Pace) about() string {
	const roundTrip = 300 * time.Microsecond
	all := time.Duration(p.Sleeps)*p.Sleep + time.Duration(p.Steps)*p.Step + time.Duration(p.RoundTrips)*roundTrip + p.Requests
	return fmt.Sprintf("%.0f s", math.Ceil(all.Seconds()))
}

// Run looks at the machine, then at every address of the target. Only an
// endpoint that cannot be asked at all, or the end of ctx, is an error: what
// is wrong with either is a finding.
func Run(ctx context.Context, o Options) (*Report, error) {
	pace, say := o.Pace.orDefault(), o.Say
	if say == nil {
		say = func(string) {}
	}
	probes, err := probesOf(o.Target, o.Telemetry)
	if err != nil {
		return nil, err
	}
	say("measuring what this machine can drive, about " + pace.about())
	machine := examineMachine(ctx, os.DirFS("/"), pace)
	var endpoints []*validity.Endpoint
	if len(probes) > 0 && ctx.Err() == nil {
		say(fmt.Sprintf("asking %s, at most %v", strings.Join(o.Target.URLs, ", "), pace.Endpoint))
		endpoints = examineAll(ctx, probes, pace.Endpoint)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return judge(machine, endpoints, time.Now()), nil
}

// probesOf makes a probe for each address, so that what is wrong with the
// spec is said before anything is measured.
func probesOf(spec client.Spec, watched telemetry.Spec) ([]*probe, error) {
	var all []*probe
	for _, address := range spec.URLs {
		one := spec
		one.URLs = []string{address}
		p, err := newProbe(one)
		if err != nil {
			return nil, err
		}
		p.watched = watched
		all = append(all, p)
	}
	return all, nil
}

// examineAll asks all endpoints at once: they are few, and a slow one must not
// use up the time of the others.
func examineAll(ctx context.Context, probes []*probe, limit time.Duration) []*validity.Endpoint {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	watched := clock.New()
	found := make([]*validity.Endpoint, len(probes))
	var all sync.WaitGroup
	for i, p := range probes {
		all.Go(func() { found[i] = p.examine(ctx, watched) })
	}
	all.Wait()
	return found
}

// judge turns evidence into a report. now is what certificates are held
// against.
func judge(m *validity.Machine, endpoints []*validity.Endpoint, now time.Time) *Report {
	r := &Report{Schema: schema, Ready: true, Machine: m, Endpoints: endpoints}
	r.Findings = m.Findings()
	for _, e := range endpoints {
		r.Findings = append(r.Findings, e.Findings(now)...)
	}
	for _, f := range r.Findings {
		r.Ready = r.Ready && f.Mark != validity.Bad
	}
	r.Verdict = verdict(r)
	return r
}

func verdict(r *Report) string {
	var bad []string // each once, whoever found it
	problems, warnings := 0, 0
	for _, f := range r.Findings {
		switch f.Mark {
		case validity.Bad:
			problems++
			if !slices.Contains(bad, f.What) {
				bad = append(bad, f.What)
			}
		case validity.Warn:
			warnings++
		}
	}
	if problems > 0 {
		return fmt.Sprintf("%s: %s", text.Plural(problems, "problem"), strings.Join(bad, ", "))
	}
	line := fmt.Sprintf("ready: drives %s tokens/s and %s requests/s here", tokenWords(r.Machine.Tokens, "about "), text.Short(r.Machine.Requests.Rate))
	if len(r.Workers) > 0 {
		line = "ready: " + together(r.Workers)
	}
	for _, e := range r.Endpoints {
		if e.Fresh != nil {
			line += fmt.Sprintf("; %s answers in %s", e.Model, text.Span(e.Fresh.TTFT))
		}
	}
	if warnings > 0 {
		line += "; " + text.Plural(warnings, "warning")
	}
	return line
}
