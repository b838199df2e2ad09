package report

import (
	"fmt"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// protocol writes what the whole protocol answers beyond its points: the
// stopping rule first, because that is what was asked.
func (p *page) protocol(r *result.Result) {
	b := r.Protocol
	if b == nil {
		return
	}
	accepted := plainWord(b.Acceptance.Standing)
	if b.Acceptance.Standing == slo.NotStated {
		accepted = "the plan states no stopping rule (experiment.accept)"
	}
	p.Field("accepted", accepted)
	for _, c := range b.Acceptance.Conditions {
		p.Finding(8, plain, plainWord(c.Standing), clean(joinDots(c.Text, c.Outcome)))
	}
	limit := func(l result.Limit) string {
		return "limit " + inUnit(figure(l.Rate), "requests/s") + " (" + intervalText(l.Interval) + ")"
	}
	for _, v := range b.Variants {
		p.Field("variant", clean(joinDots(v.Name, v.Model, v.Engine, ifKnown(v.Limit, limit), "objectives "+plainWord(v.SLO),
			"valid "+string(v.Valid), "stopping rule "+plainWord(v.Acceptance.Standing))))
	}
	if n := b.Neighbour; n != nil && n.Beside != nil && n.Without != nil {
		p.Field("hot tenant", clean(fmt.Sprintf("%s at %s: ttft p99 of %s %s beside it, %s without", n.Hot,
			inUnit(figure(n.HotRate), "requests/s"), n.Tenant, spoken(*n.Beside), spoken(*n.Without))))
	}
	p.Fields("preflight", each(b.Preflight, func(f result.PreflightFinding) string { return clean(joinDots(f.About+" "+f.Check, f.Figure, f.Cure)) }))
	for _, f := range b.Fields {
		if f.Value != result.NotStated {
			p.Entry(10, clean(f.Name), clean(f.Value))
		}
	}
	if b.Scale > 0 {
		p.Field("scale", fmt.Sprintf("every stage was shortened to %s of its length: exploratory, not for a claim", percent(b.Scale)))
	}
}
