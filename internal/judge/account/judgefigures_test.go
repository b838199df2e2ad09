package account

import (
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// Figures without requests show a miss, never that an objective is met.
func TestStated(t *testing.T) {
	s := &metric.Summary{Requests: metric.Requests{Due: 100, OK: 98, Failed: 2}, Latency: metric.Latency{TTFT: &metric.Dist{N: 98, Mean: 80, P: map[string]float64{"p99": 200}}},
		Throughput: metric.Throughput{Output: 500}}
	for objective, want := range map[string]slo.Standing{
		"ttft:p99<300ms":            slo.Undecided,
		"ttft:p99<200ms":            slo.Undecided, // on its limit, as a request may be
		"ttft:p99<100ms":            slo.Missed,
		"ttft:mean<100ms":           slo.Undecided,
		"ttft:p95<300ms":            slo.NotJudged,
		"tpot:p99<20ms":             slo.NotJudged,
		"class=chat ttft:p99<300ms": slo.NotJudged,
		"error:rate<1%":             slo.Missed,
		"error:rate<5%":             slo.Undecided,
		"throughput:min>600":        slo.Missed,
		"throughput:min>400":        slo.Undecided,
	} {
		o := must.Get(slo.Parse(objective))(t)
		got := JudgeFigures([]slo.Objective{o}, s)
		if len(got) != 1 || got[0].Standing != want || (got[0].Value == nil) != (want == slo.NotJudged) {
			t.Errorf("%s: %+v, want %s", objective, got, want)
		}
	}
	o, _ := slo.Parse("ttft:p99<100ms")
	want := slo.Verdict{Objective: "ttft:p99<100ms", Standing: slo.Missed, Value: new(200.0), Unit: "ms", Limit: 100, N: 100,
		Note: "by one figure without an interval: the single requests are not known"}
	expect.Same(t, []slo.Verdict{want}, JudgeFigures([]slo.Objective{o}, s))
}
