package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/answer/compare"
	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/store"
)

// day is the noon of a day in January.
func day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

// finishedResult is a run's result: a load of ten requests a second, all well.
func finishedResult(id string, at time.Time, changes ...func(*result.Result)) *result.Result {
	rate := 10.0
	res := &result.Result{Schema: result.Schema, ID: id, Started: at, Label: "nightly",
		Plan:    map[string]any{"workload": "chat", "load_profile": map[string]any{"rate": 10.0}},
		Model:   result.Model{Name: "llama-3.1-8b"},
		Engine:  result.Engine{Name: "vllm", Version: "0.11", API: "openai-chat", URL: "http://a:8000/v1"},
		Verdict: result.Verdict{Valid: "yes", SLO: "met", Reasons: []string{}, Checks: []result.Check{}, Unchecked: []result.SkippedCheck{}}}
	res.Workload.Name = "chat"
	res.Points = []result.Point{{Load: result.Load{Mode: "open", Rate: &rate}, Summary: metric.Summary{
		Requests:   metric.Requests{Due: 600, OK: 600},
		Throughput: metric.Throughput{Output: 2000},
	}}}
	for _, change := range changes {
		change(res)
	}
	return res
}

func keep(t *testing.T, root, name string, res *result.Result) string {
	t.Helper()
	d := must.Get((*store.Hold)(nil).Create(filepath.Join(root, name), false))(t)
	log := must.Get(d.StartLog(record.Header{}))(t)
	must.Do(t, errors.Join(log.Close(), d.WriteResult(res)))
	return d.Path
}

func openIndex(t *testing.T, root string) *Index {
	t.Helper()
	ix := must.Get(Open(t.Context(), root))(t)
	t.Cleanup(func() { ix.Close() })
	return ix
}

func paths(entries []*Entry) (out []string) {
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

func TestAFinishedRunIsListedAsItWas(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	ix := openIndex(t, root)
	must.Do(t, ix.Add(t.Context(), keep(t, root, "one", finishedResult("id-1", day(1)))))
	got := must.Get(ix.List(t.Context(), Filter{}))(t)
	want := []*Entry{{ID: "id-1", Path: "one", Started: day(1), Kind: "run", Label: "nightly", Model: "llama-3.1-8b", Engine: "vllm",
		Workload: "chat", Load: "10/s", Valid: "yes", SLO: "met", Asked: map[string]string{"rate": "10"},
		Values: compare.Values{"throughput": 2000, "fault:rate": 0}, Requests: 600, Shown: KeyFigures{Throughput: new(2000.0)},
		Settings: map[string]string{"engine": "vllm", "engine version": "0.11", "url": "http://a:8000/v1"}}}
	expect.Same(t, want, got, cmpopts.IgnoreFields(Entry{}, "Series"))
}

func TestRunsFromBeforeTheIndexAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "b", finishedResult("id-b", day(2)))
	keep(t, root, "a", finishedResult("id-a", day(3)))
	keep(t, root, "team/c", finishedResult("id-c", day(1)))
	keep(t, root, "b/stages/01", finishedResult("stage", day(2))) // belongs to b
	keep(t, root, "too/deep/down/d", finishedResult("id-d", day(1)))
	must.Do(t, os.MkdirAll(filepath.Join(root, "broken"), 0o755))
	must.Write(t, filepath.Join(root, "broken", store.ResultFile), "{")
	got := must.Get(openIndex(t, root).List(t.Context(), Filter{}))(t)
	expect.Same(t, []string{"team/c", "b", "a"}, paths(got))
}

