package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"redline/internal/must"
)

// retired are words that no text for users has, and what to write for them.
var retired = []struct{ words, write string }{
	{`promises?|promised|(?:keeps?|kept|breaks?|broken) (?:its|the|their) (?:word|promises?)`, "objective, met, missed"},
	{`tells? of|told of|telling of|gives? out|gave out|what .{1,30} made of it`, "report, print, show, say"},
	{`goes? on with|going on with`, "resume"},
	{`anew`, "rebuild, again"},
	{`foretells?|foretold`, "predict"},
	{`by turns`, "interleaved, alternating"},
	{`held (?:.{1,30} )?against|hold(?:s|ing)? .{1,30} against`, "compare with"},
	{`firms? it up|(?:is|are|not|hardly|when|un) ?firm|firmness`, "confidence, low confidence"},
	{`blurred|blurs?|shared? a read`, "merged timestamps"},
	{`luck of the draw`, "random variation"},
	{`on the mean|in the middle of the`, "on average, median"},
	{`is multiplied with`, "active parameters"},
	{`stands? so far away|so far away`, "network delay"},
	{`misbehav\w+|whom it strikes|strikes`, "inject a fault into these requests"},
	{`finding the way|to try the way`, "exploratory"},
	{`troubles?`, "errors, OOMs, preemptions"},
	{`so many times as fast`, "speed factor"},
	{`at most so (?:often|many)|so (?:often|many) at (?:the )?most`, "at most N"},
	{`nobody (?:says|said|tells|told|knows)`, "unknown"},
	{`purses?`, "prices, budget"},
	{`the house`, "packages, layers"},
	{`dear|dearer|dearest`, "expensive"},
	{`lies? behind (?:its|the) end`, "past the end"},
	{`(?:never|times) hot`, "thermal throttles"},
	{`unknown how many`, "one is assumed"},
	{`memory well used`, "the memory is well used"},
	{`is no command`, "unknown command"},
	{`words of redline`, "arguments"},
	{`whence|thence|thereof|therein|wherein|heretofore|betwixt|amidst|whilst|save for`, "plain English"},
}

// recordings are documents that show what a program printed when they were
// written.
var recordings = []string{"measured/ACCURACY.md", "measured/REAL-ENGINES.md", "measured/REAL-TUNE.md"}

// identifiers carry retired words that keys of result.json still have: their
// comments have to name them.
var identifiers = regexp.MustCompile(`(?i)\b(?:blur(?:s|red)?|(?:is ?|are )firm)\b`)

// TestRetiredWordsStayOut reads every document, every comment, and every text in
// the program that has a space in it, which is what users see of it.
func TestRetiredWordsStayOut(t *testing.T) {
	t.Parallel()
	patterns := make([]*regexp.Regexp, len(retired))
	for i, r := range retired {
		patterns[i] = regexp.MustCompile(`(?i)\b(?:` + r.words + `)\b`)
	}
	look := func(where, text string) {
		for i, p := range patterns {
			if found := p.FindString(text); found != "" {
				t.Errorf("%s: %q: write %s", where, found, retired[i].write)
			}
		}
	}
	for _, name := range documents(t) {
		if slices.Contains(recordings, name) {
			continue
		}
		text := must.Read(t, name)
		for i, line := range strings.Split(string(text), "\n") {
			look(name+":"+strconv.Itoa(i+1), line)
		}
	}
	for _, tree := range []string{"../internal", "../cmd"} {
		must.Do(t, filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, c := range file.Comments {
				look(set.Position(c.Pos()).String(), identifiers.ReplaceAllString(c.Text(), ""))
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if field, ok := n.(*ast.Field); ok {
					field.Tag = nil // keys of files stay as they are
				}
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") {
					look(set.Position(lit.Pos()).String(), lit.Value)
				}
				return true
			})
			return nil
		}))
	}
}
