package measure

import (
	"fmt"
	"iter"
	"math"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/store"
	"redline/internal/text"
)

// Pool gives the figures of several runs of one plan together: percentiles of
// all their requests. What moved per second is the mean of the runs' own
// figures by the lengths of their windows, for it includes requests that were
// due before a window began.
func Pool(c *config.Config, paths []string) (result.Point, error) {
	runs, err := openRuns(paths)
	if err != nil {
		return result.Point{}, err
	}
	length := runs.length()
	options := metric.Options{Start: poolStart, End: poolStart + length,
		Percentiles: c.Metrics.Percentiles, Objectives: c.Objectives, Seed: c.Seed, Confidence: c.Confidence, Looked: looked(c)}
	// A run's end and the next one's beginning are not one load.
	options.Varies = len(runs) > 1
	kv := kvModel(c, runs[0].result, runs[0].point.Server)
	if kv != nil {
		options.KVMB = kv.requestMB
	}
	summary, err := metric.Summarize(runs.records(), options)
	if err != nil {
		return result.Point{}, err
	}
	summary.Window.StartS, summary.Window.EndS = 0, float64(length)/1e9
	summary.Window.Varies = runs[0].point.Window.Varies
	runs.restoreRates(&summary)
	runs.restoreThroughput(c.Objectives, summary.Objectives)
	point := result.Point{Name: text.Plural(len(runs), "run") + " together", Load: runs[0].point.Load,
		Summary: summary, KV: runs.largestKV()}
	charge(&point, c, runs[0].devices)
	return point, nil
}

// Judge holds objectives that a run's own plan does not have against its
// records, as the run would have done: over all requests due.
func Judge(c *config.Config, path string, objectives []slo.Objective) ([]slo.Verdict, error) {
	runs, err := openRuns([]string{path})
	if err != nil {
		return nil, err
	}
	run := runs[0]
	asked := *c
	asked.Objectives = objectives
	options := metric.Options{Start: run.start, End: run.end, Varies: run.point.Window.Varies, Objectives: objectives, Seed: c.Seed, Confidence: c.Confidence, Looked: looked(c)}
	if kv := kvModel(&asked, run.result, run.point.Server); kv != nil {
		options.KVMB = kv.requestMB
	}
	summary, err := metric.Summarize(run.dir.Records, options)
	if err != nil {
		return nil, err
	}
	// What counts as accepted depends on the objectives: the run's own cost is
	// that under its own.
	point := result.Point{Summary: summary}
	charge(&point, &asked, run.devices)
	return point.Objectives, nil
}

// poolStart is where the first window is laid: far enough from the origin that
// no stamp of a measured request comes to lie on it or before it.
const poolStart = int64(1e9)

// pooledRun is a run, its one point, and its window in ns.
type pooledRun struct {
	dir        *store.Dir
	point      result.Point
	result     *result.Result
	devices    int // accelerators, 0 where nobody says
	start, end int64
}

func (r pooledRun) length() int64 { return r.end - r.start }

type pooledRuns []pooledRun

// openRuns reads the runs that have measured something.
func openRuns(paths []string) (pooledRuns, error) {
	var runs pooledRuns
	for _, path := range paths {
		dir, err := store.Open(path)
		if err != nil {
			return nil, err
		}
		res, err := dir.Result()
		if err != nil {
			return nil, err
		}
		if len(res.Points) == 0 {
			continue
		}
		w := res.Points[0].Window
		runs = append(runs, pooledRun{dir: dir, point: res.Points[0], result: res, devices: res.Hardware.Count,
			start: int64(math.Round(w.StartS * 1e9)), end: int64(math.Round(w.EndS * 1e9))})
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("none of %d runs has measured anything", len(paths))
	}
	return runs, nil
}

func (runs pooledRuns) length() (sum int64) {
	for _, run := range runs {
		sum += run.length()
	}
	return sum
}

// mean is that of a figure of the runs, by the lengths of their windows.
func (runs pooledRuns) mean(of func(*result.Point) float64) float64 {
	sum := 0.0
	for i := range runs {
		sum += of(&runs[i].point) * float64(runs[i].length())
	}
	return sum / float64(runs.length())
}

// records gives the measured requests of all runs, whose windows are laid end
// to end.
func (runs pooledRuns) records() records {
	return func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			at := poolStart
			for _, run := range runs {
				for r, err := range run.dir.Records() {
					if err != nil {
						yield(nil, err)
						return
					}
					if r.Phase != record.Measure {
						continue
					}
					r.Shift(at - run.start)
					if !yield(r, nil) {
						return
					}
				}
				at += run.length()
			}
		}
	}
}

