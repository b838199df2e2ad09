package experiment

import (
	"context"
	"math"

	"redline/internal/answer/sweep"
	"redline/internal/answer/workingset"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// workingSet varies the number of live sessions under one load.
func (x *conductor) workingSet(ctx context.Context) error {
	low, high := x.Config.WorkingSetSpan()
	var done []workingset.Level
	for {
		sessions, more := workingset.Next(low, high, done)
		if !more {
			break
		}
		res, err := x.run(ctx, x.sessions(sessions))
		if err != nil {
			return err
		}
		one := workingset.Level{Sessions: sessions}
		if len(res.Points) > 0 && x.leftOut == "" {
			one.Point, one.Hits = new(len(x.res.Points)-1), hits(&res.Points[0])
		}
		done = append(done, one)
		x.res.WorkingSet = workingset.Conclude(done, x.res.Points)
	}
	var missing string
	if x.res.Verdict.SLO, missing = sweep.Conclude(x.countedPoints(0), len(x.res.Points)); missing != "" {
		x.invalidate("%s", missing)
	}
	return nil
}

// sessions is the level of so many live sessions, whose first round fills the
// cache and is not measured. Each comes back once at least: an engine that keeps the
// oldest would otherwise seem to hold them all.
func (x *conductor) sessions(n int) Stage {
	return x.stage(sessionsName(n), "level", func(c *config.Config) {
		prefix := *c.Workload.Prefix
		prefix.Groups = n
		c.Workload.Prefix, c.Workload.ResetCache = &prefix, true
		if b := &c.Load.Bounds; b.TotalRequests > 0 {
			b.TotalRequests = max(b.TotalRequests, n)
		}
	})
}

func sessionsName(n int) string { return text.Plural(n, "session") }

// hits is the share of prompt tokens that were cached: by the replies where they
// say it of any, else by the server's counters. A server that counts and found
// none says so too.
func hits(p *result.Point) *float64 {
	switch c := p.Cache; {
	case c == nil:
		return new(0.0)
	case c.Usage != nil:
		return c.Usage
	case c.Server != nil:
		return c.Server
	}
	return new(0.0)
}

// planWorkingSet estimates a sweep over working sets: the ends, and as many levels
// between them as halve the interval until it is narrow.
func planWorkingSet(c *config.Config) (Estimate, error) {
	low, high := c.WorkingSetSpan()
	e := Estimate{What: "level"}
	const likelyHalvings = 5
	n := 2 + min(likelyHalvings, int(math.Log2(float64(high)/float64(low))+2))
	for range n {
		e.add("", warmupOf(c, 2*likelyWarmup), min(windowOf(c), 2*likelyWarmup))
	}
	return e, nil
}
