package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/store"
)

// keep writes a finished run below root.
func keep(t testing.TB, root, name string, edits ...func(*result.Result)) {
	t.Helper()
	res := &result.Result{Schema: result.Schema, ID: name + "-id", Started: time.Date(2026, 1, 14, 9, 12, 3, 0, time.UTC),
		Command: "redline run --rate 5", Label: "nightly", Hardware: result.Hardware{Count: 2}, Model: result.Model{Name: "llama-3.1-8b"}, Engine: result.Engine{Name: "vllm", Version: "0.11"},
		Verdict: result.Verdict{Valid: "yes", SLO: "met"},
		Points: []result.Point{{Load: result.Load{Mode: "open", Rate: new(5.0)}, Summary: metric.Summary{
			Window: metric.Window{StartS: 1, EndS: 121}, Requests: metric.Requests{Due: 600, Sent: 600, OK: 600},
			Throughput: metric.Throughput{Output: 1000}, Interactivity: &metric.Dist{N: 600, P: map[string]float64{"p50": 80, "p99": 40}},
			Latency: metric.Latency{TTFTDue: &metric.Dist{N: 600, Mean: 32, Max: 70, P: map[string]float64{
				"p50": 30, "p75": 35, "p90": 44, "p95": 51, "p99": 61, "p999": 68}, Firm: []string{"p50", "p75", "p90", "p95", "p99"}}},
			Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Met, Value: new(61.0), Unit: "ms", Limit: 500, N: 600}},
		}}}}
	for _, edit := range edits {
		edit(res)
	}
	document := must.Get(json.Marshal(res))(t)
	write(t, root, name, map[string]string{"records.jsonl": "", "result.json": string(document),
		"plan.yaml": "load_profile: {rate: 5, duration: 120s}\n"})
}

// write makes a directory of files.
func write(t testing.TB, root, name string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(root, name)
	must.Do(t, os.MkdirAll(dir, 0o755))
	for file, content := range files {
		must.Write(t, filepath.Join(dir, file), content)
	}
}

// visitor is a browser without a screen. It has the token unless it forgets it.
type visitor struct {
	*Server
	t      *testing.T
	cookie bool
	forged string // in place of the token
	origin string
	host   string
}

func visit(t *testing.T, o Options) *visitor {
	t.Helper()
	s := New(o, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7700})
	return &visitor{Server: s, t: t, cookie: true, origin: "http://127.0.0.1:7700", host: "127.0.0.1:7700"}
}

// ask sends a request until the index is there.
func (v *visitor) ask(method, target, form string) *httptest.ResponseRecorder {
	v.t.Helper()
	for {
		w := v.send(method, target, form)
		if w.Code != http.StatusAccepted {
			return w
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (v *visitor) send(method, target, form string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(form))
	r.Host = v.host
	if v.cookie {
		r.AddCookie(&http.Cookie{Name: v.Server.cookie, Value: cmp.Or(v.forged, v.token)})
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if v.origin != "" {
			r.Header.Set("Origin", v.origin)
		}
	}
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	return w
}

// page is the body of a page that must be there.
func (v *visitor) page(target string) string {
	v.t.Helper()
	w := v.ask(http.MethodGet, target, "")
	if w.Code != http.StatusOK {
		v.t.Fatalf("%s: status %d: %s", target, w.Code, plain(w.Body.String()))
	}
	return w.Body.String()
}

var tag = regexp.MustCompile(`(?s)<[^>]*>`)

// plain is a page without its markup.
func plain(page string) string {
	return strings.Join(strings.Fields(tag.ReplaceAllString(page, " ")), " ")
}

func says(t *testing.T, page string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(page, want) {
			t.Errorf("want %q in\n%s", want, plain(page))
		}
	}
}

func TestTheListShowsFiltersAndPagesRuns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 60 {
		keep(t, root, fmt.Sprintf("run-%02d", i), func(r *result.Result) {
			r.Started = r.Started.Add(time.Duration(i) * time.Hour)
			if i%10 == 0 {
				r.Model.Name, r.Label, r.Engine.Name, r.Verdict.SLO = "qwen-3", "weekly", "sglang", slo.Missed
			}
		})
	}
	v := visit(t, Options{Root: root})
	first := v.page("/")
	says(t, first, "run-59", "1–50 of 60", `rel="next" href="/?page=2"`, "redline history --runs "+root+" --all")
	if strings.Index(first, "run-59") > strings.Index(first, "run-58") || strings.Contains(first, "run-09<") {
		t.Error("the list is not newest first, or has more than a page")
	}
	says(t, first, "A, which the others are compared with, is the oldest")
	says(t, v.page("/?page=2"), "run-09", "51–60 of 60", `rel="prev"`)
	for _, query := range []string{"label=weekly", "model=qwen", "engine=sglang", "verdict=missed", "label=weekly&verdict=missed&page=7"} {
		page := v.page("/?" + query)
		says(t, page, "1–6 of 6", "run-50")
		if strings.Contains(page, "run-59") {
			t.Errorf("%s lets another run through", query)
		}
	}
	says(t, v.page("/?label=weekly&verdict=missed"), "--label weekly --verdict missed --all")
	says(t, v.page("/?model=none"), "No such runs in "+root)
}

