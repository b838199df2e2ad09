package document

import (
	"io"
	"slices"
	"strings"
	"unicode"
)

// Markdown writes a document for a pull request: the headlines, what they rest
// on, and the rest folded away. The rank of its title is 1 in a file of its own.
func Markdown(w io.Writer, d *Document, rank int) error {
	m := &markdown{rank: strings.Repeat("#", rank)}
	if d.Title != "" {
		m.block(m.rank + " " + escapeMarkdown(d.Title))
	}
	for _, h := range d.Headlines {
		m.headline(h)
	}
	if d.Status.Word != "" {
		m.block("_" + escapeMarkdown(strings.TrimSuffix(d.Status.Word+" · "+d.Status.Why, " · ")) + "_")
	}
	for _, s := range d.Sections {
		shown := func(b Block) bool {
			_, notes := b.(Footnotes)
			_, drawn := b.(Pictures)
			return !notes && !drawn
		}
		if slices.ContainsFunc(s.Blocks, shown) {
			m.section(s)
		}
	}
	m.footnotes() // those that no section had a place for
	_, err := io.WriteString(w, strings.TrimRight(m.out.String(), "\n")+"\n")
	return err
}

// markdown is a document in the making.
type markdown struct {
	out   strings.Builder
	rank  string // of the title
	notes footnotes
}

func (m *markdown) block(text string) { m.out.WriteString(text + "\n\n") }

// text is a text with its signs escaped, and commands as code, which needs none of
// that.
func (m *markdown) text(text string) string {
	var parts []string
	for _, unit := range split(m.notes.layOut(text, noPaint)) {
		part := strings.Join(unit, " ")
		command := strings.TrimRight(part, punctuation)
		if !strings.Contains(command, " -") || strings.ContainsAny(part, "`|(") {
			parts = append(parts, escapeMarkdown(part))
			continue
		}
		parts = append(parts, "`"+PlainSpaces(command)+"`"+part[len(command):])
	}
	return strings.Join(parts, " ")
}

func (m *markdown) footnotes() {
	var lines []string
	m.notes.due(func(mark, text string) { lines = append(lines, mark+" "+m.text(text)) })
	if len(lines) > 0 {
		m.block(strings.Join(lines, "\\\n")) // a line each, of one paragraph
	}
}

func (m *markdown) headline(h Headline) {
	m.block("**" + m.text(trimSeparators(h.Word)) + "** " + m.text(strings.TrimPrefix(h.Why, "; ")))
}

// trimSeparators is the word of a headline without what separates it from the rest.
func trimSeparators(word string) string { return strings.TrimRight(word, " ·:") }

func (m *markdown) section(s Section) {
	switch {
	case s.Folded:
		m.block("<details><summary>" + escapeMarkdown(s.Title) + "</summary>")
	case s.Title != "":
		m.block(m.rank + "# " + escapeMarkdown(Capital(s.Title)))
	}
	for _, b := range s.Blocks {
		switch b := b.(type) {
		case Headline:
			m.headline(b)
		case Heading:
			m.block(m.rank + "## " + escapeMarkdown(string(b)))
		case Note:
			m.block(m.text(string(b)))
		case Code:
			m.fence(b)
		case Facts:
			for _, one := range b.Items {
				m.out.WriteString("- " + strings.TrimPrefix("**"+m.text(one.Key)+"** ", "**** ") + m.text(one.Text) + "\n")
			}
			m.out.WriteByte('\n')
		case *Table:
			m.table(b)
		case Charts:
			m.fence(b[0].Text(plotColumns, plotRows))
		case Footnotes:
			m.footnotes()
		}
	}
	if s.Folded {
		m.block("</details>")
	}
}

// fence shows lines as they are; what they hold is not to close it.
func (m *markdown) fence(lines []string) {
	m.block("```text\n" + strings.ReplaceAll(strings.Join(lines, "\n"), "```", "'''") + "\n```")
}

// noWidthLimit is the width of a page on which nothing is left out for want of
// room.
func noWidthLimit(*Table) int { return 0 }

// table writes a table; a column of numbers is aligned to the right.
func (m *markdown) table(t *Table) {
	t = t.ready(maxWidth, noWidthLimit, &m.notes)
	var heads, rules []string
	for _, c := range t.Columns {
		heads = append(heads, m.text(c.Head))
		rule := "---"
		if c.numeric() {
			rule = "--:"
		}
		rules = append(rules, rule)
	}
	m.row(heads)
	m.row(rules)
	for _, cells := range t.Rows {
		texts := make([]string, len(cells))
		for i, cell := range cells {
			tone, _ := cellTone(cell)
			texts[i] = strings.TrimSpace(m.text(cell))
			if tone == Bad || tone == Lost {
				texts[i] = "**" + texts[i] + "**"
			}
		}
		m.row(texts)
	}
	m.out.WriteByte('\n')
}

func (m *markdown) row(cells []string) { m.out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

var markdownSigns = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "`", "\\`", "*", `\*`, "_", `\_`,
	"[", `\[`, "]", `\]`, "&", "&amp;", "~", `\~`, Hard, " ", FigureSpace, "", "\n", " ", "\r", " ")

// escapeMarkdown takes from a text every sign that Markdown or HTML would act on.
func escapeMarkdown(text string) string { return markdownSigns.Replace(text) }

// Capital begins a text with a capital letter.
func Capital(text string) string {
	for i, first := range text {
		return text[:i] + string(unicode.ToUpper(first)) + text[i+len(string(first)):]
	}
	return text
}
