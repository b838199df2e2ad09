package account

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/must"
)

// Turns that wait for their first tokens together are beside each other, whichever
// was sent first; the others are alone.
func TestTurnKinds(t *testing.T) {
	t.Parallel()
	var records []*record.Record
	turn := func(session, number int, sent, first, end int64, prompt, cached int) {
		r := recordOf(life{due: sent, begin: sent, slot: sent, conn: sent, sent: sent, end: end, turn: number, chunks: []chunk{{at: first, tokens: 1}, {at: end, tokens: 1}},
			usage: llm.Usage{PromptTokens: prompt, CachedTokens: cached, OutputTokens: 2}})
		r.Session = session
		records = append(records, r)
	}
	turn(0, 2, 3050, 3300, 5000, 900, 0) // ends before the one that was sent first
	turn(0, 1, 3000, 3100, 6000, 800, 700)
	turn(0, 0, 1000, 1100, 2000, 1000, 0)
	turn(0, 3, 5500, 5600, 7000, 1000, 800) // one is in flight, and has begun
	turn(1, 0, 3060, 3160, 9000, 500, 0)    // of another session
	s := must.Get(Summarize(record.FromList(records), Options{Start: second, End: 11 * second}))(t)
	want := &metric.TurnKinds{
		Alone: &metric.TurnKind{Turns: 3, TTFT: 100, Fresh: 1700. / 3}, Beside: &metric.TurnKind{Turns: 2, TTFT: 175, Fresh: 500, Slope: 150. / 800},
		// Of 500, 900 and 1,000 fresh tokens with 100, 250 and 100 ms.
		Cached: &metric.TurnKind{Turns: 2, TTFT: 100, Fresh: 150}, Uncached: &metric.TurnKind{Turns: 3, TTFT: 150, Fresh: 800, Slope: 15000. / 140000}}
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	expect.Same(t, want, s.TurnKinds, near)
}
