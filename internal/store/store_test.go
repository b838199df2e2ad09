package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/must"
)

func TestName(t *testing.T) {
	started := time.Date(2026, 3, 14, 15, 9, 26, 5, time.UTC)
	for label, want := range map[string]string{
		"":                     "20260314-150926",
		"h100-tp2":             "20260314-150926-h100-tp2",
		"vLLM 0.9 (fp8)":       "20260314-150926-vLLM-0.9--fp8",
		"../../etc/passwd":     "20260314-150926-..-..-etc-passwd",
		`a\b:c*d?e"f<g>h|i`:    "20260314-150926-a-b-c-d-e-f-g-h-i",
		"---":                  "20260314-150926",
		"größe\n":              "20260314-150926-gr--e",
		"日本":                   "20260314-150926",
		"--leading dashes too": "20260314-150926-leading-dashes-too",
	} {
		got := Name(started, label)
		if got != filepath.Join("runs", want) {
			t.Errorf("label %q: got %s, want runs/%s", label, got, want)
		}
		if filepath.Dir(got) != "runs" {
			t.Errorf("label %q leaves runs/: %s", label, got)
		}
	}
}

// fill makes a directory with these files in it.
func fill(t *testing.T, names ...string) string {
	t.Helper()
	path := t.TempDir()
	for _, name := range names {
		must.Write(t, filepath.Join(path, name), "old")
	}
	return path
}

