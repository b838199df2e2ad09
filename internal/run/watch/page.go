package watch

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// What is told to Prometheus.
var (
	lastRun   = prometheus.NewDesc("redline_last_run_timestamp_seconds", "When the last run of the schedule ended.", []string{"schedule"}, nil)
	nextRun   = prometheus.NewDesc("redline_next_run_timestamp_seconds", "When the schedule is due next.", []string{"schedule"}, nil)
	lastExit  = prometheus.NewDesc("redline_last_run_exit_code", "Exit code of the last run: 0 ok, 3 objectives missed, 5 invalid, 6 too close to call.", []string{"schedule"}, nil)
	lastValue = prometheus.NewDesc("redline_last_value", "A figure of the last sound run, in the unit of docs/reference/METRICS.md.", []string{"schedule", "metric"}, nil)
	firing    = prometheus.NewDesc("redline_alert_firing", "1 while an alert of the kind is not over.", []string{"schedule", "kind"}, nil)
	runsTotal = prometheus.NewDesc("redline_runs_total", "Runs by what came of them.", []string{"schedule", "outcome"}, nil)
)

// Describe is for Prometheus's registry.
func (w *Watcher) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lastRun, nextRun, lastExit, lastValue, firing, runsTotal} {
		out <- d
	}
}

// Collect tells the state of every schedule.
func (w *Watcher) Collect(out chan<- prometheus.Metric) {
	for _, s := range w.Spec.Schedules {
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{s.Name}, labels...)...)
		}
		gauge(nextRun, seconds(w.next(s)))
		w.mu.Lock()
		j := w.State.of(s.Name)
		if o := j.Last; o != nil {
			gauge(lastRun, seconds(o.Ended))
			gauge(lastExit, float64(o.Exit))
		}
		for name, v := range j.Values {
			gauge(lastValue, v, name)
		}
		for _, kind := range kinds {
			on := 0.0
			if !j.Firing[kind].IsZero() {
				on = 1
			}
			gauge(firing, on, kind)
		}
		for outcome, n := range j.Counts {
			out <- prometheus.MustNewConstMetric(runsTotal, prometheus.CounterValue, float64(n), s.Name, outcome)
		}
		w.mu.Unlock()
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

// Handler serves /metrics, and /healthz for whoever restarts what hangs.
func (w *Watcher) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(w)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	return mux
}
