package assemble

import (
	"fmt"
	"iter"
	"math"
	"time"

	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/account"
	"redline/internal/judge/fire"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// StoredRun is a run that has measured something and is read again.
type StoredRun struct {
	Plan    *config.Config
	Result  *result.Result
	Records Records
	Watches []holdup.Watch
}

func (k StoredRun) point() *result.Point { return &k.Result.Points[0] }

// window is that of the run, in ns.
func (k StoredRun) window() (start, end int64) {
	w := k.point().Window
	return int64(math.Round(w.StartS * 1e9)), int64(math.Round(w.EndS * 1e9))
}

func (k StoredRun) length() int64 {
	start, end := k.window()
	return end - start
}

// Judge gives the verdicts of a plan's objectives over the records of a run that
// had others, as the run would have done: over all requests due. What counts as
// accepted, and so its cost, depends on them.
func (k StoredRun) Judge(c *config.Config, longest time.Duration) ([]slo.Verdict, error) {
	start, end := k.window()
	point, err := Run{Plan: c, Records: k.Records, Start: start, End: end, Load: k.point().Load, MaxWindow: longest, Server: k.point().Server,
		Client: k.Result.Client, Workers: k.Result.Workers, Watches: k.Watches, judgedOnly: true}.figures(k.Result, nil)
	if all := &k.point().Summary; err == nil && point.Requests.Due == 0 && all.Requests.Due > 0 {
		return account.JudgeFigures(c.Objectives, all), nil
	}
	return point.Objectives, err
}

// Pool gives the figures of several runs of one plan together: percentiles of
// all their requests. What moved per second is the mean of the runs' own
// figures by the lengths of their windows, for it includes requests that were
// due before a window began.
func Pool(c *config.Config, kept []StoredRun, longest time.Duration) (result.Point, error) {
	runs, first := pooledRuns(kept), kept[0]
	length := runs.length()
	point, err := Run{Plan: c, Records: runs.records(), Start: poolStart, End: poolStart + length, Load: first.point().Load,
		MaxWindow: longest, Server: first.point().Server, pooled: runs}.figures(first.Result, nil)
	point.Name = fmt.Sprintf("%d runs together", len(runs))
	point.Window.StartS, point.Window.EndS = 0, float64(length)/1e9
	if point.Series != nil {
		point.Series.StartS = 0
	}
	// A run's end and the next one's beginning are not one load.
	point.Window.Varies = first.point().Window.Varies
	return point, err
}

// poolStart is where the first window is laid: far enough from the origin that
// no stamp of a measured request comes to lie on it or before it.
const poolStart = int64(1e9)

type pooledRuns []StoredRun

func (runs pooledRuns) length() (sum int64) {
	for _, run := range runs {
		sum += run.length()
	}
	return sum
}

// mean is that of a figure of the runs, by the lengths of their windows.
func (runs pooledRuns) mean(of func(*result.Point) float64) float64 {
	sum := 0.0
	for _, run := range runs {
		sum += of(run.point()) * float64(run.length())
	}
	return sum / float64(runs.length())
}

// records gives the measured requests of all runs, whose windows are laid end
// to end.
func (runs pooledRuns) records() Records {
	return func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			at := poolStart
			for i, run := range runs {
				start, end := run.window()
				for r, err := range run.Records() {
					if err != nil {
						yield(nil, err)
						return
					}
					if r.Phase != record.Measure {
						continue
					}
					r.Shift(at - start)
					r.Session = r.Session*len(runs) + i // no conversation goes on in the next run
					if !yield(r, nil) {
						return
					}
				}
				at += end - start
			}
		}
	}
}

// rateFigures are the figures of a summary that requests of other phases have a part
// in.
func rateFigures(s *metric.Summary) []*float64 {
	r, t, c := &s.Rates, &s.Throughput, &s.Concurrency
	list := []*float64{&r.Offered, &r.Sent, &r.Completed, &r.Ended, &t.Requests, &t.Output, &t.Prompt, &t.CachedPrompt, &t.Total, &t.Inputs, &t.Images, &c.Mean, &c.Little}
	if r.Asked != nil {
		list = append(list, r.Asked)
	}
	return list
}

