package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// A directory knows which kind of experiment it is of, if any.
func TestKind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		content    string // of the file that says so; "" for none
		kind       string
		mistake    string
		experiment bool
	}{
		{"a single run", "", "", "", false},
		{"a sweep", `{"schema":"redline/experiment/1","kind":"sweep"}`, "sweep", "", true},
		{"of another version", `{"schema":"redline/experiment/9","kind":"sweep"}`, "", "schema", true},
		{"broken", `{"schema`, "", "not an experiment", true},
	} {
		d := &Dir{Path: t.TempDir()}
		if tt.content != "" {
			must.Write(t, filepath.Join(d.Path, experimentFile), tt.content)
		}
		kind, err := d.Kind()
		mistaken := err != nil && tt.mistake != "" && strings.Contains(err.Error(), tt.mistake)
		if kind != tt.kind || (err != nil) != (tt.mistake != "") || err != nil && !mistaken || d.IsExperiment() != tt.experiment {
			t.Errorf("%s: %q, %v, experiment %v; want %q, %q, %v", tt.name, kind, err, d.IsExperiment(), tt.kind, tt.mistake, tt.experiment)
		}
	}
}

// An experiment is refused as any run is, can be opened before its first stage,
// and is replaced whole.
func TestExperimentDirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sweep")
	d := must.Get((*Hold)(nil).Create(path, false))(t)
	for _, err := range []error{d.WriteKind("sweep"), d.WritePlan([]byte("seed: 1\n")), d.WriteSecondPlan([]byte("seed: 2\n")),
		os.MkdirAll(filepath.Join(path, StagesDir, "02-b"), 0o755), os.MkdirAll(filepath.Join(path, StagesDir, "01-a"), 0o755)} {
		must.Do(t, err)
	}
	if err := check(path, false); err == nil {
		t.Error("an experiment may be overwritten without force")
	}
	opened := must.Get(Open(path))(t)
	plan, err := opened.Plan()
	if kind, _ := opened.Kind(); kind != "sweep" || string(plan) != "seed: 1\n" || err != nil {
		t.Errorf("kind %q, plan %q, %v", kind, plan, err)
	}
	want := []string{filepath.Join(path, StagesDir, "01-a"), filepath.Join(path, StagesDir, "02-b")}
	expect.NoDiff(t, cmp.Diff(want, opened.Stages()), "stages")
	d = must.Get((*Hold)(nil).Create(path, true))(t)
	must.Do(t, d.RemoveStages())
	left, err := os.ReadDir(path)
	if err != nil || len(left) != 0 || d.IsExperiment() {
		t.Errorf("%v is left of a replaced experiment (%v)", left, err)
	}
	if _, err := d.Plan(); err == nil {
		t.Error("a plan that is not there was read")
	}
}
