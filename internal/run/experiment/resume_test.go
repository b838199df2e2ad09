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
	"redline/internal/expect"
	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/must"
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
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Write(t, path, "earlier")
	}
	return dir, names
}

// Nothing is replaced for the sake of a server that does not answer.
func TestForceWaitsForTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const dead = "http://127.0.0.1:1"
		engine := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open}))(t)
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
		must.Get2(measure.Run(t.Context(), measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}))(t)
		if _, err := experiment.Reopen(single); err == nil || !strings.Contains(err.Error(), "single run") {
			t.Errorf("reopening a single run: %v, want a refusal", err)
		}

		begun := filepath.Join(t.TempDir(), "sweep")
		c = plan(t, map[string][]string{"concurrencies": {"1"}, "requests": {"2"}, "out": {begun}})
		must.Get2(experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}))(t)
		before := must.Read(t, filepath.Join(begun, "result.json"))
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
	path := must.Get(experiment.Reopen(dir))(t)
	c := must.Get(config.Resolve(config.Input{PlanPath: path}))(t)
	return c
}

// again goes on with a finished experiment and says which stages were not run
// anew.
func again(t *testing.T, run conducted, dir string) (res *result.Result, was []bool) {
	t.Helper()
	res, _ = must.Get2(run(experiment.Options{Resume: dir, Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: keptPlan(t, dir)},
		End: func(_ experiment.Stage, _ *result.Result, kept bool) { was = append(was, kept) }}))(t)
	return res, was
}

// A stage is known again by a seed of any size, and where a trace gave it its
// length.
func TestStagesAreKnownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const large = "18446744073709551557"
		trace := must.File(t, "trace.csv", "timestamp,prompt_tokens,output_tokens\n0,16,3\n0.1,16,3\n0.2,16,3\n")
		for name, flags := range map[string]map[string][]string{
			"a large seed": {"concurrency": {"1"}, "requests": {"2"}, "seed": {large}, "warmup": {"0s"}, "workload": {"fixed(16,3)"}},
			"a trace":      {"workload": {trace}},
		} {
			out := filepath.Join(t.TempDir(), "repeats")
			flags["repeat"], flags["drain"], flags["out"] = []string{"2"}, []string{"5s"}, []string{out}
			c := must.Get(config.Resolve(config.Input{Flags: flags, Seed: 7}))(t)
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
		c := must.Get(config.Resolve(config.Input{Seed: 7, Flags: map[string][]string{"find-limit": {"true"}, "slo": {"ttft:p99<5s"}, "start": {"20"},
			"budget": {"10s"}, "sustained": {"5s"}, "workload": {"fixed(16,3)"}, "out": {out}}}))(t)
		c.Experiment.MinWindow = time.Second
		res, _ := must.Get2(experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}))(t)
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
		expect.NoDiff(t, cmp.Diff([]string{"smoke"}, begun), "attempt %d ran (-want +got)", attempt)
		dir := must.Get(store.Open(out))(t)
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
		res, _ := must.Get2(experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}))(t)
		const bound = "--max-tokens-total reached"
		if res.Interrupted != bound || len(res.Stages) < 2 || len(res.Stages) > 3 {
			t.Errorf("interrupted by %q after %v, want %q in the second or third", res.Interrupted, names(res), bound)
		}
		var used measure.Usage
		for _, s := range res.Stages {
			stage := must.Get(measure.UsedBy(filepath.Join(out, s.Dir), c))(t)
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
	res, _ := must.Get2(experiment.Compare(t.Context(), experiment.Options{Options: measure.Options{Config: plan(t, flags)}}, plan(t, flags)))(t)
	if used := each * asked.Load(); used > limit || used < limit-2*each || res.Interrupted == "" {
		t.Errorf("%d tokens were used, ended by %q; want all of %d and no more", used, res.Interrupted, limit)
	}
}

// compareTwo compares two servers over so many rounds and gives their plans.
func compareTwo(t *testing.T, rounds, out string) (plans [2]*config.Config) {
	t.Helper()
	for i := range plans {
		engine := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open}))(t)
		t.Cleanup(func() { _ = engine.Close() })
		plans[i] = plan(t, map[string][]string{"url": {engine.URL()}, "concurrency": {"1"}, "requests": {"2"}, "rounds": {rounds}, "out": {out}})
	}
	must.Get2(experiment.Compare(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plans[0]}}, plans[1]))(t)
	return plans
}

// A comparison keeps both plans, and the length of a turn with them.
func TestCompareGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "compare")
		plans := compareTwo(t, "1", out)
		second := must.Get(experiment.ReopenSecond(out))(t)
		b := must.Get(config.Resolve(config.Input{PlanPath: second}))(t)
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
			engine := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open}))(t)
			t.Cleanup(func() { _ = engine.Close() })
			plans[i] = plan(t, map[string][]string{"url": {engine.URL()}, "concurrency": {"1"}, "requests": {"2"}, "out": {filepath.Join(t.TempDir(), "compare")}})
		}
		stop := make(chan struct{})
		res, path := must.Get2(experiment.Compare(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plans[0], Stop: stop},
			End: func(experiment.Stage, *result.Result, bool) { close(stop) }}, plans[1]))(t)
		dir := must.Get(store.Open(path))(t)
		kept := must.Get(dir.Result())(t)
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
				c := must.Get(config.Reopen(filepath.Join(path, "plan.yaml")))(t)
				list = append(list, c.Workload.Salt)
			}
			return list
		}
		before := salts()
		resume := func() {
			// The kill comes in the second half of the second round.
			must.Do(t, os.Remove(filepath.Join(stages[3], "result.json")))
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
	engine := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{}))(t)
	defer engine.Close()
	out := filepath.Join(t.TempDir(), "bench")
	stop := make(chan struct{})
	close(stop)
	var said []string
	_, _, err := experiment.Bench(t.Context(), experiment.Options{Options: measure.Options{Stop: stop,
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
	whole := must.Get((*store.Hold)(nil).Create(out, false))(t)
	stage := must.Get((*store.Hold)(nil).Create(filepath.Join(out, store.StagesDir, "01-first"), false))(t)
	log, err := stage.StartLog(record.Header{Run: "r"})
	must.Do(t, errors.Join(err, whole.WriteKind("sweep")))
	must.Do(t, log.Close())
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
		res, _ := must.Get2(experiment.Sweep(t.Context(), o))(t)
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