// restore puts the runs' own figures in the place of those.
func (runs pooledRuns) restore(point *result.Point, objectives []slo.Objective) {
	if len(runs) == 0 {
		return
	}
	s := &point.Summary
	s.Rates.Asked, s.Concurrency.Max = nil, 0
	if runs[0].point().Rates.Asked != nil {
		s.Rates.Asked = new(float64)
	}
	for i, figure := range rateFigures(s) {
		*figure = runs.mean(func(p *result.Point) float64 {
			if own := rateFigures(&p.Summary); i < len(own) {
				return *own[i]
			}
			return 0
		})
	}
	for _, run := range runs {
		s.Concurrency.Max = max(s.Concurrency.Max, run.point().Concurrency.Max)
	}
	for _, groups := range []func(*metric.Summary) []metric.Group{
		func(s *metric.Summary) []metric.Group { return s.Buckets },
		func(s *metric.Summary) []metric.Group { return s.Classes },
		func(s *metric.Summary) []metric.Group { return s.Tenants },
		func(s *metric.Summary) []metric.Group { return s.Turns },
		func(s *metric.Summary) []metric.Group { return s.Steps },
		func(s *metric.Summary) []metric.Group { return s.Depths },
		func(s *metric.Summary) []metric.Group { return s.Forms },
		func(s *metric.Summary) []metric.Group { return s.Adapters },
		func(s *metric.Summary) []metric.Group { return s.Replicas },
		func(s *metric.Summary) []metric.Group { return s.Prefillers },
	} {
		runs.restoreGroups(groups(s), groups)
	}
	s.Jobs = nil // they began and ended in other phases, too
	runs.restoreOwn(objectives, s.Objectives)
	// The cache of the run that needed most of it.
	var most *result.KV
	for _, run := range runs {
		if kv := run.point().KV; kv != nil && (most == nil || kv.PeakMB > most.PeakMB) {
			most = kv
		}
	}
	point.KV = most
	point.Leak = fire.PoolLeaks(text.Each(runs, func(run StoredRun) *result.Leak { return run.point().Leak }))
}

// restoreGroups does so for the parts of the requests: a run without a part
// moved nothing of it.
func (runs pooledRuns) restoreGroups(groups []metric.Group, of func(*metric.Summary) []metric.Group) {
	for i := range groups {
		groups[i].OutputPS = runs.mean(func(p *result.Point) float64 {
			for _, g := range of(&p.Summary) {
				if g.Name == groups[i].Name {
					return g.OutputPS
				}
			}
			return 0
		})
	}
}

// restoreOwn judges the objectives on throughput, on jobs and on events by the runs' own
// verdicts: what they agree on stands.
func (runs pooledRuns) restoreOwn(objectives []slo.Objective, verdicts []slo.Verdict) {
	for i, o := range objectives {
		if o.Metric != "throughput" && !o.AboutJobs() && (!o.AboutFire() || o.Metric == "leak") {
			continue
		}
		v := &verdicts[i]
		if of, all := runs.verdicts(i); all {
			v.Value = new(runs.mean(func(p *result.Point) float64 { return *p.Objectives[i].Value }))
			v.Standing, v.Note = commonStanding(of)
		} else {
			v.Value, v.Standing, v.Note = nil, slo.NotJudged, "not measured in every run"
		}
	}
}

// verdicts are the runs' own on the i-th objective, where all have a value.
func (runs pooledRuns) verdicts(i int) (list []slo.Verdict, all bool) {
	for _, run := range runs {
		own := run.point().Objectives
		if i >= len(own) || own[i].Value == nil {
			return nil, false
		}
		list = append(list, own[i])
	}
	return list, true
}

func commonStanding(list []slo.Verdict) (slo.Standing, string) {
	for _, v := range list[1:] {
		if v.Standing != list[0].Standing {
			return slo.Undecided, "the runs differ"
		}
	}
	return list[0].Standing, list[0].Note
}
