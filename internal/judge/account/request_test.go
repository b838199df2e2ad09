package account

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
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
