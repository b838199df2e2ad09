package store_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/must"
	"redline/internal/store"
)

func TestLaunchesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, ok := store.ReadLaunch(dir); ok {
		t.Error("found one where there is none")
	}
	want := store.Launch{Values: map[string]string{"n": "8"}, StartUpS: new(1.5), TookS: 12, Failed: "exited", Log: []string{"a", "b"}}
	must.Do(t, store.WriteLaunch(dir, want))
	got, ok := store.ReadLaunch(dir)
	want.Schema = "redline/launch/1"
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Error(diff)
	}
	store.ForgetLaunch(dir)
	store.ForgetLaunch(dir) // again does no harm
	if _, ok := store.ReadLaunch(dir); ok {
		t.Error("still there")
	}
	for _, text := range []string{"{", `{"schema":"another/1","values":{"n":"8"}}`} {
		must.Write(t, filepath.Join(dir, "launch.json"), text)
		if _, ok := store.ReadLaunch(dir); ok {
			t.Errorf("%s was taken for one", text)
		}
	}
}
