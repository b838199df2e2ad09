package account

import (
	"slices"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
)

// deadlinesOf takes the strictest thresholds of ttft and tpot that hold for the
// requests of a class and tenant.
func deadlinesOf(objectives []slo.Objective, class, tenant string) deadlines {
	var d deadlines
	strictest := func(limit *float64, o slo.Objective) {
		if *limit == 0 || o.Limit < *limit {
			*limit = o.Limit
		}
	}
	for _, o := range objectives {
		if !o.Scope.Covers(class, tenant) {
			continue
		}
		switch o.Metric {
		case "ttft":
			strictest(&d.ttft, o)
		case "tpot":
			strictest(&d.tpot, o)
		}
	}
	return d
}

// isGap reports whether a metric is about gaps, of which a request has many.
func isGap(metric string) bool { return metric == "itl" || metric == "icl" }

// judgedFigure names the figure that an objective on a latency is judged by:
// the due form where there is one, and of gaps the request's own tail.
var judgedFigure = judgedFigures()

func judgedFigures() map[string]figure {
	judged := map[string]figure{"itl": itlTail, "icl": iclTail}
	for _, own := range requestFigures {
		for _, f := range fig.All {
			if f.Can(fig.Promise) && own.name == f.JudgedForm().Key {
				judged[f.Name] = own.figure
			}
		}
	}
	return judged
}

// goodput counts the requests that met every objective a single request can
// meet, of those that are about it. It is absent where there is no such objective, and where the figure of
// one was measured for no request: that one was never met.
func (c *collector) goodput() *metric.Goodput {
	objectives := c.perRequest()
	if len(objectives) == 0 || c.requests.n == 0 {
		return nil
	}
	due, good, measured := 0, 0, make([]bool, len(objectives))
	for q := range c.requests.all {
		if q.outside() {
			continue
		}
		due++
		for e := range q.good {
			q.good[e] = q.keeps(objectives, end(e), measured)
		}
		if q.good[asMeasured] {
			good++
		}
	}
	if slices.Contains(measured, false) {
		return nil
	}
	return c.goodShare(good, due)
}

// perRequest gives the objectives that a single request can meet.
func (c *collector) perRequest() []judgedObjective {
	var list []judgedObjective
	for _, o := range c.o.Objectives {
		if o.PerRequest() {
			list = append(list, judgedObjective{o, c.naming.part(o.Scope), judgedFigure[o.Metric]})
		}
	}
	return list
}

func (c *collector) goodShare(good, due int) *metric.Goodput {
	return &metric.Goodput{Requests: c.perSecond(float64(good)), Fraction: round(float64(good) / float64(due))}
}

// judgedObjective is an objective, the requests it is about, and their figure that it
// bounds.
type judgedObjective struct {
	slo.Objective
	about part
	own   figure
}

// keeps reports whether an ok request missed no objective that could be judged,
// and marks those that were; its figures are taken at one of their ends.
func (q *request) keeps(objectives []judgedObjective, e end, measured []bool) bool {
	answered := q.outcome == llm.OK
	kept := answered
	for i, p := range objectives {
		if !p.about(q.keys) {
			continue
		}
		ok, judged := p.Judge(answered, q.at(p.own, e))
		measured[i] = measured[i] || judged
		kept = kept && (ok || !judged)
	}
	return kept
}
