package compare

import (
	"fmt"
	"math"

	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/text"
)

// PoolSummary is how far runs of one plan lie apart.
type PoolSummary struct {
	Runs     int              `json:"runs"`
	Metrics  []Spread         `json:"metrics"`
	Warnings []result.Warning `json:"warnings,omitempty"`
}

// Spread is one metric over several runs.
type Spread = result.Spread

// Pool gives the variation between repeated runs. Runs that were cut short or
// are not of one kind with the first are left out, with a warning. Whether one
// that is not valid counts is for the caller to say.
func Pool(runs []*result.Result) *PoolSummary {
	p := &PoolSummary{Metrics: []Spread{}}
	sound := p.sound(runs)
	p.Runs = len(sound)
	if len(sound) == 0 {
		return p
	}
	if shareSeed(sound) {
		p.warn("runs share a seed: their spread shows the server's, not that of the requests")
	}
	for i, points := range matches(sound[0], sound) {
		for _, f := range judgedCriteria(nil) {
			s, ok := f.spreadOf(points)
			if ok && len(sound[0].Points) > 1 {
				s.Load = place(sound[0], i)
			}
			if ok {
				p.Metrics = append(p.Metrics, s)
			}
		}
	}
	return p
}

func (p *PoolSummary) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, result.Warning{Text: fmt.Sprintf(format, args...)})
}

func (p *PoolSummary) sound(runs []*result.Result) []*result.Result {
	var kept []*result.Result
	for _, r := range runs {
		why, grave := cutShort(r)
		if !grave && len(kept) > 0 {
			if unlike := new(Comparison).liken([]*result.Result{kept[0], r}); len(unlike) > 0 {
				why, grave = unlike[0], true
			}
		}
		switch {
		case grave:
			p.warn("run %s does not count: %s", name(r), why)
			continue
		case why != "":
			p.warn("run %s: %s", name(r), why)
		}
		kept = append(kept, r)
	}
	return kept
}

// spreadOf is not ok where no point has the figure.
func (f criterion) spreadOf(points []*result.Point) (Spread, bool) {
	var values, own []float64
	for _, p := range points {
		v, ok := f.of(p)
		if !ok {
			continue
		}
		values = append(values, v)
		if se, _, ok := f.pointError(p); ok && v > 0 {
			if f.Share() {
				se /= v
			}
			own = append(own, se)
		}
	}
	if len(values) == 0 {
		return Spread{}, false
	}
	t := stats.OneSampleT(values, Level)
	s := Spread{Name: f.name, Unit: string(f.Unit), N: len(values), Mean: t.Mean, Min: values[0], Max: values[0],
		CV: stats.Finite(t.SD / t.Mean), WithinCV: stats.Finite(stats.Mean(own)), Interval: interval(max(t.Lo, 0), t.Hi)}
	for _, v := range values {
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	}
	if f.Share() && s.Interval != nil {
		s.Interval[1] = math.Min(s.Interval[1], 1)
	}
	return s, true
}

// meanCurves puts the distributions of several runs together, as their figures
// are: the geometric mean of the values at each percentage. A latency that one of
// them lacks is left out; nil where one has none, or other percentages.
func meanCurves(list []*result.Distributions) *result.Distributions {
	if len(list) == 0 || list[0] == nil {
		return nil
	}
	percent := list[0].Percent
	for _, d := range list {
		if d == nil || len(d.Percent) != len(percent) {
			return nil
		}
	}
	mean := func(of func(*result.Distributions) []float64) []float64 {
		sums := make([]float64, len(percent))
		for _, d := range list {
			values := of(d)
			if len(values) != len(sums) {
				return nil
			}
			for i, v := range values {
				sums[i] += math.Log(v) / float64(len(list))
			}
		}
		for i, sum := range sums {
			sums[i] = text.Round(math.Exp(sum), 4)
		}
		return sums
	}
	return &result.Distributions{Percent: percent,
		TTFT: mean(func(d *result.Distributions) []float64 { return d.TTFT }),
		TPOT: mean(func(d *result.Distributions) []float64 { return d.TPOT }),
		E2E:  mean(func(d *result.Distributions) []float64 { return d.E2E }),
		ITL:  mean(func(d *result.Distributions) []float64 { return d.ITL })}
}
