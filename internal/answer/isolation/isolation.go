// Package isolation asks whether those who share a server keep what they have alone: it
// takes a plan of several classes or tenants and what came of its stages so far, and
// gives the next stage, each party alone and then all together, and who holds its
// objectives beside the others. It runs nothing, reads no file and no clock.
package isolation

import (
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// Together is the name of the stage in which all send.
const Together = "together"

// Stage is one of them: a party alone at its own rate, or all.
type Stage struct {
	Name   string
	change func(*config.Config)
}

// Apply makes the plan of the stage.
func (s Stage) Apply(c *config.Config) { s.change(c) }

// StagesOf are all stages of a plan.
func StagesOf(c *config.Config) (list []Stage) {
	names, tenants := c.Workload.Parties()
	var all []slo.Objective
	for _, name := range names {
		own := objectivesOf(c, name, tenants)
		all = append(all, own...)
		list = append(list, Stage{"alone " + name, func(stage *config.Config) {
			workload, share := stage.Workload.Alone(name)
			stage.Workload, stage.Objectives = workload, own
			stage.Load.Rate *= share
		}})
	}
	return append(list, Stage{Together, func(stage *config.Config) { stage.Objectives = all }})
}

// Next is the stage that follows those that are done.
func Next(c *config.Config, done map[string]*result.Point) (Stage, bool) {
	for _, s := range StagesOf(c) {
		if _, over := done[s.Name]; !over {
			return s, true
		}
	}
	return Stage{}, false
}

// objectivesOf are those of a party: its own, and those of everybody, which are asked
// of each.
func objectivesOf(c *config.Config, name string, tenants bool) (list []slo.Objective) {
	for _, o := range c.Objectives {
		scope, of := o.Scope, &o.Scope.Class
		if tenants {
			of = &o.Scope.Tenant
		}
		if *of != "" && *of != name {
			continue
		}
		if tenants {
			scope.Tenant = name
		} else {
			scope.Class = name
		}
		if one := o.Within(scope); !slices.ContainsFunc(list, func(known slo.Objective) bool { return known.Text == one.Text }) {
			list = append(list, one)
		}
	}
	return list
}

// Conclude says who holds its objectives beside the others. A stage that was left out
// has no point, and nothing is said of whom it is about.
func Conclude(c *config.Config, done map[string]*result.Point) *result.Isolation {
	names, tenants := c.Workload.Parties()
	together := done[Together]
	if together == nil {
		return nil
	}
	found := &result.Isolation{}
	asked, got := 0.0, 0.0
	for _, name := range names {
		p := result.IsolatedParty{Name: name, Priority: c.Workload.PriorityOf(name)}
		_, share := c.Workload.Alone(name)
		objectives := objectivesOf(c, name, tenants)
		if alone := done["alone "+name]; alone != nil {
			p.Alone, p.AskedPerS = standingOf(alone, objectives), alone.Throughput.Output
			p.TTFTAlone = p99(alone.Latency)
		}
		p.Beside = standingOf(together, objectives)
		p.AskedShare = share
		if g := groupOf(together, name, tenants); g != nil {
			p.GotPerS, p.TTFTBeside = g.OutputPS, p99(g.Latency)
			p.Unfinished = g.Requests.Due - g.Requests.OK
			if d := g.Latency.TTFTDue; d != nil {
				p.LongestWaitMS = d.Max
			}
		}
		asked, got = asked+p.AskedPerS, got+p.GotPerS
		p.Standing, p.Verdict = judge(p)
		found.Parties = append(found.Parties, p)
	}
	var kept []float64
	for i := range found.Parties {
		p := &found.Parties[i]
		if asked > 0 && p.AskedPerS > 0 {
			p.AskedShare = text.Round(p.AskedPerS/asked, 6)
			kept = append(kept, p.GotPerS/p.AskedPerS)
		}
		if got > 0 {
			p.GotShare = text.Round(p.GotPerS/got, 6)
		}
	}
	if len(kept) == len(names) {
		found.Jain = new(text.Round(jain(kept), 4))
	}
	found.Standing = slo.First(slo.Met, text.Each(found.Parties, func(p result.IsolatedParty) slo.Standing { return p.Standing }), slo.Missed, slo.Undecided)
	found.Verdict = word(found)
	return found
}

// What is said of a party in the headline, and of one that is not decided in its row.
const (
	notIsolated = "not isolated"
	held        = "held beside the others"
	missesAlone = "misses its objectives alone already"
	tooClose    = "too close to call, run longer"
	notJudged   = "not judged"
)

// judge compares a party's objectives alone and beside the others. Each verdict behind it
// is wrong at most once in twenty.
func judge(p result.IsolatedParty) (slo.Standing, string) {
	switch {
	case p.Alone == slo.Missed:
		return slo.Undecided, missesAlone
	case p.Alone == slo.Met && p.Beside == slo.Met:
		return slo.Met, "holds its objectives beside the others"
	case p.Alone == slo.Met && p.Beside == slo.Missed:
		return slo.Missed, "holds its objectives alone, and misses them beside the others"
	case p.Alone == "" || p.Alone == slo.None || p.Beside == slo.None:
		return slo.Undecided, notJudged
	}
	return slo.Undecided, tooClose
}

// standingOf is how a point stands by some of its objectives.
func standingOf(p *result.Point, objectives []slo.Objective) slo.Standing {
	var verdicts []slo.Verdict
	for _, o := range objectives {
		if v, known := o.Verdict(p.Objectives); known {
			verdicts = append(verdicts, v)
		}
	}
	return slo.Overall(verdicts)
}

func groupOf(p *result.Point, name string, tenants bool) *metric.Group {
	groups := p.Classes
	if tenants {
		groups = p.Tenants
	}
	for i := range groups {
		if groups[i].Name == name {
			return &groups[i]
		}
	}
	return nil
}

func p99(l metric.Latency) *float64 {
	if v, ok := l.JudgedDist("ttft").Statistic("p99"); ok {
		return &v
	}
	return nil
}

// jain is Jain's index of fairness: 1 where all kept the same part of what they ask for,
// 1/n where one has everything.
func jain(values []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum, squares = sum+v, squares+v*v
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(values)) * squares)
}

func word(f *result.Isolation) string {
	by := map[string][]string{}
	for _, p := range f.Parties {
		said := p.Verdict // why it is not decided
		switch p.Standing {
		case slo.Missed:
			said = notIsolated
		case slo.Met:
			said = held
		}
		by[said] = append(by[said], p.Name)
	}
	var parts []string
	for _, said := range []string{notIsolated, held, missesAlone, tooClose, notJudged} {
		if names := by[said]; len(names) > 0 {
			parts = append(parts, strings.Join(names, ", ")+": "+said)
		}
	}
	return strings.Join(parts, " · ")
}
