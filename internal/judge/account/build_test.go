package account

import (
	"testing"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/must"
)

const ms = int64(1_000_000)

// chunk is an output event of a test: when it came, in ms, and the tokens that
// the server's running count grew by; 0 where the server keeps no such count.
type chunk struct {
	at     int64
	tokens int
	part   llm.PartKind
}

// life is a request of a test, in ms; a zero stamp is unknown.
type life struct {
	due, begin, slot, conn, dialed, secured, sent, end int64
	dialing                                            int64
	chunks                                             []chunk
	coalesced                                          int // of the first chunks
	outcome                                            llm.Outcome
	usage                                              llm.Usage
	askedPrompt, askedOutput                           int
	turn, try, local                                   int
	class, tenant                                      string
	whole                                              bool // not streamed
}

// recordOf makes the record that the engine would have made of it.
func recordOf(l life) *record.Record {
	r := &record.Record{Due: l.due * ms, Begin: l.begin * ms, Slot: l.slot * ms, Turn: l.turn, Try: max(l.try, 1),
		Class: l.class, Tenant: l.tenant, Streamed: !l.whole, AskedPrompt: l.askedPrompt,
		AskedOutput: l.askedOutput, LocalTokens: l.local}
	see := func(kind llm.EventKind, at int64) {
		if at != 0 {
			r.Observe(llm.Event{Kind: kind, At: at * ms})
		}
	}
	if l.dialed != 0 {
		r.Observe(llm.Event{Kind: llm.Dialed, At: l.dialed * ms, Since: l.dialing * ms})
	}
	see(llm.Secured, l.secured)
	see(llm.Ready, l.conn)
	see(llm.Sent, l.sent)
	total := 0
	for i, c := range l.chunks {
		r.Observe(llm.Event{Kind: llm.Output, At: c.at * ms, Part: c.part, Text: []byte("word"), Coalesced: i < l.coalesced})
		if total += c.tokens; c.tokens > 0 {
			r.Observe(llm.Event{Kind: llm.UsageSeen, At: c.at * ms, Usage: llm.Usage{OutputTokens: total}})
		}
	}
	if l.usage != (llm.Usage{}) {
		r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: l.usage})
	}
	see(llm.End, l.end)
	if l.outcome != "" && l.outcome != llm.OK {
		r.Outcome = l.outcome
	}
	r.Settle()
	return r
}

// steadily gives n chunks that begin at first and follow one another by gap.
func steadily(first, gap int64, n int) []chunk {
	list := make([]chunk, n)
	for i := range list {
		list[i] = chunk{at: first + int64(i)*gap}
	}
	return list
}

func summarize(t testing.TB, o Options, lives ...life) metric.Summary {
	t.Helper()
	records := make([]*record.Record, len(lives))
	for i, l := range lives {
		records[i] = recordOf(l)
	}
	return summarizeRecords(t, o, records)
}

func summarizeRecords(t testing.TB, o Options, records []*record.Record) metric.Summary {
	t.Helper()
	s := must.Get(Summarize(record.FromList(records), o))(t)
	return s
}

func ptr[T any](v T) *T { return &v }
