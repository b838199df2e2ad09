package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"redline/internal/expect"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/judge/result"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == stubborn {
		os.Exit(beStubborn(os.Args[3]))
	}
	os.Exit(m.Run())
}

// stubborn is a command that does not end when it is interrupted, and takes its
// time when it is terminated.
const stubborn = "stubborn"

func beStubborn(dir string) (code int) {
	signal.Ignore(os.Interrupt)
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	if os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600) != nil {
		return 1
	}
	<-told
	time.Sleep(time.Second)
	if os.WriteFile(filepath.Join(dir, "late"), nil, 0o600) != nil {
		return 1
	}
	return 0
}

// A run that does not end when it is interrupted gets its time once, not again
// when it is stopped.
func TestAStubbornRunIsWaitedForOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process ignores a signal there")
	}
	old := grace
	grace = 2 * time.Second
	t.Cleanup(func() { grace = old })
	dir := t.TempDir()
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for !exists("ready") && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	spec := &Spec{Runs: filepath.Join(dir, "runs")}
	due := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := spec.Carry(ctx, Schedule{Name: "a", Command: stubborn, Plan: dir}, due, nil)
	if want := (Outcome{Exit: exitStopped, Dir: filepath.ToSlash(filepath.Join(spec.Runs, "20260102-030405-a"))}); !cmp.Equal(o, want) {
		t.Errorf("got %+v, want %+v", o, want)
	}
	if !exists("ready") || exists("late") {
		t.Errorf("it was begun: %v, it was given more time: %v", exists("ready"), exists("late"))
	}
}

func completeSpec(t *testing.T, s Spec) *Spec {
	t.Helper()
	must.Do(t, s.Complete())
	return &s
}

// bench is a watch whose runs take some time and end as they are told.
type bench struct {
	watcher *Watcher
	said    []string
	told    []string
	ran     []string // the schedules, each with the minute in which it began
}

func newBench(t *testing.T, spec Spec, dir string, takes time.Duration, exits ...int) *bench {
	t.Helper()
	state := must.Get(LoadState(dir))(t)
	b := &bench{}
	b.watcher = &Watcher{Spec: completeSpec(t, spec), State: state,
		Say: func(format string, args ...any) { b.said = append(b.said, fmt.Sprintf(format, args...)) },
		Tell: []Teller{{"test", func(_ context.Context, a Alert) error {
			b.told = append(b.told, a.Status+" "+a.Kind)
			return nil
		}}},
		Run: func(ctx context.Context, s Schedule, due time.Time) Outcome {
			b.ran = append(b.ran, s.Name+" "+time.Now().UTC().Format("15:04"))
			exit := exitOK
			if len(exits) > 0 {
				exit, exits = exits[0], exits[1:]
			}
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				return Outcome{Exit: exitStopped}
			}
			return Outcome{Exit: exit}
		}}
	return b
}

// loop watches for some virtual time.
func (b *bench) loop(t *testing.T, length time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	b.watcher.Loop(ctx)
}

func hourly(names ...string) (s []Schedule) {
	for _, n := range names {
		s = append(s, Schedule{Name: n, Cron: "0 * * * *", Plan: "plan.yaml"})
	}
	return s
}

// The clock of a bubble begins at midnight UTC.
func TestRunsComeOnTimeOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Spec{Schedules: hourly("a", "b")}, t.TempDir(), 10*time.Minute)
		b.loop(t, 150*time.Minute)
		want := []string{"a 01:00", "b 01:10", "a 02:00", "b 02:10"}
		expect.Same(t, want, b.ran)
	})
}

func TestWhatTakesLongerThanItsPeriodIsMissed(t *testing.T) {
	for policy, want := range map[string][]string{
		missedSkip: {"a 01:00", "a 04:00"},            // due again at 2 and 3, done at 3:30
		missedRun:  {"a 01:00", "a 03:30", "a 06:00"}, // one run for both; done at 6:00, due then
	} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, Spec{Schedules: hourly("a"), Missed: policy}, t.TempDir(), 150*time.Minute)
				b.loop(t, 365*time.Minute)
				expect.Same(t, want, b.ran)
			})
		})
	}
}

