package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/chart"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string

	pageTemplate = template.Must(template.New("report").Parse(pageHTML))
)

// HTML writes the report as one file that needs nothing beside it: no script,
// no network, no font. It reads in light and dark and on paper, and its charts
// have alternatives in words.
func HTML(w io.Writer, r *result.Result) error {
	if r == nil {
		return errNoResult
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, newSheet(newArticle(r))); err != nil {
		return fmt.Errorf("report: write result %q as HTML: %w", r.ID, err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// sheet is an article as the template reads it.
type sheet struct {
	Title, Started string
	Style          template.CSS
	Headlines      []sheetLine
	Validity       sheetLine
	Tiles          []tile
	Sections       []sheetSection
	Version        string
}

type sheetLine struct{ Class, Word, Text string }

type sheetSection struct {
	ID, Title string
	Charts    []sheetChart
	Blocks    []sheetBlock
}

// sheetChart is a picture; Narrow is the same for a page that has no room for
// it, empty where it is narrow already.
type sheetChart struct {
	Title           string
	Picture, Narrow template.HTML
}

// sheetBlock is one of its fields: the others are empty.
type sheetBlock struct {
	Facts          []sheetLine
	Table          *sheetTable
	Heading, Prose string
}

type sheetTable struct {
	Class string
	Heads []sheetCell
	Rows  [][]sheetCell
}

// sheetCell is a text, the mark of its footnote, and what fills it up behind.
type sheetCell struct{ Class, Text, Mark, Pad string }

func newSheet(a *article) sheet {
	s := sheet{Title: a.title, Style: template.CSS(pageCSS), Version: clean(a.result.Version),
		Validity: sheetLine{toneClass(a.validity.tone), a.validity.word, a.validity.why}}
	s.Tiles = tiles(a.result)
	if a.validity.tone == lost {
		for i := range s.Tiles {
			s.Tiles[i].Remark = unproven
		}
	}
	if !a.result.Started.IsZero() {
		s.Started = a.result.Started.UTC().Format("2 January 2006, 15:04 UTC")
	}
	for _, h := range a.headlines {
		s.Headlines = append(s.Headlines, sheetLine{toneClass(h.tone), strings.TrimRight(h.word, " ·:"), strings.TrimPrefix(h.why, "; ")})
	}
	for i, one := range a.sections {
		s.Sections = append(s.Sections, newSheetSection(one, "s"+strconv.Itoa(i)))
	}
	return s
}

func newSheetSection(s section, id string) sheetSection {
	out := sheetSection{ID: id}
	if s.title != "" {
		out.Title = sentenceCase(s.title)
	}
	for i := range s.charts {
		out.Charts = append(out.Charts, newSheetChart(&s.charts[i], id+"-chart"+strconv.Itoa(i), i == 0))
	}
	for _, one := range s.parts {
		last := len(out.Blocks) - 1
		switch {
		case one.kind == grid:
			out.Blocks = append(out.Blocks, sheetBlock{Table: newSheetTable(one.table.withoutBlank())})
		case one.kind == heading:
			out.Blocks = append(out.Blocks, sheetBlock{Heading: one.text})
		case one.kind == prose:
			out.Blocks = append(out.Blocks, sheetBlock{Prose: one.text})
		case last >= 0 && out.Blocks[last].Facts != nil:
			out.Blocks[last].Facts = append(out.Blocks[last].Facts, sheetFact(one))
		default:
			out.Blocks = append(out.Blocks, sheetBlock{Facts: []sheetLine{sheetFact(one)}})
		}
	}
	return out
}

// newSheetChart draws a chart at half the width of the page, and the first one
// at all of it too. A picture escapes what it is given.
func newSheetChart(c *chart.Chart, id string, first bool) sheetChart {
	half, whole := chart.Size{Width: 480, Height: 300}, chart.Size{Width: 1000, Height: 400}
	if !first {
		return sheetChart{Title: sentenceCase(c.Title), Picture: template.HTML(c.SVG(id, half))}
	}
	return sheetChart{Title: sentenceCase(c.Title), Picture: template.HTML(c.SVG(id, whole)), Narrow: template.HTML(c.SVG(id+"-narrow", half))}
}

func sheetFact(one piece) sheetLine {
	return sheetLine{Class: toneClass(one.tone), Word: one.key, Text: one.text}
}

func newSheetTable(t table) *sheetTable {
	out := &sheetTable{Rows: make([][]sheetCell, len(t.rows))}
	if len(t.columns) == 2 {
		out.Class = "pairs"
	}
	for i, c := range t.columns {
		out.Heads = append(out.Heads, sheetCell{Class: cellClass(c.align, plain), Text: strings.TrimSpace(c.head.text), Mark: c.head.mark})
		places := 0
		for _, row := range t.rows {
			places = max(places, fractionLength(row[i].text))
		}
		for j, row := range t.rows {
			one := sheetCell{Class: cellClass(c.align, row[i].tone), Text: strings.TrimSpace(row[i].text), Mark: row[i].mark}
			if c.align == alignPoint {
				one.Pad = pointPad(fractionLength(row[i].text), places)
			}
			out.Rows[j] = append(out.Rows[j], one)
		}
	}
	return out
}

// fractionLength is how many characters a number has from its point on.
func fractionLength(text string) int {
	if dot := strings.IndexByte(text, '.'); dot >= 0 {
		return visible(text[dot:])
	}
	return 0
}

// pointPad is what stands behind a number so that in a column set to the right
// the decimal points stand under each other: spaces as wide as a digit and as
// a point.
func pointPad(length, places int) string {
	const point = "\u2008"
	if length == 0 && places > 0 {
		return point + strings.Repeat(figureSpace, places-1)
	}
	return strings.Repeat(figureSpace, places-length)
}

func cellClass(a align, t tone) string {
	class := toneClass(t)
	if a == alignRight || a == alignPoint {
		class = strings.TrimSpace("n " + class)
	}
	return class
}

var toneClasses = map[tone]string{good: "good", met: "good", weak: "weak", unset: "weak", bad: "bad", lost: "bad"}

func toneClass(t tone) string { return toneClasses[t] }
