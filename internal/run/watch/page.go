package watch

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"redline/internal/exposition"
)

// families is the state of every schedule, as Prometheus takes it.
func (w *Watcher) families() []exposition.Family {
	list := []exposition.Family{
		{Name: "redline_last_run_timestamp_seconds", Help: "When the last run of the schedule ended."},
		{Name: "redline_next_run_timestamp_seconds", Help: "When the schedule is due next."},
		{Name: "redline_last_run_exit_code", Help: "Exit code of the last run: 0 ok, 3 objectives missed, 5 invalid, 6 too close to call."},
		{Name: "redline_last_value", Help: "A figure of the last sound run, in the unit of docs/reference/METRICS.md."},
		{Name: "redline_alert_firing", Help: "1 while an alert of the kind is not over."},
		{Name: "redline_runs_total", Help: "Runs by what came of them.", Type: exposition.CounterType},
	}
	lastRun, nextRun, lastExit, lastValue, firing, runsTotal := &list[0], &list[1], &list[2], &list[3], &list[4], &list[5]
	for _, s := range w.Spec.Schedules {
		add := func(f *exposition.Family, v float64, labels ...exposition.Label) {
			f.Series = append(f.Series, exposition.Series{Labels: append(labels, exposition.Label{Name: "schedule", Value: s.Name}), Value: v})
		}
		add(nextRun, seconds(w.next(s)))
		w.mu.Lock()
		j := w.State.of(s.Name)
		if o := j.Last; o != nil {
			add(lastRun, seconds(o.Ended))
			add(lastExit, float64(o.Exit))
		}
		for _, name := range slices.Sorted(maps.Keys(j.Values)) {
			add(lastValue, j.Values[name], exposition.Label{Name: "metric", Value: name})
		}
		for _, kind := range kinds {
			on := 0.0
			if !j.Firing[kind].IsZero() {
				on = 1
			}
			add(firing, on, exposition.Label{Name: "kind", Value: kind})
		}
		for _, outcome := range slices.Sorted(maps.Keys(j.Counts)) {
			add(runsTotal, float64(j.Counts[outcome]), exposition.Label{Name: "outcome", Value: outcome})
		}
		w.mu.Unlock()
	}
	return list
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

// Handler serves /metrics, and /healthz for liveness probes.
func (w *Watcher) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(page http.ResponseWriter, _ *http.Request) { exposition.Serve(page, w.families()) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	return mux
}
