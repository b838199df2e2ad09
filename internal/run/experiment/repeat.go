package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/answer/compare"
	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
)

// Repeat runs one load several times, with seeds and prompts of its own each,
// and says how far the runs lie apart.
func Repeat(ctx context.Context, o Options) (*result.Result, string, error) {
	return conduct(ctx, o, "run", func(x *conductor) error { return x.repeat(ctx) })
}

func (x *conductor) repeat(ctx context.Context) error {
	var runs []*result.Result
	planned := max(1, x.Config.Experiment.Repeat)
	for n := range planned {
		res, err := x.run(ctx, x.stage(repeatName(n+1), repeatPurpose, func(c *config.Config) { c.Seed += uint64(n) }))
		if err != nil {
			return err
		}
		if x.leftOut == "" {
			runs = append(runs, res)
		}
		p := compare.Pool(runs)
		x.res.Repeats = &result.Repeats{Runs: p.Runs, Metrics: p.Metrics}
		for _, w := range p.Warnings {
			w.Figure = "repeats"
			if !slices.Contains(x.res.Warnings, w) {
				x.res.Warnings = append(x.res.Warnings, w)
			}
		}
		x.res.Verdict.SLO = worst(x.countedPoints(0))
	}
	if needed := min(planned, 2); len(runs) < needed {
		// Then there is little but what does not count, which is shown all the same.
		x.invalidate("%d of %d runs count, and %d are needed", len(runs), planned, needed)
		x.res.Verdict.SLO = worst(x.res.Points)
	}
	return x.pool(len(runs) > 0)
}

// repeatPurpose is that of one of several runs of a load.
const repeatPurpose = "repeat"

func repeatName(n int) string { return fmt.Sprintf("run %d", n) }

// pool adds the figures of all runs together as one more point, without those
// that are left out where there are others.
func (x *conductor) pool(countedOnly bool) error {
	var paths []string
	for _, s := range x.res.Stages {
		if s.Point == nil || countedOnly && s.LeftOut != "" {
			continue
		}
		paths = append(paths, filepath.Join(x.dir.Path, filepath.FromSlash(s.Dir)))
	}
	if len(paths) < 2 {
		return nil
	}
	point, err := measure.Pool(x.Config, paths)
	if err != nil {
		return err
	}
	if x.res.Verdict.Valid == result.Invalid {
		point.Invalid = strings.Join(x.res.Verdict.Reasons, "; ")
	}
	x.res.Points = append(x.res.Points, point)
	x.res.Repeats.Point = new(len(x.res.Points) - 1)
	return nil
}

// worst is the standing of the least good run: an objective that one of several
// runs misses is missed.
func worst(points []result.Point) slo.Standing {
	return result.FirstStanding(points, slo.Missed, slo.Undecided, slo.Met)
}

func (x *conductor) eachRecord(show func(*record.Record)) error {
	dir, err := store.Open(x.lastDir())
	if err != nil {
		return err
	}
	for r, err := range dir.Records() {
		if err != nil {
			return err
		}
		show(r)
	}
	return nil
}

func (x *conductor) lastDir() string {
	return filepath.Join(x.dir.Path, filepath.FromSlash(x.last().Dir))
}
