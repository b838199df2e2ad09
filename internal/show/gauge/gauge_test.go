package gauge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"redline/internal/expect"
	"redline/internal/exposition"
	"redline/internal/judge/progress"
	"redline/internal/llm"
	"redline/internal/must"
)

// running is a snapshot of a run in which nothing has been answered wrongly.
var running = progress.Snapshot{Elapsed: 90 * time.Second, InFlight: 7, Waiting: 2, Due: 100, OK: 80, Outcomes: map[llm.Outcome]int{llm.Reset: 3, llm.Rejected: 1}, OfferedPerS: 5, RequestsPerS: 4.5, TokensPerS: 900,
	TTFT: progress.Spread{P50: 84.5, P95: 150, P99: 212}, TPOT: progress.Spread{P50: 1, P95: 2, P99: 3}, ITL: unknown, E2E: progress.Spread{P50: 4, P95: 5, P99: 6}}

var unknown = progress.Spread{P50: math.NaN(), P95: math.NaN(), P99: math.NaN()}

// parsePage is what Prometheus's own parser reads from a page.
func parsePage(t *testing.T, page []byte) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("%v:\n%s", err, page)
	}
	found := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			found[name] = m.GetGauge().GetValue()
		}
	}
	return found
}

// The page gives the last snapshot, as Prometheus reads it.
func TestPage(t *testing.T) {
	p := &Publisher{Labels: []exposition.Label{{Name: "label", Value: "a \"quoted\\\" one\nwith a line"}}}
	must.Do(t, p.Listen(t.Context(), "127.0.0.1:0"))
	defer p.Close(nil)
	get := func(path string) (int, []byte) {
		answer := must.Get(http.Get("http://" + p.Address() + path))(t)
		defer answer.Body.Close()
		body := must.Get(io.ReadAll(answer.Body))(t)
		return answer.StatusCode, body
	}
	if code, body := get("/metrics"); code != 200 || len(parsePage(t, body)) != 0 {
		t.Errorf("before the load: %d %s", code, body)
	}
	if code, _ := get("/"); code != 404 {
		t.Errorf("another path answers %d", code)
	}
	p.Live(running)
	label := " label=a \"quoted\\\" one\nwith a line"
	want := map[string]float64{}
	for name, v := range map[string]float64{"elapsed_seconds": 90, "in_flight": 7, "waiting": 2, "due": 100, "ok": 80, "failed": 3, "abandoned": 0, "rejected": 1, "offered_rate": 5, "completed_rate": 4.5,
		"output_tokens_per_s": 900, "ttft_due_p50_ms": 84.5, "ttft_due_p95_ms": 150, "ttft_due_p99_ms": 212, "tpot_p50_ms": 1, "tpot_p95_ms": 2, "tpot_p99_ms": 3,
		"e2e_due_p50_ms": 4, "e2e_due_p95_ms": 5, "e2e_due_p99_ms": 6} {
		want[Prefix+name+label] = v
	}
	_, body := get("/metrics")
	expect.Same(t, want, parsePage(t, body))
}

// What is not known is not shown.
func TestLiveLeavesOutTheUnknown(t *testing.T) {
	page := string(exposition.Text(Live(progress.Snapshot{TTFT: unknown, TPOT: unknown, ITL: unknown, E2E: unknown})))
	if strings.Contains(page, "_ms") || strings.Contains(page, "NaN") || !strings.Contains(page, "redline_ok 0\n") {
		t.Errorf("%s", page)
	}
}

// A collector that refuses, or is not there, is named once while the run goes on,
// and once for the result.
func TestACollectorThatDoesNotTakeIt(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no\nspace", http.StatusInsufficientStorage)
	}))
	defer refuses.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for url, says := range map[string]string{refuses.URL: "answers 507 Insufficient Storage", gone.URL: "does not answer (dial tcp"} {
		var said []string
		p := &Publisher{Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
		p.Push(url)
		p.Live(running)
		final := Live(running)
		p.complain(p.send(final))
		p.complain(p.send(final))
		p.Close(final)
		if len(said) != 2 || !strings.Contains(said[0], says) || strings.Contains(said[0], "\n") || !strings.Contains(said[1], "result were not pushed") {
			t.Errorf("%q, want two lines with %q", said, says)
		}
	}
}

