// Package sweep is an experiment that offers one load after another, ascending,
// until the server is saturated or the levels are through. It takes the loads and
// what came of those before, and gives the next one or why there is none, and the
// curve over them. It runs nothing, reads no file and no clock.
package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// Level is a load to offer: a rate, or so many requests in flight, or agents.
type Level struct {
	Rate        float64
	Concurrency int
	Agents      bool // the concurrency is that of agents' jobs
}

// Name is how the stage of a level is called.
func (l Level) Name() string {
	if l.Concurrency > 0 {
		return l.Load().CapName()
	}
	return text.Rate(l.Rate)
}

// Load is the level as a result has it.
func (l Level) Load() result.Load {
	if l.Concurrency > 0 {
		return result.Load{Mode: config.Closed, Concurrency: &l.Concurrency, Agents: l.Agents}
	}
	return result.Load{Mode: config.Open, Rate: &l.Rate}
}

// Apply makes a plan offer the level.
func (l Level) Apply(c *config.Config) {
	c.Load.Rate, c.Load.Profile = l.Rate, ""
	if l.Concurrency > 0 {
		c.Load.Process, c.Load.Bounds.MaxConcurrency = "", l.Concurrency
	}
}

// Done is a level that was offered: its point, nil where nothing was measured, and
// whether it does not count.
type Done struct {
	Point   *result.Point
	LeftOut bool
}

// Levels are those that a plan names; none where the rate doubles.
func Levels(c *config.Config) []Level {
	agents := c.Experiment.Concurrencies != nil && c.Workload.HoldsJobs()
	return slices.Concat(text.Each(c.Experiment.Concurrencies, func(n int) Level { return Level{Concurrency: n, Agents: agents} }),
		text.Each(c.Experiment.Rates, func(rate float64) Level { return Level{Rate: rate} }))
}

// Next is the level that follows those that were offered. Where none does, stop
// says why, and is empty where all levels are through.
func Next(c *config.Config, done []Done) (next Level, more bool, stop string) {
	const doublings = 20
	levels := Levels(c)
	given := levels != nil
	ceiling := cmp.Or(c.Experiment.Ceiling, math.Inf(1))
	for n, rate := 0, 0.0; !given && n < doublings && rate < ceiling; n++ {
		rate = min(math.Ldexp(cmp.Or(c.Experiment.Start, 1), n), ceiling)
		levels = append(levels, Level{Rate: rate})
	}
	if n := len(done); n > 0 {
		switch last := done[n-1]; {
		case !last.LeftOut:
			stop = saturationNote(last.Point, done)
		case !given:
			stop = "no higher load could be offered: " + levels[n-1].Name() + " is left out"
		}
	}
	if stop != "" || len(done) >= len(levels) {
		return next, false, stop
	}
	return levels[len(done)], true, ""
}

// By is the axis of the levels.
func By(c *config.Config) string {
	switch {
	case c.Experiment.Concurrencies != nil && c.Workload.HoldsJobs():
		return result.Agents
	case c.Experiment.Concurrencies != nil:
		return "concurrency"
	}
	return "rate"
}

// Conclude is where the objectives stand by the points that count, of so many, and
// what the answer lacks. What the server can meet at some load is met.
func Conclude(counted []result.Point, all int) (standing slo.Standing, missing string) {
	if needed := min(2, all); len(counted) < needed {
		missing = fmt.Sprintf("%d of %d levels count, and %d are needed", len(counted), all, needed)
	}
	return result.FirstStanding(counted, slo.Met, slo.Undecided, slo.Missed), missing
}

// Curve lists the points from one on by ascending load.
func Curve(points []result.Point, first int, by, stopped string) *result.Curve {
	list := make([]int, len(points)-first)
	for i := range list {
		list[i] = first + i
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(points[a].Load.Amount(), points[b].Load.Amount()) })
	return &result.Curve{By: by, Points: list, Stopped: stopped}
}

// keptUp is the share of the offered rate below which a server does not keep
// up with it.
const keptUp = 0.9

// saturationNote says why no higher load is worth offering, "" where it is.
func saturationNote(p *result.Point, done []Done) string {
	if p == nil || p.Load.Rate == nil {
		return ""
	}
	overloaded := p.Window.Overload != nil && *p.Window.Overload
	if overloaded || p.Requests.ManyUnfinished() || behind(p, minE2E(done)) {
		return fmt.Sprintf("saturated at %s: %s/s completed", text.Rate(*p.Load.Rate), text.Digits(p.Rates.Ended, 4))
	}
	return ""
}

// behind reports whether a server that needs e2e seconds for a request alone
// completed fewer than it was offered, by more than chance leaves in flight. A
// window of less than twice that time does not tell. What a warm-up shorter
// than that did not yet bring to its end is not missed in the window.
func behind(p *result.Point, e2e float64) bool {
	seconds, filling := p.Window.Seconds(), e2e
	if p.Window.WarmupS != nil {
		filling = max(0, e2e-*p.Window.WarmupS)
	}
	if seconds < 2*e2e {
		return false
	}
	completed, expected := p.Rates.Ended*seconds, p.Rates.Offered*(seconds-filling)
	return completed < keptUp*expected && expected-completed > 2*math.Sqrt(float64(p.Requests.Due))
}

// minE2E is the time that a request took at the lightest of some levels, in
// seconds: that of a long one, which a window has to see the end of.
func minE2E(levels []Done) float64 {
	shortest := math.Inf(1)
	for _, l := range levels {
		if l.Point == nil {
			continue
		}
		if d := l.Point.Latency.E2E; d != nil && d.N > 0 {
			long, known := d.Statistic("p95")
			if !known {
				long = d.Mean
			}
			shortest = min(shortest, long/1000)
		}
	}
	if math.IsInf(shortest, 1) {
		return 0 // not one was answered: there is nothing to wait for
	}
	return shortest
}
