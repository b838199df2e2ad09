package report

import (
	"cmp"
	"math"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/show/document"
	"redline/internal/show/picture"
)

// ledgerBar is how many letters the bar of a terminal has.
const ledgerBar = 32

// ledger says where the time to first token went: a bar of letters and its parts, and
// with room for it what the slowest had.
func (p *page) ledger(l *metric.Ledger) {
	if l == nil || l.WholeMS <= 0 || p.room < explained && !l.ByReplies() {
		return
	}
	var bar strings.Builder
	var parts, scraped []string
	t := document.NewTable(left("first token, ms"), decimal("mean"), right("share"))
	ends, drawn := 0.0, 0
	for _, part := range l.All() {
		name, share := picture.LedgerName(part.Name), part.MeanMS/l.WholeMS
		ends += share
		for ; drawn < int(math.Round(ledgerBar*min(ends, 1))); drawn++ {
			bar.WriteString(cmp.Or(ledgerLetters[part.Name], name[:1]))
		}
		if share >= 0.01 {
			parts = append(parts, name+hard+spoken(part.MeanMS))
		}
		if part.Scraped {
			scraped = append(scraped, name)
		}
		t.Add(name, figure(part.MeanMS), percent2(share))
	}
	note := ""
	if len(scraped) > 0 {
		note = strings.Join(scraped, " and ") + " by the means of the server's metrics"
	}
	over := when(l.Over > 0, plural(l.Over, "time")+" the server told of up to "+spoken(l.OverMS)+" more than passed, which is cut")
	p.Field("first token", joinDots(bar.String()+" "+spoken(l.WholeMS)+" from due", strings.Join(parts, ", "), note, over))
	if p.room >= explained && l.SlowMS > 0 && len(scraped) == 0 {
		all := l.All()
		t.AddColumn(decimal("slowest 5%"), absent, func(row int) string { return figure(all[row].SlowMS) })
		p.Add(t)
	}
}

// ledgerLetters are those of parts whose first letter is another's.
var ledgerLetters = map[string]string{"transfer": "k", "first_write": "w", metric.Rest: "·"}

// ledgerColumns add the mean parts of groups, those that a server tells.
func (p *page) ledgerColumns(t *document.Table, groups []metric.Group) {
	shown := map[string]bool{}
	for i := range groups {
		for _, part := range groups[i].Ledger.All() {
			if part.Server && !shown[part.Name] {
				shown[part.Name] = true
				t.AddColumn(decimal(picture.LedgerName(part.Name)).Optional(7), absent, func(row int) string {
					return cmp.Or(ifKnown(groups[row].Ledger.Part(part.Name), func(e metric.LedgerEntry) string { return figure(e.MeanMS) }), absent)
				})
			}
		}
	}
}
