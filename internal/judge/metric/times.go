package metric

import (
	"redline/internal/drive/record"
	fig "redline/internal/judge/figure"
)

// Times are the figures of one request by which it is paired with another, in
// milliseconds, as far as it has them; ttft and e2e as the user lives them, from
// when it was due.
func Times(r *record.Record) map[string]float64 {
	own, times := figuresOf(r), map[string]float64{}
	own[stall] = orNaN((&tails{}).essence(r, appendGroups(r, nil), false).Stall)
	for _, f := range fig.All {
		if ns := own[judgedFigure[f.Name]]; f.Paired && ns > 0 {
			times[f.Name] = ns / 1e6
		}
	}
	return times
}
