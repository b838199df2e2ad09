package report

import (
	"cmp"
	"slices"

	"redline/internal/judge/result"
	"redline/internal/show/document"
	"redline/internal/text"
)

// maxWorkers is how many workers a report lists: those that are lost, then those
// that sent latest.
const maxWorkers = 8

// workers lists the processes that sent the load.
func (p *page) workers(r *result.Result) {
	if len(r.Workers) == 0 {
		return
	}
	list := slices.Clone(r.Workers)
	slices.SortStableFunc(list, func(a, b result.Worker) int {
		return cmp.Or(cmp.Compare(len(b.Lost), len(a.Lost)), cmp.Compare(lagOf(b), lagOf(a)))
	})
	heading := "workers"
	if len(list) > maxWorkers {
		heading, list = "workers, the latest", list[:maxWorkers]
	}
	t := document.NewTable(left(heading), left("machine").Optional(1), right("share"), right("lag p99"), right("CPU"), right("clock within").Optional(2), prose(""))
	for _, w := range list {
		lag, cpu, clock, lost := text.Absent, text.Absent, text.Absent, ""
		if w.LagP99MS != nil {
			p.shows("lag")
			lag = milliseconds(*w.LagP99MS)
		}
		if w.Client.CPUs > 0 { // else it has not reported
			cpu, clock = percent(w.Client.CPUShare)+" of "+plural(w.Client.CPUs, "core"), milliseconds(w.Clock.UncertaintyMS)
		}
		if w.Lost != "" {
			lost = paint(bad, "lost: "+clean(w.Lost))
		}
		t.Add(clean(w.Name), clean(w.Host), percent(w.Share), lag, cpu, clock, lost)
	}
	p.Add(t)
}

func lagOf(w result.Worker) float64 {
	if w.LagP99MS == nil {
		return 0
	}
	return *w.LagP99MS
}
