package measure

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"redline/internal/clock"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/plan/config"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// serveInMemory serves a handler in memory and gives its URL.
func serveInMemory(t *testing.T, n *pipe.Network, handler http.HandlerFunc) string {
	t.Helper()
	l := must.Get(n.Open(t.Context(), "127.0.0.1:0"))(t)
	server := &http.Server{Handler: handler}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}

// hideMetrics serves an engine without its metrics, and counts how often they are
// asked for.
func hideMetrics(t *testing.T, n *pipe.Network, engine http.Handler) (front string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	return serveInMemory(t, n, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			asked.Add(1)
			http.NotFound(w, r)
			return
		}
		engine.ServeHTTP(w, r)
	}), asked
}

// short runs a few requests in memory and gives what was said meanwhile.
func short(t *testing.T, n *pipe.Network, flags map[string][]string) (*result.Result, string) {
	t.Helper()
	for name, value := range map[string]string{"requests": "10", "concurrency": "2", "warmup": "0s", "workload": "fixed(16,5)",
		"out": filepath.Join(t.TempDir(), "run")} {
		flags[name] = []string{value}
	}
	cfg := must.Get(config.Resolve(config.Input{Seed: 1, Flags: flags}))(t)
	var mu sync.Mutex
	var said []string
	res, _ := must.Get2(Run(t.Context(), Options{Config: cfg, Clock: clock.Virtual(), Dial: n.Dial, Open: n.Open,
		Say: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, fmt.Sprintf(format, args...))
		}}))(t)
	return res, strings.Join(said, "\n")
}

// Metrics that stand elsewhere are read there; those that cannot be read are
// told of in one line, and the run goes on.
func TestMetricsElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, metricsElsewhere)
}

func metricsElsewhere(t *testing.T) {
	var n pipe.Network
	spec := must.Get(sim.Spec{}.Resolve())(t)
	core := must.Get(sim.NewBatching(spec))(t)
	engine := must.Get(simserver.NewServer(simserver.Options{Spec: spec, Core: core, Clock: clock.Virtual()}))(t)
	t.Cleanup(func() { engine.Close() })
	whole := serveInMemory(t, &n, engine.ServeHTTP)
	front, beside := hideMetrics(t, &n, engine)
	html := serveInMemory(t, &n, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Team") != "" {
			t.Errorf("a page elsewhere was told %v", r.Header)
		}
		io.WriteString(w, "<html>hello</html>")
	})
	const dead = "http://127.0.0.1:9"
	bare := strings.NewReplacer("http://", "")

	for _, tt := range []struct {
		name     string
		pages    []string
		replicas int // of which the server's own account is; 0 for none
		said     string
	}{
		{"nowhere", nil, 0, ""},
		{"elsewhere", []string{whole + "/metrics"}, 1, ""},
		{"two replicas", []string{whole + "/metrics", whole + "/metrics?again"}, 2, ""},
		{"a web page", []string{html + "/?token=secret"}, 0, "it answers with a web page, not with metrics"},
		{"a missing page", []string{front + "/metrics"}, 0, bare.Replace(front) + "/metrics: HTTP 404"},
		{"one of two is dead", []string{whole + "/metrics", dead + "/m?token=secret"}, 0, bare.Replace(dead) + "/m: "},
	} {
		flags := map[string][]string{"url": {front}, "header": {"X-Team=blue"}}
		if tt.pages != nil {
			flags["metrics-url"] = tt.pages
		}
		res, said := short(t, &n, flags)
		replicas, server := 0, res.Points[0].Server
		if server != nil {
			replicas = server.Replicas
		}
		if replicas != tt.replicas {
			t.Errorf("%s: an account of %d replicas, want %d", tt.name, replicas, tt.replicas)
		}
		var warned []string
		for _, w := range res.Warnings {
			if w.Figure == "server" {
				warned = append(warned, w.Text)
			}
		}
		if tt.said == "" && (said != "" || warned != nil) {
			t.Errorf("%s: said %q and warned of %q", tt.name, said, warned)
		}
		if tt.said != "" && (!strings.Contains(said, tt.said) || len(warned) != 1 || !strings.Contains(warned[0], tt.said)) {
			t.Errorf("%s: said %q and warned of %q, want %q", tt.name, said, warned, tt.said)
		}
		if strings.Contains(said, "\n") || strings.Contains(said, "secret") {
			t.Errorf("%s: said %q", tt.name, said)
		}
		if plan, _ := res.Plan["provider"].(map[string]any); plan["model"] != sim.DefaultModel {
			t.Errorf("%s: the plan asks for %v, want the model that was found", tt.name, plan["model"])
		}
	}
	before := beside.Load()
	if res, _ := short(t, &n, map[string][]string{"url": {front}, "no-telemetry": {"true"}}); res.Points[0].Server != nil || beside.Load() != before {
		t.Errorf("metrics were asked for %d times though they were to be left alone", beside.Load()-before)
	}
}

// The room for the cache is the engine's own figure.
func TestRoomOfTheEmbeddedEngine(t *testing.T) {
	t.Parallel()
	var kv *result.KV
	synctest.Test(t, func(t *testing.T) {
		res, _ := short(t, &pipe.Network{}, map[string][]string{"gpu": {"H100"}})
		kv = res.Points[0].KV
	})
	// 80 GB at 92 %, less 16 GB of weights and what the engine works in.
	if kv == nil || kv.RoomMB < 45_000 || kv.RoomMB > 60_000 {
		t.Errorf("%+v, want room for 45 to 60 GB", kv)
	}
}
