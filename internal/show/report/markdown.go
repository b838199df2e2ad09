package report

import (
	"io"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/chart"
)

// folded are the sections that a pull request shows on demand.
var folded = []string{"Set-up", "Can it be trusted?", "Plan", "What the figures mean"}

// Markdown writes the report for a pull request: the verdict, what it rests on,
// and the rest folded away.
func Markdown(w io.Writer, r *result.Result) error {
	if r == nil {
		return errNoResult
	}
	var m markdown
	m.article(newArticle(r))
	_, err := io.WriteString(w, strings.TrimRight(m.out.String(), "\n")+"\n")
	return err
}

// markdown is a document in the making.
type markdown struct{ out strings.Builder }

func (m *markdown) block(text string) { m.out.WriteString(text + "\n\n") }

func (m *markdown) article(a *article) {
	m.block("## " + escaped(a.title))
	for _, h := range a.headlines {
		m.block("**" + escaped(strings.TrimSpace(strings.TrimRight(h.word, " ·:"))) + "** " + escaped(strings.TrimPrefix(h.why, "; ")))
	}
	m.block("_" + escaped(a.validity.word+" · "+a.validity.why) + "_")
	for _, s := range a.sections {
		m.section(s)
	}
}

func (m *markdown) section(s section) {
	fold := slices.Contains(folded, s.title)
	switch {
	case len(s.parts) == 0:
		return
	case fold:
		m.block("<details><summary>" + escaped(s.title) + "</summary>")
	case s.title != "":
		m.block("### " + escaped(sentenceCase(s.title)))
	}
	if len(s.charts) > 0 {
		m.plot(&s.charts[0])
	}
	for i := 0; i < len(s.parts); i++ {
		switch one := s.parts[i]; one.kind {
		case grid:
			m.grid(one.table)
		case heading:
			m.block("#### " + escaped(one.text))
		case fact:
			m.out.WriteString("- **" + escaped(one.key) + "** " + escaped(one.text) + "\n")
			if i+1 == len(s.parts) || s.parts[i+1].kind != fact {
				m.out.WriteByte('\n')
			}
		default:
			m.block(escaped(one.text))
		}
	}
	if fold {
		m.block("</details>")
	}
}

// plot draws a chart in letters of one width; a fence of backticks is not to
// be closed by what a label holds.
func (m *markdown) plot(c *chart.Chart) {
	const width = 80
	text := strings.Join(c.Text(width, plotRows), "\n")
	m.block("```text\n" + strings.ReplaceAll(text, "`", "'") + "\n```")
}

// grid writes a table; a column of numbers is aligned to the right.
func (m *markdown) grid(t table) {
	t = t.withoutBlank()
	var heads, rules []string
	for _, c := range t.columns {
		heads = append(heads, escaped(strings.TrimSpace(c.head.text+c.head.mark)))
		rule := "---"
		if c.align == alignRight || c.align == alignPoint {
			rule = "--:"
		}
		rules = append(rules, rule)
	}
	m.row(heads)
	m.row(rules)
	for _, cells := range t.rows {
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = escaped(strings.TrimSpace(c.text + c.mark))
			if texts[i] != "" && (c.tone == bad || c.tone == lost) {
				texts[i] = "**" + texts[i] + "**"
			}
		}
		m.row(texts)
	}
	m.out.WriteByte('\n')
}

func (m *markdown) row(cells []string) { m.out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

var markdownSigns = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "`", "\\`", "*", `\*`, "_", `\_`,
	"[", `\[`, "]", `\]`, hard, " ", figureSpace, "", "\n", " ", "\r", " ")

// escaped takes from a text every sign that Markdown or HTML would act on.
func escaped(text string) string { return markdownSigns.Replace(text) }

func sentenceCase(text string) string { return strings.TrimSuffix(sentence(text), ".") }
