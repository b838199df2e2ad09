package figure_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"redline/internal/judge/figure"
	"redline/internal/must"
)

var update = flag.Bool("update", false, "write the tables of docs/reference/METRICS.md")

// The manual's tables are this one.
func TestTheManualHasTheTable(t *testing.T) {
	const path = "../../../docs/reference/METRICS.md"
	page := must.Read(t, path)
	want := string(page)
	for name, of := range map[string]func(*figure.Figure) bool{
		"requests and gaps": func(f *figure.Figure) bool { return f.Spread() && !f.Jobs() },
		"the window":        func(f *figure.Figure) bool { return !f.Spread() && !f.Jobs() },
		"jobs":              (*figure.Figure).Jobs,
	} {
		begin, end := "<!-- figures of "+name+" -->\n", "<!-- /figures of "+name+" -->"
		before, rest, _ := strings.Cut(want, begin)
		_, after, found := strings.Cut(rest, end)
		if !found {
			t.Fatalf("%s has no place for the figures of %s", path, name)
		}
		want = before + begin + table(slices.DeleteFunc(slices.Clone(figure.All), func(f *figure.Figure) bool { return !of(f) })) + end + after
	}
	switch {
	case want == string(page):
	case *update:
		must.Write(t, path, want)
	default:
		t.Errorf("%s does not have the figures as the table has them: make golden", path)
	}
}

func table(rows []*figure.Figure) string {
	var b strings.Builder
	b.WriteString("| figure | written | unit | better | definition | cannot be, and why |\n|---|---|---|---|---|---|\n")
	for _, f := range rows {
		better := "less"
		if f.More {
			better = "more"
		}
		if !f.Can(figure.Plot) && !f.Can(figure.Compare) {
			better = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", f.Key, strings.Join(spellings(f), ", "), f.Unit, better, f.Definition(), why(f))
	}
	return b.String()
}

// spellings are how users write a figure where they can.
func spellings(f *figure.Figure) []string {
	var list []string
	s := figure.Statistic{Figure: f, Stat: f.Stat}
	if f.Spread() {
		s.Stat = "p99"
	}
	if f.Can(figure.Compare) || f.Can(figure.Plot) {
		list = append(list, s.String())
	}
	if full := f.Name + ":" + s.Stat; f.Can(figure.Promise) && !slices.Contains(list, full) {
		list = append(list, full)
	}
	for _, alias := range f.Aliases {
		if f.Spread() {
			alias += ":p99"
		}
		list = append(list, alias)
	}
	for i := range list {
		list[i] = "`" + list[i] + "`"
	}
	return list
}

// why says what a figure is not good for; whether it has a row of its own on a
// page is no question here.
func why(f *figure.Figure) string {
	uses := map[string][]string{}
	for use, reason := range f.Not {
		if use != figure.Tabulate {
			uses[reason] = append(uses[reason], string(use))
		}
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(uses)) {
		parts = append(parts, strings.Join(slices.Sorted(slices.Values(uses[reason])), ", ")+": "+reason)
	}
	return strings.Join(parts, "; ")
}
