package account

import (
	"math"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/llm"
)

// The parts of the ledger and the rest are the whole; none is negative, and a server
// that tells of more than passed is cut to what the client saw, and named.
func TestLedgerAddsUp(t *testing.T) {
	t.Parallel()
	records := alike(100, func(i int, l *life) {
		l.class = []string{"chat", "rag"}[i%2]
		l.slot, l.begin, l.sent = l.due+2, l.due, l.due+3 // a wait of 2 ms and a lag of 1
		l.chunks[0].at = l.due + 20
		if i == 0 {
			l.dialing, l.dialed, l.conn = l.due+1, l.due+2, l.due+2 // the network takes 1 ms
		}
	})
	for i, r := range records {
		r.Written = r.Sent + ms
		r.Observe(llm.Event{Kind: llm.Timed, Timing: llm.Timing{Gateway: 3 * ms}})
		r.Observe(llm.Event{Kind: llm.Timed, Timing: llm.Timing{Queue: llm.TimingNS(0), Prefill: 7 * ms}})
		if i >= 90 {
			r.ServerTiming.Prefill = 70 * ms // of 17 from sending to the first token
		}
	}
	s := summarizeRecords(t, window(100), records)
	l := s.Ledger
	sum := l.RestMS
	for _, e := range l.Parts {
		if sum += e.MeanMS; e.MeanMS < 0 || l.RestMS < 0 {
			t.Errorf("%s takes %v ms and the rest %v", e.Name, e.MeanMS, l.RestMS)
		}
	}
	if math.Abs(sum-l.WholeMS) > 1e-6 || math.Abs(l.WholeMS-20) > 1e-6 {
		t.Errorf("the parts are %v ms of %v", sum, l.WholeMS)
	}
	expect.Same(t, 10, l.Over)
	if math.Abs(l.OverMS-57) > 1e-3 { // 73 ms of which 16 passed
		t.Errorf("over by %v ms, want 57", l.OverMS)
	}
	for name, want := range map[string]float64{"slot": 2, "upload": 1, "gateway": 0.9*3 + 0.1*16*3/73, "prefill": 0.9*7 + 0.1*16*70/73, "network": 0.9} {
		if p := l.Part(name); p == nil || math.Abs(p.MeanMS-want) > 0.001 {
			t.Errorf("%s is %+v, want %v ms", name, p, want)
		}
	}
	if len(s.Classes) != 2 || !s.Classes[0].Ledger.IsKnown() || s.Classes[0].Phases.Prefill == nil {
		t.Error("the classes have no ledger")
	}
	if l.Part("queue") == nil || l.Part("transfer") != nil {
		t.Error("a queue of nothing is told, a transfer is not")
	}
	l.Scrape(metric.TransferPart, 1e6)
	l.Scrape(metric.PrefillPart, 1e6)
	if p := l.Part("transfer"); !p.Scraped || l.RestMS != 0 || l.Part("prefill").Scraped {
		t.Errorf("a mean of the server's takes the rest alone, and gives way to what replies tell: %+v", l)
	}
}
