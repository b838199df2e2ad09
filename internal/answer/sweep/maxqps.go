package sweep

import (
	"slices"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// JudgeTogether calls an objective met at levels that could not decide it alone
// where a higher level met it, and none between them missed it: less load makes no
// request slower, and none fail. Levels that are not valid say nothing.
func JudgeTogether(points []result.Point, ascending []int) {
	type judged struct {
		objective string
		slo.Scope
	}
	metAt := map[judged]string{}
	for _, i := range slices.Backward(ascending) {
		if points[i].Invalid != "" {
			continue
		}
		for k := range points[i].Objectives {
			v := &points[i].Objectives[k]
			one := judged{v.Objective, v.Scope}
			switch higher := metAt[one]; {
			case v.Standing == slo.Met && worsens(v.Objective):
				metAt[one] = points[i].Name
			case v.Standing == slo.Missed:
				delete(metAt, one)
			case v.Standing == slo.Undecided && higher != "":
				v.Standing, v.Needed, v.Note = slo.Met, 0, "met at "+higher+", a higher load"
			}
		}
	}
}

// worsens reports whether load can only make an objective worse.
func worsens(objective string) bool {
	o, err := slo.Parse(objective)
	return err == nil && (o.PerRequest() || o.Metric == "error" || o.Metric == "reject" || o.Metric == "good")
}

// MaxQPS is the highest load below the first that misses, of all objectives and
// of each alone; nil where the levels were judged by none. Levels that are not
// valid say nothing.
func MaxQPS(r *result.Result) *result.MaxQPS {
	if r.Curve == nil {
		return nil
	}
	var points []*result.Point
	by := map[string]result.HighestMet{}
	for _, i := range r.Curve.Points {
		p := &r.Points[i]
		if p.Invalid != "" {
			continue
		}
		points = append(points, p)
		for _, v := range p.Objectives {
			by[v.Objective] = result.HighestMet{}
		}
	}
	if len(by) == 0 {
		return nil
	}
	for name := range by {
		by[name] = highestMet(points, func(p *result.Point) slo.Standing {
			for _, v := range p.Objectives {
				if v.Objective == name {
					return v.Standing
				}
			}
			return slo.None
		})
	}
	return &result.MaxQPS{ByObjective: by, HighestMet: highestMet(points, func(p *result.Point) slo.Standing {
		if p.Window.Overload != nil && *p.Window.Overload {
			return slo.Missed
		}
		return slo.Overall(p.Objectives)
	})}
}

// highestMet walks up to the first level that misses.
func highestMet(ascending []*result.Point, standing func(*result.Point) slo.Standing) (r result.HighestMet) {
	for _, p := range ascending {
		rate := p.Rates.Completed
		if p.Load.Rate != nil {
			rate = *p.Load.Rate
		}
		switch standing(p) {
		case slo.Missed:
			r.MissedAt = &rate
			return r
		case slo.Met:
			r.Rate, r.Concurrency = rate, p.Load.Concurrency
		}
	}
	return r
}
