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
	"redline/internal/run/measure"
)

// roundLength is how long each side of a round is measured, where the plan does
// not say.
const roundLength = 30 * time.Second

// Compare measures two servers by turns, under the same requests in the same
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
	other := o.Options
	other.Config = b
	found, err := measure.Open(ctx, other)
	if err != nil {
		x.target.Close()
		return nil, "", fmt.Errorf("the second server: %w", err)
	}
	defer found.Close()
	x.other = found
	second := *b
	if !b.Embedded() {
		second.Provider.Model = found.Model()
	}
	if err := x.settle(&second); err != nil {
		return nil, "", err
	}
	a, theirs := side{name: "A", config: x.Config, target: x.target}, side{name: "B", config: &second, target: found}
	rounds := cmp.Or(x.Config.Experiment.Rounds, compare.DefaultRounds)
	err = x.compare(ctx, a, theirs, rounds)
	if err == nil {
		x.carry(theirs, rounds)
	}
	return x.finish(err)
}

// carry says of the whole what its rounds make of it: where B's objectives
// stand, and whether enough rounds count.
func (x *conductor) carry(b side, rounds int) {
	x.res.Verdict.SLO = x.standing(b)
	if n := x.res.Comparison.Rounds; n < neededRounds(rounds) {
		x.unsupported("%d of %d rounds count on both sides, and %d are needed", n, rounds, neededRounds(rounds))
	}
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

// side is one of the two servers.
type side struct {
	name   string
	config *config.Config
	target *measure.Target
	// rig and values launch the server where it is not there; label says what
	// it is.
	rig    *rig
	values map[string]string
	place  int
	label  string
}

// compare runs the rounds, A first in one and B in the next.
func (x *conductor) compare(ctx context.Context, a, b side, rounds int) error {
	var seen []compare.Round
	// Both sides of a round have the same warm-up, so that their windows hold
	// the same requests: at first a long one, then what the slower side needs.
	warmup, slowest := roundLength, time.Duration(0)
	for n := range rounds {
		round := compare.Round{First: compare.First(n)}
		order := []side{a, b}
		if round.First == b.name {
			order = []side{b, a}
		}
		for _, s := range order {
			res, err := x.run(ctx, x.turn(s, n, warmup, sameServer(a, b)))
			if err != nil {
				return err
			}
			x.note(s, &round, res)
			slowest = max(slowest, x.e2e)
		}
		warmup = min(max(2*slowest, 3*time.Second), roundLength).Round(time.Second)
		seen = append(seen, round)
		x.compared(seen, a, b)
	}
	return nil
}

// neededRounds is how many of the planned rounds carry a comparison: half of
// them, and two, of which a spread can be seen.
func neededRounds(planned int) int { return min(planned, max(2, (planned+1)/2)) }

// standing is where a side's objectives stand in most of its rounds.
func (x *conductor) standing(s side) slo.Standing {
	counts := map[slo.Standing]int{}
	rounds := 0
	for _, stage := range x.res.Stages {
		if stage.Purpose != roundPurpose || stage.LeftOut != "" || stage.Point == nil || !strings.HasSuffix(x.res.Points[*stage.Point].Name, " "+s.name) {
			continue
		}
		counts[slo.Overall(x.res.Points[*stage.Point].Objectives)]++
		rounds++
	}
	for _, one := range []slo.Standing{slo.Missed, slo.Met, slo.None} {
		if 2*counts[one] > rounds {
			return one
		}
	}
	if rounds == 0 || len(x.Config.Objectives) == 0 {
		return slo.None
	}
	return slo.Undecided
}

// note puts what came of a side's turn into the round.
func (x *conductor) note(s side, round *compare.Round, res *result.Result) {
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
	values := compare.ValuesOf(&res.Points[0], x.figures...)
	if s.name == "A" {
		round.A, round.QualityA = values, res.Points[0].Quality
	} else {
		round.B, round.QualityB = values, res.Points[0].Quality
	}
}

// sameServer reports whether both sides have an address in common: then each
// must have prompts of its own, or the second would find those of the first in
// its cache.
func sameServer(a, b side) bool {
	if a.config.Embedded() || b.config.Embedded() || a.rig != nil {
		return false
	}
	return slices.ContainsFunc(a.config.Provider.URLs, func(one string) bool {
		return slices.ContainsFunc(b.config.Provider.URLs, func(other string) bool { return address(one) == address(other) })
	})
}

// address is the host and port of a URL, this machine under one name.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// turn is one side's stage of a round: the same requests for both.
func (x *conductor) turn(s side, round int, warmup time.Duration, apart bool) Stage {
	c := *s.config
	c.Load, c.Workload, c.Generation, c.Objectives = x.Config.Load, x.Config.Workload, x.Config.Generation, x.Config.Objectives
	c.Experiment = config.Experiment{}
	if c.Load.Bounds.Warmup == nil {
		c.Load.Bounds.Warmup = &warmup
	}
	c.Seed = x.Config.Seed + uint64(round)
	if c.Workload.Salt == "" {
		c.Workload.Salt = fmt.Sprintf("%d-%d", x.Config.Seed, round)
		if apart {
			c.Workload.Salt += "-" + s.name
		}
	}
	stage := Stage{Name: fmt.Sprintf("round %d %s", round+1, s.name), Purpose: roundPurpose, Config: &c, on: s.target}
	if s.rig != nil {
		stage.launched = s.rig.hold(s.values, s.place)
	}
	return stage
}

// compared judges the rounds so far.
func (x *conductor) compared(rounds []compare.Round, a, b side) {
	c := compare.Live(rounds, compare.Options{Tolerance: x.Config.Experiment.Tolerance, Seed: x.Config.Seed, Figures: x.figures,
		A: a.about(), B: b.about()})
	x.res.Comparison = &c.Comparison
	if share := x.unfinished(); share["A"]+share["B"] > 0 {
		c.Metrics = append(c.Metrics, result.Change{Name: "unfinished:rate", Unit: "fraction", A: new(share["A"]), B: new(share["B"]),
			Difference: new(share["B"] - share["A"]), Standing: result.Undecided, Verdict: "not judged: latencies are those of the other requests"})
	}
}

// unfinished is the share of each side's requests that had no end when their
// round was over.
func (x *conductor) unfinished() map[string]float64 {
	due, left := map[string]int{}, map[string]int{}
	for _, s := range x.res.Stages {
		if s.Purpose != roundPurpose || s.LeftOut != "" || s.Point == nil {
			continue
		}
		p := &x.res.Points[*s.Point]
		name := p.Name[strings.LastIndex(p.Name, " ")+1:]
		due[name] += p.Requests.Due
		left[name] += p.Requests.Censored + p.Requests.Unsent
	}
	share := map[string]float64{}
	for name, n := range left {
		share[name] = float64(n) / float64(max(due[name], 1))
	}
	return share
}

func (s side) about() compare.Side {
	if s.rig != nil {
		return compare.Side{Name: s.label, Model: s.rig.model}
	}
	return compare.Side{Name: s.name, Model: s.target.Model(), URL: s.target.URL()}
}