// A row has what is known of its run, whatever was done; what is not known is a dash.
func TestTheListHasTheFiguresOfEveryKindOfRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	level := func(rate, ttft float64, standing slo.Standing) result.Point {
		return result.Point{Load: result.Load{Rate: &rate}, Summary: metric.Summary{Goodput: &metric.Goodput{Requests: rate - 0.5}, Throughput: metric.Throughput{Output: 100 * rate},
			Latency:    metric.Latency{TTFTDue: &metric.Dist{N: 9, P: map[string]float64{"p99": ttft}}, TPOT: &metric.Dist{N: 9, P: map[string]float64{"p99": ttft / 10}}},
			Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: standing}}}}
	}
	levels := []result.Point{level(2, 110, slo.Met), level(4, 120, slo.Undecided), level(8, 930, slo.Missed)}
	keep(t, root, "plain")
	keep(t, root, "invalid", func(r *result.Result) { r.Verdict.Valid = result.Invalid })
	keep(t, root, "sweep", func(r *result.Result) { r.Points, r.Curve = levels, &result.Curve{Points: []int{0, 1, 2}} })
	keep(t, root, "tuned", func(r *result.Result) {
		r.Points, r.Tuning, r.Comparison = levels, &result.Tuning{WinnerPoint: new(0)}, &result.Comparison{}
	})
	keep(t, root, "imported", func(r *result.Result) {
		r.Verdict = result.Verdict{Valid: result.Valid, Unchecked: []result.SkippedCheck{{Name: "lag"}}}
		r.Points[0].Latency, r.Points[0].Throughput, r.Points[0].Objectives = metric.Latency{}, metric.Throughput{}, nil
	})
	v := visit(t, Options{Root: root})
	says(t, plain(v.page("/")), "plain met llama-3.1-8b vllm run 5/s 61 – – 1,000 ", "invalid invalid llama-3.1-8b vllm run 5/s 61 – – 1,000 ",
		"sweep met llama-3.1-8b vllm sweep at 4/s 120 12 3.5 400 ", "tuned met llama-3.1-8b vllm tune 2/s 110 11 1.5 200 ", "imported unchecked llama-3.1-8b vllm run 5/s – – – – ")
	says(t, v.page("/?verdict=unchecked"), "1–1 of 1", "--verdict unchecked")
}

// A list of a thousand runs is shown from the index: no result is read again.
func TestAThousandRunsAreListedAtOnce(t *testing.T) {
	root := t.TempDir()
	for i := range 1000 {
		keep(t, root, fmt.Sprintf("run-%04d", i))
	}
	v := visit(t, Options{Root: root})
	first := v.page("/") // it makes the index
	says(t, first, "1–50 of 1000")
	results, err := filepath.Glob(filepath.Join(root, "*", "result.json"))
	if err != nil || len(results) != 1000 {
		t.Fatal(len(results), err)
	}
	for _, path := range results {
		about := must.Get(os.Stat(path))(t)
		// Whoever reads it now notices, and nobody else.
		must.Do(t, errors.Join(os.WriteFile(path, make([]byte, about.Size()), 0o600), os.Chtimes(path, time.Time{}, about.ModTime())))
	}
	if again := v.page("/"); again != first {
		t.Errorf("the list was made anew:\n%s", again)
	}
}