func listFiles(t *testing.T, path string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(path))(t)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCreate(t *testing.T) {
	run := []string{"disk-full", "engine.log", "pin.json", "plan.yaml", "records.jsonl", "report.html", "result.json", "telemetry.jsonl"}
	for _, tt := range []struct {
		name  string
		held  []string
		force bool
		err   string
		left  []string
	}{
		{name: "an empty directory", left: []string{}},
		{name: "a directory with other things", held: []string{"notes.txt"}, left: []string{"notes.txt"}},
		{name: "a directory that holds a run", held: run, left: run,
			err: "DIR already holds records.jsonl; choose another --out, or replace it with --force"},
		{name: "a directory that holds a plan of the user's own", held: []string{"plan.yaml"}, left: []string{"plan.yaml"},
			err: "DIR already holds plan.yaml; choose another --out, or replace it with --force"},
		{name: "a run, by force", held: append(run, "notes.txt"), force: true, left: []string{"notes.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := fill(t, tt.held...)
			wantErr := strings.ReplaceAll(tt.err, "DIR", path)
			if got := message(check(path, tt.force)); got != wantErr {
				t.Errorf("Check: %q, want %q", got, wantErr)
			}
			d, err := (*Hold)(nil).Create(path, tt.force)
			if message(err) != wantErr || err == nil && d.Path != path {
				t.Errorf("Create: %v, %q, want %q", d, message(err), wantErr)
			}
			expect.NoDiff(t, cmp.Diff(tt.left, listFiles(t, path)), "files (-want +got)")
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestPathsThatAreNoRun(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(fill(t, "file"), "file")
	missing := filepath.Join(dir, "deep", "down")
	for _, tt := range []struct {
		name, path   string
		create, open string
	}{
		{"a missing directory", missing, "", missing + ": no such file or directory"},
		{"a file", file, file + " is a file; --out wants a directory", file + " is a file; expected the directory of a run"},
		{"below a file", filepath.Join(file, "x"), filepath.Join(file, "x") + ": not a directory", filepath.Join(file, "x") + ": not a directory"},
		{"an empty directory", dir, "", dir + " holds no run (no records.jsonl in it); redline run --out DIR makes one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Open(tt.path); message(err) != tt.open {
				t.Errorf("Open: %q, want %q", message(err), tt.open)
			}
			if _, err := (*Hold)(nil).Create(tt.path, false); message(err) != tt.create {
				t.Errorf("Create: %q, want %q", message(err), tt.create)
			}
		})
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("permissions do not bind this user")
	}
	path := t.TempDir()
	must.Do(t, os.Chmod(path, 0o555))
	t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
	if _, err := (*Hold)(nil).Create(filepath.Join(path, "run"), false); message(err) != filepath.Join(path, "run")+": permission denied" {
		t.Errorf("Create: %v", err)
	}
	d := &Dir{Path: path}
	if err := d.WritePlan([]byte("x")); message(err) != filepath.Join(path, "plan.yaml")+": permission denied" {
		t.Errorf("WritePlan: %v", err)
	}
	if _, err := d.StartLog(record.Header{}); message(err) != filepath.Join(path, "records.jsonl")+": permission denied" {
		t.Errorf("StartLog: %v", err)
	}
}

func TestWriteReplacesWholeFiles(t *testing.T) {
	d := must.Get((*Hold)(nil).Create(filepath.Join(t.TempDir(), "a", "b"), false))(t)
	for _, content := range []string{"first: a long one\n", "second\n", ""} {
		must.Do(t, d.WritePlan([]byte(content)))
		got, err := os.ReadFile(d.PlanPath())
		if err != nil || string(got) != content {
			t.Errorf("read %q, %v; want %q", got, err, content)
		}
	}
	expect.NoDiff(t, cmp.Diff([]string{"plan.yaml"}, listFiles(t, d.Path)), "files (-want +got)")
}

func TestAFailedWriteLeavesNoDraft(t *testing.T) {
	d := &Dir{Path: t.TempDir()}
	// A directory that is not empty cannot be replaced by a file.
	must.Do(t, os.MkdirAll(filepath.Join(d.Path, ResultFile, "x"), 0o755))
	err := d.WriteResult(&result.Result{Schema: result.Schema})
	if err == nil || !strings.HasPrefix(err.Error(), filepath.Join(d.Path, ResultFile)+": ") || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("got %v, want an error that names result.json", err)
	}
	expect.NoDiff(t, cmp.Diff([]string{ResultFile}, listFiles(t, d.Path)), "files (-want +got)")
}

func TestResultRoundTrip(t *testing.T) {
	d := &Dir{Path: t.TempDir()}
	if _, err := d.Result(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a result: %v, want fs.ErrNotExist", err)
	}
	rate := 12.5
	want := &result.Result{Schema: result.Schema, ID: "a1b2", Started: time.Date(2026, 3, 14, 15, 9, 26, 535_000_000, time.UTC),
		Command: "redline run", Seed: 7, Label: "größe", Plan: map[string]any{"seed": 7.0, "load_profile": map[string]any{"rate": rate}},
		Verdict: result.Verdict{Valid: "yes", SLO: "met", Reasons: []string{}, Checks: []result.Check{{Name: "lag", OK: true, Figure: "p99 0.1 ms"}},
			Unchecked: []result.SkippedCheck{{Name: "ports", Why: "not asked"}}},
		Points: []result.Point{{Load: result.Load{Mode: "open", Rate: &rate}, Summary: metric.Summary{Window: metric.Window{StartS: 1, EndS: 41}}}}}
	must.Do(t, d.WriteResult(want))
	got := must.Get(d.Result())(t)
	expect.Same(t, want, got)
}

func TestUnreadableResults(t *testing.T) {
	for content, want := range map[string]string{
		"{":                             "not a result: unexpected end of JSON input",
		`{"schema":"redline/result/9"}`: `schema is "redline/result/9", expected "redline/result/2"`,
	} {
		d := &Dir{Path: t.TempDir()}
		path := filepath.Join(d.Path, ResultFile)
		must.Write(t, path, content)
		if _, err := d.Result(); message(err) != path+": "+want {
			t.Errorf("%s: got %q, want %q", content, message(err), want)
		}
	}
}

// read gives the ids of a run's records.
func read(t *testing.T, d *Dir) []int {
	t.Helper()
	ids := []int{}
	for r, err := range d.Records() {
		must.Do(t, err)
		ids = append(ids, r.ID)
	}
	return ids
}

func TestLogRoundTrip(t *testing.T) {
	d := must.Get((*Hold)(nil).Create(t.TempDir(), false))(t)
	want := record.Header{Schema: record.Schema, Run: "a1b2", OriginUnixNS: 5, OriginMonoNS: 6}
	l := must.Get(d.StartLog(record.Header{Run: "a1b2", OriginUnixNS: 5, OriginMonoNS: 6}))(t)
	// The log is a run from its first moment on.
	if _, err := Open(d.Path); err != nil {
		t.Errorf("Open of a run that has just begun: %v", err)
	}
	if got := read(t, d); len(got) != 0 {
		t.Errorf("records %v before any was added", got)
	}
	for i := range 1000 {
		l.Add(&record.Record{ID: i, Outcome: llm.OK})
	}
	must.Do(t, l.Close())
	if header, err := d.Header(); err != nil || header != want {
		t.Errorf("header %+v, %v; want %+v", header, err, want)
	}
	for range 2 { // it reads from its start each time
		got := read(t, d)
		for i, id := range got {
			if id != i {
				t.Fatalf("record %d has id %d", i, id)
			}
		}
		if len(got) != 1000 {
			t.Fatalf("%d records, want 1000", len(got))
		}
	}
}

func TestUnreadableLogs(t *testing.T) {
	const header = `{"schema":"redline/record/1"}` + "\n"
	for _, tt := range []struct{ name, content, want string }{
		{"nothing", "", "line 1: the log is empty"},
		{"not a log", "hello\n", "line 1: not a record log: invalid character 'h' looking for beginning of value"},
		{"another schema", `{"schema":"x"}` + "\n", `line 1: schema is "x", expected "redline/record/2" or "redline/record/1"`},
		{"a broken line inside", header + "{\n" + `{"id":1,"outcome":"ok"}` + "\n", "line 2: unexpected end of JSON input"},
		{"a line cut by a kill", header + `{"id":1,"outcome":"ok"}` + "\n" + `{"id":2,"outc`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &Dir{Path: t.TempDir()}
			path := filepath.Join(d.Path, recordsFile)
			must.Write(t, path, tt.content)
			var last error
			for _, err := range d.Records() {
				last = err
			}
			want := tt.want
			if want != "" {
				want = path + ": " + want
			}
			if message(last) != want {
				t.Errorf("got %q, want %q", message(last), want)
			}
		})
	}
	d := &Dir{Path: t.TempDir()}
	for _, err := range d.Records() {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without a log: %v, want fs.ErrNotExist", err)
		}
	}
	if _, err := d.Header(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Header without a log: %v, want fs.ErrNotExist", err)
	}
}

