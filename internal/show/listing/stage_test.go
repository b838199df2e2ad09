package listing

import (
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/run/experiment"
)

func TestStageLine(t *testing.T) {
	t.Parallel()
	var point result.Point
	point.Requests = metric.Requests{Due: 40, OK: 39}
	point.Objectives = []slo.Verdict{{Objective: "ttft:p99<20ms", Standing: slo.Missed}, {Objective: "tpot:p50<9ms", Standing: slo.Undecided}}
	point.Latency.TTFTDue = &metric.Dist{P: map[string]float64{"p50": 4.442, "p99": 24.56}}
	point.Latency.TPOT = &metric.Dist{P: map[string]float64{"p50": 2.084}}
	whole := point
	whole.Requests = metric.Requests{Due: 40, OK: 40}
	var single result.Point
	single.Requests = metric.Requests{Due: 2, OK: 2}
	rejecting, hanging := point, point
	rejecting.Requests = metric.Requests{Due: 40, OK: 26, Rejected: 14, Errors: []metric.ErrorCount{{Text: "HTTP 429: slow down", Count: 14}}}
	hanging.Requests = metric.Requests{Due: 40, OK: 20, Censored: 20}
	for _, tt := range []struct {
		stage experiment.Stage
		point result.Point
		valid result.Validity
		kept  bool
		want  string
	}{
		{experiment.Stage{Name: "B long prefill"}, point, "no", false, "B long prefill · ttft p50 4.44 p99 24.6 ms · tpot p50 2.08 ms · 39 of 40 ok · ttft:p99<20ms missed · not valid: lag: p99 70 ms, allowed ≤ 25 ms"},
		{experiment.Stage{Name: "8 requests/s"}, whole, "yes", true, "8 requests/s · kept from before · ttft p50 4.44 p99 24.6 ms · tpot p50 2.08 ms · 40 ok · ttft:p99<20ms missed"},
		{experiment.Stage{Name: "look 8 requests/s", Purpose: "look"}, rejecting, "yes", false,
			"look 8 requests/s · ttft p50 4.44 p99 24.6 ms · tpot p50 2.08 ms · 26 of 40 ok · rejects 35% of requests (429)"},
		{experiment.Stage{Name: "8 requests/s", Purpose: "level"}, hanging, "yes", false,
			"8 requests/s · ttft p50 4.44 p99 24.6 ms · tpot p50 2.08 ms · 20 of 40 ok · 20 unfinished · ttft:p99<20ms missed"},
		{experiment.Stage{Name: "ramp from 1 requests/s", Purpose: "ramp"}, rejecting, "no", false,
			"ramp from 1 requests/s · 26 of 40 ok · rejects 35% of requests (429)"},
		{experiment.Stage{Name: "warm-up", Purpose: "warm-up"}, single, "no", false, "warm-up · 2 ok"},
	} {
		res := &result.Result{Points: []result.Point{tt.point}, Verdict: result.Verdict{Valid: tt.valid}}
		if tt.valid == result.Invalid {
			res.Verdict.Checks = []result.Check{{Name: "clock", OK: true}, {Name: "lag", Figure: "p99 70 ms", Threshold: "≤ 25 ms"}}
		}
		if got := StageLine(tt.stage, res, tt.kept); got != tt.want {
			t.Errorf("\n got %s\nwant %s", got, tt.want)
		}
	}
}
