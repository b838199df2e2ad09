package report

import (
	"redline/internal/judge/result"
	"redline/internal/show/document"
)

// trust says how the client kept time and which questions about the run itself
// were asked. Failed checks stand with the verdict; here they are counted.
func (p *page) trust(r *result.Result) {
	p.workers(r)
	failed := len(FailedChecks(r))
	counts := joinDots(paint(bad, countIfAny(failed, "failed")), countIfAny(len(r.Verdict.Checks)-failed, "passed"))
	if p.room < explained {
		if share, _ := holdupShare(r); share < mainHoldupShare { // else it stands with the verdict
			p.Field("machine", machine(r))
		}
		rest := joinDots(countIfAny(len(r.Verdict.Unchecked), "not possible"), when(len(r.AntiPatterns) > 0, plural(len(r.AntiPatterns), "caveat")))
		p.Field("checks", joinDots(counts, rest+when(rest != "", " (--explain)")))
	} else {
		p.Field("client", p.client(r))
		p.Field("machine", machine(r))
		p.Field("checks", counts)
	}
	p.warn(p.notes.rest())
}

// antiPatterns says of each way in which the result may mislead why, and what to
// do instead.
func (p *page) antiPatterns(r *result.Result) {
	t := document.NewTable(left("what may mislead"), prose("why, and what to do instead"))
	for _, a := range r.AntiPatterns {
		t.Add(clean(a.Name), clean(a.Why)+": "+clean(a.Cure))
	}
	if len(t.Rows) > 0 {
		p.Add(t)
	}
}

func (p *page) client(r *result.Result) string {
	c := r.Client
	if c.OS == "" && c.Timestamps.Source == "" {
		return ""
	}
	lag := ""
	if worst := worstLag(r); worst >= 0 {
		p.shows("lag")
		lag = "lag p99 " + spoken(worst)
	}
	return joinDots(when(len(r.Workers) > 0, plural(len(r.Workers), "worker")), stamps(c.Timestamps), lag, "CPU "+percent(c.CPUShare)+" of "+plural(c.CPUs, "core"), when(c.SharesHost, "shared with the server"))
}

func stamps(t result.Timestamps) string {
	switch {
	case t.Source == "":
		return ""
	case t.Source != "kernel" || t.Missing == 0 || t.Reads == 0:
		return clean(t.Source) + " timestamps"
	}
	return "kernel timestamps on all but " + percent(float64(t.Missing)/float64(t.Reads)) + " of reads"
}

// worstLag is the largest p99 of our own lateness over all points, below 0 where
// there is none.
func worstLag(r *result.Result) float64 {
	worst := -1.0
	for i := range r.Points {
		if v, ok := percentile(r.Points[i].Latency.Lag, "p99"); ok {
			worst = max(worst, v)
		}
	}
	return worst
}
