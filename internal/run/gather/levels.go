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
)

// NoCurve says why runs are no levels of one curve.
type NoCurve string

func (n NoCurve) Error() string { return string(n) }

// Levels joins single runs at different loads into one result with a curve, as a
// sweep leaves it: what another benchmark measured level by level, say.
func Levels(paths []string) (*result.Result, error) {
	var joined *result.Result
	var by string
	var objectives []slo.Verdict
	for _, path := range paths {
		res, err := measure.Rebuild(path)
		if err != nil {
			return nil, err
		}
		level, err := levelOf(res, path)
		if err != nil {
			return nil, err
		}
		switch point := res.Points[0]; {
		case joined == nil:
			joined, by = res, level
			joined.Path, joined.Diagnosis, joined.Curve = "", nil, &result.Curve{}
		case level != by:
			return nil, NoCurve(paths[0] + " and " + path + " are no levels of one curve: one has a rate, the other only users")
		case res.Model.Name != joined.Model.Name:
			return nil, NoCurve(fmt.Sprintf("%s and %s are no levels of one curve: they are of %s and %s; --pareto draws them side by side", paths[0], path, joined.Model.Name, res.Model.Name))
		default:
			joined.Points = append(joined.Points, point)
			if res.Note != joined.Note {
				joined.Note = ""
			}
			if res.Started.Before(joined.Started) {
				joined.Started = res.Started
			}
		}
		last := &joined.Points[len(joined.Points)-1]
		last.Name = filepath.Base(filepath.Clean(path))
		if res.Verdict.Valid == result.Invalid {
			last.Invalid = cmp.Or(last.Invalid, strings.Join(res.Verdict.Reasons, "; "))
		}
		objectives = append(objectives, last.Objectives...)
		joined.Curve.Points = append(joined.Curve.Points, len(joined.Points)-1)
	}
	joined.Curve.By = by
	joined.Verdict.SLO = slo.Overall(objectives)
	slices.SortStableFunc(joined.Curve.Points, func(a, b int) int {
		return cmp.Compare(joined.Points[a].Load.Amount(), joined.Points[b].Load.Amount())
	})
	return joined, nil
}

// levelOf says by what a run is a level of a curve.
func levelOf(r *result.Result, path string) (string, error) {
	switch {
	case r.Kind() != result.OfRun || len(r.Points) != 1:
		return "", NoCurve(path + " is no single run: report wants one directory, or single runs at different loads; of sweeps --pareto draws the frontier, and redline compare says which is worse")
	case r.Points[0].Load.Rate != nil:
		return "rate", nil
	case r.Points[0].Load.Concurrency != nil:
		return "concurrency", nil
	}
	return "", NoCurve(path + " is no level of a curve: neither its rate nor its concurrency is known")
}