func TestRunsAreFiltered(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	other := func(r *result.Result) { r.Model.Name, r.Label, r.Engine.Name = "Qwen3-8B", "", "sglang" }
	keep(t, root, "1", finishedResult("aa-1", day(1)))
	keep(t, root, "2", finishedResult("aa-2", day(2), other))
	keep(t, root, "3", finishedResult("bb-3", day(3)))
	ix := openIndex(t, root)
	for _, c := range []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"all", Filter{}, []string{"1", "2", "3"}},
		{"a part of the model's name", Filter{Model: "qwen"}, []string{"2"}},
		{"engine", Filter{Engine: "vLLM"}, []string{"1", "3"}},
		{"label", Filter{Label: "Nightly"}, []string{"1", "3"}},
		{"from a moment on", Filter{Since: day(2)}, []string{"2", "3"}},
		{"before a moment", Filter{Until: day(2)}, []string{"1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must.Get(ix.List(t.Context(), c.filter))(t)
			expect.Same(t, c.want, paths(got))
		})
	}
	for word, want := range map[string]string{"bb": "3", "aa-2": "2", "2": "2", filepath.Join(root, "1"): "1", "nightly": "3"} {
		if e, err := ix.Find(t.Context(), word); err != nil || e.Path != want {
			t.Errorf("%s: %v %v, want %s", word, e, err, want)
		}
	}
	for _, word := range []string{"aa", "zz", ""} {
		if e, err := ix.Find(t.Context(), word); err == nil {
			t.Errorf("%q: found %s", word, e.Path)
		}
	}
}

// TestASeriesIsOfOnePlan: what is asked makes a series, what it runs on does
// not.
func TestASeriesIsOfOnePlan(t *testing.T) {
	t.Parallel()
	first := EntryOf(finishedResult("1", day(1)))
	for _, c := range []struct {
		name   string
		change func(*result.Result)
		same   bool
	}{
		{"another day, seed and version", func(r *result.Result) { r.Started, r.Seed, r.Engine.Version = day(9), 7, "0.12" }, true},
		{"another server", func(r *result.Result) { r.Engine.URL = "http://b:8000/v1" }, true},
		{"another rate", func(r *result.Result) { r.Plan["load_profile"] = map[string]any{"rate": 11.0} }, false},
		{"another workload", func(r *result.Result) { r.Plan["workload"] = "rag" }, false},
		{"another model", func(r *result.Result) { r.Model.Name = "other" }, false},
		{"another label", func(r *result.Result) { r.Label = "weekly" }, false},
	} {
		if e := EntryOf(finishedResult("2", day(1), c.change)); (e.Series == first.Series) != c.same {
			t.Errorf("%s: same series %t, want %t", c.name, !c.same, c.same)
		}
	}
}

// A list has the outcome that the exit code has: objectives that are met do not
// decide what an optimization does.
func TestAnOpenQuestionIsListedAsOne(t *testing.T) {
	t.Parallel()
	open := func(r *result.Result) {
		r.Toggles = []result.Toggle{{Metrics: []result.ToggleMetric{{Standing: slo.Undecided}}}}
	}
	if got := EntryOf(finishedResult("1", day(1), open)).Verdict(); got != "undecided" {
		t.Errorf("toggles that nothing is said of are %q", got)
	}
}

func TestASeriesLeavesOutWhatIsNotSound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "1", finishedResult("1", day(1)))
	keep(t, root, "2", finishedResult("2", day(2), func(r *result.Result) { r.Verdict.Valid = "no" }))
	keep(t, root, "3", finishedResult("3", day(3), func(r *result.Result) { r.Interrupted = result.ByUser }))
	keep(t, root, "4", finishedResult("4", day(4)))
	ix := openIndex(t, root)
	all := must.Get(ix.List(t.Context(), Filter{}))(t)
	samples, left := must.Get2(ix.series(t.Context(), all[0].Series))(t)
	if len(samples) != 2 || samples[0].ID != "1" || samples[1].ID != "4" || left != 2 {
		t.Errorf("%d left out, got %+v", left, samples)
	}
}

