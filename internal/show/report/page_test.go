package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/judge/result"
)

func TestWrapped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		width      int
		want       []string
	}{
		{"nothing", "", 20, []string{""}},
		{"fits", "one two", 20, []string{"one two"}},
		{"breaks at a space", "one two three", 10, []string{"one two", "three"}},
		{"keeps a number and its unit", "it took 812\u00a0ms", 11, []string{"it took", "812\u00a0ms"}},
		{"cuts what no line holds", "see http://10.0.0.5:8000", 10, []string{"see", "http://10.", "0.0.5:8000"}},
		{"does not count colour", "\x1b[31mred\x1b[0m word here", 13, []string{"\x1b[31mred\x1b[0m word here"}},
	} {
		if diff := cmp.Diff(tt.want, wrapped(tt.text, tt.width)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTableAlignsByDecimalPoint(t *testing.T) {
	t.Parallel()
	p := newPage(&result.Result{}, TerminalOptions{})
	p.write(table{
		columns: []column{{head: cell{text: "name"}}, {head: cell{text: "n"}, align: alignRight}, {head: cell{text: "p99"}, align: alignPoint}, {align: alignProse}},
		rows: [][]cell{
			{{text: "a"}, {text: "1,204"}, {text: "1,230"}, {text: "first"}},
			{{text: "bb"}, {text: "7"}, {text: "11.7", mark: "¹"}, {}},
			{{text: "c"}, {text: "30"}, {text: "0.41"}, {text: "third"}},
		},
	})
	want := strings.Join([]string{
		"name      n       p99",
		"a     1,204  1,230     first",
		"bb        7     11.7¹",
		"c        30      0.41  third",
		"",
	}, "\n")
	if diff := cmp.Diff(want, p.text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTableDropsColumnsInOrder(t *testing.T) {
	t.Parallel()
	wide := table{
		columns: []column{{head: cell{text: "keep"}}, {head: cell{text: "first"}, optional: 2}, {head: cell{text: "last"}, optional: 1}},
		rows:    [][]cell{{{text: "k"}, {text: "f"}, {text: "l"}}},
	}
	for width, want := range map[int][]string{17: {"keep", "first", "last"}, 16: {"keep", "last"}, 10: {"keep", "last"}, 9: {"keep"}, 1: {"keep"}} {
		var got []string
		for _, c := range wide.fitted(width).columns {
			got = append(got, c.head.text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
}

func TestDoubtsAreSaidWhereTheyHold(t *testing.T) {
	t.Parallel()
	const few, blur = "few", "blur"
	for _, tt := range []struct {
		name   string
		doubts [][]string
		want   []string // the heading, then each row
	}{
		{"no doubt", [][]string{{"", ""}, {"", ""}}, []string{"ms p50 p99", "a 1 2", "b 3 4"}},
		{"all of it", [][]string{{few, few}, {few, few}}, []string{"ms¹ p50 p99", "a 1 2", "b 3 4"}},
		{"a column", [][]string{{"", few}, {"", few}}, []string{"ms p50 p99¹", "a 1 2", "b 3 4"}},
		{"a row", [][]string{{few, few}, {"", ""}}, []string{"ms p50 p99", "a¹ 1 2", "b 3 4"}},
		{"a number", [][]string{{"", few}, {"", ""}}, []string{"ms p50 p99", "a 1 2¹", "b 3 4"}},
		{"two causes", [][]string{{"", few}, {"", blur}}, []string{"ms p50 p99", "a 1 2¹", "b 3 4²"}},
	} {
		p := newPage(&result.Result{}, TerminalOptions{})
		table := table{
			columns: []column{{head: cell{text: "ms"}}, {key: "p50", head: cell{text: "p50"}}, {key: "p99", head: cell{text: "p99"}}},
			rows:    [][]cell{{{text: "a"}, {text: "1"}, {text: "2"}}, {{text: "b"}, {text: "3"}, {text: "4"}}},
		}
		for i := range tt.doubts {
			tt.doubts[i] = append([]string{""}, tt.doubts[i]...)
		}
		p.markDoubts(&table, tt.doubts)
		heads := make([]cell, len(table.columns))
		for i, c := range table.columns {
			heads[i] = c.head
		}
		var got []string
		for _, row := range append([][]cell{heads}, table.rows...) {
			var words []string
			for _, c := range row {
				words = append(words, c.text+c.mark)
			}
			got = append(got, strings.Join(words, " "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
