package experiment_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
	"redline/internal/store"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

type conducted = func(experiment.Options) (*result.Result, string, error)

func sweep(t *testing.T) conducted {
	return func(o experiment.Options) (*result.Result, string, error) { return experiment.Sweep(t.Context(), o) }
}

func matrix(t *testing.T) conducted {
	return func(o experiment.Options) (*result.Result, string, error) { return experiment.Matrix(t.Context(), o) }
}

func repeat(t *testing.T) conducted {
	return func(o experiment.Options) (*result.Result, string, error) { return experiment.Repeat(t.Context(), o) }
}

func bench(t *testing.T) conducted {
	return func(o experiment.Options) (*result.Result, string, error) { return experiment.Bench(t.Context(), o) }
}

// earlierRun is a directory with the files of an earlier experiment.
func earlierRun(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	names = []string{"plan.yaml", "result.json", "stages/01-earlier/records.jsonl"}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("earlier"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, names
}

// Nothing is replaced for the sake of a server that does not answer.
func TestForceWaitsForTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const dead = "http://127.0.0.1:1"
		engine, err := simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		compare := func(o experiment.Options) (*result.Result, string, error) {
			return experiment.Compare(t.Context(), o, plan(t, map[string][]string{"url": {dead}, "rate": {"5"}}))
		}
		for _, tt := range []struct {
			name     string
			run      conducted
			url      string
			variants []config.Variant
		}{
			{"a sweep", sweep(t), dead, nil},
			{"the second server of a comparison", compare, engine.URL(), nil},
			{"the first variant", bench(t), "", []config.Variant{{Name: "gone", URLs: []string{dead}}}},
		} {
			dir, names := earlierRun(t)
			flags := map[string][]string{"rate": {"5"}, "out": {dir}, "force": {"true"}}
			if tt.url != "" {
				flags["url"] = []string{tt.url}
			}
			c := plan(t, flags)
			c.Experiment.Variants = tt.variants
			if _, _, err := tt.run(experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}); err == nil {
				t.Errorf("%s: no error from a server that is not there", tt.name)
			}
			for _, name := range names {
				if content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); string(content) != "earlier" {
					t.Errorf("%s: %s is %q, %v; want it as it was", tt.name, name, content, err)
				}
			}
		}
	})
}

// A directory is gone on with by the kind of experiment that it is of, by the
// plan that it was begun with, and not at all if it is that of a single run.
func TestOnlyTheSameExperimentGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		single := filepath.Join(t.TempDir(), "run")
		c := plan(t, map[string][]string{"concurrency": {"1"}, "requests": {"1"}, "out": {single}})
		if _, _, err := measure.Run(t.Context(), measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}); err != nil {
			t.Fatal(err)
		}
		if _, err := experiment.Reopen(single); err == nil || !strings.Contains(err.Error(), "single run") {
			t.Errorf("reopening a single run: %v, want a refusal", err)
		}

		begun := filepath.Join(t.TempDir(), "sweep")
		c = plan(t, map[string][]string{"concurrencies": {"1"}, "requests": {"2"}, "out": {begun}})
		if _, _, err := experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(filepath.Join(begun, "result.json"))
		if err != nil {
			t.Fatal(err)
		}
		same := keptPlan(t, begun)
		other := *same
		other.Seed++
		for _, tt := range []struct {
			name string
			dir  string
			run  conducted
			plan *config.Config
			want string
		}{
			{"a matrix in a sweep", begun, matrix(t), same, "redline sweep --resume"},
			{"repeats in a sweep", begun, repeat(t), same, "redline sweep --resume"},
			{"another seed", begun, sweep(t), &other, "another experiment"},
		} {
			_, _, err := tt.run(experiment.Options{Resume: tt.dir, Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: tt.plan}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
			}
		}
		after, err := os.ReadFile(filepath.Join(begun, "result.json"))
		if err != nil || string(after) != string(before) {
			t.Errorf("the result was changed by a refusal (%v)", err)
		}
	})
}

// keptPlan is the plan that an experiment left behind, and nothing beside it.
func keptPlan(t *testing.T, dir string) *config.Config {
	t.Helper()
	path, err := experiment.Reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Resolve(config.Input{PlanPath: path})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// again goes on with a finished experiment and says which stages were not run
// anew.
func again(t *testing.T, run conducted, dir string) (res *result.Result, was []bool) {
	t.Helper()
	res, _, err := run(experiment.Options{Resume: dir, Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: keptPlan(t, dir)},
		End: func(_ experiment.Stage, _ *result.Result, kept bool) { was = append(was, kept) }})
	if err != nil {
		t.Fatal(err)
	}
	return res, was
}

