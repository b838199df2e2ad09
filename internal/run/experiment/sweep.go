package experiment

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// Sweep offers one load after another, ascending, until the server is saturated
// or the levels are through; with find_limit it searches for the highest rate
// that keeps the objectives.
func Sweep(ctx context.Context, o Options) (*result.Result, string, error) {
	return conduct(ctx, o, "sweep", func(x *conductor) error {
		if o.Config.Experiment.FindLimit {
			return x.findLimit(ctx)
		}
		return x.sweep(ctx)
	})
}

// sweep walks up the levels.
func (x *conductor) sweep(ctx context.Context) error {
	by := "rate"
	if x.Config.Experiment.Concurrencies != nil {
		by = "concurrency"
	}
	stop := ""
	for stage := range x.levels() {
		res, err := x.run(ctx, stage)
		if res != nil {
			x.curve(by, stop)
		}
		if err != nil {
			return err
		}
		if x.leftOut != "" {
			if by == "rate" && x.Config.Experiment.Rates == nil {
				stop = "no higher load could be offered: " + stage.Name + " is left out"
				break
			}
			continue
		}
		if stop = x.saturated(res); stop != "" {
			break
		}
	}
	x.curve(by, stop)
	x.res.Curve.MaxQPS = maxQPS(x.res)
	levels := x.counted(0)
	// What the server can meet at some load is met.
	x.res.Verdict.SLO = result.FirstStanding(levels, slo.Met, slo.Undecided, slo.Missed)
	if needed := min(2, len(x.res.Points)); len(levels) < needed {
		x.unsupported("%d of %d levels count, and %d are needed", len(levels), len(x.res.Points), needed)
	}
	return nil
}

// levels gives the stages of a sweep, each with the warm-up that the one before
// it left to be done. Where no loads are given the rate doubles.
func (x *conductor) levels() iter.Seq[Stage] {
	e := x.Config.Experiment
	rates := e.Rates
	if rates == nil && e.Concurrencies == nil {
		const doublings = 20
		for n := range doublings {
			rates = append(rates, math.Ldexp(cmp.Or(e.Start, 1), n))
		}
	}
	return func(yield func(Stage) bool) {
		for _, n := range e.Concurrencies {
			if !yield(x.atConcurrency(n)) {
				return
			}
		}
		for _, r := range rates {
			if !yield(x.atRate(r, "level")) {
				return
			}
		}
	}
}

// atRate is a stage of an open loop at a rate.
func (x *conductor) atRate(rate float64, purpose string) Stage {
	return x.level(text.Rate(rate), purpose, func(c *config.Config) { c.Load.Rate, c.Load.Profile = rate, "" })
}

// atConcurrency is a stage of a closed loop.
func (x *conductor) atConcurrency(n int) Stage {
	return x.level(inFlightName(n), "level", func(c *config.Config) {
		c.Load.Rate, c.Load.Profile, c.Load.Process = 0, "", ""
		c.Load.Bounds.MaxConcurrency = n
	})
}

func inFlightName(n int) string { return fmt.Sprintf("%d in flight", n) }

// level is a stage with another load. The server is warm from the one before, so
// that only the change of load has to settle.
func (x *conductor) level(name, purpose string, change func(*config.Config)) Stage {
	const least, most = 3 * time.Second, 30 * time.Second
	return x.stage(name, purpose, func(c *config.Config) {
		b := &c.Load.Bounds
		if b.Warmup == nil && x.e2e > 0 {
			b.Warmup = new(max(min(max(2*x.e2e, least), most), x.sessionTime()).Round(time.Second))
		}
		if b.Duration == 0 && b.TotalRequests == 0 {
			// A trace is as long as it is, but not at a rate of its user's.
			b.Duration = levelLength
		}
		change(c)
	})
}

// sessionTime is how long conversations need until they are warm, 0 where there
// are none.
func (x *conductor) sessionTime() time.Duration {
	if x.target == nil {
		return 0
	}
	_, settled := x.target.Sessions(x.Config, x.e2e)
	return min(settled, longestSession)
}

// longestSession is what is waited for at most until conversations are warm.
const longestSession = 3 * time.Minute

// levelLength is how long a level is measured where the plan leaves it open.
const levelLength = time.Minute

// curve lists the levels so far by ascending load.
func (x *conductor) curve(by, stopped string) {
	points := make([]int, len(x.res.Points)-x.firstLevel)
	for i := range points {
		points[i] = x.firstLevel + i
	}
	slices.SortStableFunc(points, func(a, b int) int {
		return cmp.Compare(x.res.Points[a].Load.Amount(), x.res.Points[b].Load.Amount())
	})
	x.res.Curve = &result.Curve{By: by, Points: points, Stopped: stopped}
}

// keptUp is the share of the offered rate below which a server does not keep
// up with it.
const keptUp = 0.9

// saturated says why no higher load is worth offering, "" where it is.
func (x *conductor) saturated(res *result.Result) string {
	if len(res.Points) == 0 || res.Points[0].Load.Rate == nil {
		return ""
	}
	p := &res.Points[0]
	overloaded := p.Window.Overload != nil && *p.Window.Overload
	if overloaded || p.Requests.ManyUnfinished() || behind(p, shortestE2E(x.res.Points[x.firstLevel:])) {
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

// shortestE2E is the time that a request took at the lightest of some loads, in
// seconds.
func shortestE2E(points []result.Point) float64 {
	shortest := math.Inf(1)
	for _, p := range points {
		if d := p.Latency.E2E; d != nil && d.N > 0 {
			shortest = min(shortest, d.Mean/1000)
		}
	}
	if math.IsInf(shortest, 1) {
		return 0 // not one was answered: there is nothing to wait for
	}
	return shortest
}
