package gather

import (
	"cmp"
	"fmt"
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
// invalid where a run is, and was cut short where one was.
func Levels(paths []string) (*result.Result, error) {
	var joined *result.Result
	for _, path := range paths {
		res, err := measure.Rebuild(path)
		if err != nil {
			return nil, err
		}
		by, err := levelOf(res, path)
		if err != nil {
			return nil, err
		}
		switch {
		case joined == nil:
			first := *res
			joined = &first
			joined.Path, joined.Diagnosis, joined.Points, joined.Curve = "", nil, nil, &result.Curve{By: by}
			joined.Verdict = result.Verdict{Valid: result.Valid, Checks: []result.Check{}, Unchecked: res.Verdict.Unchecked}
		case by != joined.Curve.By:
			return nil, NoCurve(paths[0] + " and " + path + " are not levels of one curve: one has a rate, the other only users")
		case res.Model.Name != joined.Model.Name:
			return nil, NoCurve(fmt.Sprintf("%s and %s are not levels of one curve: they measured %s and %s; --pareto draws them side by side", paths[0], path, joined.Model.Name, res.Model.Name))
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
		point.Name = filepath.Base(filepath.Clean(path))
		if res.Verdict.Valid == result.Invalid {
			point.Invalid = cmp.Or(point.Invalid, strings.Join(res.Verdict.Reasons, "; "))
		}
		joined.Verdict.Adopt(point.Name, &res.Verdict)
		joined.Curve.Points = append(joined.Curve.Points, len(joined.Points))
		joined.Points = append(joined.Points, point)
	}
	joined.Verdict.Reasons = append([]string{}, text.Each(joined.Verdict.FailedChecks(), result.Check.Reason)...)
	joined.Verdict.SLO = result.FirstStanding(joined.Points, slo.Met, slo.Undecided, slo.Missed)
	slices.SortStableFunc(joined.Curve.Points, func(a, b int) int {
		return cmp.Compare(joined.Points[a].Load.Amount(), joined.Points[b].Load.Amount())
	})
	return joined, nil
}

// levelOf says by what a run is a level of a curve.
func levelOf(r *result.Result, path string) (string, error) {
	switch {
	case r.Kind() != result.OfRun || len(r.Points) != 1:
		return "", NoCurve(path + " is not a single run: report takes one directory, or single runs at different loads; for sweeps, --pareto draws the frontier and redline compare says which is worse")
	case r.Points[0].Load.Axis() != "":
		return r.Points[0].Load.Axis(), nil
	}
	return "", NoCurve(path + " is not a level of a curve: neither its rate nor its concurrency is known")
}
