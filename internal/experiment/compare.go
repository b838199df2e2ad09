package experiment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"redline/internal/compare"
	"redline/internal/config"
	"redline/internal/measure"
	"redline/internal/result"
)

// roundLength is how long each side of a round is measured, where the plan does
// not say.
const roundLength = 30 * time.Second

// Compare measures two servers by turns, under the same requests in the same
// order at the same rate, and judges the difference. A is the plan's own
// target; b is the plan of the other.
func Compare(ctx context.Context, o Options, b *config.Config) (*result.Result, string, error) {
	x, err := begin(ctx, o)
	if err != nil {
		return nil, "", err
	}
	other := o.Options
	other.Config = b
	found, err := measure.Open(ctx, other)
	if err != nil {
		return x.finish(fmt.Errorf("B: %w", err))
	}
	defer found.Close()
	second := *b
	if !b.Embedded() {
		second.Provider.Model = found.Model()
	}
	return x.finish(x.compare(ctx, side{"A", x.Config, x.target}, side{"B", &second, found}))
}

// side is one of the two servers.
type side struct {
	name   string
	config *config.Config
	target *measure.Target
}

// compare runs the rounds, A first in one and B in the next.
func (x *conductor) compare(ctx context.Context, a, b side) error {
	rounds := x.Config.Experiment.Rounds
	if rounds == 0 {
		rounds = compare.DefaultRounds
	}
	var seen []compare.Round
	for n := range rounds {
		round := compare.Round{First: compare.First(n)}
		order := []side{a, b}
		if round.First == b.name {
			order = []side{b, a}
		}
		for _, s := range order {
			res, err := x.run(ctx, x.turn(s, n, sameServer(a, b)))
			if err != nil {
				return err
			}
			s.note(&round, res)
		}
		seen = append(seen, round)
		x.compared(seen, a, b)
	}
	return nil
}

// note puts what came of a side's turn into the round.
func (s side) note(round *compare.Round, res *result.Result) {
	switch {
	case len(res.Points) == 0:
		round.Skip = s.name + ": nothing was measured"
		return
	case res.Verdict.Valid == "no":
		round.Skip = s.name + ": not valid: " + res.Verdict.Reasons[0]
	}
	values := compare.ValuesOf(&res.Points[0])
	if s.name == "A" {
		round.A = values
	} else {
		round.B = values
	}
}

// sameServer reports whether both sides are one address: then each must have
// prompts of its own, or the second would find those of the first in its cache.
func sameServer(a, b side) bool {
	return !a.config.Embedded() && slices.Equal(a.config.Provider.URLs, b.config.Provider.URLs)
}

// turn is one side's stage of a round: the same requests for both.
func (x *conductor) turn(s side, round int, apart bool) Stage {
	c := *s.config
	load := x.Config.Load
	c.Load, c.Workload, c.Generation, c.Objectives = load, x.Config.Workload, x.Config.Generation, x.Config.Objectives
	c.Experiment = config.Experiment{}
	if c.Load.Bounds.Duration == 0 && c.Load.Bounds.TotalRequests == 0 || x.Config.Defaulted("load_profile.duration") {
		c.Load.Bounds.Duration = roundLength
	}
	if c.Load.Bounds.Warmup == nil && round > 0 {
		settle := min(max(2*x.e2e, 3*time.Second), roundLength).Round(time.Second)
		c.Load.Bounds.Warmup = &settle
	}
	c.Seed = x.Config.Seed + uint64(round)
	if c.Workload.Salt == "" {
		c.Workload.Salt = fmt.Sprintf("%d-%d", x.Config.Seed, round)
		if apart {
			c.Workload.Salt += "-" + s.name
		}
	}
	return Stage{Name: fmt.Sprintf("round %d %s", round+1, s.name), Purpose: "round", Config: &c, on: s.target}
}

// compared judges the rounds so far.
func (x *conductor) compared(rounds []compare.Round, a, b side) {
	c := compare.Live(rounds, compare.Options{Tolerance: x.Config.Experiment.Tolerance, Seed: x.Config.Seed,
		A: a.about(), B: b.about()})
	x.res.Comparison = Document(c)
}

func (s side) about() compare.Side {
	out := compare.Side{Name: s.name, Model: s.target.Model()}
	if len(s.config.Provider.URLs) > 0 {
		out.URL = s.config.Provider.URLs[0]
	}
	return out
}

// Document is a comparison as result.json has it.
func Document(c *compare.Comparison) *result.Comparison {
	out := &result.Comparison{Way: c.Way, A: result.Side(c.A), B: result.Side(c.B), Rounds: c.Rounds, Test: c.Test,
		Alpha: c.Alpha, Standing: result.Standing(c.Standing), Verdict: c.Verdict, Warnings: c.Warnings, Metrics: []result.Change{}}
	for _, m := range c.Metrics {
		out.Metrics = append(out.Metrics, result.Change{Name: m.Name, Load: m.Load, Unit: m.Unit, A: m.A, B: m.B,
			Ratio: m.Ratio, Difference: m.Difference, Interval: m.Interval, Bootstrap: m.Bootstrap, P: m.P, PHolm: m.PHolm,
			WilcoxonP: m.WilcoxonP, Effect: m.Effect, Detectable: m.Detectable,
			Standing: result.Standing(m.Standing), Verdict: m.Verdict})
	}
	return out
}
