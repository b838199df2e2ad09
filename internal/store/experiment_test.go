package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			if err := os.WriteFile(filepath.Join(d.Path, experimentFile), []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
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
	d, err := (*Hold)(nil).Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{d.WriteKind("sweep"), d.WritePlan([]byte("seed: 1\n")), d.WriteSecondPlan([]byte("seed: 2\n")),
		os.MkdirAll(filepath.Join(path, StagesDir, "02-b"), 0o755), os.MkdirAll(filepath.Join(path, StagesDir, "01-a"), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := check(path, false); err == nil {
		t.Error("an experiment may be overwritten without force")
	}
	opened, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := opened.Plan()
	if kind, _ := opened.Kind(); kind != "sweep" || string(plan) != "seed: 1\n" || err != nil {
		t.Errorf("kind %q, plan %q, %v", kind, plan, err)
	}
	want := []string{filepath.Join(path, StagesDir, "01-a"), filepath.Join(path, StagesDir, "02-b")}
	if diff := cmp.Diff(want, opened.Stages()); diff != "" {
		t.Errorf("stages: %s", diff)
	}
	if d, err = (*Hold)(nil).Create(path, true); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveStages(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(path)
	if err != nil || len(left) != 0 || d.IsExperiment() {
		t.Errorf("%v is left of a replaced experiment (%v)", left, err)
	}
	if _, err := d.Plan(); err == nil {
		t.Error("a plan that is not there was read")
	}
}
