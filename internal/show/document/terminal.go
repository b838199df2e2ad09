package document

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"redline/internal/text"
)

// Prose is at most maxWidth columns wide and never squeezed below minWidth: a
// narrower terminal wraps it itself. Tables of figures use all the width there is;
// from narrowWidth down what does not fit beside its key stands below it.
const (
	maxWidth    = 100
	narrowWidth = 72
	minWidth    = 40
	// keyWidth is the column in which the text of a fact begins.
	keyWidth  = 12
	columnGap = 2
	indent    = "  "
)

// TerminalOptions says what a terminal can do.
type TerminalOptions struct {
	Color bool
	Width int // columns; 0 means 100
}

// Terminal writes a document for whoever sits at a terminal. Titles of sections
// are left out: their blocks speak for themselves.
func Terminal(w io.Writer, d *Document, o TerminalOptions) error {
	if o.Width <= 0 {
		o.Width = maxWidth
	}
	wide := max(o.Width, minWidth)
	t := &terminal{width: min(wide, maxWidth), wide: wide, color: o.Color}
	for _, h := range d.Headlines {
		t.block(h)
	}
	for _, s := range d.Sections {
		for i, b := range s.Blocks {
			if i == 0 && !s.Joined || i > 0 && needsBlankLine(s.Blocks[i-1], b) {
				t.gap()
			}
			t.block(b)
		}
	}
	t.block(Footnotes{}) // those that no section had a place for
	_, err := io.WriteString(w, t.out.String())
	return err
}

// needsBlankLine reports whether an empty line stands between two blocks.
func needsBlankLine(above, b Block) bool {
	_, headed := above.(Heading)
	switch b := b.(type) {
	case *Table, Charts:
		return !headed
	case Heading, Headline:
		return true
	case Facts:
		switch above := above.(type) {
		case *Table, Note, Footnotes, Charts:
			return !b.Indent
		case Facts:
			return !b.Indent && !above.Indent
		}
	}
	return false
}

// terminal is a page in the making.
type terminal struct {
	out   strings.Builder
	width int // of prose
	wide  int // of tables
	color bool
	notes footnotes
}

func (t *terminal) block(b Block) {
	switch b := b.(type) {
	case Headline:
		t.hang(t.paint(b.Tone, b.Word), b.Why)
	case Heading:
		t.line(t.paint(Bold, string(b)))
	case Note:
		t.hang(indent, string(b))
	case Code:
		for _, line := range b {
			t.line(indent + line)
		}
	case Facts:
		t.facts(b)
	case *Table:
		t.table(b)
	case Charts:
		for i := range b {
			if i > 0 {
				t.gap()
			}
			for _, line := range b[i].Text(min(t.width, plotColumns), plotRows) {
				t.line(t.tint(line))
			}
		}
	case Footnotes:
		t.notes.due(func(mark, text string) { t.hang(indent+mark+" ", text) })
	}
}

// gap leaves one empty line.
func (t *terminal) gap() {
	if text := t.out.String(); text != "" && !strings.HasSuffix(text, "\n\n") {
		t.out.WriteByte('\n')
	}
}

// line ends one line, without the blanks that alignment left at its end.
func (t *terminal) line(text string) {
	t.out.WriteString(strings.TrimRight(PlainSpaces(text), " ") + "\n")
}

// hang writes lead and then text, whose further lines begin below its first.
func (t *terminal) hang(lead, text string) {
	const enough = 24
	if t.width < narrowWidth && t.width-Visible(lead) < min(enough, Visible(t.layOut(text))) {
		if strings.TrimSpace(lead) != "" {
			t.line(lead)
		}
		lead = indent + indent
	}
	margin := strings.Repeat(" ", Visible(lead))
	for i, line := range Wrap(t.layOut(text), t.width-Visible(lead)) {
		if i > 0 {
			lead = margin
		}
		t.line(lead + line)
	}
}

func (t *terminal) layOut(text string) string { return t.notes.layOut(text, t.paint) }

func (t *terminal) facts(f Facts) {
	margin, widest := "", f.Width
	if f.Indent {
		margin = indent
	}
	for _, one := range f.Items {
		widest = max(widest, Visible(one.Key))
	}
	for _, one := range f.Items {
		key := t.paint(one.Tone, one.Key)
		if f.Width > 0 {
			t.hang(margin+PadRight(key, widest)+indent, one.Text)
			continue
		}
		t.hang(margin+PadRight(key, max(keyWidth-len(margin), Visible(key)+1)), one.Text)
	}
}

