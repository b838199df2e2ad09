package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"redline/internal/answer/capacity"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
)

// planCapacity answers the plan's question for instances with what a sweep or the
// protocol measured. Where that does not tell, it is said, and the rest stands.
func (x *conductor) planCapacity() {
	asked := x.Config.Capacity
	if !asked.Given() || x.res.Interrupted != "" || x.res.Curve == nil {
		return
	}
	measured := capacity.Configuration{Name: filepath.ToSlash(x.dir.Path), Result: x.res, Prices: x.Config.Cost}
	plan, err := capacity.Plan(context.Background(), asked.Demand(), []capacity.Configuration{measured}, asked.Options())
	if err != nil {
		x.res.Warnings = append(x.res.Warnings, result.Warning{Figure: "capacity", Text: err.Error()})
		return
	}
	x.res.Capacity = plan
}

// CapacityOptions take the place of what the runs themselves say.
type CapacityOptions struct {
	// Limit is what one instance carries; 0 for what the runs found.
	Limit float64
	// Objectives are judged by the records of the runs.
	Objectives []slo.Objective
	// Prices go before those of the runs' plans, key by key.
	Prices price.Spec
}

// Configurations reads finished runs as configurations to plan with. Without
// any, the limit alone makes one.
func Configurations(paths []string, o CapacityOptions) ([]capacity.Configuration, error) {
	if len(paths) == 0 {
		return []capacity.Configuration{{Limit: o.Limit, Prices: o.Prices}}, nil
	}
	if o.Limit != 0 && len(paths) > 1 {
		return nil, fmt.Errorf("a limit is that of one configuration: give one run, or leave --limit out")
	}
	var list []capacity.Configuration
	for _, path := range paths {
		c, err := configuration(path, o)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func configuration(path string, o CapacityOptions) (capacity.Configuration, error) {
	c := capacity.Configuration{Name: filepath.ToSlash(path), Limit: o.Limit, Prices: o.Prices}
	res, err := measure.Rebuild(path)
	if err != nil {
		return c, err
	}
	c.Result = res
	dir, err := store.Open(path)
	if err != nil {
		return c, err
	}
	plan, err := config.Reopen(dir.PlanPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		plan = &config.Config{}
	case err != nil:
		return c, err
	}
	c.Prices = o.Prices.OrElse(plan.Cost)
	if len(o.Objectives) > 0 {
		return c, rejudge(res, plan, path, o.Objectives)
	}
	return c, nil
}

// rejudge judges every point of a result by other objectives by the records
// of its stage. A limit that was found under the old ones says nothing then.
func rejudge(res *result.Result, plan *config.Config, path string, objectives []slo.Objective) error {
	judge := func(point int, dir string) error {
		verdicts, err := measure.Judge(plan, dir, objectives)
		if err == nil {
			res.Points[point].Objectives = verdicts
		}
		return err
	}
	res.Limit = nil
	if len(res.Stages) == 0 && len(res.Points) == 1 {
		return judge(0, path)
	}
	for i := range res.Points {
		res.Points[i].Objectives = nil
	}
	for _, s := range res.Stages {
		if s.Point == nil || s.Dir == "" || *s.Point < 0 || *s.Point >= len(res.Points) {
			continue
		}
		if err := judge(*s.Point, filepath.Join(path, filepath.FromSlash(s.Dir))); err != nil {
			return err
		}
	}
	return nil
}