// Directories that are no finished runs are shown with what they are.
func TestBrokenKilledAndRunningRunsAreListed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "good")
	write(t, root, "damaged", map[string]string{"records.jsonl": "", "result.json": "{ not json"})
	write(t, root, "empty-log", map[string]string{"records.jsonl": ""})
	write(t, root, "cut", map[string]string{"records.jsonl": `{"schema":"redline/record/2","run":"x","origin_unix_ns":1,"origin_mono_ns":1}` + "\n"})
	write(t, root, "now", map[string]string{"plan.yaml": "provider: {model: qwen3-14b}\nload_profile: {rate: 5, duration: 60s}\n"})
	write(t, root, "unrelated", map[string]string{"notes.txt": "hello"})
	hold := store.Hold{Command: "redline run"}
	must.Do(t, hold.Take(filepath.Join(root, "now")))
	defer hold.Release()
	v := visit(t, Options{Root: root})
	page := plain(v.page("/"))
	says(t, page, "good met", "damaged result.json: not a result: ", "empty-log records.jsonl: line 1: the log is empty broken", "cut it ended before it had a result killed", "now redline run (pid ", ") running qwen3-14b run 5/s – ")
	if strings.Contains(page, "unrelated") {
		t.Error("a directory without a run is listed")
	}
	says(t, v.page("/run/"+Key("damaged")), "Not shown", "damaged is broken")
	says(t, v.page("/?verdict=broken"), "damaged", "empty-log", "1–2 of 2")
	// A run that was put there later is found without a rebuild, and one that is gone is said to be.
	keep(t, root, "later")
	says(t, plain(v.page("/")), "later met")
	must.Do(t, os.RemoveAll(filepath.Join(root, "later")))
	says(t, plain(v.page("/")), "later its result.json is gone: redline history rebuild forgets the run broken")
}

func TestViewsNameTheCommandThatPrintsTheSame(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 11 {
		keep(t, root, fmt.Sprintf("week-%02d", i), func(r *result.Result) { r.Started = r.Started.AddDate(0, 0, 7*i) })
	}
	v := visit(t, Options{Root: root})
	a, b, c := Key("week-00"), Key("week-01"), Key("week-02")
	path := func(name string) string { return filepath.ToSlash(filepath.Join(root, name)) }
	for target, wanted := range map[string][]string{
		"/run/" + a:                                              {"redline report " + path("week-00"), "61", "/capacity/" + a},
		"/compare?a=" + a + "&b=" + b:                            {"redline compare " + path("week-00") + " " + path("week-01"), "ttft"},
		"/compare?a=" + a + "&b=" + b + "&b=" + c:                {"redline compare " + path("week-00") + " " + path("week-02"), `id="d1-s`},
		"/frontier?run=" + a + "&run=" + a:                       {"redline report " + path("week-00") + " --pareto", "FRONTIER"},
		"/frontier?run=" + a + "&run=" + b:                       {"redline report " + path("week-00") + " " + path("week-01") + " --pareto", "FRONTIER", "tokens/s/accelerator"},
		"/drift?label=nightly":                                   {"redline history drift --runs " + root + " --label nightly", "STEADY", "week-10"},
		"/drift?run=" + a:                                        {"redline history drift --runs " + root + " week-00-id"},
		"/capacity/" + a + "?rate=100&headroom=0.3":              {"redline capacity " + path("week-00") + " --rate 100 --headroom 0.3", "instances"},
		"/capacity/" + a + "?rate=100&price=2.5":                 {"--rate 100 --headroom 0.2 --price-per-hour 2.5"},
		"/start?url=http://h:1&rate=5&check=1&slo=ttft:p99%3C1s": {"redline run --url http://h:1 --rate 5 --slo &#39;ttft:p99&lt;1s&#39; --out " + path("")},
	} {
		says(t, v.page(target), wanted...)
	}
	// Boxes of the list lead to an address of their own; the oldest is A.
	w := v.ask(http.MethodGet, "/compare?run="+b+"&run="+a, "")
	if want := "/compare?a=" + a + "&b=" + b; w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
		t.Errorf("chosen runs lead to %d %s, want %s", w.Code, w.Header().Get("Location"), want)
	}
	// The navigation leads to a run that a capacity can be planned by; the limit of an objective does not go from one run to another.
	for target, want := range map[string]string{"/capacity": "/capacity/" + Key("week-10"), "/capacity?run=" + a + "&of=" + a + "&rate=7&objective=9": "/capacity/" + a + "?objective=9&rate=7",
		"/capacity?run=" + a + "&of=" + b + "&rate=7&objective=9": "/capacity/" + a + "?rate=7"} {
		if w := v.ask(http.MethodGet, target, ""); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("%s leads to %d %s, want %s", target, w.Code, w.Header().Get("Location"), want)
		}
	}
	says(t, visit(t, Options{Root: t.TempDir()}).page("/capacity"), "no run in ", "redline sweep --find-limit")
	for target, want := range map[string]string{"/compare": "choose two runs or more", "/compare?a=" + a + "&b=none": "not in", "/frontier": "choose runs"} {
		if w := v.ask(http.MethodGet, target, ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", target, w.Code, plain(w.Body.String()))
		}
	}
}