// ansi are the colors of the tones.
var ansi = map[Tone]string{Good: "32", Weak: "33", Bad: "31", Bold: "1", Met: "1;32", Open: "1;33", Lost: "1;31"}

func (t *terminal) paint(tone Tone, text string) string {
	if !t.color {
		return text
	}
	return ANSI(tone, text)
}

// ANSI paints a text for a terminal.
func ANSI(tone Tone, text string) string {
	if tone == Plain || text == "" {
		return text
	}
	return "\x1b[" + ansi[tone] + "m" + text + "\x1b[0m"
}

// tint colors what bounds a picture: the objective and the limit.
func (t *terminal) tint(line string) string {
	for sign, tone := range map[string]Tone{"┄": Bad, "░": Weak} {
		var out strings.Builder
		for rest := line; rest != ""; {
			before, _, _ := strings.Cut(rest, sign)
			run := rest[len(before):]
			run = run[:len(run)-len(strings.TrimLeft(run, sign))]
			out.WriteString(before + t.paint(tone, run))
			rest = rest[len(before)+len(run):]
		}
		line = out.String()
	}
	return line
}

// room is what a column needs: to the left of the decimal point and from it on.
// Columns that are not numbers need only the first.
type room struct{ whole, tail int }

func (r room) total() int { return r.whole + r.tail }

// table prints a table, its columns as narrow as their content.
func (t *terminal) table(table *Table) {
	width := t.wide
	if slices.ContainsFunc(table.Columns, func(c Column) bool { return c.align == alignProse }) {
		width = t.width // the prose beside the figures needs room
	}
	table = table.ready(width, t.tableWidth, &t.notes)
	heads := make([]string, len(table.Columns))
	rooms := make([]room, len(table.Columns))
	for i, c := range table.Columns {
		heads[i] = c.Head
		rooms[i] = t.room(table, i)
	}
	if !strings.ContainsRune(heads[0], toneOn) {
		heads[0] = Paint(Bold, heads[0])
	}
	if t.wide < narrowWidth && t.tableWidth(table) > t.wide {
		t.stack(table, heads)
		return
	}
	if strings.Join(heads, "") != "" {
		t.row(table, rooms, heads, true)
	}
	for _, cells := range table.Rows {
		t.row(table, rooms, cells, false)
	}
}

// stack prints the rows of a table that is wider than the terminal one below the
// other, each figure behind the name of its column.
func (t *terminal) stack(table *Table, heads []string) {
	if heads[0] != "" {
		t.hang("", heads[0])
	}
	for _, cells := range table.Rows {
		var parts []string
		for i, cell := range cells[1:] {
			if cell != "" {
				gap := Hard
				if strings.Contains(cell, " ") {
					gap = " "
				}
				parts = append(parts, strings.TrimSpace(heads[i+1]+gap+cell))
			}
		}
		t.hang(indent, cells[0])
		t.hang(indent+indent, strings.Join(parts, " · "))
	}
}

func (t *terminal) row(table *Table, rooms []room, cells []string, head bool) {
	var out strings.Builder
	if !head && !table.Flush {
		out.WriteString(indent)
	}
	for i, c := range table.Columns {
		if i > 0 {
			out.WriteString(strings.Repeat(" ", columnGap))
		}
		if c.align == alignProse {
			t.remark(out.String(), cells[i], rooms)
			return
		}
		width := rooms[i].total()
		if i == 0 && !head && !table.Flush {
			width -= len(indent)
		}
		text := t.layOut(cells[i])
		switch {
		case c.align == alignLeft:
			text = PadRight(text, width)
		case c.align == alignDecimal && !head:
			whole, _ := t.split(cells[i])
			text = PadRight(strings.Repeat(" ", max(rooms[i].whole-whole, 0))+text, width)
		default:
			text = PadLeft(text, width)
		}
		out.WriteString(text)
	}
	t.line(out.String())
}

