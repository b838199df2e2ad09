package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/show/chart"
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
		{"does not count color", "\x1b[31mred\x1b[0m word here", 13, []string{"\x1b[31mred\x1b[0m word here"}},
	} {
		expect.NoDiff(t, cmp.Diff(tt.want, Wrap(tt.text, tt.width)), "%s (-want +got)", tt.name)
	}
}

// Whatever the width and the prose around it, a command is pasted as it was meant.
func TestCommandsCanBePasted(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"redline history",
		"redline workload show chat",
		"redline report runs/20261118-104045",
		"redline run --url http://localhost:9101/v1/chat/completions --model llama-3.1-8b --workload chat --slo 'ttft:p99<200ms' --slo 'tpot:p95<50ms' --rate 10",
		"redline tune --server-command 'vllm serve MODEL --port {port}' --knob 'n=1,2,4' --workload 'in=fixed(200) out=fixed(150)'",
		"REDLINE_JOIN_TOKEN=abcdef redline worker --nats nats://10.0.0.5:4222",
	} {
		for _, prose := range []string{"%s", "it isn't finished: %s", "see what was recorded (%s), or start again", "first %s; then wait for the others"} {
			for width := 10; width <= 130; width++ {
				text := strings.ReplaceAll(prose, "%s", command)
				pasted := strings.ReplaceAll(strings.Join(Wrap(text, width), "\n"), " \\\n", " ")
				if !strings.Contains(pasted, command) {
					t.Errorf("%d columns:\n%s", width, strings.Join(Wrap(text, width), "\n"))
				}
			}
		}
	}
	got := render(t, inMarkdown, Note("missed: redline run --slo 'ttft:p99<1s' --label a_b, and redline dev · http://localhost:8000 _twice_"))
	expect.Same(t, "missed: `redline run --slo 'ttft:p99<1s' --label a_b`, and redline dev · http://localhost:8000 \\_twice\\_\n", got)
}

// render is a section of blocks as a renderer writes it.
func render(t *testing.T, render func(*strings.Builder, *Document) error, blocks ...Block) string {
	t.Helper()
	var out strings.Builder
	must.Do(t, render(&out, &Document{Sections: []Section{{Blocks: blocks}}}))
	return out.String()
}

func onTerminal(o TerminalOptions) func(*strings.Builder, *Document) error {
	return func(out *strings.Builder, d *Document) error { return Terminal(out, d, o) }
}

func inMarkdown(out *strings.Builder, d *Document) error { return Markdown(out, d, 2) }

func asPage(out *strings.Builder, d *Document) error { return HTML(out, d) }

func TestTableAlignsByDecimalPoint(t *testing.T) {
	t.Parallel()
	table := NewTable(Left("name"), Right("n"), Decimal("p99"), Prose(""))
	table.Flush = true
	table.Add("a", "1,204", "1,230", "first")
	table.Add("bb", "7", "11.7"+Mark("why"), "")
	table.Add("c", "30", "0.41", "third")
	want := strings.Join([]string{
		"name      n       p99",
		"a     1,204  1,230     first",
		"bb        7     11.7¹",
		"c        30      0.41  third",
		"  ¹ why",
		"",
	}, "\n")
	expect.Same(t, want, render(t, onTerminal(TerminalOptions{}), table, Footnotes{}))
}

// A document whose sections have no place for footnotes ends with them.
func TestFootnotesAreNeverLost(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*strings.Builder, *Document) error{"terminal": onTerminal(TerminalOptions{}), "markdown": inMarkdown, "page": asPage} {
		var out strings.Builder
		must.Do(t, write(&out, &Document{Title: "title", Headlines: []Headline{{Word: "MET ", Why: "p99 84 ms" + Mark("few samples")}}, Sections: []Section{{Blocks: []Block{Note("a remark")}}}}))
		if got := out.String(); strings.Count(got, "¹ few samples") != 1 {
			t.Errorf("%s: the footnote is not shown once:\n%s", name, got)
		}
	}
}

