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

// A server whose first requests are slow shows it in the opening: the quartiles
// turn round, and only there.
func TestOpening(t *testing.T) {
	t.Parallel()
	const ms = int64(1e6)
	reply := func(i int, wait, pace int64) *record.Record {
		due := second + int64(i)*second
		r := &record.Record{ID: i, Due: due, Begin: due, Slot: due, Conn: due, Sent: due, Try: 1, Phase: record.Measure, Streamed: true}
		for k := range int64(3) {
			r.Observe(llm.Event{Kind: llm.Output, At: due + wait + k*pace, Text: []byte("word")})
		}
		r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{PromptTokens: 10, OutputTokens: 3}})
		r.Observe(llm.Event{Kind: llm.End, At: due + wait + 2*pace})
		r.Settle()
		return r
	}
	opening := func(requests, slow int) *metric.Opening {
		var records []*record.Record
		for i := range requests {
			if i < slow {
				records = append(records, reply(i, 400*ms, 50*ms))
			} else {
				records = append(records, reply(i, 100*ms, 10*ms))
			}
		}
		s := must.Get(Summarize(record.FromList(records), Options{Start: second, End: second + int64(requests)*second}))(t)
		return s.Window.Opening
	}
	expect.NoDiff(t, cmp.Diff(&metric.Opening{FirstTTFT: 400, LaterTTFT: 100, FirstTPOT: new(50.0), LaterTPOT: new(10.0)}, opening(50, 12)), "cold at first")
	expect.NoDiff(t, cmp.Diff(&metric.Opening{FirstTTFT: 100, LaterTTFT: 100, FirstTPOT: new(10.0), LaterTPOT: new(10.0)}, opening(50, 0)), "never cold")
	if got := opening(35, 8); got != nil {
		t.Errorf("seven requests at first give %+v", got)
	}
}
