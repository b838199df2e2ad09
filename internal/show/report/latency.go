package report

import (
	"math"
	"slices"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
	"redline/internal/show/objective"
	"redline/internal/text"
)

// latencyRow is one distribution that the latency table can show.
type latencyRow struct {
	name string // for the reader
	key  string // in the result document
	dist func(*metric.Latency) *metric.Dist
}

// latencyRows are in the order in which a user of the server lives them:
// waiting for the first word, reading along, being done; then what the client
// had to wait for on its own account.
func latencyRows() []latencyRow {
	var rows []latencyRow
	for _, f := range fig.All {
		if f.Spread() && f.Can(fig.Tabulate) {
			name := f.Title
			if f.Due != "" {
				name += " from sent" // beside the row from due
			}
			rows = append(rows, latencyRow{name, f.Key + "_ms", func(l *metric.Latency) *metric.Dist { return l.Of(f.Key) }})
		}
	}
	return rows
}

// keysShown are the percentiles asked for and those that objectives are on, as
// far as they were measured.
func (p *page) keysShown(rows []latencyRow, l *metric.Latency, judged map[string]bool) []string {
	all := &metric.Dist{P: map[string]float64{}}
	for _, row := range rows {
		for key := range row.dist(l).P {
			if judged[key] || slices.Contains(p.percentiles, key) {
				all.P[key] = 0
			}
		}
	}
	return all.Keys()
}

const notFirm = "low confidence: too few independent values (few beyond it, or slow ups and downs); run longer"

// latency writes the table of distributions, in milliseconds throughout so
// that a column can be read down.
func (p *page) latency(point *result.Point) {
	rows := p.latencyShown(point)
	if len(rows) == 0 {
		return
	}
	judged := judgedKeys(point.Objectives)
	keys := p.keysShown(rows, &point.Latency, judged)
	t := document.NewTable(left(when(point.Jobs != nil, "turns: ")+"latency, ms"), right("n"), decimal("mean").Optional(4))
	for _, key := range keys {
		t.Columns = append(t.Columns, decimal(text.Percentile(key)).Optional(spare(key, judged)).Doubtful())
	}
	t.Columns = append(t.Columns, decimal("max"))
	for _, row := range rows {
		p.shows(strings.TrimSuffix(row.key, "_ms"))
		if row.key == "stall_ms" {
			p.shows("icl") // which it is the largest of
		}
		d, of := row.dist(&point.Latency), "latency."+row.key
		about := p.markOn(of)
		if why := p.notes.on("latency.itl_ms"); row.key == "icl_ms" && why != "" {
			about += mark("itl " + why) // icl stands in for it
		}
		unit, scale := text.TimeUnit(d.Max)
		name := row.name
		if unit != "ms" {
			name += ", " + unit
		}
		cells := []string{name + about, count(d.N), figure(d.Mean/scale) + p.markOn(of+".mean")}
		for _, key := range keys {
			cells = append(cells, p.percentileCell(row, d, key, scale))
		}
		most := absent // as of another benchmark that does not say
		if d.HasMax() {
			most = figure(d.Max/scale) + p.markOn(of+".max")
		}
		t.Add(append(cells, most)...)
	}
	if slices.Contains(keys, "p50") && slices.Contains(keys, "p99") {
		p.shows("tail_ratio")
		t.AddColumn(decimal("p99/p50").Optional(5), absent, func(row int) string { return tailRatio(rows[row].dist(&point.Latency)) })
	}
	p.Add(t)
	if requests := point.Requests; requests.OK < requests.Due && p.room >= explained { // else n and the requests below
		p.Note("over the " + count(requests.OK) + " ok of " + plural(requests.Due, requestWord(point)) + " due")
	}
	p.Footnotes()
}

// tailRatio is p99/p50.
func tailRatio(d *metric.Dist) string {
	median, _ := percentile(d, "p50")
	if tail, ok := percentile(d, "p99"); ok && median > 0 {
		return figure(tail / median)
	}
	return absent
}

