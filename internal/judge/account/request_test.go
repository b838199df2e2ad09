package account

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
)

// A request's own figures are those of the definitions: tokens that come together
// share their gap, and what did not stream is in no pace.
func TestFiguresOfOneRequest(t *testing.T) {
	t.Parallel()
	got := Figures(recordOf(life{due: 100, begin: 110, slot: 120, conn: 125, sent: 130, end: 480, outcome: llm.OK,
		chunks: []chunk{{at: 180, tokens: 10}, {at: 280, tokens: 10}, {at: 480, tokens: 10}}}))
	want := map[string]float64{"ttft": 50, "ttft_due": 80, "ttfa": 50, "tpot": 15, "stall": 200, "e2e": 350, "e2e_due": 380, "decode": 300, "lag": 5, "slot_wait": 10,
		"itl_p50": 15, "itl_p95": 20, "itl_p99": 20, "itl_max": 20}
	expect.Same(t, want, got)
	failed := Figures(recordOf(life{due: 100, begin: 110, sent: 130, end: 480, outcome: llm.Timeout, chunks: steadily(180, 100, 3)}))
	expect.NoDiff(t, cmp.Diff(map[string]float64{"lag": 30}, failed), "a failed request (-want +got)")
}

// Whether a request kept its objectives is decided by the gaps of its events, too:
// the second gap of this one takes 200 ms, 20 ms a token.
func TestAGoodRequestKeepsObjectivesOnItsGaps(t *testing.T) {
	t.Parallel()
	r := recordOf(life{due: 100, begin: 110, sent: 130, end: 480, outcome: llm.OK,
		chunks: []chunk{{at: 180, tokens: 10}, {at: 280, tokens: 10}, {at: 480, tokens: 10}}})
	for objective, good := range map[string]bool{"stall:p99<250ms": true, "stall:p99<150ms": false, "itl:p99<25ms": true, "itl:p99<15ms": false} {
		o, err := slo.Parse(objective)
		must.Do(t, err)
		if got := Good(r, []slo.Objective{o}, Machine{})[asMeasured]; got != good {
			t.Errorf("%s: good is %v, expected %v", objective, got, good)
		}
	}
}
