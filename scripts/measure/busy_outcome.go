//go:build linux

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/stats"
	"redline/internal/store"
)

// busyOutcome is what came of one run: a line of the state.
type busyOutcome struct {
	Setting  string `json:"setting"`
	Number   int    `json:"number"`
	Load     string `json:"load"`
	NoStamps bool   `json:"no_stamps,omitempty"`
	Machine  string `json:"machine"`
	Version  string `json:"version"` // of redline
	// SharedCores says that the server had no core of its own.
	SharedCores bool `json:"shared_cores,omitempty"`
	// Unavailable says why the setting cannot be had on this machine; nothing
	// was run then.
	Unavailable string `json:"unavailable,omitempty"`

	Exit int `json:"exit"`
	// Valid, Reasons and Stamps are as the result says; of a run without a
	// result there are none.
	Valid   result.Validity `json:"valid,omitempty"`
	Reasons []string        `json:"reasons,omitempty"`
	Stamps  string          `json:"stamps,omitempty"`
	Stopped float64         `json:"stopped,omitempty"`
	Held    float64         `json:"held_s,omitempty"` // how long redline says that it was held up
	LagP99  float64         `json:"lag_p99_ms,omitempty"`
	// Figures holds, by name and percentile, what was measured and what was so.
	Figures  map[string]map[string]reading `json:"figures,omitempty"`
	Verdicts []verdict                     `json:"verdicts,omitempty"`
}

// reading is one figure in ms: as measured, its two ends, and the truth.
type reading struct {
	True     float64 `json:"true"`
	Measured float64 `json:"measured"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// verdict is an objective judged, its limit in ms.
type verdict struct {
	Figure     string       `json:"figure"`
	Percentile string       `json:"percentile"`
	Limit      float64      `json:"limit"`
	Standing   slo.Standing `json:"outcome"`
}

// percentiles are those that are looked at.
var percentiles = []struct {
	key   string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

// figureNames are the figures that are looked at, judged the objectives.
var (
	busyFigures   = []string{"ttft", "ttft_due", "tpot", "itl", "stall", "e2e", "e2e_due", "decode"}
	judgedFigures = []string{"ttft", "tpot", "itl", "stall", "e2e", "decode"}
)

// truths are the true values of figures in ms, by name.
type truths map[string][]float64

// add takes in one request. What arrived between start and end, in ns from the
// origin, counts for figures of gaps, and what was due in the window for the
// others.
func (t truths) add(r *record.Record, l reply, origin, start, end int64) {
	gaps := l.gaps()
	for i, gap := range gaps {
		if at := l.Before[i+1] - origin; at >= start && at < end {
			t["itl"] = append(t["itl"], gap)
		}
	}
	if r.Phase != record.Measure || len(gaps) == 0 {
		return
	}
	// The bytes had left by both: where the one is late because the server did
	// not come to read, the other is not.
	sent := min(l.Arrived, origin+r.Written)
	first, last := float64(l.Before[0]-sent)/1e6, float64(l.Before[len(gaps)]-sent)/1e6
	for name, value := range map[string]float64{
		"ttft": first, "ttft_due": first, "tpot": l.tpot(), "stall": slices.Max(gaps),
		"e2e": last, "e2e_due": last, "decode": last - first,
	} {
		t[name] = append(t[name], value)
	}
}

// read takes over what a result says of its run, and gives its point.
func (o *busyOutcome) read(dir *store.Dir) (*result.Point, error) {
	res, err := dir.Result()
	if err != nil {
		return nil, err
	}
	if len(res.Points) == 0 {
		return nil, errors.New("nothing was measured")
	}
	client, point := res.Client, &res.Points[0]
	o.Valid, o.Reasons, o.Stamps = res.Verdict.Valid, res.Verdict.Reasons, client.Timestamps.Source
	if client.HeldUp != nil {
		o.Held = client.HeldUp.TotalS
	}
	o.LagP99, _ = point.Latency.Lag.Get("p99")
	return point, nil
}

// fill lays what was measured beside the truth.
func (o *busyOutcome) fill(dir *store.Dir, lines []reply) error {
	point, err := o.read(dir)
	if err != nil {
		return err
	}
	if o.NoStamps && o.Stamps == "kernel" {
		return errors.New("the result says that the kernel stamped what arrived, which it was not to do")
	}
	t, start, end := truths{}, int64(point.Window.StartS*1e9), int64(point.Window.EndS*1e9)
	if err := joinTruth(dir, lines, func(r *record.Record, l reply, origin int64) { t.add(r, l, origin, start, end) }); err != nil {
		return err
	}
	o.Figures = map[string]map[string]reading{}
	for _, name := range busyFigures {
		slices.Sort(t[name])
		o.Figures[name] = map[string]reading{}
		for _, at := range percentiles {
			d := point.Latency.Of(name)
			low, high, ok := d.Ends(at.key)
			if ok && len(t[name]) > 0 {
				o.Figures[name][at.key] = reading{True: stats.Quantile(t[name], at.share), Measured: d.P[at.key], Low: low, High: high}
			}
		}
	}
	return nil
}

// limits are the objectives of a trial: for each percentile two limits at
// random factors of 0.5 to 2 around the truth of its load.
func (h *busyRuns) limits(t busyTrial) []verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.done, func(o busyOutcome) bool { return o.Setting == baselineName && o.Load == t.load.name })
	if i < 0 {
		return nil // this is the run that finds it
	}
	random := stats.Rand(t.seed(), "limits "+t.disturbance.name, 0)
	var list []verdict
	for _, name := range judgedFigures {
		for _, at := range percentiles {
			for range 2 {
				limit := h.done[i].Figures[name][at.key].True * math.Exp2(2*random.Float64()-1)
				list = append(list, verdict{Figure: name, Percentile: at.key, Limit: limit})
			}
		}
	}
	return list
}

// judge has a run judged by objectives that it did not have.
func (o *busyOutcome) judge(dir *store.Dir, asked []verdict) error {
	if len(asked) == 0 {
		return nil
	}
	plan, err := config.Reopen(dir.PlanPath())
	if err != nil {
		return err
	}
	var objectives []slo.Objective
	for _, v := range asked {
		objective, err := slo.Parse(fmt.Sprintf("%s:%s<%.4fms", v.Figure, v.Percentile, v.Limit))
		if err != nil {
			return err
		}
		objectives = append(objectives, objective)
	}
	verdicts, err := measure.Judge(plan, dir.Path, objectives)
	if err != nil {
		return err
	}
	if len(verdicts) != len(asked) {
		return fmt.Errorf("%d objectives, %d verdicts", len(asked), len(verdicts))
	}
	for i, v := range verdicts {
		asked[i].Limit, asked[i].Standing = v.Limit, v.Standing
	}
	o.Verdicts = asked
	return nil
}
