package result

import "redline/internal/judge/slo"

// Served reports whether there is a finding about the server: some request
// succeeded, or it refused every one of a load that its user set objectives for.
func (r *Result) Served() bool {
	due, refused := 0, 0
	for i := range r.Points {
		n := &r.Points[i].Requests
		if n.OK > 0 {
			return true
		}
		due, refused = due+n.Due, refused+n.Rejected
	}
	_, asked := r.Plan["sla_thresholds"]
	return asked && refused > 0 && refused == due && r.Verdict.SLO == slo.Missed
}
