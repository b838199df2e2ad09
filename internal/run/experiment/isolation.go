package experiment

import (
	"context"

	"redline/internal/answer/isolation"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
)

// isolation measures each party alone, and all together.
func (x *conductor) isolation(ctx context.Context) error {
	done := map[string]*result.Point{}
	for {
		stage, more := isolation.Next(x.Config, done)
		if !more {
			break
		}
		res, err := x.run(ctx, x.level(stage.Name, "isolation", stage.Apply))
		if err != nil {
			return err
		}
		done[stage.Name] = nil
		if len(res.Points) > 0 && x.leftOut == "" {
			done[stage.Name] = &res.Points[0]
		}
	}
	if x.res.Isolation = isolation.Conclude(x.Config, done); x.res.Isolation == nil {
		x.invalidate("%s", "the load of all together is not valid: nothing is known of isolation")
		return nil
	}
	x.res.Verdict.SLO = x.res.Isolation.Standing
	return nil
}

func planIsolation(c *config.Config) (Estimate, error) {
	e := Estimate{What: "stage", Exact: true}
	for _, s := range isolation.StagesOf(c) {
		e.add(s.Name, warmupOf(c, likelyWarmup), windowOf(c))
	}
	return e, nil
}