// A stage is known again by a seed of any size, and where a trace gave it its
// length.
func TestStagesAreKnownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const large = "18446744073709551557"
		trace := filepath.Join(t.TempDir(), "trace.csv")
		if err := os.WriteFile(trace, []byte("timestamp,prompt_tokens,output_tokens\n0,16,3\n0.1,16,3\n0.2,16,3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, flags := range map[string]map[string][]string{
			"a large seed": {"concurrency": {"1"}, "requests": {"2"}, "seed": {large}, "warmup": {"0s"}, "workload": {"fixed(16,3)"}},
			"a trace":      {"workload": {trace}},
		} {
			out := filepath.Join(t.TempDir(), "repeats")
			flags["repeat"], flags["drain"], flags["out"] = []string{"2"}, []string{"5s"}, []string{out}
			c, err := config.Resolve(config.Input{Flags: flags, Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := experiment.Repeat(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, was := again(t, repeat(t), out); !slices.Equal(was, []bool{true, true}) {
				t.Errorf("%s: kept %v, want both runs", name, was)
			}
		}
	})
}

// A search that goes on asks for the levels that it asked for before, and finds
// them measured.
func TestLevelsOfASearchAreKnownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "limit")
		c, err := config.Resolve(config.Input{Seed: 7, Flags: map[string][]string{"find-limit": {"true"}, "slo": {"ttft:p99<5s"}, "start": {"20"},
			"budget": {"10s"}, "sustained": {"5s"}, "workload": {"fixed(16,3)"}, "out": {out}}})
		if err != nil {
			t.Fatal(err)
		}
		c.Experiment.MinWindow = time.Second
		res, _, err := experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}})
		if err != nil {
			t.Fatal(err)
		}
		sweep := func(o experiment.Options) (*result.Result, string, error) { return experiment.Sweep(t.Context(), o) }
		if _, was := again(t, sweep, out); len(was) != len(res.Stages) || slices.Contains(was, false) {
			t.Errorf("kept %v of %d levels", was, len(res.Stages))
		}
	})
}

// What failed is not finished, and the request that failed is sent again.
func TestFailedGoesOn(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "bench")
	brief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			io.WriteString(w, `{"data":[{"id":"m"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":16,"completion_tokens":16}}`+"\n\ndata: [DONE]\n\n")
	}))
	defer brief.Close()
	text := strings.Replace(quick, "server: {sim: {gpu: B200, tp: 8, jitter: 0}}", "provider: {api_endpoint: "+brief.URL+"}", 1)
	o := experiment.Options{Options: measure.Options{Config: resolvePlan(t, text, out)}}
	for attempt := range 2 {
		var begun []string
		o.Begin = func(s experiment.Stage, _ experiment.Progress) { begun = append(begun, s.Name) }
		res, _, err := experiment.Bench(t.Context(), o)
		if err == nil || res == nil {
			t.Fatalf("attempt %d: %v, want the failure and what there is", attempt, err)
		}
		if diff := cmp.Diff([]string{"smoke"}, begun); diff != "" {
			t.Errorf("attempt %d ran (-want +got):\n%s", attempt, diff)
		}
		dir, err := store.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		written, err := dir.Result()
		if err != nil || !strings.HasPrefix(written.Interrupted, "failed: ") {
			t.Errorf("attempt %d: written as interrupted by %q (%v), want the failure", attempt, written.Interrupted, err)
		}
		o = experiment.Options{Resume: out, Options: measure.Options{Config: readPlan(t, out)}}
	}
}

