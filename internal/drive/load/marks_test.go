package load

import (
	"fmt"
	"strings"
	"testing"

	"redline/internal/llm"
)

// Another session's words are found, one's own and those that several asked are not, and
// no more are remembered than there is room for.
func TestMarks(t *testing.T) {
	t.Parallel()
	words := func(of string) string {
		var b strings.Builder
		for i := range 3 * markWords {
			fmt.Fprintf(&b, "%s%d ", of, i)
		}
		return b.String()
	}
	ask := func(m *marks, session int, text string) { m.add(session, []llm.Message{{Content: text}}) }
	m := newMarks()
	ask(m, 1, words("a"))
	ask(m, 2, words("b"))
	ask(m, 3, words("both"))
	ask(m, 4, words("both"))
	for reply, want := range map[string]llm.Garbage{
		"as you say: " + words("b"): llm.AnothersText,
		words("a"):                  llm.NoGarbage,
		words("both"):               llm.NoGarbage,
		words("new"):                llm.NoGarbage,
		"":                          llm.EmptyText,
	} {
		if got := m.judge(1, reply); got != want {
			t.Errorf("%.20q: %q, want %q", reply, got, want)
		}
	}
	for i := range maxMarks / 2 {
		ask(m, i, words(fmt.Sprint("later", i, "-")))
	}
	if len(m.sessions) != maxMarks || len(m.latest) != maxMarks || m.hasAnothers(1, words("b")) {
		t.Errorf("%d marks, %d in the ring", len(m.sessions), len(m.latest))
	}
	var none *marks
	if none.add(1, nil); none.judge(1, words("b")) != llm.NoGarbage {
		t.Error("without marks")
	}
}