func TestARestartForgetsNothing(t *testing.T) {
	for policy, want := range map[string][]string{
		missedSkip: {"a 06:00"},
		missedRun:  {"a 05:30", "a 06:00"},
	} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				spec := Spec{Schedules: hourly("a"), Missed: policy}
				first := newBench(t, spec, dir, time.Minute, exitMissed)
				first.loop(t, 90*time.Minute)
				expect.Same(t, []string{"firing missed"}, first.told)
				time.Sleep(4 * time.Hour) // nobody watches
				second := newBench(t, spec, dir, time.Minute, exitMissed, exitOK)
				second.loop(t, 45*time.Minute)
				expect.Same(t, want, second.ran)
				// It fired before the restart: only its end is news.
				told := []string{"recovered missed"}
				if policy == missedSkip {
					told = nil // the one run still misses
				}
				expect.Same(t, told, second.told)
			})
		})
	}
}

func TestARunThatTheEndCutOffIsStillDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		spec := Spec{Schedules: hourly("a"), Missed: missedRun}
		cut := newBench(t, spec, dir, time.Hour)
		cut.loop(t, 70*time.Minute) // ended in its first run, of 1:00
		again := newBench(t, spec, dir, time.Minute)
		again.loop(t, 10*time.Minute)
		expect.Same(t, []string{"a 01:10"}, again.ran)
		if len(cut.told) > 0 {
			t.Errorf("told %v", cut.told)
		}
	})
}

func TestARunThatTakesTooLongHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Spec{Schedules: hourly("a"), Timeout: 5 * time.Minute}, t.TempDir(), time.Hour)
		b.loop(t, 70*time.Minute)
		expect.Same(t, []string{"firing failed"}, b.told)
	})
}

func TestJitterDelaysByLessThanItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Spec{Schedules: hourly("a"), Jitter: 20 * time.Minute}, t.TempDir(), time.Second)
		b.loop(t, 24*time.Hour)
		minutes := map[string]bool{}
		for _, run := range b.ran {
			_, minute, _ := strings.Cut(run, ":")
			if minute >= "20" {
				t.Errorf("%s: more than 20 minutes late", run)
			}
			minutes[minute] = true
		}
		if len(b.ran) != 23 || len(minutes) < 5 {
			t.Errorf("%d runs at %d different minutes: %v", len(b.ran), len(minutes), b.ran)
		}
	})
}

// TestAlertsAreToldOnce follows outcomes one after another.
func TestAlertsAreToldOnce(t *testing.T) {
	t.Parallel()
	worse, same := &result.Drift{Standing: slo.Worse}, &result.Drift{Standing: slo.Same}
	early := &result.Drift{Standing: slo.Undecided}
	firing := map[string]time.Time{}
	for i, c := range []struct {
		name  string
		exit  int
		drift *result.Drift
		want  []string
	}{
		{"all is well", exitOK, same, nil},
		{"an objective is missed", exitMissed, same, []string{"firing missed"}},
		{"still", exitMissed, same, nil},
		{"an invalid run says nothing of objectives", exitInvalid, nil, []string{"firing invalid"}},
		{"a failed run says nothing of anything", 1, nil, []string{"firing failed"}},
		{"ended by a signal is failed too", 137, nil, nil},
		{"an undecided run is a result", exitUndecided, same, []string{"recovered invalid", "recovered failed"}},
		{"and drifts beside", exitMissed, worse, []string{"firing drift"}},
		{"too few runs say nothing of drift", exitMissed, early, nil},
		{"well again", exitOK, same, []string{"recovered missed", "recovered drift"}},
		{"and stays so", exitOK, same, nil},
	} {
		o := Outcome{Schedule: "s", Exit: c.exit, Drift: c.drift, Ended: time.Unix(int64(1000*i+1000), 0)}
		var got []string
		for _, a := range alertsOf(&o, firing) {
			got = append(got, a.Status+" "+a.Kind)
		}
		expect.NoDiff(t, cmp.Diff(c.want, got), "%s", c.name)
	}
}

func TestOnlyWantedAlertsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Spec{Schedules: hourly("a"), Alerts: Alerts{On: []string{Invalid}}}, t.TempDir(), time.Minute, exitMissed, exitInvalid, 1)
		b.loop(t, 5*time.Hour)
		expect.Same(t, []string{"firing invalid", "recovered invalid"}, b.told)
	})
}

func TestSpecMistakes(t *testing.T) {
	t.Parallel()
	with := func(change func(*Spec)) Spec {
		s := Spec{Schedules: hourly("a")}
		change(&s)
		return s
	}
	for _, c := range []struct {
		name string
		spec Spec
		key  string
	}{
		{"nothing to run", Spec{}, "schedules"},
		{"a policy that is none", with(func(s *Spec) { s.Missed = "all" }), "missed"},
		{"negative jitter", with(func(s *Spec) { s.Jitter = -1 }), "jitter"},
		{"no time at all", with(func(s *Spec) { s.Timeout = time.Millisecond }), "timeout"},
		{"no name", with(func(s *Spec) { s.Schedules[0].Name = "" }), "schedules[0].name"},
		{"a name that is a path", with(func(s *Spec) { s.Schedules[0].Name = "../a" }), "schedules[0].name"},
		{"one name twice", with(func(s *Spec) { s.Schedules = hourly("a", "a") }), "schedules[1].name"},
		{"no plan", with(func(s *Spec) { s.Schedules[0].Plan = "" }), "schedules[0].plan"},
		{"not a cron line", with(func(s *Spec) { s.Schedules[0].Cron = "at noon" }), "schedules[0].cron"},
		{"a day that never comes", with(func(s *Spec) { s.Schedules[0].Cron = "0 0 31 2 *" }), "schedules[0].cron"},
		{"an unknown command", with(func(s *Spec) { s.Schedules[0].Command = "rm" }), "schedules[0].command"},
		{"an unknown alert", with(func(s *Spec) { s.Alerts.On = []string{"fire"} }), "alerts.on[0]"},
		{"no address", with(func(s *Spec) { s.Alerts.Webhooks = []Webhook{{URL: "example.org"}} }), "alerts.webhooks[0].url"},
		{"an unknown form", with(func(s *Spec) { s.Alerts.Webhooks = []Webhook{{URL: "http://a", Format: "xml"}} }), "alerts.webhooks[0].format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m *Mistake
			if err := c.spec.Complete(); !errors.As(err, &m) || m.Key != c.key {
				t.Errorf("%v, want a mistake at %s", err, c.key)
			}
		})
	}
}

func TestADamagedStateBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"damaged": "{", "of another form": `{"schema":"redline/watch/9"}`} {
		dir := t.TempDir()
		must.Write(t, filepath.Join(dir, StateFile), text)
		if s, err := LoadState(dir); err == nil || s == nil || len(s.Schedules) != 0 {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

func TestTwoWatchesDoNotShareADirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "runs")
	first, err := Lock(dir)
	must.Do(t, err)
	who := fmt.Sprintf("redline watch (pid %d, since ", os.Getpid())
	if _, err := Lock(dir); err == nil || !strings.Contains(err.Error(), "another redline watch runs") || !strings.Contains(err.Error(), who) {
		t.Errorf("a second one: %v", err)
	}
	must.Do(t, first.Release())
	if first, err = Lock(dir); err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	first.Release()
}

var alert = Alert{Schema: alertSchema, Schedule: "nightly", Kind: Drifted, Status: Firing, At: time.Unix(1e9, 0).UTC(), Since: time.Unix(1e9, 0).UTC(),
	Text: "tpot:p95 is worse", Run: "runs/1"}

