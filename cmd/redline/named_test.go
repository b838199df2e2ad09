package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"redline/internal/must"
	"redline/internal/traffic/workload"
)

// A workload that a page names by a word alone is a preset, and so is one in the
// examples of a command's help.
func TestNamedWorkloadsExist(t *testing.T) {
	t.Parallel()
	pages := must.Get(filepath.Glob("../../docs/*/*.md"))(t)
	sources := must.Get(filepath.Glob("*.go"))(t)
	named, found := regexp.MustCompile(`--workload ([a-z_]+)\b(?:[^.:(/\w]|$)`), 0
	for _, path := range append(append(pages, sources...), "../../README.md") {
		content := must.Read(t, path)
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
