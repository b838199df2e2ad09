package gather

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/run/measure"
	"redline/internal/text"
)

// NoCurve says why runs are not levels of one curve.
type NoCurve string

func (n NoCurve) Error() string { return string(n) }

// Levels joins single runs at different loads into one result with a curve, as a
// sweep leaves it: what another benchmark measured level by level, say. It is
// invalid where a run is, and was cut short where one was. Runs whose load is not
// known, or is measured by another axis than that of most, are left out and named.
func Levels(paths []string) (*result.Result, error) {
	runs, by, err := readLevels(paths)
	if err != nil {
		return nil, err
	}
	var joined *result.Result
	var first string // the path of its first run
	var left []result.Warning
	leave := func(path, why string) {
		left = append(left, result.Warning{Text: path + " is left out of the curve: " + why})
	}
	for i, res := range runs {
		axis := res.Points[0].Load.Axis()
		switch {
		case axis == "":
			leave(paths[i], "neither its rate nor its concurrency is known")
			continue
		case axis != by:
			leave(paths[i], fmt.Sprintf("its load is given by %s, that of the others by %s", axis, by))
			continue
		case joined == nil:
			copied := *res
			joined, first = &copied, paths[i]
			joined.Path, joined.Diagnosis, joined.Points, joined.Curve = "", nil, nil, &result.Curve{By: by}
			joined.Verdict = result.Verdict{Valid: result.Valid, Checks: []result.Check{}, Unchecked: res.Verdict.Unchecked}
		case res.Model.Name != joined.Model.Name:
			return nil, NoCurve(fmt.Sprintf("%s and %s are not levels of one curve: they measured %s and %s; --pareto draws them side by side", first, paths[i], nameOf(joined), nameOf(res)))
		}
		joined.Interrupted = cmp.Or(joined.Interrupted, res.Interrupted)
		if res.Note != joined.Note {
			joined.Note = ""
		}
		if res.Started.Before(joined.Started) {
			joined.Started = res.Started
		}
		for _, w := range res.Warnings {
			if !slices.Contains(joined.Warnings, w) {
				joined.Warnings = append(joined.Warnings, w)
			}
		}
		point := res.Points[0]
		point.Name = filepath.Base(filepath.Clean(paths[i]))
		if res.Verdict.Valid == result.Invalid {
			point.Invalid = cmp.Or(point.Invalid, strings.Join(res.Verdict.Reasons, "; "))
		}
		joined.Verdict.Adopt(point.Name, &res.Verdict)
		joined.Curve.Points = append(joined.Curve.Points, len(joined.Points))
		joined.Points = append(joined.Points, point)
	}
	if joined == nil || len(joined.Points) < 2 {
		return nil, NoCurve("no curve: " + strings.Join(text.Each(left, func(w result.Warning) string { return w.Text }), "; "))
	}
	joined.Warnings = append(joined.Warnings, left...)
	joined.Verdict.Reasons = append([]string{}, text.Each(joined.Verdict.FailedChecks(), result.Check.Reason)...)
	joined.Verdict.SLO = result.FirstStanding(joined.Points, slo.Met, slo.Undecided, slo.Missed)
	slices.SortStableFunc(joined.Curve.Points, func(a, b int) int {
		return cmp.Compare(joined.Points[a].Load.Amount(), joined.Points[b].Load.Amount())
	})
	return joined, nil
}

// readLevels reads single runs, and says by what most of them give their load.
func readLevels(paths []string) (runs []*result.Result, by string, err error) {
	axes := map[string]int{}
	for _, path := range paths {
		res, err := measure.Rebuild(path)
		if err != nil {
			return nil, "", err
		}
		if res.Kind() != result.OfRun || len(res.Points) != 1 {
			return nil, "", NoCurve(path + " is not a single run: report takes one directory, or single runs at different loads; for sweeps, --pareto draws the frontier and redline compare says which is worse")
		}
		runs = append(runs, res)
		if axis := res.Points[0].Load.Axis(); axis != "" {
			axes[axis]++
		}
	}
	return runs, slices.MaxFunc(append(slices.Sorted(maps.Keys(axes)), ""), func(a, b string) int { return cmp.Compare(axes[a], axes[b]) }), nil
}

func nameOf(r *result.Result) string { return cmp.Or(r.Model.Name, "a model without a name") }