// A receiver that points elsewhere is named, and nothing goes there.
func TestACollectorElsewhereIsNotTold(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		moved := httptest.NewServer(http.RedirectHandler(other.URL, status))
		err := (&Publisher{receiver: moved.URL}).send(Live(running))
		moved.Close()
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("answers %d", status)) || elsewhere.Load() != 0 {
			t.Errorf("%d gives %v, and %d requests elsewhere", status, err, elsewhere.Load())
		}
	}
}

// A label without a value is none, and every gauge says what it is counted in.
func TestLiveGaugesAreExplained(t *testing.T) {
	page := string(exposition.Text(Live(running, exposition.Label{Name: "label", Value: ""}, exposition.Label{Name: "model", Value: "m"})))
	if strings.Contains(page, "label=") || !strings.Contains(page, `redline_ok{model="m"} 80`) {
		t.Errorf("%s", page)
	}
	sent, err := OTLP(Live(running, exposition.Label{Name: "label", Value: ""}), time.Unix(1, 0), "v")
	if err != nil || strings.Contains(string(sent), `"label"`) {
		t.Errorf("%s (%v)", sent, err)
	}
	for _, g := range Live(running) {
		if !regexp.MustCompile(`, ms$|, seconds$|^requests |tokens per second`).MatchString(g.Help) {
			t.Errorf("%s: %q has no unit", g.Name, g.Help)
		}
	}
}

// The receiver of the OpenTelemetry collector understands every figure. It is built
// from a module of its own, which takes minutes the first time.
func TestOpenTelemetryCollectorReceives(t *testing.T) {
	if os.Getenv("REDLINE_COLLECTOR") == "" {
		t.Skip("builds the OpenTelemetry collector's receiver (minutes): set REDLINE_COLLECTOR=1, or make collector")
	}
	program := filepath.Join(t.TempDir(), "collector")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("testdata", "collector")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("the collector's receiver cannot be had here: %v\n%s", err, out)
	}
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := free.Addr().String()
	free.Close()
	collector := exec.Command(program, address)
	collector.Stderr = os.Stderr
	in := must.Get(collector.StdinPipe())(t)
	out := must.Get(collector.StdoutPipe())(t)
	must.Do(t, collector.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.Contains(lines.Text(), "ready") {
		t.Fatalf("the collector says %q", lines.Text())
	}
	final := append(Live(running, exposition.Label{Name: "label", Value: "nightly ä"}), exposition.Family{Name: "redline_kv_peak_mb", Series: []exposition.Series{{Labels: []exposition.Label{{Name: "point", Value: "0"}}, Value: 1},
		{Labels: []exposition.Label{{Name: "point", Value: "1"}}, Value: 2.5}}})
	p := &Publisher{Version: "v1", Say: t.Errorf}
	p.Push("http://" + address + "/v1/metrics")
	p.Close(final)
	in.Close()
	got := map[string]float64{}
	for lines.Scan() {
		var point struct {
			Service, Name, Unit string
			Value               float64
			NS                  int64
			Labels              map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &point); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if age := time.Since(time.Unix(0, point.NS)); point.Service != "redline" || age < 0 || age > time.Hour {
			t.Errorf("%s", lines.Text())
		}
		got[fmt.Sprint(point.Name, point.Unit, point.Labels)] = point.Value
	}
	want := map[string]float64{}
	for _, g := range final {
		for _, v := range g.Series {
			labels := map[string]any{}
			for _, l := range v.Labels {
				labels[l.Name] = l.Value
			}
			want[fmt.Sprint(g.Name, unit(g.Name), labels)] = v.Value
		}
	}
	expect.NoDiff(t, cmp.Diff(want, got), "(-pushed +received)")
	expect.OK(t, collector.Wait())
}
