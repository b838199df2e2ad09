package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"redline/internal/exposition"
	"redline/internal/judge/progress"
	"redline/internal/must"
	"redline/internal/show/gauge"
)

// A run pushes its result to a receiver, also where nothing is shown meanwhile.
func TestRunPushesItsResult(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var paths []string
	var last []byte
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		paths, last = append(paths, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")), body
	}))
	defer receiver.Close()
	runJSON(t, nil, "--url", metronome(t, time.Millisecond), "--rate", "50", "--requests", "20", "--plain", "--workload", "fixed(20,4)",
		"--otlp", receiver.URL, "--metrics-listen", "0")
	mu.Lock()
	defer mu.Unlock()
	if len(paths) == 0 || paths[len(paths)-1] != "POST /v1/metrics application/json" {
		t.Fatalf("asked %q", paths)
	}
	var sent struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct {
					Name  string
					Gauge struct{ DataPoints []struct{ AsDouble float64 } }
				}
			}
		}
	}
	if err := json.Unmarshal(last, &sent); err != nil {
		t.Fatalf("%v: %s", err, last)
	}
	found := map[string]float64{}
	for _, m := range sent.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		found[m.Name] = m.Gauge.DataPoints[0].AsDouble
	}
	if found["redline_ok"] != 20 || found["redline_ttft_due_p99_ms"] <= 0 {
		t.Errorf("pushed %v", found)
	}
}

// Every panel of the dashboard shows something during a run and of a text file, by
// names that are there.
func TestDashboardFits(t *testing.T) {
	t.Parallel()
	content := must.Read(t, "../../examples/grafana/redline.json")
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil || len(dashboard.Panels) < 4 {
		t.Fatalf("%v: %d panels", err, len(dashboard.Panels))
	}
	name := regexp.MustCompile(`redline_\w+`)
	names := func(page string) map[string]bool {
		found := map[string]bool{}
		for _, line := range regexp.MustCompile(`(?m)^# TYPE (\w+) gauge$`).FindAllStringSubmatch(page, -1) {
			found[line[1]] = true
		}
		return found
	}
	_, file, _ := redline(t, nil, "export", "--format", "prometheus", shortRun(t))
	kept, live := names(file), names(string(exposition.Text(gauge.Live(progress.Snapshot{Elapsed: time.Second}))))
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			during, after := false, false
			for _, n := range name.FindAllString(target.Expr, -1) {
				if !kept[n] && !live[n] {
					t.Errorf("%s: nothing has %s", panel.Title, n)
				}
				during, after = during || live[n], after || kept[n]
			}
			if !during || !after {
				t.Errorf("%s: %s shows something during a run: %t, of a text file: %t", panel.Title, target.Expr, during, after)
			}
		}
	}
}