// percentileCell is a percentile with its doubt, where it is weak.
func (p *page) percentileCell(row latencyRow, d *metric.Dist, key string, scale float64) string {
	v, ok := percentile(d, key)
	switch {
	case !ok:
		return absent
	case !d.IsFirm(key):
		return figure(v/scale) + document.Doubt(p.whyWeak(row.key, key, metric.Tokens{}))
	}
	return figure(v/scale) + document.Doubt(p.notes.on("latency."+row.key+"."+key))
}

// judgedKeys are the percentiles that objectives are on: they stay whatever the
// width.
func judgedKeys(verdicts []slo.Verdict) map[string]bool {
	keys := map[string]bool{}
	for _, v := range verdicts {
		if _, stat, _, ok := objective.Parts(v.Objective); ok {
			keys[stat] = true
		}
	}
	return keys
}

// spare says how readily a narrow page does without a percentile.
func spare(key string, judged map[string]bool) int {
	rank, standard := map[string]int{"p50": 0, "p90": 3, "p95": 2, "p99": 0}[key]
	switch {
	case judged[key]:
		return 0
	case !standard:
		return 1
	}
	return rank
}

// whyWeak names the cause: a window in which nothing has confidence, events with
// merged timestamps, or just too few requests.
// The words are the same for every row, so that a column can share one
// footnote.
func (p *page) whyWeak(latency, key string, tokens metric.Tokens) string {
	if all := p.notes.on("latency"); all != "" {
		return all
	}
	return notFirm
}

// latencyShown are the rows that were measured and say something of their own. A
// first look does without those that nobody asked for.
func (p *page) latencyShown(point *result.Point) []latencyRow {
	judged := map[string]bool{}
	for _, v := range point.Objectives {
		name, _, _, _ := objective.Parts(v.Objective)
		judged[name+"_ms"] = true
	}
	return slices.DeleteFunc(latencyRows(), func(row latencyRow) bool {
		d := row.dist(&point.Latency)
		if d == nil || d.N == 0 {
			return true
		}
		if p.room&brief > 0 && details[row.key] && !judged[row.key] {
			return true
		}
		switch row.key {
		case "ttft_ms", "e2e_ms":
			due := point.Latency.Of(strings.TrimSuffix(row.key, "_ms") + "_due")
			return due != nil && (alike(d, due) || p.room&brief > 0 && !farBefore(d, due))
		case "ttfa_ms":
			return alike(d, point.Latency.TTFT)
		case "icl_ms":
			return point.Latency.ITL != nil && point.Latency.ITL.N > 0
		case "upload_ms":
			return point.Images == nil && d.Max < 1 // small bodies
		case "slot_wait_ms":
			return d.Max < 1 // nothing waited for a slot
		}
		return false
	})
}

// details are the latencies that a first look does without.
var details = map[string]bool{"stall_ms": true, "decode_ms": true, "slot_wait_ms": true, "lag_ms": true, "connect_ms": true, "tls_ms": true, "upload_ms": true, "ttft_per_image_ms": true}

// farBefore reports whether requests commonly waited in the client for as long as
// they took: then a first look needs both times.
func farBefore(sent, due *metric.Dist) bool {
	a, ok := percentile(sent, "p50")
	b, has := percentile(due, "p50")
	return !ok || !has || b >= 2*a
}

// alike reports whether two distributions differ by too little to matter: the
// second is not worth a row of its own then.
func alike(a, b *metric.Dist) bool {
	if a == nil || b == nil {
		return a == b
	}
	for key := range a.P {
		if !near(a.P[key], b.P[key]) {
			return false
		}
	}
	return a.N == b.N && near(a.Mean, b.Mean) && near(a.Max, b.Max)
}

// near reports whether two figures differ by at most 2% or half a millisecond.
func near(a, b float64) bool { return math.Abs(a-b) <= max(0.5, 0.02*max(a, b)) }

func percentile(d *metric.Dist, key string) (float64, bool) {
	if d == nil || d.N == 0 {
		return 0, false
	}
	v, ok := d.P[key]
	return v, ok && !math.IsNaN(v)
}
