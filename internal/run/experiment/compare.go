package experiment

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/store"
)

// roundLength is how long each side of a round is measured, where the plan does
// not say.
const roundLength = 30 * time.Second

// Compare measures two servers, interleaved, under the same requests in the same
// order at the same rate, and judges the difference. A is the plan's own
// target; b is the plan of the other.
func Compare(ctx context.Context, o Options, b *config.Config) (*result.Result, string, error) {
	settled := *o.Config
	settled.Load.Bounds.Duration = turnLength(o.Config)
	o.Config = &settled
	x, err := find(ctx, o, "compare")
	if err != nil {
		return nil, "", err
	}
	theirs, err := x.open(ctx, "B", b)
	if err != nil {
		x.target.Close()
		return nil, "", fmt.Errorf("the second server: %w", err)
	}
	defer theirs.target.Close()
	x.other = theirs.target
	if err := x.settle(theirs.config); err != nil {
		return nil, "", err
	}
	rounds, judge := x.Config.Experiment.Rounds, compare.Live
	if rounds == 0 {
		rounds = compare.DefaultRounds
		judge = func(seen []compare.Round, o compare.Options) *compare.Comparison {
			return compare.Sequential(seen, compare.DefaultRounds, o)
		}
	}
	standings, rounds, err := x.compare(ctx, side{name: "A", config: x.Config, target: x.target}, theirs, rounds, nil, judge)
	if err == nil {
		x.res.Verdict.SLO = mostly(standings, len(x.Config.Objectives) > 0)
		if n := x.res.Comparison.Rounds; n < neededRounds(rounds) {
			x.invalidate("%d of %d rounds count on both sides, and %d are needed", n, rounds, neededRounds(rounds))
		}
	}
	return x.finish(err)
}

// turnLength is how long each side of a round is measured: it is part of the
// plan that is kept, so that whoever goes on takes the same.
func turnLength(c *config.Config) time.Duration {
	b := c.Load.Bounds
	if b.Duration == 0 && b.TotalRequests == 0 || c.Defaulted("load_profile.duration") {
		return roundLength
	}
	return b.Duration
}

// roundPurpose is that of one side's turn in a round.
const roundPurpose = "round"

func roundName(round int, side string) string { return fmt.Sprintf("round %d %s", round+1, side) }

// judgement is what rounds are judged by.
type judgement func([]compare.Round, compare.Options) *compare.Comparison

// compare runs the rounds and judges them, also by the figures that are asked for, until
// they are over or the judge ends them. It gives where B's objectives stand in those that count,
// and how many were run.
func (x *conductor) compare(ctx context.Context, a, b side, rounds int, figures []string, judge judgement) (standings []slo.Standing, ran int, err error) {
	var seen []compare.Round
	if x.Resume != "" && a.rig == nil { // a server that was launched again has seen nothing
		x.salts = x.saltsBefore()
	}
	// Both sides of a round have the same warm-up, so that their windows hold
	// the same requests: at first a long one, unless servers like them were measured
	// before, then what the slower side needs.
	warmup, slowest := roundLength, time.Duration(0)
	if a.rig != nil && x.slow > 0 {
		slowest = x.slow
		warmup = turnWarmup(slowest)
	}
	apart := haveOwnEngines(a, b)
	for n := range 2 * rounds {
		round, turn := compare.TurnAt(n)
		s := [2]side{a, b}[turn]
		if n > 0 {
			x.rest(ctx, x.Config.Experiment.Cooldown)
		}
		res, err := x.run(ctx, x.turn(s, round, roundName(round, s.name), roundPurpose, warmup, !apart))
		if err != nil {
			return standings, len(seen), err
		}
		if n%2 == 0 {
			x.others = nil
			seen = append(seen, compare.Round{First: s.name})
		}
		x.note(s, &seen[round], res, figures)
		if err := x.noteRequests(s, &seen[round], res); err != nil {
			return standings, len(seen), err
		}
		slowest = max(slowest, x.e2e)
		if s.name == b.name && x.leftOut == "" && len(res.Points) > 0 {
			standings = append(standings, slo.Overall(res.Points[0].Objectives))
		}
		if n%2 == 1 {
			warmup = turnWarmup(slowest)
			x.concludeComparison(seen, a, b, figures, judge)
			if ended := x.res.Comparison.Ended; ended != "" {
				x.say("ended %s", ended)
				break
			}
		}
	}
	return standings, len(seen), nil
}

