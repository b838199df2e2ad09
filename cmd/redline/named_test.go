package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"redline/internal/traffic/workload"
)

// A workload that a page names by a word alone is a preset, and so is one in the
// examples of a command's help.
func TestNamedWorkloadsExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named, found := regexp.MustCompile(`--workload ([a-z_]+)\b(?:[^.:(/\w]|$)`), 0
	for _, path := range append(append(pages, sources...), "../../README.md") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(content, -1) {
			found++
			if _, err := workload.Parse(string(m[1])); err != nil {
				t.Errorf("%s: --workload %s: %v", path, m[1], err)
			}
		}
	}
	if found < 8 {
		t.Errorf("only %d workloads are named: is the pattern still right?", found)
	}
}
