package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
)

// The index reads results in outline; its entries are those of the whole.
func TestAnOutlineHasAllThatAnEntryNeeds(t *testing.T) {
	t.Parallel()
	samples := must.Read(t, "../../show/report/testdata/samples.jsonl")
	for line := range bytes.Lines(samples) {
		var sample struct {
			Name   string
			Result json.RawMessage
		}
		must.Do(t, json.Unmarshal(line, &sample))
		whole := must.Get(result.Read(sample.Result))(t)
		short := must.Get(result.Outline(sample.Result))(t)
		expect.NoDiff(t, cmp.Diff(EntryOf(whole), EntryOf(short)), "%s: whole and in outline", sample.Name)
		if len(short.Warnings) > 0 {
			t.Errorf("%s: the outline is the whole", sample.Name)
		}
	}
}

// Whoever waits for an index to be made hears how far it is.
func TestMakingAnIndexTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 20 {
		keep(t, root, fmt.Sprintf("run-%02d", i), finishedResult(fmt.Sprint(i), day(1+i)))
	}
	var heard []int
	ix := must.Get(OpenWithProgress(t.Context(), root, func(done, total int) {
		if total != 20 {
			t.Errorf("%d in all, want 20", total)
		}
		heard = append(heard, done)
	}))(t)
	defer ix.Close()
	for i, done := range heard {
		if done != i+1 {
			t.Fatalf("heard %v", heard)
		}
	}
	entries, err := ix.List(t.Context(), Filter{})
	if err != nil || len(entries) != 20 || len(heard) != 20 {
		t.Errorf("%d runs in the index, %d heard of: %v", len(entries), len(heard), err)
	}
	// A broken one does not keep the others out, and is named.
	bad := filepath.Join(root, "bad")
	keep(t, root, "bad", finishedResult("bad", day(30)))
	must.Write(t, filepath.Join(bad, "result.json"), `{"points":[{`)
	good := keep(t, root, "good", finishedResult("good", day(31)))
	refused, err := ix.AddAll(t.Context(), []string{bad, good}, nil)
	if err != nil || len(refused) != 1 || refused[bad] == nil || !strings.Contains(refused[bad].Error(), "not a result") {
		t.Errorf("refused %v: %v", refused, err)
	}
	if _, err := ix.Find(t.Context(), "good"); err != nil {
		t.Error(err)
	}
}

// An index whose making was stopped is made at the next visit.
func TestAStoppedIndexIsMadeLater(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 20 {
		keep(t, root, fmt.Sprintf("run-%02d", i), finishedResult(fmt.Sprint(i), day(1+i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := OpenWithProgress(ctx, root, func(done, _ int) {
		if done == 5 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped one gives %v", err)
	}
	ix := must.Get(Open(t.Context(), root))(t)
	defer ix.Close()
	if entries, err := ix.List(t.Context(), Filter{}); err != nil || len(entries) != 20 {
		t.Errorf("%d runs are listed, want 20: %v", len(entries), err)
	}
}
