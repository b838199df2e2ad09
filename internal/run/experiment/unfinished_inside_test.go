package experiment

import (
	"testing"

	"redline/internal/answer/compare"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
)

// A live comparison has a row for requests that never ended, where there are
// any: their server's latencies are those of the others.
func TestUnfinishedRequestsAreCompared(t *testing.T) {
	t.Parallel()
	for _, hung := range []int{0, 50} {
		x := &conductor{Options: Options{Options: measure.Options{Config: &config.Config{}}}, res: &result.Result{}}
		for i, name := range []string{"round 1 A", "round 1 B"} {
			n := metric.Requests{Due: 100, OK: 100 - i*hung, Censored: i * hung}
			x.res.Points = append(x.res.Points, result.Point{Name: name, Summary: metric.Summary{Requests: n}})
			x.res.Stages = append(x.res.Stages, result.Stage{Name: name, Purpose: roundPurpose, Point: new(i)})
		}
		launched := side{rig: &rig{}}
		x.compared([]compare.Round{{First: "A", A: compare.ValuesOf(&x.res.Points[0]), B: compare.ValuesOf(&x.res.Points[1])}}, launched, launched)
		var rows []result.Change
		for _, m := range x.res.Comparison.Metrics {
			if m.Name == "unfinished:rate" {
				rows = append(rows, m)
			}
		}
		if hung == 0 && len(rows) > 0 || hung > 0 && (len(rows) != 1 || *rows[0].A != 0 || *rows[0].B != 0.5) {
			t.Errorf("%d hung: %+v", hung, rows)
		}
	}
}