// The plan's limit on tokens is one of the whole experiment: it ends it, says so
// once, and going on sends nothing more.
func TestLimitsAreOfTheWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 360
		out := filepath.Join(t.TempDir(), "sweep")
		c := plan(t, map[string][]string{"concurrencies": {"1,2,3,4,5,6"}, "requests": {"5"}, "workload": {"fixed(16,4)"},
			"max-tokens-total": {fmt.Sprint(limit)}, "out": {out}})
		res, _, err := experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}})
		if err != nil {
			t.Fatal(err)
		}
		const bound = "--max-tokens-total reached"
		if res.Interrupted != bound || len(res.Stages) < 2 || len(res.Stages) > 3 {
			t.Errorf("interrupted by %q after %v, want %q in the second or third", res.Interrupted, names(res), bound)
		}
		var used measure.Usage
		for _, s := range res.Stages {
			stage, err := measure.UsedBy(filepath.Join(out, s.Dir), c)
			if err != nil {
				t.Fatal(err)
			}
			used.Add(stage)
		}
		if used.Tokens == 0 || used.Tokens > limit {
			t.Errorf("%d tokens were used, want at most %d", used.Tokens, limit)
		}
		last := names(res)[len(res.Stages)-1]
		want := result.Warning{Figure: "points", Text: last + " was cut short: " + bound}
		if !slices.Contains(res.Warnings, want) {
			t.Errorf("warnings %v, want %v", res.Warnings, want)
		}
		on, was := again(t, sweep(t), out)
		if slices.Contains(was, false) || len(was) != len(res.Stages) || on.Interrupted != bound {
			t.Errorf("going on kept %v and ended by %q, want all of it kept", was, on.Interrupted)
		}
	})
}

// Both servers of a comparison are paid from one purse, the requests before the
// load included.
func TestLimitsAreOfBothServers(t *testing.T) {
	t.Parallel()
	const limit, each = 400, 16 + 4
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			io.WriteString(w, `{"data":[{"id":"m"}]}`)
		case "/v1/chat/completions":
			asked.Add(1)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n"+
				`data: {"choices":[],"usage":{"prompt_tokens":16,"completion_tokens":4}}`+"\n\ndata: [DONE]\n\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	flags := map[string][]string{"url": {server.URL}, "concurrency": {"1"}, "requests": {"100"}, "rounds": {"1"}, "workload": {"fixed(16,4)"},
		"max-tokens-total": {fmt.Sprint(limit)}, "out": {filepath.Join(t.TempDir(), "compare")}}
	res, _, err := experiment.Compare(t.Context(), experiment.Options{Options: measure.Options{Config: plan(t, flags)}}, plan(t, flags))
	if err != nil {
		t.Fatal(err)
	}
	if used := each * asked.Load(); used > limit || used < limit-2*each || res.Interrupted == "" {
		t.Errorf("%d tokens were used, ended by %q; want all of %d and no more", used, res.Interrupted, limit)
	}
}

// compareTwo compares two servers over so many rounds and gives their plans.
func compareTwo(t *testing.T, rounds, out string) (plans [2]*config.Config) {
	t.Helper()
	for i := range plans {
		engine, err := simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = engine.Close() })
		plans[i] = plan(t, map[string][]string{"url": {engine.URL()}, "concurrency": {"1"}, "requests": {"2"}, "rounds": {rounds}, "out": {out}})
	}
	if _, _, err := experiment.Compare(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plans[0]}}, plans[1]); err != nil {
		t.Fatal(err)
	}
	return plans
}

// A comparison keeps both plans, and the length of a turn with them.
func TestCompareGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "compare")
		plans := compareTwo(t, "1", out)
		second, err := experiment.ReopenSecond(out)
		if err != nil {
			t.Fatal(err)
		}
		b, err := config.Resolve(config.Input{PlanPath: second})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.Provider.URLs, plans[1].Provider.URLs) {
			t.Errorf("the second server is %v, want %v", b.Provider.URLs, plans[1].Provider.URLs)
		}
		_, was := again(t, func(o experiment.Options) (*result.Result, string, error) {
			return experiment.Compare(t.Context(), o, b)
		}, out)
		if !slices.Equal(was, []bool{true, true}) {
			t.Errorf("kept %v, want both turns", was)
		}
		if _, err := experiment.ReopenSecond(t.TempDir()); err == nil {
			t.Error("an empty directory has a second plan")
		}
	})
}

// A comparison that was stopped before its first round was over is one all the
// same, and says that there is no answer yet.
func TestAStoppedComparisonIsAComparison(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var plans [2]*config.Config
		for i := range plans {
			engine, err := simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = engine.Close() })
			plans[i] = plan(t, map[string][]string{"url": {engine.URL()}, "concurrency": {"1"}, "requests": {"2"}, "out": {filepath.Join(t.TempDir(), "compare")}})
		}
		stop := make(chan struct{})
		res, path, err := experiment.Compare(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plans[0], Stop: stop},
			End: func(experiment.Stage, *result.Result, bool) { close(stop) }}, plans[1])
		if err != nil {
			t.Fatal(err)
		}
		dir, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := dir.Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*result.Result{res, kept} {
			if r.Kind() != result.OfComparison || r.Comparison != nil || r.Interrupted != result.ByUser {
				t.Errorf("%q, interrupted %q, with the comparison %v", r.Kind(), r.Interrupted, r.Comparison)
			}
		}
	})
}