// remark ends a row with prose, or puts it under the row's second column where
// that takes fewer lines.
func (t *terminal) remark(row, text string, rooms []room) {
	text = t.layOut(text)
	below := strings.Repeat(" ", rooms[0].total()+columnGap)
	if lines := len(Wrap(text, t.width-Visible(row))); lines == 1 || lines < 1+len(Wrap(text, t.width-len(below))) {
		t.hang(row, text)
		return
	}
	t.line(row)
	t.hang(below, text)
}

// split measures a number before its decimal point and from it on; its mark
// belongs to the tail.
func (t *terminal) split(cell string) (whole, tail int) {
	text := t.notes.layOut(cell, noPaint)
	at := strings.IndexAny(text, ".⁰¹²³⁴⁵⁶⁷⁸⁹")
	if at < 0 {
		at = len(text)
	}
	return utf8.RuneCountInString(text[:at]), utf8.RuneCountInString(text[at:])
}

func (t *terminal) room(table *Table, i int) room {
	var r room
	for _, row := range table.Rows {
		cell, _ := doubtful(row[i])
		whole, tail := t.split(cell)
		if table.Columns[i].align != alignDecimal {
			whole, tail = whole+tail, 0
		}
		r.whole, r.tail = max(r.whole, whole), max(r.tail, tail)
	}
	if i == 0 && !table.Flush {
		r.whole += len(indent)
	}
	whole, tail := t.split(table.Columns[i].Head)
	r.whole = max(r.whole, whole+tail-r.tail)
	return r
}

// tableWidth measures with numbers for footnotes that are not given out yet.
func (t *terminal) tableWidth(table *Table) int {
	t = &terminal{notes: footnotes{texts: slices.Clone(t.notes.texts)}}
	total := -columnGap
	for i, c := range table.Columns {
		if c.align != alignProse {
			total += t.room(table, i).total()
		}
		total += columnGap
	}
	return total
}

// Visible is how many columns text takes on a terminal: escape sequences take
// none.
func Visible(text string) int {
	n := 0
	for {
		start := strings.Index(text, "\x1b[")
		if start < 0 {
			return n + utf8.RuneCountInString(text)
		}
		n += utf8.RuneCountInString(text[:start])
		end := strings.IndexByte(text[start:], 'm')
		if end < 0 {
			return n
		}
		text = text[start+end+1:]
	}
}

// PadRight fills text up to a width, PadLeft puts the blanks before it.
func PadRight(text string, width int) string { return text + blanks(text, width) }

// PadLeft fills text up to a width from the left.
func PadLeft(text string, width int) string { return blanks(text, width) + text }

func blanks(text string, width int) string { return strings.Repeat(" ", max(width-Visible(text), 0)) }

// Wrap breaks text at spaces into lines of at most width columns, and a command
// only behind a backslash. A word that is longer than a line, such as a URL, is
// cut, but not one of a command.
func Wrap(text string, width int) []string { return wrap(text, width, true) }

// WrapWords is text in lines as Wrap makes them, but with words whole that are too
// long, such as paths: a terminal breaks them by itself, and they can still be
// copied. A width of 0 leaves the text as it is.
func WrapWords(text string, width int) string {
	if width <= 0 {
		return text
	}
	return strings.Join(wrap(text, width, false), "\n")
}

func wrap(text string, width int, cut bool) []string {
	width = max(width, 10)
	var lines []string
	line := ""
	for _, unit := range split(text) {
		word := strings.Join(unit, " ")
		switch {
		case line == "":
			line = word
		case Visible(line)+1+Visible(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		if len(unit) > 1 && Visible(line) > width {
			broken := breakCommand(unit, width)
			lines, line = append(lines, broken[:len(broken)-1]...), broken[len(broken)-1]
			continue
		}
		for cut && Visible(line) > width {
			head, tail := Cut(line, width)
			lines = append(lines, head)
			line = tail
		}
	}
	return append(lines, line)
}

// Cut splits text after width runes. Painted words are short, so a word that
// must be cut holds no escape sequence.
func Cut(text string, width int) (head, tail string) {
	runes := []rune(text)
	if len(runes) <= width {
		return text, ""
	}
	return string(runes[:width]), string(runes[width:])
}

// Shorten is a text from outside, made fit to be shown, of at most longest
// columns.
func Shorten(s string, longest int) string {
	if s = text.Line(s); Visible(s) > longest {
		head, _ := Cut(s, longest-1)
		return head + "…"
	}
	return s
}
