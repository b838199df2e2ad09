package report

import (
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// togglesSample is two optimizations with and without: one that pays up to a
// length, and one of which nothing is known.
func togglesSample() *result.Result {
	r := baseSample()
	r.ID, r.Label = "20260114-160000-toggles", "toggles"
	r.Command = "redline matrix --toggle speculative_decoding --toggle prefix_caching"
	point := r.Points[0]
	point.Objectives, point.Goodput = nil, nil
	r.Points = nil
	for i, name := range []string{"off 1 speculative decoding", "on 1 speculative decoding"} {
		point.Name = name
		r.Points = append(r.Points, point)
		r.Stages = append(r.Stages, result.Stage{Name: name, Dir: "stages/0" + count(i+1), Point: new(i), Purpose: "toggle"})
	}
	pair := func(with, without float64) result.TogglePair {
		return result.TogglePair{WithP50MS: with / 2, WithoutP50MS: without / 2, WithMS: with, WithoutMS: without}
	}
	r.Toggles = []result.Toggle{
		{Name: "speculative_decoding", Rounds: 2, Requests: 1180, Unpaired: 3, Batches: 38, Range: [2]int{112, 14200},
			Verdict: "e2e hurts from 4.3k tokens (4.1k–4.6k), pays below",
			Metrics: []result.ToggleMetric{
				{Name: "ttft", TogglePair: pair(773, 689), Change: 0.144, Interval: &[2]float64{0.136, 0.152}, Standing: slo.Hurts,
					Verdict: "hurts at all lengths (110–14k): never pays"},
				{Name: "tpot", TogglePair: pair(21.1, 21.3), Change: -0.309, Interval: &[2]float64{-0.322, -0.295}, Standing: slo.Pays,
					Verdict: "pays at 110–9k, too close to call elsewhere"},
				{Name: "e2e", TogglePair: pair(2404, 2201), Change: -0.271, Interval: &[2]float64{-0.285, -0.257}, Standing: slo.Depends,
					Verdict:    "hurts from 4.3k tokens (4.1k–4.6k), pays below",
					Thresholds: []result.Threshold{{Tokens: 4300, Interval: [2]float64{4100, 4600}, Then: slo.Hurts}},
					Curve: []result.TogglePoint{{Tokens: 112, Change: -0.45, Interval: [2]float64{-0.47, -0.43}},
						{Tokens: 1200, Change: -0.3, Interval: [2]float64{-0.31, -0.29}}, {Tokens: 14200, Change: 0.2, Interval: [2]float64{0.17, 0.23}}}},
			},
			Buckets: []result.ToggleBucket{
				{Name: "<1k", Requests: 540, Metrics: map[string]result.TogglePair{"ttft": pair(402, 371), "tpot": pair(9.1, 17.2), "e2e": pair(1120, 1840)}},
				{Name: "4k-16k", Requests: 301, Metrics: map[string]result.TogglePair{"ttft": pair(1010, 940), "e2e": pair(3100, 2890)}},
			},
			Warnings: []result.Warning{{Figure: "requests", Text: "3 of 1183 requests did not end well on both sides and are left out"}}},
		{Name: "prefix_caching", Metrics: []result.ToggleMetric{}, Buckets: []result.ToggleBucket{},
			Skipped: []string{"round 1 on: not valid: lag: p99 12 ms, allowed ≤ 1 ms"}, Verdict: "not compared: no request was answered on both sides"},
	}
	return r
}
