package report

import (
	"strings"

	"redline/internal/judge/result"
)

// trust says how the client kept time and which questions about the run itself
// were asked. Failed checks stand with the verdict; here they are counted.
func (p *page) trust(r *result.Result) {
	p.field("client", p.client(r))
	passed, failed := 0, len(failedChecks(r))
	passed = len(r.Verdict.Checks) - failed
	counts := ""
	if passed > 0 {
		counts = count(passed) + hard + "passed"
	}
	if failed > 0 {
		counts = joined(p.paint(bad, count(failed)+hard+"failed"), counts)
	}
	if n := len(r.Verdict.Unchecked); n > 0 && !p.whole {
		counts = joined(counts, count(n)+hard+"not possible (--explain)")
	}
	p.field("checks", counts)
	if !p.whole {
		return
	}
	p.field("unchecked", unchecked(r.Verdict.Unchecked))
	p.field("unknown", clean(strings.Join(r.Unknown, ", ")))
}

func (p *page) client(r *result.Result) string {
	c := r.Client
	if c.OS == "" && c.Timestamps.Source == "" {
		return ""
	}
	parts := []string{stamps(c.Timestamps)}
	if lag := worstLag(r); lag != "" {
		p.shows("lag")
		parts = append(parts, lag)
	}
	parts = append(parts, "CPU "+percent(c.CPUShare)+" of "+plural(c.CPUs, "core"))
	if c.SharesHost {
		parts = append(parts, "shared with the server")
	}
	return joined(parts...)
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

// worstLag is the largest p99 of our own lateness over all points.
func worstLag(r *result.Result) string {
	worst, found := 0.0, false
	for i := range r.Points {
		if v, ok := percentile(r.Points[i].Latency.Lag, "p99"); ok {
			worst, found = max(worst, v), true
		}
	}
	if !found {
		return ""
	}
	return "lag p99 " + milliseconds(worst)
}

// unchecked names the questions that could not be asked; why not takes a
// paragraph, which --explain gives.
func unchecked(list []result.Unchecked) string {
	names := make([]string, len(list))
	for i, u := range list {
		names[i] = clean(u.Name)
	}
	return strings.Join(names, ", ")
}
