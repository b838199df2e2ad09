package experiment

import (
	"strings"
	"testing"

	"redline/internal/answer/capacity"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
)

// A sweep answers the plan's question for instances; one that was cut short does
// not, and one that has nothing to answer with says what it lacks.
func TestASweepPlansCapacity(t *testing.T) {
	t.Parallel()
	level := func(rate float64, objectives ...slo.Verdict) result.Point {
		return result.Point{Load: result.Load{Rate: &rate}, Summary: metric.Summary{Requests: metric.Requests{Due: 600, OK: 600}, Objectives: objectives}}
	}
	kept := slo.Verdict{Objective: "ttft:p99<500ms", Standing: slo.Met}
	for _, tt := range []struct {
		name        string
		asked       capacity.Spec
		interrupted string
		points      []result.Point
		instances   int // 0 for no answer
		warning     string
	}{
		{"asked", capacity.Spec{Rate: 100, Headroom: new(0.5), Spare: 1}, "", []result.Point{level(20, kept)}, 9, ""},
		{"with the usual headroom", capacity.Spec{Rate: 100}, "", []result.Point{level(20, kept)}, 6, ""},
		{"not asked", capacity.Spec{}, "", []result.Point{level(20, kept)}, 0, ""},
		{"cut short", capacity.Spec{Rate: 100}, result.ByUser, []result.Point{level(20, kept)}, 0, ""},
		{"without objectives", capacity.Spec{Rate: 100}, "", []result.Point{level(20)}, 0, "has no limit and no objectives"},
	} {
		x := &conductor{Options: Options{Options: measure.Options{Config: &config.Config{Capacity: tt.asked}}}, dir: &store.Dir{Path: "runs/x"},
			res: &result.Result{Points: tt.points, Curve: &result.Curve{By: "rate", Points: []int{0}}, Interrupted: tt.interrupted}}
		x.planCapacity()
		got, warned := 0, ""
		if x.res.Capacity != nil {
			got = x.res.Capacity.InstancesToRun
		}
		for _, w := range x.res.Warnings {
			warned += w.Text
		}
		if got != tt.instances || (warned == "") != (tt.warning == "") || !strings.Contains(warned, tt.warning) {
			t.Errorf("%s: %d instances, %q; want %d, %q", tt.name, got, warned, tt.instances, tt.warning)
		}
	}
}