// A line shows the series up to its run, the lowest figure at the bottom.
func TestATrendIsTheSeriesSoFar(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i, output := range []float64{1000, 900, 1100} {
		keep(t, root, fmt.Sprintf("week-%d", i), func(r *result.Result) {
			r.Started, r.Points[0].Throughput.Output = r.Started.AddDate(0, 0, 7*i), output
		})
	}
	page := visit(t, Options{Root: root}).page("/")
	says(t, page, "1,100", `points="1.0,10.0 40.0,18.0 79.0,2.0"`, `points="1.0,2.0 79.0,18.0"`)
	if n := strings.Count(page, "<polyline"); n != 2 {
		t.Errorf("%d lines for three runs, want two: one run is no line", n)
	}
}

func TestPinAndUnpin(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "one")
	v := visit(t, Options{Root: root})
	target := "/run/" + Key("one")
	says(t, v.page(target), target+"/pin")
	if w := v.ask(http.MethodPost, target+"/pin", "note=after+the+upgrade"); w.Code != http.StatusSeeOther {
		t.Fatalf("pin: %d %s", w.Code, plain(w.Body.String()))
	}
	pin, err := os.ReadFile(filepath.Join(root, "one", "pin.json"))
	if err != nil || !strings.Contains(string(pin), "after the upgrade") {
		t.Errorf("the pin is %s, %v", pin, err)
	}
	says(t, v.page("/drift?run="+Key("one")), "pinned: after the upgrade", "/unpin")
	if w := v.ask(http.MethodPost, target+"/unpin", ""); w.Code != http.StatusSeeOther {
		t.Errorf("unpin: %d", w.Code)
	}
	if _, err := os.Stat(filepath.Join(root, "one", "pin.json")); err == nil {
		t.Error("the pin is still there")
	}
}