// hook answers like a webhook and keeps what it got.
func hook(t *testing.T, statuses ...int) (url string, got func() []string) {
	t.Helper()
	bodies := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- r.Header.Get("X-Key") + string(body)
		if len(statuses) > 0 {
			w.WriteHeader(statuses[0])
			statuses = statuses[1:]
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() (all []string) {
		for len(bodies) > 0 {
			all = append(all, <-bodies)
		}
		return all
	}
}

func TestAWebhookGetsTheAlert(t *testing.T) {
	t.Parallel()
	url, got := hook(t)
	w := Webhook{URL: url, Format: formatJSON}
	must.Do(t, w.post(t.Context(), alert))
	var back Alert
	must.Do(t, json.Unmarshal([]byte(strings.Join(got(), "")), &back))
	expect.Same(t, alert, back)
	slack := Webhook{URL: url, Format: formatSlack, Headers: map[string]string{"X-Key": "k"}}
	must.Do(t, slack.post(t.Context(), alert))
	expect.Same(t, []string{`k{"text":"ALERT nightly (drift): tpot:p95 is worse [runs/1]"}`}, got())
}

func TestAWebhookThatFails(t *testing.T) {
	t.Parallel()
	url, got := hook(t, 404)
	w := Webhook{URL: url + "/secret-path", Format: formatJSON}
	if err := w.post(t.Context(), alert); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("refused: %v", err)
	}
	if n := len(got()); n != 1 {
		t.Errorf("a refusal was tried %d times", n)
	}
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer hangs.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	w.URL = hangs.URL + "/secret-path"
	if err := w.post(ctx, alert); err == nil || strings.Contains(err.Error(), "secret-path") {
		t.Errorf("one that hangs: %v", err)
	}
}

// A redirection is followed without the body, and by headers of its own choice:
// the alert would count as told and be lost.
func TestAWebhookThatMovedIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere, got := hook(t)
	moved := httptest.NewServer(http.RedirectHandler(elsewhere, http.StatusMovedPermanently))
	defer moved.Close()
	w := Webhook{URL: moved.URL, Format: formatJSON, Headers: map[string]string{"X-Key": "k"}}
	if err := w.post(t.Context(), alert); err == nil || !strings.Contains(err.Error(), "301") {
		t.Errorf("moved: %v", err)
	}
	if all := got(); len(all) > 0 {
		t.Errorf("the other address got %q", all)
	}
}

func TestACommandGetsTheAlert(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "got")
	a := Alerts{Command: `cat > ` + file + `; echo "$REDLINE_ALERT_KIND $REDLINE_ALERT_STATUS" >> ` + file}
	must.Do(t, a.runCommand(t.Context(), alert))
	text := must.Read(t, file)
	body := must.Get(json.Marshal(alert))(t)
	expect.Same(t, string(body)+"\ndrift firing\n", string(text))
	a.Command = "echo no pager today; exit 3"
	if err := a.runCommand(t.Context(), alert); err == nil || !strings.Contains(err.Error(), "no pager today") {
		t.Errorf("a command that fails: %v", err)
	}
}

func TestPrometheusSeesTheLastResults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := must.Get(LoadState(dir))(t)
	w := &Watcher{Spec: completeSpec(t, Spec{Runs: dir, Schedules: hourly("nightly")}), State: state, Say: t.Logf}
	w.Run = func(context.Context, Schedule, time.Time) Outcome {
		return Outcome{Exit: exitMissed, Values: map[string]float64{"tpot:p95": 21.5}}
	}
	w.Once(t.Context())
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	page := get(t, server.URL+"/metrics")
	for _, line := range []string{
		`redline_last_run_exit_code{schedule="nightly"} 3`,
		`redline_last_value{metric="tpot:p95",schedule="nightly"} 21.5`,
		`redline_alert_firing{kind="missed",schedule="nightly"} 1`,
		`redline_alert_firing{kind="failed",schedule="nightly"} 0`,
		`redline_runs_total{outcome="missed",schedule="nightly"} 1`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("%s is not in:\n%s", line, page)
		}
	}
	if body := get(t, server.URL+"/healthz"); body != "ok\n" {
		t.Errorf("health: %q", body)
	}
	kept := must.Get(LoadState(dir))(t)
	expect.Same(t, state.Schedules, kept.Schedules, cmpopts.EquateApproxTime(time.Second), cmpopts.IgnoreFields(Outcome{}, "Values"))
}

func get(t *testing.T, url string) string {
	t.Helper()
	res := must.Get(http.Get(url))(t)
	defer res.Body.Close()
	body := must.Get(io.ReadAll(res.Body))(t)
	return string(body)
}
