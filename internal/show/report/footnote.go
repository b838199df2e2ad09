package report

import (
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/result"
)

// footnotes numbers the remarks on weak numbers. One text has one number,
// however many figures carry it, and is printed once: under the section that
// first refers to it.
type footnotes struct {
	warnings []result.Warning
	texts    []string
	printed  int
	used     map[int]bool
	// unseen says that no point is told in full: what weakens its latencies
	// and its window weakens nothing on the page.
	unseen bool
}

// mark gives the superscript that refers to text. A text that begins another
// one is said by it.
func (f *footnotes) mark(text string) string {
	if text == "" {
		return ""
	}
	for i, known := range f.texts {
		if strings.HasPrefix(known, text) {
			return superscript(i + 1)
		}
	}
	f.texts = append(f.texts, text)
	return superscript(len(f.texts))
}

// on gives the text of the warnings about one figure, such as
// "latency.itl_ms.p99"; empty where there is none.
func (f *footnotes) on(figure string) string {
	var texts []string
	for i, warning := range f.warnings {
		if warning.Figure != figure {
			continue
		}
		if f.used == nil {
			f.used = map[int]bool{}
		}
		f.used[i] = true
		texts = append(texts, clean(warning.Text))
	}
	return strings.Join(texts, "; ")
}

// rest is the warnings that no figure shown so far has referred to, each once.
// Those on a figure that the page does not show have nothing to weaken here.
func (f *footnotes) rest() []result.Warning {
	var left []result.Warning
	for i, warning := range f.warnings {
		if !f.used[i] && !f.aboutUnseen(warning.Figure) && !slices.Contains(left, warning) {
			left = append(left, warning)
		}
	}
	return left
}

func (f *footnotes) aboutUnseen(figure string) bool {
	return strings.HasPrefix(figure, "latency.") || strings.HasPrefix(figure, "cross_checks.") || f.unseen && (figure == "latency" || strings.HasPrefix(figure, "window."))
}

// markOn is the superscript of the warnings about a figure, if any.
func (p *page) markOn(figure string) string { return p.notes.mark(p.notes.on(figure)) }

// flushNotes prints the footnotes that the section above referred to first.
func (p *page) flushNotes() {
	for ; p.notes.printed < len(p.notes.texts); p.notes.printed++ {
		p.hang(indent+superscript(p.notes.printed+1)+" ", p.notes.texts[p.notes.printed])
	}
}

func superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var out strings.Builder
	for _, digit := range strconv.Itoa(n) {
		out.WriteRune(digits[digit-'0'])
	}
	return out.String()
}
