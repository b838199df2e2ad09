package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"redline/internal/compare"
	"redline/internal/config"
	"redline/internal/measure"
	"redline/internal/result"
)

// Repeat runs one load several times, with seeds and prompts of its own each,
// and says how far the runs lie apart.
func Repeat(ctx context.Context, o Options) (*result.Result, string, error) {
	x, err := begin(ctx, o, "run")
	if err != nil {
		return nil, "", err
	}
	return x.finish(x.repeat(ctx))
}

func (x *conductor) repeat(ctx context.Context) error {
	var runs []*result.Result
	for n := range max(1, x.Config.Experiment.Repeat) {
		c := *x.Config
		c.Experiment = config.Experiment{}
		c.Seed += uint64(n)
		res, err := x.run(ctx, Stage{Name: fmt.Sprintf("run %d", n+1), Purpose: "repeat", Config: &c})
		if err != nil {
			return err
		}
		runs = append(runs, res)
		x.varied(compare.Pool(runs))
		x.res.Verdict.SLO = worst(x.res.Points)
	}
	return x.pool()
}

// pool adds the figures of all runs together as one more point.
func (x *conductor) pool() error {
	if len(x.res.Stages) < 2 {
		return nil
	}
	var paths []string
	for _, s := range x.res.Stages {
		paths = append(paths, filepath.Join(x.dir.Path, filepath.FromSlash(s.Dir)))
	}
	point, err := measure.Pool(x.Config, paths)
	if err != nil {
		return err
	}
	x.res.Points = append(x.res.Points, point)
	x.res.Repeats.Point = new(len(x.res.Points) - 1)
	return nil
}

// varied puts the variation between runs into the result, with why a run does
// not count in it.
func (x *conductor) varied(p *compare.Pooled) {
	x.res.Repeats = &result.Repeats{Runs: p.Runs, Metrics: p.Metrics}
	for _, w := range p.Warnings {
		w.Figure = "repeats"
		if !slices.Contains(x.res.Warnings, w) {
			x.res.Warnings = append(x.res.Warnings, w)
		}
	}
}

// worst is the standing of the least good run: a promise that one of several
// runs breaks is not kept.
func worst(points []result.Point) string {
	order := []string{"missed", "undecided", "met"}
	for _, standing := range order {
		for _, p := range points {
			if overall([]result.Point{p}) == standing {
				return standing
			}
		}
	}
	return "none"
}
