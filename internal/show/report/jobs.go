package report

import (
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/show/document"
	"redline/internal/text"
)

// ofAgents reports whether the load is jobs of agents: conversations have no blocks of
// which an ideal share is known.
func ofAgents(point *result.Point) bool {
	return point.Load.Agents || point.Jobs != nil && point.Jobs.IdealFraction != nil
}

// jobWord is what several requests are together, requestWord what one of them is.
func jobWord(point *result.Point) string {
	if ofAgents(point) {
		return "job"
	}
	return "session"
}

func requestWord(point *result.Point) string {
	if point.Jobs != nil {
		return "turn"
	}
	return "request"
}

// depthNames are those of agents by their depth.
var depthNames = map[string]string{"0": "agents", "1": "subagents"}

// jobs writes what became of agents' jobs and conversations, and how long they
// took.
func (p *page) jobs(point *result.Point) {
	j := point.Jobs
	if j == nil {
		return
	}
	p.shows("jobs_per_hour", "live_agents")
	each, word := "", jobWord(point)
	if p.devices > 1 {
		p.shows("jobs_per_hour_per_accelerator")
		each = inUnit(figure(j.PerHour/float64(p.devices)), word+"s/h/accelerator")
	}
	if j.OKFraction != nil {
		p.shows("job_ok_fraction")
	}
	p.Field(word+"s", joinDots(strings.Join(present(count(j.Started)+hard+"began", countIfAny(j.Cut, "of them cut off")), ", "), strings.Join(present(count(j.Finished)+hard+"finished"+when(j.Finished > j.Started, " with those of the warm-up"), countIfAny(j.Failed, "failed")), ", "),
		ifKnown(j.OKFraction, func(v float64) string { return percent(v) + " ok" }), inUnit(figure(j.PerHour), word+"s/h"), each,
		figure(j.LiveMean)+hard+"live on average, "+count(j.LiveMax)+" max")+p.markOn("jobs"))
	share := func(name string) func(float64) string {
		return func(v float64) string { return percent(v) + " " + name }
	}
	cached := ""
	if j.CachedFraction != nil || j.IdealFraction != nil {
		cached = "of prompt tokens " + strings.Join(present(ifKnown(j.CachedFraction, share("cached")), when(j.CachedFraction == nil, "cached not known"), ifKnown(j.IdealFraction, share("in an endless cache"))), ", ")
	}
	mean := func(unit string) func(float64) string {
		return func(v float64) string { return inUnit(figure(v), unit) }
	}
	if j.Requests != nil {
		p.shows("tokens_per_job")
	}
	p.Field("a "+word, joinDots(ifKnown(j.Requests, mean("turns")), ifKnown(j.PromptTokens, mean("prompt tokens")), ifKnown(j.OutputTokens, mean("output tokens")), cached))
	p.jobTimes(point)
	p.Footnotes()
}

// jobTimes is the table of how long jobs took.
func (p *page) jobTimes(point *result.Point) {
	j, first := point.Jobs, "first token"
	if point.Latency.TTFT == nil { // replies came in one piece
		first = "first reply"
	}
	rows := []struct {
		name, key string
		dist      *metric.Dist
	}{{"in all", "job_time", j.Time}, {"serving", "job_serving", j.Serving}, {first, "job_first", j.First}}
	t := document.NewTable(left("time of a "+jobWord(point)), right("n"))
	for _, key := range p.percentiles {
		t.Columns = append(t.Columns, right(text.Percentile(key)).Doubtful())
	}
	t.Columns = append(t.Columns, right("max"))
	for _, row := range rows {
		if row.dist == nil || row.dist.N < 2 && p.room&brief > 0 {
			continue
		}
		p.shows(row.key)
		cells := []string{row.name, count(row.dist.N)}
		for _, key := range p.percentiles {
			cell := absent
			if v, ok := percentile(row.dist, key); ok {
				cell = spoken(v)
				if !row.dist.IsFirm(key) {
					cell += document.Doubt(notFirm)
				}
			}
			cells = append(cells, cell)
		}
		t.Add(append(cells, spoken(row.dist.Max))...)
	}
	p.Add(t)
}
