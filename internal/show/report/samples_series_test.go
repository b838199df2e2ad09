package report

import (
	"math"

	"redline/internal/judge/result"
)

// overTime gives a point twenty seconds of warm-up, its window and what came
// after it, in bins of ten seconds, with a stall in the middle.
func overTime(p *result.Point) {
	s := &result.Series{StartS: p.Window.StartS - 20, BinS: 10}
	s.TTFT, s.TPOT, s.E2E = &result.LatencyTrack{BinS: 10}, &result.LatencyTrack{BinS: 10}, &result.LatencyTrack{BinS: 10}
	s.Running, s.Waiting, s.KVUsage, s.Watts = &result.Track{}, &result.Track{}, &result.Track{}, &result.Track{}
	s.Gaps = &result.GapMap{BinS: 10, MS: []float64{14, 16, 20, 24, 2048, 2560}, Counts: [][]int{{}, {}, {}, {}, {}}}
	bins := int((p.Window.EndS-p.Window.StartS)/10) + 3
	for i := range bins {
		swing := 1 + 0.2*math.Sin(float64(i))
		s.InFlight, s.Output, s.Due = append(s.InFlight, math.Round(80*swing)), append(s.Output, math.Round(4000*swing)), append(s.Due, 200)
		s.NotOK = append(s.NotOK, i%5/4)
		for _, one := range []struct {
			track *result.LatencyTrack
			ms    float64
		}{{s.TTFT, 120}, {s.TPOT, 20}, {s.E2E, 5000}} {
			t := one.track
			t.At, t.N = append(t.At, i), append(t.N, 200)
			t.P50, t.P95, t.P99 = append(t.P50, one.ms), append(t.P95, 1.5*one.ms*swing), append(t.P99, 2*one.ms*swing)
		}
		for _, one := range []struct {
			track *result.Track
			value float64
		}{{s.Running, 70}, {s.Waiting, 5}, {s.KVUsage, 0.4}, {s.Watts, 600}} {
			one.track.At, one.track.Values = append(one.track.At, i), append(one.track.Values, one.value*swing)
		}
		for row, n := range []int{200, 3000, 700, 0, 0} {
			if row != 3 {
				s.Gaps.Counts[row] = append(s.Gaps.Counts[row], n)
			}
		}
	}
	s.Gaps.Counts[4][bins/2] = 2
	s.Prompts = &result.ByPrompt{Tokens: []float64{120, 480, 2000}, N: []int{900, 1200, 300}, P50: []float64{90, 120, 240}, P95: []float64{150, 210, 420}}
	p.Series = s
	p.Distributions = &result.Distributions{Percent: []float64{0, 25, 50, 75, 90, 95, 99, 99.9, 100}, TTFT: []float64{60, 95, 120, 150, 190, 220, 310, 420, 450},
		TPOT: []float64{15, 18, 20, 21, 23, 24, 27, 30, 31}, E2E: []float64{800, 2500, 5000, 7000, 8500, 9500, 11000, 12000, 12500},
		ITL: []float64{0.1, 18, 19, 21, 24, 26, 38, 90, 2100}}
}

// bothCurves gives the sides of a comparison their distributions.
func bothCurves(c *result.Comparison) {
	curve := func(times float64) *result.Distributions {
		d := &result.Distributions{Percent: []float64{0, 25, 50, 75, 90, 95, 99, 100}}
		for i := range d.Percent {
			d.TTFT, d.TPOT = append(d.TTFT, times*float64(60+20*i)), append(d.TPOT, times*float64(11+i/3))
		}
		return d
	}
	c.A.Distributions, c.B.Distributions = curve(1), curve(1.05)
}

// hostileCharts is a comparison whose names would be more than text, if somebody
// let them.
func hostileCharts() *result.Result {
	const evil = `</script><script id="hostile">window.hostile = true</script><!-- ]]> " onload="window.hostile = true`
	r := comparisonSample()
	r.Model.Name, r.Engine.Name, r.Label = evil, evil, evil
	r.Comparison.A.Name, r.Comparison.B.Name = evil, evil
	for i := range r.Comparison.Metrics {
		r.Comparison.Metrics[i].Verdict = evil
	}
	return r
}
