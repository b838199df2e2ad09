package report

import (
	"fmt"

	"redline/internal/judge/result"
)

// protocol writes what the whole protocol answers beyond its points: the
// stopping rule first, because that is what was asked.
func (p *page) protocol(b *result.Protocol) {
	if b == nil {
		return
	}
	p.field("accepted", acceptance(b.Acceptance))
	for _, c := range b.Acceptance.Conditions {
		p.hang("  "+padRight(plainWord(c.Standing), max(keyWidth-2, visible(plainWord(c.Standing))+1)), clean(joined(c.Text, c.Outcome)))
	}
	for _, v := range b.Variants {
		p.field("variant", clean(joined(v.Name, v.Model, v.Engine, variantLimit(v.Limit), "objectives "+plainWord(string(v.SLO)),
			"valid "+string(v.Valid), "stopping rule "+plainWord(v.Acceptance.Standing))))
	}
	if n := b.Neighbour; n != nil && n.Beside != nil && n.Without != nil {
		p.field("hot tenant", clean(fmt.Sprintf("%s at %s: ttft p99 of %s %s beside it, %s without", n.Hot,
			inUnit(figure(n.HotRate), "requests/s"), n.Tenant, inUnit(figure(*n.Beside), "ms"), inUnit(figure(*n.Without), "ms"))))
	}
	for i, f := range b.Preflight {
		p.field(once(i, "preflight"), clean(joined(f.About+" "+f.Check, f.Figure, f.Cure)))
	}
	p.gap()
	wide := keyWidth
	for _, f := range b.Fields {
		wide = max(wide, visible(clean(f.Name))+columnGap)
	}
	for _, f := range b.Fields {
		p.fieldAt(clean(f.Name), wide, clean(f.Value))
	}
	p.gap()
	if b.Scale > 0 {
		p.field("scale", fmt.Sprintf("every stage was shortened to %s of its length: exploratory, not for a claim", percent(b.Scale)))
	}
}

// acceptance words the answer to the stopping rule.
func acceptance(a result.Acceptance) string {
	if a.Standing == result.NotStated {
		return "the plan states no stopping rule (experiment.accept)"
	}
	return plainWord(a.Standing)
}

func variantLimit(l *result.Limit) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf("limit %s (%s–%s)", inUnit(figure(l.Rate), "requests/s"), figure(l.Interval[0]), figure(l.Interval[1]))
}
