package validity

import (
	"fmt"
	"slices"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// clockShare is the part of the window by which the clock of a worker may be
// wrong: rates are off by no more.
const clockShare = 0.01

// noneLeft is why nothing can be asked of the workers' machines.
const noneLeft = "every worker was lost"

// each asks a question about a machine of every worker, where there are any. The
// first answer that fails names its worker, or else the first with a note.
func (c check) each(e Evidence) (o outcome) {
	if !c.perWorker || len(e.Workers) == 0 {
		return c.run(e)
	}
	o = unread(noneLeft)
	for _, w := range e.Workers {
		if w.Lost != "" {
			continue
		}
		e.Client, e.Shortage = w.Client, w.Shortage
		one := c.run(e)
		if one.mark == Bad || one.mark == Warn {
			one.figure = "worker " + w.Name + ": " + one.figure
		}
		if one.mark == Bad {
			return one
		}
		if o.mark != Warn {
			o = one
		}
	}
	return o
}

func (e Evidence) lostWorker() bool {
	return slices.ContainsFunc(e.Workers, func(w result.Worker) bool { return w.Lost != "" })
}

// askWorkers asks whether every worker was there to the end.
func askWorkers(e Evidence) outcome {
	if len(e.Workers) == 0 {
		return silent
	}
	lost, share, first := 0, 0.0, ""
	for _, w := range e.Workers {
		if w.Lost != "" {
			if lost++; lost == 1 {
				first = w.Name + ": " + w.Lost
			}
			share += w.Share
		}
	}
	if lost == 0 {
		return outcome{mark: OK, figure: fmt.Sprintf("all %d to the end", len(e.Workers)), threshold: "none lost"}
	}
	return outcome{mark: Bad, figure: fmt.Sprintf("%d of %d lost, with %s of the load; %s", lost, len(e.Workers), text.RoughPercent(share), first), threshold: "none lost"}
}

// askWorkerClocks asks how well it is known when each worker sent: rates and the
// order of arrivals hang on it, latencies do not.
func askWorkerClocks(e Evidence) outcome {
	if len(e.Workers) == 0 {
		return silent
	}
	worst, name := 0.0, ""
	for _, w := range e.Workers {
		if off := w.Clock.UncertaintyMS; off >= worst && w.Lost == "" {
			worst, name = off, w.Name
		}
	}
	if name == "" {
		return unread(noneLeft)
	}
	limit := clockShare * e.Summary.Window.Seconds() * 1000
	o := atMost(worst, limit, "worker "+name+" within ")
	o.threshold += ", " + text.RoughPercent(clockShare) + " of the window"
	return o
}
