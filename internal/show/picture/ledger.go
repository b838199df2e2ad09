package picture

import (
	"cmp"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// ledgerLooks are how the parts of the first token are named and drawn.
var ledgerLooks = map[string]struct{ name, role string }{
	"slot": {"slot wait", "inflight"}, "connect": {"connecting", "inflight"}, "tls": {"TLS", "inflight"}, "lag": {"lag", "inflight"},
	"upload": {"upload", "output"}, "network": {"network", "output"}, "gateway": {"gateway", "itl"}, "front_end": {"front end", "running"},
	"queue": {"queue", "waiting"}, "prefill": {"prefill", "ttft"}, "transfer": {"KV transfer", "e2e"}, "first_write": {"first write", "output"},
	metric.Rest: {"not accounted for", "rest"},
}

// LedgerName is what people read for a part of the first token.
func LedgerName(part string) string { return cmp.Or(ledgerLooks[part].name, part) }

// bar draws parts of a whole, those that are anything.
type bar struct{ chart.Chart }

func (b *bar) add(name, role string, ms float64) {
	if ms > 0 {
		b.Parts = append(b.Parts, chart.Part{Name: name, Value: ms, Text: text.Time(ms), Role: role})
	}
}

func (b *bar) chart() chart.Chart {
	var said []string
	for _, part := range b.Parts {
		said = append(said, part.Name+" "+part.Text)
	}
	b.Description = strings.Join(said, ", ") + "."
	return b.Chart
}

// phases is where the mean time of a request goes: what the server tells apart
// is taken from it, the rest is the client's.
func phases(p *result.Point) chart.Chart {
	b := bar{chart.Chart{Name: "phases", Title: "where the time of a request goes, on average"}}
	l := &p.Latency
	if l.TTFTDue == nil || l.TTFT == nil || l.Decode == nil {
		return b.Chart
	}
	b.add("before sending (client)", "inflight", l.TTFTDue.Mean-l.TTFT.Mean)
	if queue, prefill := p.Ledger.Part("queue"), p.Ledger.Part("prefill"); queue != nil && prefill != nil {
		b.add("queue", "waiting", queue.MeanMS)
		b.add("prefill", "ttft", prefill.MeanMS)
		b.add("outside of the engine", "output", l.TTFT.Mean-queue.MeanMS-prefill.MeanMS)
	} else {
		b.add("queue and prefill (ttft)", "ttft", l.TTFT.Mean)
	}
	b.add("decode", "tpot", l.Decode.Mean)
	return b.chart()
}

// ledger is where the time to first token went, of all or of the slowest.
func ledger(p *result.Point, slowest bool) chart.Chart {
	b := bar{chart.Chart{Name: "first-token", Title: "where the time to first token goes, on average"}}
	if slowest {
		b.Name, b.Title = "first-token-slowest", "the same of the slowest twentieth"
	}
	if slowest && !p.Ledger.ByReplies() {
		return b.Chart
	}
	for _, part := range p.Ledger.All() {
		look, ms := ledgerLooks[part.Name], part.MeanMS
		if slowest {
			ms = part.SlowMS
		}
		name := look.name
		if part.Scraped {
			name += " (by the server's metrics)"
		}
		b.add(name, look.role, ms)
	}
	return b.chart()
}