// turnWarmup is the warm-up of turns of which the slower side answers in so long.
func turnWarmup(slowest time.Duration) time.Duration {
	return min(max(2*slowest, 3*time.Second), roundLength).Round(time.Second)
}

// neededRounds is how many of the planned rounds carry a comparison: half of
// them, and two, of which a spread can be seen.
func neededRounds(planned int) int { return min(planned, max(2, (planned+1)/2)) }

// mostly is the standing of more than half of the rounds; where there is no such,
// it is too close to call, unless nothing was asked.
func mostly(rounds []slo.Standing, asked bool) slo.Standing {
	counts := map[slo.Standing]int{}
	for _, one := range rounds {
		if counts[one]++; 2*counts[one] > len(rounds) {
			return one
		}
	}
	if len(rounds) == 0 || !asked {
		return slo.None
	}
	return slo.Undecided
}

// note puts what came of a side's turn into the round.
func (x *conductor) note(s side, round *compare.Round, res *result.Result, also []string) {
	switch {
	case len(res.Points) == 0:
		round.Skip = s.name + ": nothing was measured"
		return
	case len(x.spoilt) > 0:
		if round.Spoilt == nil {
			round.Spoilt = map[string]string{}
		}
		for _, metric := range x.spoilt {
			round.Spoilt[metric] = s.name + ": not valid: " + x.leftOut
		}
	case x.leftOut != "":
		round.Skip = s.name + ": not valid: " + x.leftOut
	}
	p, figures := &res.Points[0], slices.Concat(also, compare.Means, []string{unfinishedRate})
	values, ends := compare.ValuesOf(p, figures...), compare.EndsOf(p, figures...)
	if s.name == "A" {
		round.AddsA = compare.AddsOf(p)
		round.A, round.EndsA, round.QualityA, round.CurvesA, round.FlagsA = values, ends, p.Quality, p.Distributions, res.Engine.Flags
	} else {
		round.AddsB = compare.AddsOf(p)
		round.B, round.EndsB, round.QualityB, round.CurvesB, round.FlagsB = values, ends, p.Quality, p.Distributions, res.Engine.Flags
	}
}

// noteRequests puts the agents' jobs of a side's turn into the round, and pairs its requests
// with those of the other side.
func (x *conductor) noteRequests(s side, round *compare.Round, res *result.Result) error {
	if len(res.Points) == 0 {
		return nil
	}
	dir, err := store.Open(x.lastDir())
	if err != nil {
		return err
	}
	own, err := compare.ReadRequests(dir.Records())
	if err != nil {
		return err
	}
	jobs := &round.JobsA
	if s.name == "A" {
		round.Pairs = compare.Pair(own, x.others)
	} else {
		jobs = &round.JobsB
		round.Pairs = compare.Pair(x.others, own)
	}
	x.others = own
	if res.Points[0].Jobs != nil {
		*jobs, err = compare.JobsOf(dir.Records())
	}
	return err
}

// haveOwnEngines reports whether redline itself started an engine for each side. Of two
// addresses it is unknown: a gateway leads to the server behind it, and servers may share
// a cache.
func haveOwnEngines(a, b side) bool {
	return a.config.Embedded() || b.config.Embedded() || a.rig != nil
}

// sameServer reports whether both sides have an address in common.
func sameServer(a, b side) bool {
	return !haveOwnEngines(a, b) && slices.ContainsFunc(a.config.Provider.URLs, func(one string) bool {
		return slices.ContainsFunc(b.config.Provider.URLs, func(other string) bool { return address(one) == address(other) })
	})
}

// address is the host and port of a URL, this machine under one name.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// unfinishedRate is judged where any request had no end when its round was over:
// latencies are those of the others.
const unfinishedRate = "unfinished:rate"

func (x *conductor) concludeComparison(rounds []compare.Round, a, b side, figures []string, judge judgement) {
	if slices.ContainsFunc(rounds, func(r compare.Round) bool { return r.A[unfinishedRate]+r.B[unfinishedRate] > 0 }) {
		figures = append(slices.Clone(figures), unfinishedRate)
	}
	c := judge(rounds, compare.Options{Tolerance: x.Config.Experiment.Tolerance, Seed: x.Config.Seed, Figures: figures,
		A: a.about(), B: b.about()})
	x.res.Comparison = &c.Comparison
}
