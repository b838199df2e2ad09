package document

import (
	"slices"
	"strings"

	"redline/internal/text"
)

type align uint8

const (
	alignLeft align = iota
	alignRight
	alignDecimal
	alignProse
)

// Column is a heading and the way its cells line up.
type Column struct {
	Head  string
	align align
	// rank says which columns go first where there is too little room: those of
	// the highest rank; those of rank 0 stay.
	rank int
	// doubts says that the column holds numbers that may carry doubts.
	doubts bool
}

// Left is a column of words.
func Left(head string) Column { return Column{Head: head} }

// Right is a column of whole numbers and of intervals.
func Right(head string) Column { return Column{Head: head, align: alignRight} }

// Decimal is a column of numbers, by their decimal point.
func Decimal(head string) Column { return Column{Head: head, align: alignDecimal} }

// Prose is the last column, which wraps.
func Prose(head string) Column { return Column{Head: head, align: alignProse} }

// Optional is a column that a narrow page can do without: those of the highest
// rank go first.
func (c Column) Optional(rank int) Column {
	c.rank = rank
	return c
}

// Doubtful is a column of numbers that may carry doubts.
func (c Column) Doubtful() Column {
	c.doubts = true
	return c
}

func (c Column) numeric() bool { return c.align == alignRight || c.align == alignDecimal }

// Table is aligned rows. The head of its first column is its title.
type Table struct {
	Columns []Column
	Rows    [][]string
	// Flush rows stand under the title, others are indented.
	Flush bool
}

// NewTable is a table without rows.
func NewTable(columns ...Column) *Table { return &Table{Columns: columns} }

// Add puts a row below the others.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// AddColumn puts a column at the right, one cell for each row, unless each of
// them is as good as empty.
func (t *Table) AddColumn(c Column, empty string, cell func(row int) string) {
	cells := make([]string, len(t.Rows))
	for i := range cells {
		cells[i] = cell(i)
	}
	if !slices.ContainsFunc(cells, func(text string) bool { return text != empty }) {
		return
	}
	t.Columns = append(t.Columns, c)
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], cells[i])
	}
}

// TakeShared takes what all of several rows say in one column out of them, to
// be said once.
func (t *Table) TakeShared(i int) string {
	text, same := Common(t.column(i))
	if !same || len(t.Rows) == 1 {
		return ""
	}
	for _, row := range t.Rows {
		row[i] = ""
	}
	return text
}

func (t *Table) column(i int) []string {
	cells := make([]string, len(t.Rows))
	for j, row := range t.Rows {
		cells[j] = row[i]
	}
	return cells
}

// Common gives the text that all share, if there is one.
func Common(texts []string) (text string, same bool) {
	if len(texts) == 0 || texts[0] == "" {
		return "", false
	}
	other := func(text string) bool { return text != texts[0] }
	return texts[0], !slices.ContainsFunc(texts, other)
}

// ready gives a copy of a table to be laid out at a width: without columns that
// say nothing or do not fit, its own footnotes numbered, its doubts gathered.
func (t *Table) ready(width int, measure func(*Table) int, notes *footnotes) *Table {
	out := &Table{Columns: slices.Clone(t.Columns), Flush: t.Flush}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, slices.Clone(row))
	}
	for i := len(out.Columns) - 1; i >= 0; i-- {
		c := out.Columns[i]
		filled := slices.ContainsFunc(out.column(i), func(cell string) bool { return cell != "" && (c.rank == 0 || cell != text.Absent) })
		if !filled && (c.rank > 0 || c.Head == "") {
			out.drop(i)
		}
	}
	text := ""
	for _, row := range out.Rows {
		text += strings.Join(row, "")
	}
	if strings.ContainsRune(text, doubtOn) {
		// Columns that do not fit go before their doubts are gathered; each of the
		// others keeps a place free for its mark.
		out.fit(width, func(t *Table) int { return measure(t) + len(t.Columns) })
		for _, row := range out.Rows {
			for _, cell := range row {
				rest, _ := doubtful(cell)
				notes.layOut(rest, noPaint)
			}
		}
		out.gather()
	}
	out.fit(width, measure)
	// Footnotes are numbered in the order in which their marks are read, before a
	// renderer measures column by column.
	for _, c := range out.Columns {
		notes.layOut(c.Head, noPaint)
	}
	for _, row := range out.Rows {
		notes.layOut(strings.Join(row, ""), noPaint)
	}
	return out
}

// fit leaves out optional columns until the table is no wider than width.
func (t *Table) fit(width int, measure func(*Table) int) {
	for measure(t) > width {
		drop := -1
		for i, c := range t.Columns {
			if c.rank > 0 && (drop < 0 || c.rank > t.Columns[drop].rank) {
				drop = i
			}
		}
		if drop < 0 {
			return
		}
		t.drop(drop)
	}
}

func (t *Table) drop(i int) {
	t.Columns = slices.Delete(t.Columns, i, i+1)
	for j := range t.Rows {
		t.Rows[j] = slices.Delete(t.Rows[j], i, i+1)
	}
}

// gather puts each doubt where it is said once: on the title when it is true of
// every number that can carry one, on a heading when of a whole column, on a
// name when of a whole row, and else on the number.
func (t *Table) gather() {
	var at []int
	for i, c := range t.Columns {
		if c.doubts {
			at = append(at, i)
		}
	}
	doubts := make([][]string, len(t.Rows))
	var all []string
	for i, row := range t.Rows {
		for _, j := range at {
			rest, doubt := doubtful(row[j])
			row[j] = rest
			doubts[i] = append(doubts[i], doubt)
		}
		all = append(all, doubts[i]...)
	}
	if doubt, same := Common(all); same {
		t.Columns[0].Head = Paint(Open, t.Columns[0].Head+Mark(doubt))
		return
	}
	for k, j := range at {
		column := make([]string, len(doubts))
		for i := range doubts {
			column[i] = doubts[i][k]
		}
		if doubt, same := Common(column); same && len(doubts) > 1 {
			t.Columns[j].Head = Paint(Weak, t.Columns[j].Head+Mark(doubt))
			for i := range doubts {
				doubts[i][k] = ""
			}
		}
	}
	for i, row := range t.Rows {
		if doubt, same := Common(doubts[i]); same {
			row[0] = Paint(Weak, row[0]+Mark(doubt))
			continue
		}
		for k, j := range at {
			if doubts[i][k] != "" {
				row[j] = Paint(Weak, row[j]+Mark(doubts[i][k]))
			}
		}
	}
}
