package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/text"
)

// standardPercentiles are shown where nobody asks for others.
var standardPercentiles = []float64{50, 90, 95, 99}

// WithPercentiles gives a result whose latencies are shown at other percentiles than its
// plan asks for. The error names one that the result does not have.
func WithPercentiles(r *result.Result, percentiles []float64) (*result.Result, error) {
	if len(percentiles) == 0 {
		return r, nil
	}
	measured := measuredPercentiles(r)
	list := make([]any, len(percentiles))
	for i, percent := range percentiles {
		if key := metric.PercentileKey(percent); len(measured) > 0 && !slices.Contains(measured, key) {
			return nil, fmt.Errorf("this result has no %s, only %s; measure with --percentiles to have others", text.Percentile(key), strings.Join(each(measured, text.Percentile), ", "))
		}
		list[i] = percent
	}
	shown, metrics := *r, map[string]any{}
	if block, ok := r.Plan["metrics"].(map[string]any); ok {
		maps.Copy(metrics, block)
	}
	metrics["percentiles"] = list
	shown.Plan = map[string]any{}
	maps.Copy(shown.Plan, r.Plan)
	shown.Plan["metrics"] = metrics
	return &shown, nil
}

// measuredPercentiles are the keys of those that any latency of a result has.
func measuredPercentiles(r *result.Result) []string {
	all := &metric.Dist{P: map[string]float64{}}
	for i := range r.Points {
		for _, d := range r.Points[i].Latency.Each {
			for key := range d.P {
				all.P[key] = 0
			}
		}
	}
	return all.Keys()
}

// percentilesOf are the keys of the percentiles that a result's plan asks for.
func percentilesOf(r *result.Result) []string {
	block, _ := r.Plan["metrics"].(map[string]any)
	list, _ := block["percentiles"].([]any)
	var asked []float64
	for _, one := range list {
		switch v := one.(type) {
		case float64:
			asked = append(asked, v)
		case int:
			asked = append(asked, float64(v))
		case uint64:
			asked = append(asked, float64(v))
		}
	}
	if len(asked) == 0 {
		asked = standardPercentiles
	}
	var keys []string
	for _, percent := range slices.Sorted(slices.Values(asked)) {
		keys = append(keys, metric.PercentileKey(percent))
	}
	return slices.Compact(keys)
}
