package result

import (
	"testing"

	"redline/internal/judge/slo"
)

// A server that streams and ends nothing in time has missed its objectives; one
// that gave nothing has not been measured.
func TestServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		ok, rejected int
		output       float64
		asked        bool
		want         bool
	}{
		{"one succeeded", 1, 0, 0, false, true},
		{"streamed, none ended, with objectives", 0, 0, 6990, true, true},
		{"streamed, none ended, without", 0, 0, 6990, false, false},
		{"all refused, with objectives", 0, 10, 0, true, true},
		{"some refused, the others failed", 0, 4, 0, true, false},
		{"all failed", 0, 0, 0, true, false},
	} {
		r := &Result{Points: make([]Point, 1), Verdict: Verdict{SLO: slo.Missed}}
		if c.asked {
			r.Plan = map[string]any{"sla_thresholds": []any{"ttft:p99<100ms"}}
		}
		p := &r.Points[0]
		p.Requests.Due, p.Requests.OK, p.Requests.Rejected, p.Throughput.Output = 10, c.ok, c.rejected, c.output
		if got := r.HasServed(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
