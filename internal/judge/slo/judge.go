package slo

import (
	"fmt"
	"slices"
)

// PerRequest reports whether a single request can meet or miss the objective.
// A mean is an objective on all of them together, and so are throughput,
// shares, memory and money; a job is several.
func (o Objective) PerRequest() bool {
	f, ok := lookup(o.Metric)
	return ok && f.Spread() && !f.Jobs() && o.Stat != "mean"
}

// AboutJobs reports whether the objective is about jobs, each of which is several
// requests.
func (o Objective) AboutJobs() bool {
	f, ok := lookup(o.Metric)
	return ok && f.Jobs()
}

// AboutFire reports whether the objective is about what the server gives back, or how
// it recovers.
func (o Objective) AboutFire() bool {
	f, ok := lookup(o.Metric)
	return ok && f.Fire()
}

// Judge compares one request's own figure with the limit. A request that is
// not ok is above any bound. An ok request for which the figure is undefined,
// which is NaN or negative, and an objective that no single request can keep,
// are not judged.
func (o Objective) Judge(answered bool, value float64) (ok, judged bool) {
	switch {
	case !o.PerRequest():
		return false, false
	case !answered:
		return false, true
	}
	return value >= 0 && value <= o.Limit, value >= 0
}

// JudgeExact is where a figure stands that is known without a doubt. One that lies on
// the limit meets the objective, as a request does.
func (o Objective) JudgeExact(value, limit float64) Standing {
	if o.Above && value < limit || !o.Above && value > limit {
		return Missed
	}
	return Met
}

// JudgeInterval is where a figure stands that lies between two ends: undecided where
// the limit lies between them, too.
func (o Objective) JudgeInterval(low, high, limit float64) Standing {
	standing := o.JudgeExact(low, limit)
	if o.JudgeExact(high, limit) != standing {
		return Undecided
	}
	return standing
}

// Overall is where all objectives together stand: Missed if one is, else
// Undecided if one is, else Met. Without objectives it is None. An objective
// that was not judged never counts as met: it leaves the whole Undecided, unless
// it is skipped beside others.
func Overall(verdicts []Verdict) Standing {
	seen, skipped := map[Standing]bool{}, 0
	for _, v := range verdicts {
		if v.Skipped {
			skipped++
			continue
		}
		seen[v.Standing] = true
	}
	switch {
	case len(verdicts) == 0:
		return None
	case seen[Missed]:
		return Missed
	case seen[Undecided], seen[NotJudged], skipped == len(verdicts):
		return Undecided
	}
	return Met
}

// Verdict is the one on the objective among some.
func (o Objective) Verdict(among []Verdict) (v Verdict, known bool) {
	for _, v := range among {
		if v.Objective == o.Text && v.Scope == o.Scope {
			return v, true
		}
	}
	return Verdict{}, false
}

// TooFew reports whether all that keeps objectives open is that there were too few
// requests to call them met.
func TooFew(verdicts []Verdict) bool {
	open := slices.DeleteFunc(slices.Clone(verdicts), func(v Verdict) bool { return v.Standing != Undecided })
	return len(open) > 0 && !slices.ContainsFunc(open, func(v Verdict) bool { return v.Needed == 0 })
}

// NeededWith says which requests make Needed more than the least: those beyond the
// limit so far; "" where there are none.
func (v Verdict) NeededWith() string {
	if v.Violations == 0 {
		return ""
	}
	return fmt.Sprintf(" with %d over", v.Violations)
}
