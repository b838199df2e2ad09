package report

import (
	"cmp"
	"math"
	"slices"
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
	over := when(l.Over > 0, plural(l.Over, "time")+" the server stated up to "+spoken(l.OverMS)+" more than passed, which is cut")
	p.Field("first token", joinDots(bar.String()+" "+spoken(l.WholeMS)+" from due", strings.Join(parts, ", "), note, over))
	if p.room >= explained && l.SlowMS > 0 && len(scraped) == 0 {
		all := l.All()
		t.AddColumn(decimal("slowest 5%"), absent, func(row int) string { return figure(all[row].SlowMS) })
		p.Add(t)
	}
}

// ledgerLetters are those of parts whose first letter is another's.
var ledgerLetters = map[string]string{"transfer": "k", "first_write": "w", metric.Rest: "·"}

// ledgerColumns add the mean parts of groups, those that a server tells. The smallest go
// first where there is no room.
func (p *page) ledgerColumns(t *document.Table, groups []metric.Group) {
	largest, names := map[string]float64{}, []string(nil)
	for i := range groups {
		for _, part := range groups[i].Ledger.All() {
			if !part.Server {
				continue
			}
			if _, known := largest[part.Name]; !known {
				names = append(names, part.Name)
			}
			largest[part.Name] = max(largest[part.Name], part.MeanMS)
		}
	}
	order := slices.Clone(names)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(largest[b], largest[a]) })
	for _, name := range names {
		t.AddColumn(decimal(picture.LedgerName(name)).Optional(7+slices.Index(order, name)), absent, func(row int) string {
			return cmp.Or(ifKnown(groups[row].Ledger.Part(name), func(e metric.LedgerEntry) string { return figure(e.MeanMS) }), absent)
		})
	}
}
