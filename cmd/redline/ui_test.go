package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/store"
)

// uiPages is a redline ui and a browser that has its token.
type uiPages struct {
	t      *testing.T
	site   string
	client *http.Client
	stop   chan struct{}
	ended  chan int
	said   *buffer
}

var printedURL = regexp.MustCompile(`http://\S+`)

func serveUI(t *testing.T, args ...string) *uiPages {
	t.Helper()
	u := &uiPages{t: t, stop: make(chan struct{}), ended: make(chan int, 1), said: &buffer{}}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	p := &process{args: append([]string{"ui", "--listen", "127.0.0.1:0"}, args...), stdout: io.Discard, stderr: u.said, stop: u.stop,
		lookupEnv: func(string) (string, bool) { return "", false }}
	go func() { u.ended <- p.run(ctx) }()
	await(t, "redline ui to begin", func() bool { return len(u.ended) > 0 || strings.Contains(u.said.String(), "serving") })
	first, err := url.Parse(printedURL.FindString(u.said.String()))
	if err != nil || first.Host == "" {
		t.Fatalf("redline ui prints %s", u.said)
	}
	u.site = "http://" + first.Host
	jar := must.Get(cookiejar.New(nil))(t)
	u.client = &http.Client{Jar: jar}
	u.get("/?" + first.RawQuery)
	return u
}

// get asks for a page until it is ready.
func (u *uiPages) get(target string) (page string) {
	u.t.Helper()
	await(u.t, target, func() bool {
		r, err := u.client.Get(u.site + target)
		if err != nil {
			u.t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			u.t.Fatal(err)
		}
		page = string(body)
		return r.StatusCode != http.StatusAccepted
	})
	return page
}

