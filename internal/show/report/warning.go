package report

import (
	"slices"
	"strings"

	"redline/internal/judge/result"
)

// warnings are those of a result, and which of them a figure on the page refers
// to.
type warnings struct {
	list []result.Warning
	used map[int]bool
	// unseen says that no point is shown in full: what weakens its latencies and
	// its window weakens nothing on the page.
	unseen bool
}

// on gives the text of the warnings about one figure, such as
// "latency.itl_ms.p99"; empty where there is none.
func (w *warnings) on(figure string) string {
	var texts []string
	for i, warning := range w.list {
		if warning.Figure != figure {
			continue
		}
		if w.used == nil {
			w.used = map[int]bool{}
		}
		w.used[i] = true
		texts = append(texts, clean(warning.Text))
	}
	return strings.Join(texts, "; ")
}

// rest is the warnings that no figure shown so far has referred to, each once.
// Those on a figure that the page does not show have nothing to weaken here.
func (w *warnings) rest() []result.Warning {
	var left []result.Warning
	for i, warning := range w.list {
		if !w.used[i] && !w.aboutUnseen(warning.Figure) && !slices.Contains(left, warning) {
			left = append(left, warning)
		}
	}
	return left
}

func (w *warnings) aboutUnseen(figure string) bool {
	return strings.HasPrefix(figure, "latency.") || strings.HasPrefix(figure, "cross_checks.") || w.unseen && (figure == "latency" || strings.HasPrefix(figure, "window."))
}

// markOn is the mark of the warnings about a figure, if any.
func (p *page) markOn(figure string) string { return mark(p.notes.on(figure)) }