// A run under way sends its figures, and says when it has ended.
func TestARunUnderWaySendsItsFigures(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	head := fmt.Sprintf(`{"schema":"redline/record/2","run":"x","origin_unix_ns":%d,"origin_mono_ns":1}`, time.Now().UnixNano())
	write(t, root, "now", map[string]string{"records.jsonl": head + "\n", "plan.yaml": "load_profile: {rate: 5, duration: 60s}\nsla_thresholds: ['ttft:p99<500ms', 'tpot:p99<20ms', 'good:fraction>90%']\n",
		"telemetry.jsonl": `{"schema":"redline/telemetry/1","run":"x"}` + "\n" + `{"at":2000000000,"server":{"reading":{"running":3,"waiting":7,"kv_usage":0.25}}}` + "\n"})
	hold := store.Hold{Command: "redline run"}
	must.Do(t, hold.Take(filepath.Join(root, "now")))
	v := visit(t, Options{Root: root})
	target := "/run/" + Key("now")
	says(t, v.page(target), `data-events="`+target+`/events"`, "started elsewhere")
	server := httptest.NewServer(v.Server)
	defer server.Close()
	answer := must.Get(http.Get(server.URL + target + "/events"))(t)
	defer answer.Body.Close()
	log := must.Get(os.OpenFile(filepath.Join(root, "now", "records.jsonl"), os.O_APPEND|os.O_WRONLY, 0))(t)
	defer log.Close()
	for at := 1; at <= 4; at++ {
		fmt.Fprintf(log, `{"id":%[1]d,"phase":"measure","try":1,"due":%[1]d000000000,"begin":%[1]d000000000,"sent":%[1]d000000000,"first":%[1]d050000000,"last":%[1]d200000000,"end":%[1]d200000000,"outcome":"ok","output_tokens":2,"streamed_tokens":2,"chunks_us":[50000,150000],"streamed":true}`+"\n", at)
	}
	fmt.Fprintln(log, `{"id":9,"phase":"measure","try":1,"due":4500000000,"begin":4500000000,"sent":4500000000,"streamed":true}`)
	time.AfterFunc(1500*time.Millisecond, hold.Release)
	sent := must.Get(io.ReadAll(answer.Body))(t)
	_, last, _ := strings.Cut(string(sent[bytes.LastIndex(sent, []byte("\ndata: \"")):]), "data: ")
	last, end, _ := strings.Cut(last, "\n\n")
	var page string
	if err := json.Unmarshal([]byte(last), &page); err != nil {
		t.Fatalf("%v in %s", err, sent)
	}
	says(t, end, "event: end")
	says(t, plain(page), "measuring", " of 60 s ", "ttft p99 50", "in flight 1 requests", "ended ok 4 requests 0 failed", "&lt; 20 ms over so far", "&lt; 500 ms too few yet", "good fraction – &gt; 0.9 no figure yet", "waiting 7", "KV cache 25%")
	says(t, page, "objective tpot:p99&lt;20ms</text>", "Requests in flight")
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("the events are %s", kind)
	}
}

// Nobody reads on for a browser that has left.
func TestABrowserThatLeavesLeavesNothingRunning(t *testing.T) {
	before := goleak.IgnoreCurrent()
	root := t.TempDir()
	write(t, root, "now", map[string]string{"records.jsonl": `{"schema":"redline/record/2","run":"x","origin_unix_ns":1,"origin_mono_ns":1}` + "\n"})
	hold := store.Hold{Command: "redline run"}
	must.Do(t, hold.Take(filepath.Join(root, "now")))
	defer hold.Release()
	server := httptest.NewServer(New(Options{Root: root}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7700}))
	ctx, leave := context.WithCancel(t.Context())
	r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/run/"+Key("now")+"/events", nil))(t)
	browser := &http.Transport{}
	answer := must.Get(browser.RoundTrip(r))(t)
	must.Get(answer.Body.Read(make([]byte, 1)))(t)
	leave()
	_ = answer.Body.Close() // it was left
	goleak.VerifyNone(t, before, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"), goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1"))
	server.Close()
}

// A run is found by the name of its directory and by its id as far as the history
// lists it, and has one address; a name of several runs is none.
func TestARunIsFoundByItsNameAndID(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"20261117-174434", "a/twice", "b/twice"} {
		keep(t, root, name, func(r *result.Result) { r.ID = "684152e0" + strings.ReplaceAll(name, "/", "") })
	}
	v := visit(t, Options{Root: root})
	for name, want := range map[string]string{"20261117-174434": Key("20261117-174434"), "684152e02026": Key("20261117-174434"),
		"684152e0a": Key("a/twice"), "twice": "", "684152e0": "", "6": ""} {
		w := v.ask(http.MethodGet, "/run/"+name, "")
		switch {
		case want == "" && w.Code != http.StatusNotFound:
			t.Errorf("%s gives %d, want 404", name, w.Code)
		case want != "" && w.Header().Get("Location") != "/run/"+want:
			t.Errorf("%s gives %d %s, want the page %s", name, w.Code, w.Header().Get("Location"), want)
		}
	}
	if w := v.ask(http.MethodGet, "/compare?a=20261117-174434&b=684152e0a", ""); w.Code != http.StatusOK {
		t.Errorf("two names give %d", w.Code)
	}
}
