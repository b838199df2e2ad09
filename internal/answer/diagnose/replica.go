package diagnose

import (
	"fmt"
	"math"
	"slices"

	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// How many broken objectives a replica has that is to blame, and how many times its share
// of the requests they are at least.
const (
	minBroken = 5
	overShare = 1.5
)

// oneReplica is no regime of a server, but a server among others: what the others lack does
// not explain it.
var oneReplica = rule{Regime: "bad-replica",
	Settled:  "the same load without that replica has none of these violations",
	Response: []string{"take it out of the gateway's list, and look at its clocks, its neighbors on the host and its settings"}, confirm: confirmWarm}

// badReplica is the claim that a replica which is slower than the others, or fails more
// often, has most of the requests that broke an objective; nil where none has, or where it
// is the one that gets the most of an uneven load.
func (s *scene) badReplica() *claim {
	f, all := s.point.Fleet, s.point.Goodput
	if f == nil || all == nil {
		return nil
	}
	named := map[string]string{}
	for _, r := range f.Failing {
		named[r.Name] = "fails " + text.RoughPercent(r.Rate) + " of its requests"
	}
	for _, r := range f.Slow {
		named[r.Name] = "is slow"
	}
	total := math.Round(float64(s.point.Requests.Due) * (1 - all.Fraction))
	for i, g := range slices.Concat(s.point.Replicas, s.point.Prefillers) {
		what := named[g.Name]
		if what == "" || g.Goodput == nil || f.Uneven && f.Busiest == g.Name {
			continue
		}
		own := math.Round(float64(g.Requests.Due) * (1 - g.Goodput.Fraction))
		if own < minBroken || own < total/2 || own/total < overShare*float64(g.Requests.Due)/float64(max(1, s.point.Requests.Due)) {
			continue
		}
		share := text.Count(int(own)) + " of " + text.Plural(int(total), "violation") + " are its own"
		if own >= total {
			share = "all " + text.Plural(int(total), "violation") + " are its own"
		}
		c := &claim{title: g.Name + " " + what + ": " + share + s.others(g.Name), confidence: confidence(own >= 0.95*total), rule: &oneReplica}
		field := fmt.Sprintf("replicas[%d]", i)
		if k := i - len(s.point.Replicas); k >= 0 {
			field = fmt.Sprintf("prefillers[%d]", k)
		}
		c.evidence = []evidence{s.see(field+".goodput.fraction", "%s of its requests kept every objective, of all %s", text.RoughPercent(g.Goodput.Fraction), text.RoughPercent(all.Fraction))}
		for _, r := range f.Slow {
			if r.Name == g.Name {
				c.evidence = append(c.evidence, s.see("fleet.slow", "its %s is %s times that of the others", r.Figure, text.Digits(r.Factor, 3)))
			}
		}
		if at := s.queueAtOne(); at != nil {
			c.evidence = append(c.evidence, *at)
			c.first = []string{"see whether it is its queue: " + at.Text}
		}
		return c
	}
	return nil
}

// queueAtOne says that nearly all requests that wait do so at one of several replicas; nil
// where they do not, or few wait.
func (s *scene) queueAtOne() *evidence {
	if len(s.server.Each) < 2 || s.waiting() < someWaiting {
		return nil
	}
	for i, r := range s.server.Each {
		if r.Waiting != nil && r.Waiting.Mean >= 0.8*s.waiting() {
			return new(s.see(fmt.Sprintf("server.each[%d].waiting.mean", i), "%s of %s requests that wait do so at one of %d replicas", text.Rough(r.Waiting.Mean), text.Rough(s.waiting()), len(s.server.Each)))
		}
	}
	return nil
}

// others says what the other replicas have of the first figure that was missed: of all of
// them together it is no more than of the slowest.
func (s *scene) others(without string) string {
	for _, v := range s.point.Objectives {
		o, err := slo.Parse(v.Objective)
		f, known := figure.Find(o.Metric)
		if err != nil || !known || !isMissed(v) || !f.Spread() {
			continue
		}
		highest := 0.0
		for _, g := range s.point.Replicas {
			dist := map[string]*metric.Dist{"ttft": g.Latency.TTFTDue, "tpot": g.Latency.TPOT, "e2e": g.Latency.E2EDue}[o.Metric]
			if g.Name == without || g.Name == metric.Unnamed {
				continue
			}
			value, ok := dist.Statistic(o.Stat)
			if !ok {
				return ""
			}
			highest = max(highest, value)
		}
		if highest > 0 {
			return fmt.Sprintf("; without its requests %s %s is %s at most", o.Metric, o.Stat, text.Time(highest))
		}
	}
	return ""
}
