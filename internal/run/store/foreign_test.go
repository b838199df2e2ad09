package store

import (
	"encoding/json"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// TestAResultFromElsewhereIsClean: what is read back has no characters that a
// terminal acts upon, whoever wrote the file.
func TestAResultFromElsewhereIsClean(t *testing.T) {
	t.Parallel()
	dir := &Dir{Path: t.TempDir()}
	const attack = "m\x1b[2J\u202e"
	err := dir.WriteResult(&result.Result{Schema: result.Schema, Label: attack, Model: result.Model{Name: attack},
		Engine: result.Engine{Flags: map[string]string{attack: attack}}, Plan: map[string]any{"a": []any{attack}},
		Warnings: []result.Warning{{Figure: "x", Text: attack}}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := dir.Result()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	if text.Clean(string(data)) != string(data) || strings.Contains(string(data), "u001b") || res.Model.Name != `m\x1b[2J\u202e` {
		t.Errorf("%s", data)
	}
}
