package document

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"strings"

	"redline/internal/show/chart"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// HTML writes a document as one file that needs nothing beside it: no network,
// no font. It reads in light and dark, on paper and without script, and its charts
// have alternatives in words; a script lets them be read off and zoomed.
func HTML(w io.Writer, d *Document) error {
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, &page{Document: d, data: chartData(d)}); err != nil {
		return fmt.Errorf("write %q as HTML: %w", d.Title, err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// Fragment writes a document as a part of a page that has Style and Script. The
// prefix keeps the ids of several on one page apart; the script draws the charts
// of the one without.
func Fragment(w io.Writer, d *Document, prefix string) error {
	p := &page{Document: d, Prefix: prefix}
	if prefix == "" {
		p.data = chartData(d)
	}
	var out bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&out, "body", p); err != nil {
		return fmt.Errorf("write %q as HTML: %w", d.Title, err)
	}
	data, err := p.dataBlock()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, out.String()+data)
	return err
}

// Style is the style sheet of every page, and Script what draws its charts.
func Style() string { return plotCSS + pageCSS }

func Script() string { return plotJS + pageJS }

// page is a document as the template reads it.
type page struct {
	*Document
	Prefix string // of every id
	notes  footnotes
	data   map[string]*chart.Data // by the ids of figures
	// hinted says that the page has said how to use its charts.
	hinted bool
}

// Style is that of every page.
func (p *page) Style() template.CSS {
	if len(p.data) == 0 {
		return template.CSS(pageCSS)
	}
	return template.CSS(plotCSS + pageCSS)
}

// Text is a text without its tones.
func (p *page) Text(text string) string { return p.notes.layOut(text, noPaint) }

// Lead is the word of a headline.
func (p *page) Lead(h Headline) string { return p.Text(trimSeparators(h.Word)) }

// Why is what follows the word of a headline.
func (p *page) Why(h Headline) string { return p.Text(strings.TrimPrefix(h.Why, "; ")) }

// Capital begins a title.
func (p *page) Capital(text string) string { return Capital(text) }

// Kind tells the blocks apart.
func (p *page) Kind(b Block) string {
	return strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", b), "*"), "document.")
}

// Footnotes are those that are due.
func (p *page) Footnotes() []string {
	var list []string
	p.notes.due(func(mark, text string) { list = append(list, mark+" "+p.Text(text)) })
	return list
}

// picture is a chart at half the width of the page; Wide is the same at all of
// it, where it is the first or one long bar.
type picture struct {
	ID, Title    string
	Wide, Narrow template.HTML
}

// Pictures draws charts. A picture escapes what it is given.
func (p *page) Pictures(block Block, section, place int) []picture {
	charts := chartsOf(block)
	list := make([]picture, len(charts))
	for i := range charts {
		c, id := &charts[i], p.Prefix+chartID(section, place, i)
		list[i] = picture{ID: figureID(id), Title: Capital(c.Title), Narrow: template.HTML(c.SVG(id, halfSize))}
		if i == 0 || len(c.Parts) > 0 {
			list[i].Wide = template.HTML(c.SVG(id, wholeSize))
			list[i].Narrow = template.HTML(c.SVG(id+"-narrow", halfSize))
		}
	}
	return list
}

// The sizes of charts: a phone shows the small one at about its own size, and a
// wider page two of them beside each other.
var (
	halfSize  = chart.Size{Width: 420, Height: 300}
	wholeSize = chart.Size{Width: 1000, Height: 360}
)

// chartsOf are the charts of a block that has some.
func chartsOf(block Block) []chart.Chart {
	switch b := block.(type) {
	case Charts:
		return b
	case Pictures:
		return b
	}
	return nil
}

// Ready is a table as it is laid out.
func (p *page) Ready(t *Table) *Table { return t.ready(maxWidth, noWidthLimit, &p.notes) }

// Class is that of a cell: how it lines up, and its tone.
func (p *page) Class(c Column, cell string) string {
	tone, _ := cellTone(cell)
	if c.numeric() {
		return strings.TrimSpace("n " + p.Tone(tone))
	}
	return p.Tone(tone)
}

// Cell is the content of one, with its footnotes' numbers beside it.
func (p *page) Cell(cell string) template.HTML {
	var out strings.Builder
	for _, s := range segments(strings.TrimSpace(cell)) {
		if s.mark {
			out.WriteString(`<span class="ref">` + p.notes.mark(s.text) + `</span>`)
			continue
		}
		out.WriteString(html.EscapeString(s.text))
	}
	return template.HTML(out.String())
}

// Pad is what stands behind a number so that in a column set to the right the
// decimal points stand under each other: spaces as wide as a digit and as a
// point.
func (p *page) Pad(t *Table, column int, cell string) string {
	if t.Columns[column].align != alignDecimal {
		return ""
	}
	places := 0
	for _, other := range t.column(column) {
		places = max(places, fractionLength(other))
	}
	length := fractionLength(cell)
	if length == 0 && places > 0 {
		return "\u2008" + strings.Repeat(FigureSpace, places-1)
	}
	return strings.Repeat(FigureSpace, places-length)
}

// fractionLength is how many characters a number has from its point on.
func fractionLength(cell string) int {
	_, text := cellTone(cell)
	if dot := strings.IndexByte(text, '.'); dot >= 0 {
		return Visible(text[dot:])
	}
	return 0
}

var toneClasses = map[Tone]string{Good: "good", Met: "good", Weak: "weak", Open: "weak", Bad: "bad", Lost: "bad"}

// Class is that of a tone in the style sheet.
func Class(t Tone) string { return toneClasses[t] }

// Tone is the class of a tone.
func (p *page) Tone(t Tone) string { return Class(t) }
