// Package docs_test holds the documents to what they describe.
package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"redline/internal/must"
)

const modulePrefix = "redline/internal/"

// allowedImports reads the package table of ARCHITECTURE.md.
func allowedImports(t *testing.T) map[string][]string {
	t.Helper()
	text := must.Read(t, "design/ARCHITECTURE.md")
	row := regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\|[^|]*\\| ([a-z –]+) \\|$")
	allowed := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		allowed[m[1]] = strings.Fields(strings.ReplaceAll(m[2], "–", ""))
	}
	if len(allowed) < 10 {
		t.Fatalf("the package table has only %d readable rows", len(allowed))
	}
	return allowed
}

// internalImports lists what a directory's code, tests aside, imports of the
// project.
func internalImports(t *testing.T, dir string) []string {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(dir, "*.go")))(t)
	var imports []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly))(t)
		for _, spec := range parsed.Imports {
			path := must.Get(strconv.Unquote(spec.Path.Value))(t)
			if name, ok := strings.CutPrefix(path, modulePrefix); ok && !slices.Contains(imports, name) {
				imports = append(imports, name)
			}
		}
	}
	return imports
}

// packages lists the folders with code that the program is built from, below
// internal. Generators are programs of their own.
func packages(t *testing.T) []string {
	t.Helper()
	var names []string
	must.Do(t, filepath.WalkDir("../internal", func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); name == "testdata" || name == "gen" || name == "pack" {
			return filepath.SkipDir
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(files) > 0 {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(dir, "../internal/")))
		}
		return nil
	}))
	return names
}

func TestImportsFollowTheTable(t *testing.T) {
	allowed := allowedImports(t)
	seen, last := map[string]bool{}, map[string]bool{}
	for _, name := range packages(t) {
		if last[path.Base(name)] {
			t.Errorf("two packages are named %s", path.Base(name))
		}
		seen[name], last[path.Base(name)] = true, true
		may, ok := allowed[name]
		if !ok {
			t.Errorf("internal/%s has no row in the package table", name)
			continue
		}
		for _, imported := range internalImports(t, filepath.Join("../internal", name)) {
			if imported != "text" && !slices.Contains(may, path.Base(imported)) {
				t.Errorf("internal/%s imports %s; the table allows %v", name, imported, may)
			}
		}
	}
	for name, may := range allowed {
		if !seen[name] {
			t.Errorf("the package table has a row for %s, which does not exist", name)
		}
		for _, imported := range may {
			if !last[imported] {
				t.Errorf("the row of %s allows %s, which does not exist", name, imported)
			}
		}
	}
}

func TestEveryDirectDependencyIsExplained(t *testing.T) {
	module := must.Read(t, "../go.mod")
	text := must.Read(t, "design/ARCHITECTURE.md")
	required := regexp.MustCompile(`(?m)^\s+(\S+) v\S+$`).FindAllStringSubmatch(string(module), -1)
	if len(required) == 0 {
		t.Fatal("go.mod lists no direct dependency")
	}
	for _, m := range required {
		if !strings.Contains(string(text), "`"+m[1]+"`") {
			t.Errorf("go.mod requires %s, which ARCHITECTURE.md does not explain", m[1])
		}
	}
}

func TestCIRunsTheREADMEsTestCommand(t *testing.T) {
	readme := must.Read(t, "../README.md")
	ci := must.Read(t, "../.ci/run")
	lines := strings.Split(strings.TrimSpace(string(ci)), "\n")
	command := lines[len(lines)-1]
	if !strings.Contains(string(readme), "\n"+command+"\n") {
		t.Errorf(".ci/run runs %q, which the README does not tell", command)
	}
}

// Whoever changes a table runs make: it knows every test that writes documents
// or golden files.
func TestMakeWritesWhatTestsWrite(t *testing.T) {
	makefile := must.Read(t, "../Makefile")
	written := regexp.MustCompile(`\sgo test .*-update\n`).FindAllString(string(makefile), -1)
	for _, name := range packages(t) {
		tests := must.Get(filepath.Glob(filepath.Join("../internal", name, "*_test.go")))(t)
		for _, test := range tests {
			source := must.Read(t, test)
			if strings.Contains(string(source), "= flag.Bool(\"update\"") && !strings.Contains(strings.Join(written, ""), "./internal/"+name+" ") {
				t.Errorf("%s has -update, and no target of the Makefile runs it", test)
			}
		}
	}
}
