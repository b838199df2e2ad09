package account

import (
	"fmt"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/evidence"
	"redline/internal/judge/slo"
)

// Options says what to summarise. Only Start and End are needed.
type Options struct {
	// Start and End bound the window [Start, End), in ns from the origin.
	Start, End int64
	// AskedRate is the plan's arrival rate per second, its mean over the window
	// where it changes; 0 means a closed loop, or, where the load Varies, times
	// that a recording gives.
	AskedRate float64
	// Varies says that the rate changes over the window, by plan or as it was
	// recorded, so that a level of requests in flight that moves is no sign of
	// the server.
	Varies bool
	// Steps are the parts of a load that changes by plan, StepOf the one in which a
	// time falls; none where figures by step say nothing.
	Steps  []Step
	StepOf func(due int64) int
	// Plain says that the window lasts until its last request has ended, so that
	// nothing comes due in the rest of it.
	Plain bool
	// Percentiles are shown beside the standard ones, in percent: 99.99.
	Percentiles []float64
	// Rough leaves out the intervals of percentiles, which take most of the time.
	Rough      bool
	Objectives []slo.Objective
	// Seed makes the resampling of intervals repeatable.
	Seed uint64
	// Confidence is one minus the chance of a wrong verdict that each of met and
	// missed may have; 0 means 0.95.
	Confidence float64
	// MaxWindow is the longest window of a run that is judged several times and ends
	// when it is decided, in ns, which each judgement pays for; 0 for a run that is
	// judged once.
	MaxWindow int64
	// Machine gives the machine that sent a request; nil where nothing is known
	// of it.
	Machine func(*record.Record) Machine
	// InFlight is the level of all requests in flight, where the records are only
	// a sample of them; nil where they are all.
	InFlight *Level
	// Observe is shown every record once; nil where nobody else wants to see
	// them.
	Observe func(*record.Record)
	// Inputs is how many texts one request asked about, where its answer is no
	// text itself: those to embed, or to rank. Nil where every answer is one.
	Inputs func(*record.Record) int
	// KVMB is the key-value cache of one request with that many tokens, in
	// MB; nil where the model's shape is not known.
	KVMB func(tokens int) float64
	// Opaque says that the server was asked for metrics and shows none: where the
	// model's shape is not known either, an objective on the cache is skipped.
	Opaque bool
}

// Step is a part of a load, and how long it lasts within the window.
type Step struct {
	Name    string
	Seconds float64
}

// standard are the percentiles that every distribution shows.
var standard = []float64{50, 75, 90, 95, 99, 99.9}

// percentiles are all that are shown, ascending.
func (o Options) percentiles() []float64 {
	all := slices.Concat(standard, o.Percentiles)
	slices.Sort(all)
	return slices.Compact(all)
}

func (o Options) confidence() float64 {
	if o.Confidence > 0 {
		return o.Confidence
	}
	return 0.95
}

// spentShare is the share of the chance of a wrong verdict that this judgement may have.
func (o Options) spentShare() float64 {
	if o.MaxWindow == 0 {
		return 1
	}
	return evidence.SpentShare(o.windowShare())
}

// windowShare is the part of the longest window that this one is.
func (o Options) windowShare() float64 { return float64(o.End-o.Start) / float64(o.MaxWindow) }

// goesOn reports whether the run may go on after this judgement. What is left out of
// a look, because it is unfinished, and a last second count as nothing.
func (o Options) goesOn() bool {
	const nearly = 0.9
	return o.MaxWindow > 0 && o.windowShare() < nearly
}

// alpha is the chance of a wrong verdict that one judgement may have.
func (o Options) alpha() float64 { return (1 - o.confidence()) * o.spentShare() }

func (o Options) check() error {
	if o.End <= o.Start {
		return fmt.Errorf("window: it ends at %d ns and starts at %d ns; it must end after its start", o.End, o.Start)
	}
	for _, p := range o.Percentiles {
		// Below ten the key would be that of another one: 2.5 and 25.
		if !(p >= 10 && p < 100 || p >= 1 && p == math.Trunc(p) && p < 100) {
			return fmt.Errorf("percentiles: %v is not one of 1, 2, … 9 or from 10 up to below 100; write 99.9 for the p999", p)
		}
	}
	return nil
}