func TestAPinOutlivesTheIndex(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 3 {
		keep(t, root, fmt.Sprint(i), finishedResult(fmt.Sprint("id-", i), day(1+i)))
	}
	ix := openIndex(t, root)
	pin := func(word string) []*Entry {
		e := must.Get(ix.Find(t.Context(), word))(t)
		replaced := must.Get(ix.Pin(t.Context(), e, Pin{At: day(9), Note: "upgrade"}))(t)
		return replaced
	}
	if replaced := pin("id-0"); len(replaced) != 0 {
		t.Errorf("the first pin replaced %v", paths(replaced))
	}
	if diff := cmp.Diff([]string{"0"}, paths(pin("id-1"))); diff != "" {
		t.Error("a series has one baseline", diff)
	}
	ix.Close()
	must.Do(t, os.Remove(filepath.Join(root, FileName)))
	ix = openIndex(t, root)
	pinned, err := ix.List(t.Context(), Filter{Pinned: true})
	must.Do(t, err)
	if diff := cmp.Diff([]string{"1"}, paths(pinned)); diff != "" {
		t.Fatal(diff)
	}
	expect.Same(t, &Pin{At: day(9), Note: "upgrade"}, pinned[0].Pin)
	must.Do(t, ix.Unpin(t.Context(), pinned[0]))
	if pinned, err = ix.List(t.Context(), Filter{Pinned: true}); err != nil || len(pinned) != 0 {
		t.Errorf("still pinned: %v %v", paths(pinned), err)
	}
}

func TestABaselineMustBeSound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "1", finishedResult("1", day(1), func(r *result.Result) { r.Verdict.Valid = "no" }))
	ix := openIndex(t, root)
	e := must.Get(ix.Find(t.Context(), "1"))(t)
	if _, err := ix.Pin(t.Context(), e, Pin{}); err == nil {
		t.Error("an invalid run became a baseline")
	}
}

func TestOldRunsGoAndBaselinesStay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 5 {
		keep(t, root, fmt.Sprint(i), finishedResult(fmt.Sprint("id-", i), day(1+i)))
	}
	ix := openIndex(t, root)
	e := must.Get(ix.Find(t.Context(), "id-0"))(t)
	must.Get(ix.Pin(t.Context(), e, Pin{}))(t)
	for _, c := range []struct {
		policy Policy
		want   []string
	}{
		{Policy{}, nil},
		{Policy{Keep: 2}, []string{"1", "2"}},
		{Policy{Keep: 9}, nil},
		{Policy{Before: day(3)}, []string{"1"}},
		{Policy{Before: day(2), Keep: 1}, []string{"1", "2", "3"}},
	} {
		stale := must.Get(ix.Stale(t.Context(), c.policy))(t)
		expect.NoDiff(t, cmp.Diff(c.want, paths(stale)), "%+v", c.policy)
	}
	stale := must.Get(ix.Stale(t.Context(), Policy{Keep: 2}))(t)
	for _, e := range stale {
		must.Do(t, ix.Remove(t.Context(), e))
	}
	left := must.Get(ix.List(t.Context(), Filter{}))(t)
	expect.Same(t, []string{"0", "3", "4"}, paths(left))
	if _, err := os.Stat(filepath.Join(root, "1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of a deleted run: %v", err)
	}
}

func TestNothingOutsideIsDeleted(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	root := filepath.Join(outside, "runs")
	keep(t, root, "1", finishedResult("1", day(1)))
	other := keep(t, outside, "precious", finishedResult("2", day(2)))
	ix := openIndex(t, root)
	for _, path := range []string{"../precious", ".", "/etc"} {
		if err := ix.Remove(t.Context(), &Entry{Path: path}); err == nil {
			t.Errorf("%s: removed", path)
		}
	}
	for _, dir := range []string{other, root} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestSeveralWritersLoseNothing lets processes' worth of connections write at
// once.
func TestSeveralWritersLoseNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	openIndex(t, root)
	const writers, each = 6, 5
	dirs := make([][]string, writers)
	for w := range writers {
		for i := range each {
			name := fmt.Sprintf("%d-%d", w, i)
			dirs[w] = append(dirs[w], keep(t, root, name, finishedResult(name, day(1+w).Add(time.Duration(i)*time.Hour))))
		}
	}
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			for _, dir := range dirs[w] {
				ix, err := Open(context.Background(), root)
				if err != nil {
					t.Error(err)
					return
				}
				expect.OK(t, errors.Join(ix.Add(context.Background(), dir), ix.Close()))
			}
		})
	}
	done.Wait()
	got, err := openIndex(t, root).List(t.Context(), Filter{})
	if err != nil || len(got) != writers*each {
		t.Errorf("%d runs, want %d: %v", len(got), writers*each, err)
	}
}

func TestADamagedIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "1", finishedResult("1", day(1)))
	file := filepath.Join(root, FileName)
	must.Write(t, file, strings.Repeat("this is no database ", 400))
	_, err := Open(t.Context(), root)
	var broken *indexError
	if !errors.As(err, &broken) || !strings.Contains(err.Error(), "redline history rebuild --runs "+root) {
		t.Fatalf("want the cure, got %v", err)
	}
	if n, err := Rebuild(t.Context(), root); err != nil || n != 1 {
		t.Fatalf("%d runs: %v", n, err)
	}
	if got, err := openIndex(t, root).List(t.Context(), Filter{}); err != nil || len(got) != 1 {
		t.Errorf("%d runs: %v", len(got), err)
	}
}

func TestAnIndexOfAnotherVersionIsMadeAnew(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "1", finishedResult("1", day(1)))
	db := must.Get(sql.Open("sqlite", filepath.Join(root, FileName)))(t)
	must.Get(db.Exec("CREATE TABLE runs (other TEXT); PRAGMA user_version = 99"))(t)
	db.Close()
	if got, err := openIndex(t, root).List(t.Context(), Filter{}); err != nil || len(got) != 1 {
		t.Errorf("%d runs: %v", len(got), err)
	}
}

func TestMissingDirectories(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "file")
	must.Write(t, file, "")
	for _, path := range []string{filepath.Join(root, "nowhere"), file} {
		if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "--runs") {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := Rebuild(t.Context(), path); err == nil || !strings.Contains(err.Error(), "--runs") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A run that another command writes to is neither deleted nor pinned.
func TestARunThatIsBeingWrittenIsLeftAlone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "busy", finishedResult("id-1", day(1)))
	ix := openIndex(t, root)
	e := must.Get(ix.Find(t.Context(), "busy"))(t)
	writer := &store.Hold{Command: "redline run"}
	must.Do(t, writer.Take(filepath.Join(root, "busy")))
	_, pinned := ix.Pin(t.Context(), e, Pin{})
	for what, err := range map[string]error{"pin": pinned, "remove": ix.Remove(t.Context(), e)} {
		if err == nil || !strings.Contains(err.Error(), "is being written by redline run (pid ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	writer.Release()
	if err := ix.Remove(t.Context(), e); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

// Runs in a directory that cannot be written are listed all the same, and nothing
// there is changed.
func TestADirectoryThatCannotBeWrittenIsListed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := keep(t, root, "a", finishedResult("a", day(1)))
	if err := os.Mkdir(filepath.Join(root, FileName), 0o555); err != nil { // no user can make the index, not even root
		t.Fatal(err)
	}
	must.Do(t, os.Chmod(root, 0o555))
	t.Cleanup(func() { _ = os.Chmod(root, 0o755) })
	ix := openIndex(t, root)
	entries, err := ix.List(t.Context(), Filter{})
	if diff := cmp.Diff([]string{"a"}, paths(entries)); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := ix.Drift(t.Context(), entries[0]); err != nil {
		t.Error(err)
	}
	if err := ix.Add(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("a run was added: %v", err)
	}
}

// Series of one name are told apart by what they differ in, and an experiment
// without a single load waits for no more runs.
func TestSeriesOfOneNameAreToldApart(t *testing.T) {
	t.Parallel()
	short := &Entry{Series: "a", Kind: "run", Model: "m", Load: "5/s", Asked: map[string]string{"duration": "20s", "arrival": "poisson"}}
	long := &Entry{Series: "b", Kind: "run", Model: "m", Load: "5/s", Asked: map[string]string{"duration": "60s", "arrival": "poisson"}}
	other := &Entry{Series: "c", Kind: "sweep", Model: "m"}
	var names []string
	for _, e := range Newest([]*Entry{short, long, other}) {
		names = append(names, e.Name())
	}
	expect.Same(t, []string{"m", "m, 5/s, duration 60s", "m, 5/s, duration 20s"}, names)
	if other.Drifts() || !short.Drifts() {
		t.Error("a sweep is taken for a series that drifts, or a run is not")
	}
}
