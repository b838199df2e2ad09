package measure

import (
	"fmt"
	"iter"

	"redline/internal/config"
	"redline/internal/metric"
	"redline/internal/record"
	"redline/internal/result"
	"redline/internal/store"
)

// Pool gives the figures of several runs of one plan together: percentiles of
// all their requests, whose windows are laid end to end.
func Pool(c *config.Config, paths []string) (result.Point, error) {
	var runs []pooledRun
	var length int64
	for _, path := range paths {
		dir, err := store.Open(path)
		if err != nil {
			return result.Point{}, err
		}
		res, err := dir.Result()
		if err != nil {
			return result.Point{}, err
		}
		if len(res.Points) == 0 {
			continue
		}
		w := res.Points[0].Window
		start, end := int64(w.StartS*1e9), int64(w.EndS*1e9)
		runs = append(runs, pooledRun{dir, length - start})
		length += end - start
	}
	if len(runs) == 0 {
		return result.Point{}, fmt.Errorf("none of %d runs has measured anything", len(paths))
	}
	options := metric.Options{Start: 0, End: length, Percentiles: c.Metrics.Percentiles, Objectives: c.Objectives, Seed: c.Seed}
	// A run's end and the next one's beginning are not one load.
	options.Varies = len(runs) > 1
	summary, err := metric.Summarize(pooledRecords(runs), options)
	if err != nil {
		return result.Point{}, err
	}
	load := plannedLoad{}.load(c, 0, length)
	return result.Point{Name: fmt.Sprintf("%d runs together", len(runs)), Load: load, Summary: summary}, nil
}

// pooledRun is a run whose times are moved by shift.
type pooledRun struct {
	dir   *store.Dir
	shift int64
}

// pooledRecords gives the measured requests of all runs on one line of time.
func pooledRecords(runs []pooledRun) records {
	return func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			for _, run := range runs {
				for r, err := range run.dir.Records() {
					if err != nil {
						yield(nil, err)
						return
					}
					if r.Phase != record.Measure {
						continue
					}
					r.Shift(run.shift)
					if !yield(r, nil) {
						return
					}
				}
			}
		}
	}
}
