package report

import (
	"slices"
	"strings"
)

// align is how a column lines up.
type align uint8

const (
	alignLeft  align = iota
	alignRight       // whole numbers
	alignPoint       // numbers, by their decimal point
	alignProse       // the last column: wraps within the page
)

// cell is one entry of a table. The mark is set apart from the text so that
// numbers line up whether they carry one or not.
type cell struct {
	text string
	mark string
	tone tone
}

// column is a heading and the way its cells line up. Of the columns that are
// optional, those with the highest number are left out first where the page is
// too narrow.
type column struct {
	key      string // what its cells hold, where they are looked up
	head     cell
	align    align
	optional int
}

// table is a section of aligned rows.
type table struct {
	columns []column
	rows    [][]cell
}

// measure is the room a column needs: to the left of the decimal point and
// from it on. Columns that are not numbers need only the first.
type measure struct{ whole, tail int }

func (m measure) total() int { return m.whole + m.tail }

const columnGap = 2

// write prints the table, its columns as narrow as their content.
func (p *page) write(t table) {
	if p.kept != nil {
		p.keep(piece{kind: grid, table: t})
		return
	}
	t = t.fitted(p.width)
	measures := make([]measure, len(t.columns))
	for i := range t.columns {
		measures[i] = t.measure(i)
	}
	heads := make([]cell, len(t.columns))
	for i, c := range t.columns {
		heads[i] = c.head
	}
	p.row(t.columns, measures, heads, true)
	for _, row := range t.rows {
		p.row(t.columns, measures, row, false)
	}
}

func (p *page) row(columns []column, measures []measure, cells []cell, head bool) {
	var out strings.Builder
	for i, c := range columns {
		if i > 0 {
			out.WriteString(strings.Repeat(" ", columnGap))
		}
		if c.align == alignProse {
			p.remark(out.String(), cells[i].text, measures)
			return
		}
		out.WriteString(p.cell(c.align, measures[i], cells[i], head))
	}
	p.line(out.String())
}

// remark ends a row with prose, or puts it under the row's second column where
// too little room is left beside it.
func (p *page) remark(row, text string, measures []measure) {
	const enough = 24
	room := p.width - visible(row)
	if room >= min(enough, visible(text)) {
		p.hang(row, text)
		return
	}
	p.line(row)
	p.hang(strings.Repeat(" ", measures[0].total()+columnGap), text)
}

func (p *page) cell(a align, m measure, c cell, head bool) string {
	marked := p.paint(c.tone, c.text+c.mark)
	switch {
	case a == alignLeft:
		return padRight(marked, m.total())
	case head, a == alignRight:
		return padLeft(marked, m.total())
	default:
		whole, _ := split(c)
		return padRight(strings.Repeat(" ", max(m.whole-visible(whole), 0))+marked, m.total())
	}
}

// split parts a number at its decimal point; its mark belongs to the tail.
func split(c cell) (whole, tail string) {
	if dot := strings.IndexByte(c.text, '.'); dot >= 0 {
		return c.text[:dot], c.text[dot:] + c.mark
	}
	return c.text, c.mark
}

func (t table) measure(i int) measure {
	var m measure
	for _, row := range t.rows {
		if t.columns[i].align != alignPoint {
			m.whole = max(m.whole, visible(row[i].text+row[i].mark))
			continue
		}
		whole, tail := split(row[i])
		m.whole, m.tail = max(m.whole, visible(whole)), max(m.tail, visible(tail))
	}
	head := t.columns[i].head
	m.whole = max(m.whole, visible(head.text+head.mark)-m.tail)
	return m
}

// fitted leaves out optional columns until the table is no wider than width.
func (t table) fitted(width int) table {
	for t.total() > width {
		drop := -1
		for i, c := range t.columns {
			if c.optional > 0 && (drop < 0 || c.optional > t.columns[drop].optional) {
				drop = i
			}
		}
		if drop < 0 {
			return t
		}
		t = t.without(drop)
	}
	return t
}

func (t table) total() int {
	total := -columnGap
	for i, c := range t.columns {
		if c.align != alignProse {
			total += t.measure(i).total()
		}
		total += columnGap
	}
	return total
}

func (t table) without(i int) table {
	out := table{columns: append(append([]column{}, t.columns[:i]...), t.columns[i+1:]...)}
	for _, row := range t.rows {
		out.rows = append(out.rows, append(append([]cell{}, row[:i]...), row[i+1:]...))
	}
	return out
}

// withoutEmpty leaves out optional columns in which no row has anything to say.
func (t table) withoutEmpty() table {
	for i := len(t.columns) - 1; i >= 0; i-- {
		filled := slices.ContainsFunc(t.rows, func(row []cell) bool { return row[i].text != "" })
		if t.columns[i].optional > 0 && !filled {
			t = t.without(i)
		}
	}
	return t
}

// withoutBlank leaves out columns that have neither a heading nor anything in
// them.
func (t table) withoutBlank() table {
	for i := len(t.columns) - 1; i >= 0; i-- {
		filled := slices.ContainsFunc(t.rows, func(row []cell) bool { return row[i].text != "" })
		if t.columns[i].head.text == "" && !filled {
			t = t.without(i)
		}
	}
	return t
}

// takeShared takes what all of several rows say in one column out of them, to
// be said once.
func (t table) takeShared(i int) string {
	texts := make([]string, len(t.rows))
	for j, row := range t.rows {
		texts[j] = row[i].text
	}
	text, same := common(texts)
	if !same || len(texts) == 1 {
		return ""
	}
	for _, row := range t.rows {
		row[i].text = ""
	}
	return text
}

// add puts a column at the right, one cell for each row.
func (t *table) add(c column, cells []cell) {
	t.columns = append(t.columns, c)
	for i := range t.rows {
		t.rows[i] = append(t.rows[i], cells[i])
	}
}
