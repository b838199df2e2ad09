// Package document is what is shown, before it is laid out: a document has
// headlines and sections of blocks, and renderers lay it out for a terminal, as
// Markdown, or as a page of HTML. A renderer knows blocks and nothing of what
// they are about; a block knows no renderer. Texts are plain strings that may
// hold tones and footnotes, see Paint and Mark.
package document

import (
	"redline/internal/show/chart"
)

// Document is a whole answer.
type Document struct {
	Title, When, Version string
	// Status says of the measurement itself whether it can be believed.
	Status    Headline
	Headlines []Headline
	Tiles     []Tile
	Sections  []Section
}

// Tile is a number that is read first, with its name and a remark.
type Tile struct{ Name, Number, Unit, Remark string }

// Section is blocks under a title.
type Section struct {
	Title string
	// Folded sections are folded away in Markdown and on a page of HTML; a terminal
	// and paper show them as any other.
	Folded bool
	// Joined sections follow the one above without a gap.
	Joined bool
	Blocks []Block
}

// Block is one of the types below.
type Block interface{ isBlock() }

type (
	// Headline is a word that decides, with what separates it from the rest, and
	// why.
	Headline struct {
		Word string
		Tone Tone
		Why  string
	}
	// Heading names what follows within a section.
	Heading string
	// Note is a remark on what stands above it.
	Note string
	// Code is lines that are shown as they are.
	Code []string
	// Facts are named texts.
	Facts struct {
		Items []Fact
		// Indent sets them under the headline that they explain.
		Indent bool
		// Width is the least width of the names' column, which then is as wide as
		// its widest name; 0 is a fixed column.
		Width int
	}
	// Charts stand side by side, the most important one first.
	Charts []chart.Chart
	// Pictures are charts that only a page has room for; text has the tables.
	Pictures []chart.Chart
	// Footnotes is where the footnotes go that the blocks above refer to.
	Footnotes struct{}
)

// Fact is a named text; one without a name continues the one above.
type Fact struct {
	Key  string
	Tone Tone
	Text string
}

func (Headline) isBlock()  {}
func (Heading) isBlock()   {}
func (Note) isBlock()      {}
func (Code) isBlock()      {}
func (Facts) isBlock()     {}
func (Charts) isBlock()    {}
func (Pictures) isBlock()  {}
func (Footnotes) isBlock() {}
func (*Table) isBlock()    {}

// The size of a picture in text.
const plotColumns, plotRows = 80, 10
