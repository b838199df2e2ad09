package store

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/text"
)

// TestAResultFromElsewhereIsClean: what is read back has no characters that a
// terminal acts upon, whoever wrote the file.
func TestAResultFromElsewhereIsClean(t *testing.T) {
	t.Parallel()
	dir := &Dir{Path: t.TempDir()}
	const attack = "m\x1b[2J\u202e"
	must.Do(t, dir.WriteResult(&result.Result{Schema: result.Schema, Label: attack, Model: result.Model{Name: attack},
		Engine: result.Engine{Flags: map[string]string{attack: attack}}, Plan: map[string]any{"a": []any{attack}},
		Warnings: []result.Warning{{Figure: "x", Text: attack}}}))
	res := must.Get(dir.Result())(t)
	data := must.Get(json.Marshal(res))(t)
	if text.Clean(string(data)) != string(data) || strings.Contains(string(data), "u001b") || res.Model.Name != `m\x1b[2J\u202e` {
		t.Errorf("%s", data)
	}
}

// TestAHugeFileIsRefused: a file that would use up the memory is not read. It is
// a sparse one here and takes no room.
func TestAHugeFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := &Dir{Path: t.TempDir()}
	path := filepath.Join(dir.Path, ResultFile)
	must.Do(t, errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Truncate(path, 200_000_000)))
	_, result := dir.Result()
	_, outline := dir.Outline()
	for what, err := range map[string]error{"result": result, "outline": outline} {
		if err == nil || !strings.Contains(err.Error(), "result.json: it has 200 MB, and redline reads 64") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