func TestTableDropsColumnsInOrder(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{17: "keep first last", 16: "keep last", 10: "keep last", 9: "keep", 1: "keep"} {
		table := NewTable(Left("keep"), Left("first").Optional(2), Left("last").Optional(1))
		table.Flush = true
		table.Add("k", "f", "l")
		var heads []string
		for _, c := range table.ready(width, (&terminal{}).tableWidth, &footnotes{}).Columns {
			heads = append(heads, c.Head)
		}
		if got := strings.Join(heads, " "); got != want {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
}

func TestColumnsThatSayNothingAreLeftOut(t *testing.T) {
	t.Parallel()
	table := NewTable(Left("name"), Left(""), Left("note").Optional(1), Left("value"))
	table.Add("a", "", "", "")
	want := "| name | value |\n| --- | --- |\n| a |  |\n"
	expect.Same(t, want, render(t, inMarkdown, table))
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
		{"all of it", [][]string{{few, few}, {few, few}}, []string{"ms¹ p50 p99", "a 1 2", "b 3 4", "¹ few"}},
		{"a column", [][]string{{"", few}, {"", few}}, []string{"ms p50 p99¹", "a 1 2", "b 3 4", "¹ few"}},
		{"a row", [][]string{{few, few}, {"", ""}}, []string{"ms p50 p99", "a¹ 1 2", "b 3 4", "¹ few"}},
		{"a number", [][]string{{"", few}, {"", ""}}, []string{"ms p50 p99", "a 1 2¹", "b 3 4", "¹ few"}},
		{"in the order of reading", [][]string{{"", few}, {blur, ""}}, []string{"ms p50 p99", "a 1 2¹", "b 3² 4", "¹ few", "² blur"}},
		{"two causes", [][]string{{"", few}, {"", blur}}, []string{"ms p50 p99", "a 1 2¹", "b 3 4²", "¹ few", "² blur"}},
	} {
		table := NewTable(Left("ms"), Left("p50").Doubtful(), Left("p99").Doubtful())
		for i, row := range [][]string{{"a", "1", "2"}, {"b", "3", "4"}} {
			table.Add(row[0], row[1]+Doubt(tt.doubts[i][0]), row[2]+Doubt(tt.doubts[i][1]))
		}
		var got []string
		for line := range strings.Lines(render(t, onTerminal(TerminalOptions{}), table)) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		expect.NoDiff(t, cmp.Diff(tt.want, got), "%s (-want +got)", tt.name)
	}
}

// What a text holds is read as it is, whatever Markdown and HTML would take it
// for.
func TestMarkdownShowsSignsAsTheyAre(t *testing.T) {
	t.Parallel()
	got := render(t, inMarkdown, Note("a|b <i> &lt; &amp ~~gone~~ ~5 *x* _y_ [z](u) `c` \\d"))
	want := "a\\|b &lt;i&gt; &amp;lt; &amp;amp \\~\\~gone\\~\\~ \\~5 \\*x\\* \\_y\\_ \\[z\\](u) \\`c\\` \\\\d\n"
	expect.Same(t, want, got)
}

// everything is a document with each kind of block, and texts that renderers
// could take for signs of their own.
func everything() *Document {
	table := NewTable(Left("table"), Right("n"), Prose(""))
	table.Add("row <b> | `x`", Paint(Bad, "1")+Mark("a note on one"), "remark")
	c := chart.Chart{Title: "picture", Lines: []chart.Line{{Name: "line", Points: []chart.Point{{X: 1, Y: 1}, {X: 2, Y: 3}}}}}
	return &Document{
		Title: "title", Status: Headline{Word: "Valid", Tone: Met, Why: "fine"}, Tiles: []Tile{{Name: "tile", Number: "12"}},
		Headlines: []Headline{{Word: "ANSWER: ", Tone: Met, Why: "forty-two"}},
		Sections: []Section{{Title: "first", Blocks: []Block{
			Facts{Items: []Fact{{Key: "key", Text: "plain " + Paint(Weak, "weak") + Mark("a note on a fact")}, {Text: "continued"}}},
			Heading("heading"), Note("a remark"), table, Charts{c}, Code{"echo `x`"}, Headline{Word: "Also: ", Tone: Bold, Why: "more"}, Footnotes{},
		}}, {Title: "second", Folded: true, Blocks: []Block{Note("folded")}}},
	}
}

// TestRenderersShowEveryBlock: nothing gets lost on the way to any reader, and
// no markup is left over.
func TestRenderersShowEveryBlock(t *testing.T) {
	t.Parallel()
	for name, render := range map[string]func(*strings.Builder, *Document) error{
		"terminal": onTerminal(TerminalOptions{}), "markdown": inMarkdown, "html": asPage,
	} {
		var out strings.Builder
		must.Do(t, render(&out, everything()))
		for _, want := range []string{"ANSWER", "forty-two", "key", "weak¹", "continued", "heading", "a remark", "table", "remark",
			"echo", "more", "¹ a note on a fact", "² a note on one", "folded"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.String())
			}
		}
		if strings.ContainsAny(out.String(), "\x01\x02\x03\x04\x05\x06") {
			t.Errorf("%s: markup is left over", name)
		}
	}
}

func TestColorIsOnTheWordsThatHaveIt(t *testing.T) {
	t.Parallel()
	got := render(t, onTerminal(TerminalOptions{Color: true}), Facts{Items: []Fact{{Key: "k", Tone: Bad, Text: "a " + Paint(Good, "b") + " c"}}})
	if want := "\x1b[31mk\x1b[0m           a \x1b[32mb\x1b[0m c\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The page sets "tt" as two letters: as one its bar strikes ttft through.
func TestPagesHaveNoLigatures(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	must.Do(t, HTML(&out, &Document{}))
	if !strings.Contains(out.String(), "font-variant-ligatures: none") {
		t.Error("the page has ligatures")
	}
}