func TestClaimStepsAside(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "runs", "run")
	var claimed sync.Map
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			d, err := (*Hold)(nil).Claim(base)
			if err != nil {
				t.Error(err)
				return
			}
			if _, taken := claimed.LoadOrStore(d.Path, true); taken {
				t.Errorf("%s was given away twice", d.Path)
			}
		})
	}
	all.Wait()
	for _, want := range []string{base, base + "-2", base + "-8"} {
		if _, ok := claimed.Load(want); !ok {
			t.Errorf("nobody has %s", want)
		}
	}
}

func TestDiscardTakesBackOnlyItsOwn(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	d := must.Get((*Hold)(nil).Create(filepath.Join(base, "runs", "one"), false))(t)
	must.Do(t, d.WritePlan([]byte("seed: 7\n")))
	d.Discard()
	if names := listFiles(t, base); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
	// A directory that was there, and a file that is not the run's, stay.
	own := filepath.Join(base, "mine")
	must.Write(t, filepath.Join(base, "notes"), "")
	must.Do(t, os.Mkdir(own, 0o755))
	d = must.Get((*Hold)(nil).Create(own, false))(t)
	must.Do(t, d.WritePlan([]byte("seed: 7\n")))
	d.Discard()
	if names := listFiles(t, base); len(names) != 2 || len(listFiles(t, own)) != 0 {
		t.Errorf("%v in the directory, %v in the run's own; want notes and mine, and nothing", names, listFiles(t, own))
	}
}
