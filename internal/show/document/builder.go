package document

// Builder is a document in the making: blocks go to the section that was begun
// last.
type Builder struct{ Document }

// Section begins one.
func (b *Builder) Section(title string) *Section {
	b.Sections = append(b.Sections, Section{Title: title})
	return b.Last()
}

// Last is the section that was begun last.
func (b *Builder) Last() *Section {
	if len(b.Sections) == 0 {
		return b.Section("")
	}
	return &b.Sections[len(b.Sections)-1]
}

// Headline puts one above all sections.
func (b *Builder) Headline(word string, t Tone, why string) {
	b.Headlines = append(b.Headlines, Headline{word, t, why})
}

// Tile puts a number above all sections.
func (b *Builder) Tile(name, number, unit, remark string) {
	b.Tiles = append(b.Tiles, Tile{name, number, unit, remark})
}

// Add puts a block at the end; a table without rows and charts without a chart
// say nothing.
func (b *Builder) Add(block Block) {
	switch block := block.(type) {
	case *Table:
		if len(block.Rows) == 0 {
			return
		}
	case Charts:
		if len(block) == 0 {
			return
		}
	case Pictures:
		if len(block) == 0 {
			return
		}
	}
	s := b.Last()
	s.Blocks = append(s.Blocks, block)
}

// Field is a named fact, left out where its text is empty.
func (b *Builder) Field(key, text string) { b.fact(Facts{}, Plain, key, text) }

// Fields are facts under one name.
func (b *Builder) Fields(key string, texts []string) {
	for _, text := range texts {
		b.Field(key, text)
		key = ""
	}
}

// Warning is a fact that weakens what stands above.
func (b *Builder) Warning(text string) { b.fact(Facts{}, Weak, "warning", text) }

// Entry is one of several facts whose names have a column of at least that
// width.
func (b *Builder) Entry(width int, key, text string) { b.fact(Facts{Width: width}, Plain, key, text) }

// Finding is such a fact under the headline that it explains.
func (b *Builder) Finding(width int, t Tone, key, text string) {
	b.fact(Facts{Indent: true, Width: width}, t, key, text)
}

// fact adds to the facts above where they are of the same kind.
func (b *Builder) fact(kind Facts, t Tone, key, text string) {
	if text == "" {
		return
	}
	s := b.Last()
	if n := len(s.Blocks); n > 0 {
		if f, ok := s.Blocks[n-1].(Facts); ok && f.Indent == kind.Indent && f.Width == kind.Width {
			f.Items = append(f.Items, Fact{key, t, text})
			s.Blocks[n-1] = f
			return
		}
	}
	kind.Items = []Fact{{key, t, text}}
	b.Add(kind)
}

// Note remarks on what stands above.
func (b *Builder) Note(text string) {
	if text != "" {
		b.Add(Note(text))
	}
}

// Footnotes is where those go that the blocks above refer to.
func (b *Builder) Footnotes() { b.Add(Footnotes{}) }