// restoreRates puts the runs' own figures in the place of those that requests
// of other phases have a part in.
func (runs pooledRuns) restoreRates(s *metric.Summary) {
	type point = result.Point
	s.Rates = metric.Rates{
		Offered:   runs.mean(func(p *point) float64 { return p.Rates.Offered }),
		Sent:      runs.mean(func(p *point) float64 { return p.Rates.Sent }),
		Completed: runs.mean(func(p *point) float64 { return p.Rates.Completed }),
		Ended:     runs.mean(func(p *point) float64 { return p.Rates.Ended }),
	}
	if runs[0].point.Rates.Asked != nil {
		s.Rates.Asked = new(runs.mean(func(p *point) float64 {
			if p.Rates.Asked == nil {
				return 0
			}
			return *p.Rates.Asked
		}))
	}
	s.Throughput = metric.Throughput{
		Requests:     runs.mean(func(p *point) float64 { return p.Throughput.Requests }),
		Output:       runs.mean(func(p *point) float64 { return p.Throughput.Output }),
		Prompt:       runs.mean(func(p *point) float64 { return p.Throughput.Prompt }),
		CachedPrompt: runs.mean(func(p *point) float64 { return p.Throughput.CachedPrompt }),
		Total:        runs.mean(func(p *point) float64 { return p.Throughput.Total }),
		Inputs:       runs.mean(func(p *point) float64 { return p.Throughput.Inputs }),
	}
	s.Concurrency = metric.Concurrency{
		Mean:   runs.mean(func(p *point) float64 { return p.Concurrency.Mean }),
		Little: runs.mean(func(p *point) float64 { return p.Concurrency.Little }),
	}
	for _, run := range runs {
		s.Concurrency.Max = max(s.Concurrency.Max, run.point.Concurrency.Max)
	}
	runs.restoreGroups(s.Buckets, func(p *point) []metric.Group { return p.Buckets })
	runs.restoreGroups(s.Classes, func(p *point) []metric.Group { return p.Classes })
	runs.restoreGroups(s.Tenants, func(p *point) []metric.Group { return p.Tenants })
	runs.restoreGroups(s.Turns, func(p *point) []metric.Group { return p.Turns })
}

// restoreGroups does so for the parts of the requests: a run without a part
// moved nothing of it.
func (runs pooledRuns) restoreGroups(groups []metric.Group, of func(*result.Point) []metric.Group) {
	for i := range groups {
		groups[i].OutputPS = runs.mean(func(p *result.Point) float64 {
			for _, g := range of(p) {
				if g.Name == groups[i].Name {
					return g.OutputPS
				}
			}
			return 0
		})
	}
}

// restoreThroughput judges the objectives on throughput by the runs' own
// verdicts: what they agree on stands.
func (runs pooledRuns) restoreThroughput(objectives []slo.Objective, verdicts []slo.Verdict) {
	for i, o := range objectives {
		if o.Metric != "throughput" {
			continue
		}
		v := &verdicts[i]
		if of, all := runs.verdicts(i); all {
			v.Value = new(runs.mean(func(p *result.Point) float64 { return *p.Objectives[i].Value }))
			v.Standing, v.Note = agreed(of)
		} else {
			v.Value, v.Standing, v.Note = nil, slo.NotJudged, "not measured in every run"
		}
	}
}

// verdicts are the runs' own on the i-th objective, where all have a value.
func (runs pooledRuns) verdicts(i int) (list []slo.Verdict, all bool) {
	for _, run := range runs {
		if i >= len(run.point.Objectives) || run.point.Objectives[i].Value == nil {
			return nil, false
		}
		list = append(list, run.point.Objectives[i])
	}
	return list, true
}

func agreed(list []slo.Verdict) (slo.Standing, string) {
	for _, v := range list[1:] {
		if v.Standing != list[0].Standing {
			return slo.Undecided, "the runs differ"
		}
	}
	return list[0].Standing, list[0].Note
}

// largestKV is the cache of the run that needed most of it, nil where none
// knows.
func (runs pooledRuns) largestKV() *result.KV {
	var most *result.KV
	for _, run := range runs {
		if kv := run.point.KV; kv != nil && (most == nil || kv.PeakMB > most.PeakMB) {
			most = kv
		}
	}
	return most
}
