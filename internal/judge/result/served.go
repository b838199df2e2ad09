package result

import "redline/internal/judge/slo"

// Served reports whether there is a finding about the server: some request
// succeeded, or of a load that its user set objectives for it streamed some and
// ended none in time, or refused every one.
func (r *Result) Served() bool {
	due, refused, streamed := 0, 0, false
	for i := range r.Points {
		n := &r.Points[i].Requests
		if n.OK > 0 {
			return true
		}
		due, refused = due+n.Due, refused+n.Rejected
		streamed = streamed || r.Points[i].Throughput.Output > 0
	}
	_, asked := r.Plan["sla_thresholds"]
	return asked && (streamed || refused > 0 && refused == due) && r.Verdict.SLO == slo.Missed
}
