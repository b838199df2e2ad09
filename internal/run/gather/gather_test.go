package gather

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/answer/pareto"
	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/store"
)

// keep leaves a finished run of a model.
func keep(t *testing.T, root, name, label, model string) string {
	t.Helper()
	d := must.Get((*store.Hold)(nil).Create(filepath.Join(root, name), false))(t)
	log := must.Get(d.StartLog(record.Header{}))(t)
	res := &result.Result{Schema: result.Schema, ID: name, Label: label, Model: result.Model{Name: model}, Points: []result.Point{{}},
		Verdict: result.Verdict{Valid: result.Valid, Reasons: []string{}, Checks: []result.Check{}, Unchecked: []result.SkippedCheck{}}}
	must.Do(t, errors.Join(log.Close(), d.WriteResult(res)))
	return d.Path
}

func namesBySeries(series []pareto.Series) map[string][]string {
	found := map[string][]string{}
	for _, s := range series {
		for _, r := range s.Runs {
			found[s.Name] = append(found[s.Name], r.ID)
		}
	}
	return found
}

func TestRunsAreFoundByWhatTheyAreCalled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a, b := keep(t, root, "a", "nightly", "llama"), keep(t, root, "b", "nightly", "llama")
	c := keep(t, root, "c", "nightly", "qwen")
	for what, want := range map[string]map[string][]string{
		a:                 {"nightly": {"a"}},
		a + ", " + b:      {"nightly": {"a", "b"}},
		c + "," + b + "/": {"nightly": {"c", "b"}},
	} {
		series, err := Series(what)
		if diff := cmp.Diff(want, namesBySeries(series)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	plain := keep(t, root, "d", "", "llama")
	if series, err := Series(plain + "," + a); err != nil || series[0].Name != "d" {
		t.Errorf("runs without a label in common are called %v (%v), want d", namesBySeries(series), err)
	}
	labeled, err := WithLabel(t.Context(), root, "nightly")
	if diff := cmp.Diff(map[string][]string{"nightly, llama": {"a", "b"}, "nightly, qwen": {"c"}}, namesBySeries(labeled)); diff != "" || err != nil {
		t.Errorf("by label: %v (-want +got):\n%s", err, diff)
	}
	if none, err := WithLabel(t.Context(), root, "weekly"); len(none) > 0 || err != nil {
		t.Errorf("a label that no run has gives %v (%v)", namesBySeries(none), err)
	}
	if _, err := Runs(a + "," + filepath.Join(root, "missing")); err == nil {
		t.Error("a directory that is not there is a run")
	}
}
