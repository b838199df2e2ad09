package capacity

import (
	"fmt"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// basis is what one instance carries and how far that can be relied on.
type basis struct {
	result.CapacityLimit
	notes      []string
	impossible string
}

// limit is what one instance carries: as it was given, as a search found it, or
// as the levels that met the objectives show.
func (c Configuration) limit(m curve) (basis, error) {
	if c.Limit != 0 {
		if !(c.Limit > 0 && c.Limit <= maxRate) {
			return basis{}, usageErrorf("limit: expected requests per second above 0 and at most %s, got %g", text.Exact(maxRate), c.Limit)
		}
		return basis{CapacityLimit: result.CapacityLimit{Rate: c.Limit, Basis: result.LimitGiven}}, nil
	}
	if c.Result == nil {
		return basis{}, fmt.Errorf("nothing was measured: give the directory of a run, or a limit")
	}
	var b basis
	switch l := c.Result.Limit; {
	case l != nil && m.agents && l.Unit != result.Agents:
		return basis{}, fmt.Errorf("%s: its limit is in %s, not in agents: redline sweep --find-limit --agents 1..500 finds that", c.Name, l.RateUnit())
	case l != nil && !m.agents && l.Unit == result.Agents:
		return basis{}, fmt.Errorf("%s: its limit is a number of agents: ask for some (--agents 5000)", c.Name)
	case l != nil && l.Standing == result.LimitBelow:
		b = c.below(m)
	case l != nil && l.Rate > 0:
		b = c.limitFromSearch(m)
	default:
		var err error
		if b, err = c.limitFromLevels(m); err != nil {
			return basis{}, err
		}
	}
	if c.Result.Verdict.Valid == result.Invalid {
		b.notes = append(b.notes, "the run is invalid: its figures may be the load generator's own")
	}
	if c.Result.Verdict.IsUnmade() {
		b.notes = append(b.notes, "another benchmark made the run: how well its client kept time is not known, and no check of it was made")
	}
	return b, nil
}

// limitFromSearch is the limit of a search, as far as it got.
func (c Configuration) limitFromSearch(m curve) basis {
	l := c.Result.Limit
	b := basis{CapacityLimit: result.CapacityLimit{Rate: l.Rate * m.turns, Basis: result.LimitMeasured}}
	for text := range l.ByObjective {
		b.Objectives = append(b.Objectives, text)
	}
	slices.Sort(b.Objectives)
	if l.Interval[0] > 0 && l.Interval[0] < l.Rate {
		b.Interval = &[2]float64{l.Interval[0] * m.turns, l.Interval[1] * m.turns}
	}
	switch {
	case l.Standing == result.LimitAtLeast:
		b.Basis = result.LimitBound
		b.notes = append(b.notes, "the limit may be higher: nothing was missed up to the highest load offered")
	case l.UnmissedTo != nil:
		b.notes = append(b.notes, "the limit is estimated from how replies slow down: no load that was offered missed an objective")
	case l.Standing == result.LimitWide:
		b.notes = append(b.notes, "the limit is known only roughly: its interval is wide")
	case !l.Confirmed:
		b.notes = append(b.notes, "no sustained run held a load near the limit")
	}
	if l.Edge == result.EdgeCliff {
		b.notes = append(b.notes, "the limit is a cliff: latency is far beyond the objective within 5% of load, so keep the headroom")
	}
	return b
}

// below is a search that found no rate at which the objectives are kept.
func (c Configuration) below(m curve) basis {
	l := c.Result.Limit
	broken := l.Unmet
	if len(broken) == 0 && l.Binding != "" {
		broken = []string{l.Binding}
	}
	text := "no number of instances meets " + nameAll(broken)
	if floor := m.floor(broken); floor != "" {
		text += ": " + floor
	}
	return basis{CapacityLimit: result.CapacityLimit{Basis: result.LimitMeasured, Objectives: broken}, impossible: text}
}

func nameAll(objectives []string) string {
	if len(objectives) == 0 {
		return "the objectives"
	}
	return strings.Join(objectives, " and ")
}

// limitFromLevels is the highest rate that met every objective, among levels that were
// offered without a search.
func (c Configuration) limitFromLevels(m curve) (basis, error) {
	const cure = "measure one: redline sweep --slo 'ttft:p99<500ms' --find-limit; or give what an instance carries with --limit"
	judged := m.with(func(l level) bool { return len(l.point.Objectives) > 0 })
	if len(judged.levels) == 0 {
		if len(m.levels) == 0 {
			return basis{}, fmt.Errorf("%s: no load was measured; %s", c.Name, cure)
		}
		return basis{}, fmt.Errorf("%s: has no limit and no objectives; judge it by some (--slo 'ttft:p99<500ms'), or %s", c.Name, cure)
	}
	for _, way := range []struct {
		standing slo.Standing
		basis    string
		note     string
	}{
		{slo.Met, result.LimitKept, "the limit was not searched for: this is the highest load measured that met the objectives"},
		{slo.Undecided, result.LimitUndecided, "no load met the objectives for certain: this is the highest load measured that did not miss them"},
	} {
		stands := func(l level) bool { return l.standing() == way.standing }
		some := judged.untilMissed().with(stands)
		if len(some.levels) == 0 {
			some = judged.with(stands)
		}
		if len(some.levels) == 0 {
			continue
		}
		best := some.levels[len(some.levels)-1]
		b := basis{CapacityLimit: result.CapacityLimit{Rate: best.rate, Basis: way.basis,
			Objectives: text.Each(best.point.Objectives, func(v slo.Verdict) string { return v.Objective })}}
		if best.rate == m.levels[len(m.levels)-1].rate {
			way.note += "; no higher one was tried"
		}
		b.notes = append(b.notes, way.note)
		if judged.missedBelow(best.rate) {
			b.notes = append(b.notes, "a lower load missed the objectives: that this one did not may be luck")
		}
		if best.closed && !m.agents {
			b.notes = append(b.notes, "it was measured in a closed loop, whose clients wait: real arrivals come in bursts and see worse")
		}
		return b, nil
	}
	if !slices.ContainsFunc(judged.levels, level.hasMissed) {
		open := missedObjectives(judged.levels[0])
		return basis{CapacityLimit: result.CapacityLimit{Basis: result.LimitUndecided, Objectives: open},
			impossible: "no load that was measured shows whether " + nameAll(open) + " is met: run longer or on a quieter machine, or give --limit"}, nil
	}
	return judged.impossibleLimit(), nil
}

// impossibleLimit is a curve of which no level keeps the objectives: the lowest load is
// the best it can do, but for a price, which falls as the load grows.
func (m curve) impossibleLimit() basis {
	broken, next := missedObjectives(m.levels[0]), "less was not tried: redline sweep --find-limit does"
	if len(broken) == 1 && strings.HasPrefix(broken[0], "cost:") {
		m.levels, next = m.levels[len(m.levels)-1:], "a token is cheaper at a higher load: redline sweep --rates"
	}
	return basis{CapacityLimit: result.CapacityLimit{Basis: result.LimitKept, Objectives: broken},
		impossible: "no load that was measured meets " + nameAll(broken) + ": " + m.floor(broken) + "; " + next}
}

// untilMissed is the levels below the lowest that missed its objectives: what
// a higher one kept was luck, or the lower one's bad luck, and only the former
// would cost.
func (m curve) untilMissed() curve {
	return m.with(func(l level) bool { return !l.hasMissed() && !m.missedBelow(l.rate) })
}

func (m curve) missedBelow(rate float64) bool {
	return slices.ContainsFunc(m.levels, func(l level) bool { return l.rate < rate && l.hasMissed() })
}

func missedObjectives(l level) []string {
	var list []string
	for _, v := range l.point.Objectives {
		if v.Standing == slo.Missed || v.Standing == slo.Undecided && beyond(v) {
			list = append(list, v.Objective)
		}
	}
	return list
}

// floor says how the lowest load measured did on objectives that are kept at no
// load.
func (m curve) floor(objectives []string) string {
	if len(m.levels) == 0 {
		return ""
	}
	lowest := m.levels[0]
	var figures []string
	for _, v := range lowest.point.Objectives {
		if slices.Contains(objectives, v.Objective) && v.Value != nil {
			name, _, _ := strings.Cut(strings.ReplaceAll(v.Objective, ">", "<"), "<")
			value := text.Digits(*v.Value, 4) + " " + v.Unit
			if v.Unit == "fraction" {
				value = text.Percent(*v.Value)
			}
			figures = append(figures, strings.Replace(name, ":", " ", 1)+" is "+value)
		}
	}
	if len(figures) == 0 {
		return fmt.Sprintf("they are missed even at %s", m.load(lowest.rate))
	}
	return fmt.Sprintf("%s even at %s", strings.Join(figures, ", "), m.load(lowest.rate))
}

// hasMissed reports whether a level missed its objectives for certain, or its queue grew: by
// the rule of a sweep's own table.
func (l level) hasMissed() bool {
	grew := l.point.Window.Overload
	return grew != nil && *grew || slo.Overall(l.point.Objectives) == slo.Missed
}

// standing is where a level's objectives stand together. A level that is not
// decided and whose figures are beyond their limits is not taken for one that
// may keep them.
func (l level) standing() slo.Standing {
	if l.hasMissed() {
		return slo.Missed
	}
	overall := slo.Overall(l.point.Objectives)
	if overall != slo.Undecided {
		return overall
	}
	for _, v := range l.point.Objectives {
		if v.Standing != slo.Met && beyond(v) {
			return slo.Missed
		}
	}
	return slo.Undecided
}

// beyond reports whether a figure is on the wrong side of its limit. One that
// was judged and has no value lies among requests that were not answered.
func beyond(v slo.Verdict) bool {
	if v.Value == nil {
		return v.Standing != slo.NotJudged
	}
	o, err := slo.Parse(v.Objective)
	return err == nil && o.JudgeExact(*v.Value, v.Limit) == slo.Missed
}
