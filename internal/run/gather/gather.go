// Package gather finds runs by what people name them: directories, lists of them
// separated by commas, labels. It gives their results, their requests, and series of
// them for a frontier; it judges none.
package gather

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/answer/compare"
	"redline/internal/answer/pareto"
	"redline/internal/drive/record"
	"redline/internal/drive/table"
	"redline/internal/judge/account"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/run/history"
	"redline/internal/run/measure"
	"redline/internal/store"
)

// Runs reads the results of directories separated by commas.
func Runs(list string) ([]*result.Result, error) {
	var runs []*result.Result
	for path := range strings.SplitSeq(list, ",") {
		res, err := measure.Rebuild(strings.TrimSpace(path))
		if err != nil {
			return nil, err
		}
		res.Path = filepath.ToSlash(filepath.Clean(strings.TrimSpace(path)))
		runs = append(runs, res)
	}
	return runs, nil
}

// JobsToPair reads the agents' jobs of a single run for a comparison, nil where it has none.
func JobsToPair(res *result.Result) (compare.Jobs, error) {
	if len(res.Points) != 1 || res.Points[0].Jobs == nil || len(res.Stages) > 0 {
		return nil, nil
	}
	dir, err := store.Open(filepath.FromSlash(res.Path))
	if err != nil {
		return nil, err
	}
	return compare.JobsOf(dir.Records())
}

// Requests reads the requests of a run, or of every stage of an experiment that has
// some, in their order.
func Requests(path string) (runs []*table.Run, err error) {
	return runs, eachRun(path, "", func(stage string, dir *store.Dir, res *result.Result) error {
		run, err := requests(dir, res)
		if err == nil && (stage == "" || len(run.Requests) > 0) {
			run.Stage = stage
			runs = append(runs, run)
		}
		return err
	})
}

// Jobs reads the jobs of a run, or of every stage of an experiment, those that began
// before and behind the window too.
func Jobs(path string) (runs []*table.Run, err error) {
	return runs, eachRun(path, "", func(stage string, dir *store.Dir, res *result.Result) error {
		run := &table.Run{Stage: stage}
		if len(res.Points) == 0 {
			return nil // nothing was measured
		}
		takeLoad(run, res)
		list, reported, err := account.JobsOf(dir.Records())
		ideal := slices.ContainsFunc(list, func(j *account.Job) bool { return j.Ideal > 0 })
		for _, j := range list {
			run.Jobs = append(run.Jobs, jobRow(j, res.Points[0].Window, reported, ideal))
		}
		runs = append(runs, run)
		return err
	})
}

// jobRow is a job as a table has it.
func jobRow(j *account.Job, w metric.Window, reported, ideal bool) table.Job {
	start := int64(math.Round(w.StartS * 1e9))
	phase := record.Measure
	if j.Begin < start {
		phase = record.Warmup
	} else if float64(j.Begin)/1e9 >= w.EndS {
		phase = record.Cooldown
	}
	return table.Job{Session: j.Session, Class: j.Class, Tenant: j.Tenant, Phase: string(phase), Outcome: string(j.Outcome), Begin: float64(j.Begin-start) / 1e9, End: float64(j.End-start) / 1e9,
		MS: j.Figures(), Requests: j.Requests, Turns: j.Turns, Prompt: j.Prompt, Output: j.Output, Cached: j.Cached, CachedKnown: reported, Ideal: j.Ideal, IdealKnown: ideal}
}

// eachRun shows a run, or those of every stage of an experiment, in their order.
func eachRun(path, stage string, visit func(stage string, dir *store.Dir, res *result.Result) error) error {
	dir, err := store.Open(path)
	if err != nil {
		return err
	}
	res, err := measure.Rebuild(path)
	if err != nil {
		return err
	}
	if !dir.IsExperiment() {
		return visit(stage, dir, res)
	}
	parts := dir.Stages()
	if res.Protocol != nil {
		for _, v := range res.Protocol.Variants {
			parts = append(parts, filepath.Join(path, filepath.FromSlash(v.Dir)))
		}
	}
	for _, part := range parts {
		if err := eachRun(part, strings.TrimPrefix(stage+"/"+filepath.Base(part), "/"), visit); err != nil {
			return err
		}
	}
	return nil
}

func requests(dir *store.Dir, res *result.Result) (*table.Run, error) {
	if len(res.Points) == 0 {
		return &table.Run{}, nil // nothing was measured
	}
	header, err := dir.Header()
	if err != nil {
		return nil, err
	}
	point := res.Points[0]
	run, err := table.FromRecords(dir.Records(), int64(math.Round(point.Window.StartS*1e9)), header.OriginUnixNS, account.Figures)
	if err != nil {
		return nil, err
	}
	run.Model, run.Label = res.Model.Name, res.Label
	takeLoad(run, res)
	return run, nil
}

// takeLoad takes over what was asked for.
func takeLoad(run *table.Run, res *result.Result) {
	load := res.Points[0].Load
	if load.Rate != nil {
		run.Rate = *load.Rate
	}
	if load.Concurrency != nil {
		run.MaxInFlight = *load.Concurrency
	}
}

// Series reads the runs of one argument. A protocol over variants is a series
// for each of them.
func Series(arg string) ([]pareto.Series, error) {
	runs, err := Runs(arg)
	if err != nil {
		return nil, err
	}
	if len(runs) == 1 && runs[0].Protocol != nil && len(runs[0].Protocol.Variants) > 0 {
		return variantSeries(arg, runs[0].Protocol.Variants)
	}
	return []pareto.Series{{Name: seriesName(arg, runs), Runs: runs}}, nil
}

func variantSeries(dir string, variants []result.Variant) ([]pareto.Series, error) {
	var list []pareto.Series
	for _, v := range variants {
		runs, err := Runs(filepath.Join(dir, filepath.FromSlash(v.Dir)))
		if err != nil {
			return nil, err
		}
		list = append(list, pareto.Series{Name: v.Name, Runs: runs})
	}
	return list, nil
}

// seriesName is the label that all runs share, else the first directory's name.
func seriesName(arg string, runs []*result.Result) string {
	name := runs[0].Label
	shared := !slices.ContainsFunc(runs, func(r *result.Result) bool { return r.Label != name })
	if name != "" && shared {
		return name
	}
	first, _, _ := strings.Cut(arg, ",")
	return filepath.Base(filepath.Clean(strings.TrimSpace(first)))
}

// WithLabel reads the finished runs with a label, those of one model on one engine
// together; none where no run has it.
func WithLabel(ctx context.Context, root, label string) ([]pareto.Series, error) {
	ix, err := history.Open(ctx, root)
	if err != nil {
		return nil, err
	}
	entries, err := ix.List(ctx, history.Filter{Label: label})
	if closing := ix.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	var list []pareto.Series
	for _, e := range entries {
		runs, err := Runs(filepath.Join(root, filepath.FromSlash(e.Path)))
		if err != nil {
			return nil, err
		}
		name := strings.Join(slices.DeleteFunc([]string{label, e.Model, e.Engine}, func(s string) bool { return s == "" }), ", ")
		at := slices.IndexFunc(list, func(s pareto.Series) bool { return s.Name == name })
		if at < 0 {
			list = append(list, pareto.Series{Name: name})
			at = len(list) - 1
		}
		list[at].Runs = append(list[at].Runs, runs...)
	}
	return list, nil
}