// A turn that was cut off has shown its prompts to a server: when the comparison
// is resumed it has fresh ones, and turns that were over stand.
func TestATurnThatWasCutOffHasFreshPrompts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "compare")
		plans := compareTwo(t, "2", out)
		stages, err := filepath.Glob(filepath.Join(out, "stages", "*"))
		if err != nil || len(stages) != 4 {
			t.Fatalf("stages %v, %v; want two of each round", stages, err)
		}
		salts := func() (list []string) {
			for _, path := range stages {
				c, err := config.Reopen(filepath.Join(path, "plan.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, c.Workload.Salt)
			}
			return list
		}
		before := salts()
		resume := func() {
			// The kill comes in the second half of the second round.
			if err := os.Remove(filepath.Join(stages[3], "result.json")); err != nil {
				t.Fatal(err)
			}
			_, was := again(t, func(o experiment.Options) (*result.Result, string, error) {
				return experiment.Compare(t.Context(), o, plans[1])
			}, out)
			if !slices.Equal(was, []bool{true, true, true, false}) {
				t.Fatalf("kept %v, want the turns that were over", was)
			}
		}
		resume()
		once := salts()
		resume()
		twice := salts()
		for i := range 3 {
			if once[i] != before[i] || twice[i] != before[i] {
				t.Errorf("stage %d: salts %q, %q and %q, want the first", i+1, before[i], once[i], twice[i])
			}
		}
		if once[3] == before[3] || twice[3] == before[3] || twice[3] == once[3] {
			t.Errorf("the last turn has salts %q, %q and %q, want a fresh one each time", before[3], once[3], twice[3])
		}
	})
}

// A user who stops a protocol in its preflight does not wait for the end of it.
func TestPreflightIsInterrupted(t *testing.T) {
	t.Parallel()
	engine, err := simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	out := filepath.Join(t.TempDir(), "bench")
	stop := make(chan struct{})
	close(stop)
	var said []string
	_, _, err = experiment.Bench(t.Context(), experiment.Options{Options: measure.Options{Stop: stop,
		Config: resolveDefaults(t, plan(t, map[string][]string{"url": {engine.URL()}, "out": {out}})),
		Say:    func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}})
	if err == nil || slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(line, "asking ") }) {
		t.Errorf("%v after %q, want an end before the endpoint is asked", err, said)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s was left behind", out)
	}
}

// An experiment that was killed in its first stage says how to go on.
func TestReportOfAnExperimentWithoutAResult(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "sweep")
	whole, err := (*store.Hold)(nil).Create(out, false)
	if err != nil {
		t.Fatal(err)
	}
	stage, err := (*store.Hold)(nil).Create(filepath.Join(out, store.StagesDir, "01-first"), false)
	if err != nil {
		t.Fatal(err)
	}
	log, err := stage.StartLog(record.Header{Run: "r"})
	if err := errors.Join(err, whole.WriteKind("sweep")); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = measure.Rebuild(out)
	for _, want := range []string{"redline sweep --resume " + out, "redline report " + stage.Path} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// A level whose window was over when the user stopped is whole: it stands in the
// result, with a word on its cool-down, and is not run again.
func TestStoppedInTheCoolDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "sweep")
		stop := make(chan struct{})
		halt := sync.OnceFunc(func() { close(stop) })
		slow := map[string][]string{"rates": {"5,10"}, "workload": {"fixed(20,300)"}, "duration": {"500ms"}, "out": {out}}
		o := experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plan(t, slow), Stop: stop, Live: func(s progress.Snapshot) {
			if s.Phase == record.Cooldown {
				halt()
			}
		}}}
		res, _, err := experiment.Sweep(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if res.Interrupted != result.ByUser || len(res.Points) != 1 || res.Curve == nil || len(res.Curve.Points) != 1 {
			t.Fatalf("%q with %d points, curve %+v, want the level that was measured", res.Interrupted, len(res.Points), res.Curve)
		}
		level, err := measure.Rebuild(filepath.Join(out, res.Stages[0].Dir))
		if err != nil || level.Interrupted != "" || !slices.ContainsFunc(level.Warnings, func(w result.Warning) bool {
			return strings.Contains(w.Text, "the cool-down was cut short")
		}) {
			t.Errorf("the level itself: %q, %+v, %v", level.Interrupted, level.Warnings, err)
		}
	})
}