// post sends a form as a page of the server does, and gives where it leads to.
func (u *uiPages) post(target string, form url.Values) (path, body string) {
	u.t.Helper()
	r, err := http.NewRequestWithContext(u.t.Context(), http.MethodPost, u.site+target, strings.NewReader(form.Encode()))
	if err != nil {
		u.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", u.site)
	answer, err := u.client.Do(r)
	if err != nil {
		u.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return answer.Request.URL.Path, string(text)
}

// end interrupts the command and gives its exit code.
func (u *uiPages) end() int {
	close(u.stop)
	return <-u.ended
}

// filledForm asks for a run of the built-in engine that lasts until it is stopped.
var filledForm = url.Values{"rate": {"20"}, "duration": {"100s"}, "workload": {"fixed(50,5)"}, "label": {"from a form"}}

// A run is started by the form, seen while it goes on, and stopped; the report
// takes its place.
func TestUIStartsShowsAndStopsARun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	u := serveUI(t, root)
	path, page := u.post("/start", filledForm)
	if !strings.HasPrefix(path, "/run/") || !strings.Contains(page, "--label &#39;from a form&#39; --out "+filepath.ToSlash(root)) {
		t.Fatalf("the form leads to %s:\n%s", path, page)
	}
	await(t, "the run to be written", func() bool { return strings.Contains(u.get("/?verdict=running"), path) })
	if _, refused := u.post("/start", filledForm); !strings.Contains(refused, "still running") {
		t.Errorf("a second run is started beside it:\n%s", refused)
	}
	events := must.Get(u.client.Get(u.site + path + "/events"))(t)
	defer events.Body.Close()
	answered := regexp.MustCompile(`ended ok</dt><dd><span class=\\"number\\">[1-9]`)
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !answered.MatchString(lines.Text()) {
	}
	if !answered.MatchString(lines.Text()) {
		t.Errorf("no event has a request that ended: %v", lines.Err())
	}
	if _, page := u.post(path+"/stop", nil); !strings.Contains(page, "asked to stop") && !strings.Contains(page, "redline report ") {
		t.Errorf("stop shows\n%s", page)
	}
	await(t, "the report", func() bool {
		return strings.Contains(u.get(path), "redline report ") && strings.Contains(u.get(path), "INTERRUPTED")
	})
	if code := u.end(); code != exitOK {
		t.Errorf("it ends with %d: %s", code, u.said)
	}
}

// A sweep and a comparison are started by the form as well; both end with their
// report.
func TestUIStartsASweepAndAComparison(t *testing.T) {
	t.Parallel()
	u := serveUI(t, t.TempDir())
	a, b := metronome(t, time.Millisecond), metronome(t, time.Millisecond)
	plan := must.File(t, "plan.yaml", "load_profile: {requests: 3, warmup: 0s}\n")
	for _, form := range []url.Values{
		{"kind": {"compare"}, "a": {a}, "b": {b}, "concurrency": {"1"}, "rounds": {"1"}},
		{"kind": {"sweep"}, "url": {a}, "concurrencies": {"1,2"}},
	} {
		form.Set("plan", plan)
		form.Set("workload", "fixed(20,5)")
		var path, page string
		await(t, "the process before it to end", func() bool {
			path, page = u.post("/start", form)
			return !strings.Contains(page, "still running")
		})
		if !strings.Contains(page, "redline "+form.Get("kind")+" ") {
			t.Fatalf("the form leads to %s:\n%s", path, page)
		}
		await(t, "the report of the "+form.Get("kind"), func() bool { return strings.Contains(u.get(path), "redline report ") })
	}
	if code := u.end(); code != exitOK {
		t.Errorf("it ends with %d: %s", code, u.said)
	}
}

// The sliders test their plan on an engine that is fitted to the run, and say what
// redline capacity --simulate says.
func TestUITestsAPlanOnTheTwin(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	run := filepath.Join(root, "run")
	soundRun(t, run)
	u := serveUI(t, root)
	key := regexp.MustCompile(`/run/(\w+)`).FindStringSubmatch(u.get("/"))
	if key == nil {
		t.Fatalf("no run is listed:\n%s", u.get("/"))
	}
	target := "/capacity/" + key[1] + "?rate=30&headroom=0.2"
	if page := u.get(target); strings.Contains(page, "one instance less") || strings.Contains(page, "--simulate") {
		t.Errorf("a plan is tried unasked:\n%s", page)
	}
	page := strings.ReplaceAll(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(u.get(target+"&twin=yes"), ""), "\u00a0", " ")
	_, printed, _ := redline(t, nil, "capacity", run, "--rate", "30", "--headroom", "0.2", "--simulate", "--format", "markdown")
	rehearsed := regexp.MustCompile(`allowed · ttft p99 [\d.]+ ms · tpot p99 [\d.]+ ms`).FindString(printed)
	if rehearsed == "" || !strings.Contains(page, rehearsed) || !strings.Contains(page, "--rate 30 --headroom 0.2 --simulate") {
		t.Errorf("the command says %q; the page is\n%s", rehearsed, page)
	}
	if code := u.end(); code != exitOK {
		t.Errorf("it ends with %d: %s", code, u.said)
	}
}

// Nothing that was started here goes on when the pages end.
func TestUILeavesNothingRunning(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	u := serveUI(t, root)
	u.post("/start", filledForm)
	var dir string
	await(t, "the run to be written", func() bool {
		found, _ := filepath.Glob(filepath.Join(root, "*", "records.jsonl"))
		if len(found) == 1 {
			dir = filepath.Dir(found[0])
		}
		return dir != "" && store.Writer(dir) != ""
	})
	if code := u.end(); code != exitOK {
		t.Errorf("it ends with %d: %s", code, u.said)
	}
	if by := store.Writer(dir); by != "" {
		t.Errorf("%s is still written by %s", dir, by)
	}
}

// What the form asks for may not be there: the page says what the command said.
func TestUIShowsWhyARunDidNotStart(t *testing.T) {
	t.Parallel()
	u := serveUI(t, t.TempDir())
	path, _ := u.post("/start", url.Values{"url": {"http://127.0.0.1:1"}, "rate": {"1"}})
	await(t, "the run to end", func() bool { return strings.Contains(u.get(path), "with exit code 1") })
	if page := u.get(path); !strings.Contains(page, "127.0.0.1:1") || strings.Contains(page, "http-equiv") {
		t.Errorf("the page is\n%s", page)
	}
	u.end()
}

func TestUIMistakes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	u := serveUI(t, root)
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a port in use":   {[]string{root, "--listen", strings.TrimPrefix(u.site, "http://")}, exitError, "is in use by "},
		"no directory":    {[]string{filepath.Join(root, "none")}, exitError, "no such directory"},
		"a file":          {[]string{os.Args[0]}, exitError, "no such directory"},
		"no port":         {[]string{root, "--listen", "localhost"}, exitError, "expected an address such as 127.0.0.1:7700"},
		"two directories": {[]string{root, root}, exitUsage, "takes one argument at most"},
	} {
		code, stdout, stderr := redline(t, nil, append([]string{"ui"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.says) || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q; want %d and %q", name, code, stderr, c.code, c.says)
		}
	}
	if code := u.end(); code != exitOK {
		t.Errorf("it ends with %d", code)
	}
}
