package docs_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redline/internal/must"
)

var (
	formatName = regexp.MustCompile(`redline/([a-z]+)/([0-9]+)`)
	word       = regexp.MustCompile("`([a-z_]+)`")
	verdictRow = regexp.MustCompile("(?m)^\\| [^|]*: ([^|]*?)(?: \\([^|]*)? \\| `jq -r \\.verdict\\.([a-z]+) result\\.json` \\|$")
)

// formats are the names of formats in a text with their newest version.
func formats(into map[string]string, text string) {
	for _, m := range formatName.FindAllStringSubmatch(text, -1) {
		if into[m[1]] < m[2] {
			into[m[1]] = m[2]
		}
	}
}

// Every format is named in the version that is written.
func TestFormatsAreTheOnesWritten(t *testing.T) {
	t.Parallel()
	written := map[string]string{}
	err := filepath.WalkDir("../internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		formats(written, string(source))
		return err
	})
	if err != nil || written["result"] == "" {
		t.Fatal(written, err)
	}
	for _, file := range documents(t) {
		text := must.Read(t, file)
		named := map[string]string{}
		formats(named, string(text))
		for name, version := range named {
			if written[name] != version {
				t.Errorf("%s has redline/%s/%s; redline writes %q", file, name, version, written[name])
			}
		}
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	list := must.Get(filepath.Glob(pattern))(t)
	return list
}

// The words that RESULT.md gives for a verdict are those of the schema.
func TestVerdictsAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	content := must.Read(t, "../internal/plan/schema/result.schema.json")
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct{ Enum []string }
		} `json:"$defs"`
	}
	must.Do(t, json.Unmarshal(content, &schema))
	manual := must.Read(t, "reference/RESULT.md")
	rows := verdictRow.FindAllStringSubmatch(string(manual), -1)
	if len(rows) != 2 {
		t.Fatalf("%d rows with the words of a verdict, want 2: %q", len(rows), rows)
	}
	for _, row := range rows {
		var words []string
		for _, m := range word.FindAllStringSubmatch(row[1], -1) {
			words = append(words, m[1])
		}
		if want := schema.Defs["result.Verdict"].Properties[row[2]].Enum; !slices.Equal(words, want) {
			t.Errorf(".verdict.%s: RESULT.md has %q, the schema %q", row[2], words, want)
		}
	}
}
