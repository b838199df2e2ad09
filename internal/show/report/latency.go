package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
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
			rows = append(rows, latencyRow{f.Title, f.Key + "_ms", func(l *metric.Latency) *metric.Dist { return l.Of(f.Key) }})
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

const notFirm = "low confidence: too few independent values beyond it; run longer"

// latency writes the table of distributions, in milliseconds throughout so
// that a column can be read down.
func (p *page) latency(point *result.Point) {
	rows := latencyShown(point)
	if len(rows) == 0 {
		return
	}
	judged := judgedKeys(point.Objectives)
	t := table{columns: latencyColumns(p.keysShown(rows, &point.Latency, judged), judged)}
	for _, row := range rows {
		p.shows(strings.TrimSuffix(row.key, "_ms"))
		if row.key == "stall_ms" {
			p.shows("icl") // which it is the largest of
		}
		t.rows = append(t.rows, p.latencyCells(row, row.dist(&point.Latency), t.columns))
	}
	// Columns that do not fit go before their doubts are footnoted; each of
	// the others keeps a column free for its mark.
	t = t.fitted(p.width - len(t.columns))
	doubts := make([][]string, len(rows))
	for i, row := range rows {
		doubts[i] = p.doubts(row, row.dist(&point.Latency), t.columns, point.Tokens)
	}
	p.markDoubts(&t, doubts)
	p.gap()
	p.write(t)
	if requests := point.Requests; requests.OK < requests.Due {
		p.line(indent + "over the " + count(requests.OK) + " ok of " + plural(requests.Due, "request") + " due")
	}
	p.flushNotes()
}

// judgedKeys are the percentiles that objectives are on: they stay whatever the
// width.
func judgedKeys(verdicts []slo.Verdict) map[string]bool {
	keys := map[string]bool{}
	for _, v := range verdicts {
		if _, stat, _, ok := parts(v.Objective); ok {
			keys[stat] = true
		}
	}
	return keys
}

// latencyColumns numbers the columns that a narrow page can do without.
func latencyColumns(keys []string, judged map[string]bool) []column {
	columns := []column{
		{head: cell{text: "latency, ms", tone: bold}},
		{head: cell{text: "n"}, align: alignRight},
		{key: "mean", head: cell{text: "mean"}, align: alignPoint, optional: 4},
	}
	optional := map[string]int{"p50": 0, "p90": 3, "p95": 2, "p99": 0}
	for _, key := range keys {
		rank, standard := optional[key]
		switch {
		case judged[key]:
			rank = 0
		case !standard:
			rank = 1
		}
		columns = append(columns, column{key: key, head: cell{text: percentileName(key)}, align: alignPoint, optional: rank})
	}
	return append(columns, column{key: "max", head: cell{text: "max"}, align: alignPoint})
}

func (p *page) latencyCells(row latencyRow, d *metric.Dist, columns []column) []cell {
	about := p.markOn("latency." + row.key)
	if why := p.notes.on("latency.itl_ms"); row.key == "icl_ms" && why != "" {
		about += p.notes.mark("itl " + why) // icl stands in for it
	}
	cells := []cell{{text: indent + row.name, mark: about}, {text: count(d.N)}}
	for _, c := range columns[len(cells):] {
		cells = append(cells, cell{text: figure(statistic(d, c.key)), mark: p.statisticMark(row, c.key)})
	}
	return cells
}

// statistic is NaN where the distribution does not have it.
func statistic(d *metric.Dist, key string) float64 {
	switch key {
	case "mean":
		return d.Mean
	case "max":
		return d.Max
	}
	if v, ok := percentile(d, key); ok {
		return v
	}
	return math.NaN()
}

// statisticMark footnotes a mean or a maximum; the doubts about percentiles
// are gathered first.
func (p *page) statisticMark(row latencyRow, key string) string {
	if key != "mean" && key != "max" {
		return ""
	}
	return p.markOn("latency." + row.key + "." + key)
}

// doubts gives, for each column, why its percentile is weak; empty where it is
// firm, not there, or no percentile.
func (p *page) doubts(row latencyRow, d *metric.Dist, columns []column, tokens metric.Tokens) []string {
	doubts := make([]string, len(columns))
	for i, c := range columns {
		if _, there := percentile(d, c.key); !there {
			continue
		}
		doubts[i] = p.notes.on("latency." + row.key + "." + c.key)
		if !d.IsFirm(c.key) {
			doubts[i] = p.whyWeak(row.key, c.key, tokens)
		}
	}
	return doubts
}

// whyWeak tells the causes apart: a window in which nothing is firm, events
// that shared a read and so blur what rests on them, or just too few requests.
// The words are the same for every row, so that a column can share one
// footnote.
func (p *page) whyWeak(latency, key string, tokens metric.Tokens) string {
	if all := p.notes.on("latency"); all != "" {
		return all
	}
	if share := blurred(latency, tokens); share > 0 && share >= tail(key)/2 {
		return "low confidence: up to " + percent(mostBlurred(tokens)) + " of the events behind these have merged timestamps, so their times are upper bounds"
	}
	return notFirm
}

// blurred is the share of the events that a latency rests on whose time is only
// bounded.
func blurred(latency string, tokens metric.Tokens) float64 {
	replies := 0
	for _, n := range tokens.Counted {
		replies += n
	}
	part, of := 0, replies
	switch latency {
	case "itl_ms", "icl_ms":
		part, of = int(tokens.Coalesced), int(tokens.Events)
	case "ttft_ms", "ttft_due_ms", "ttfa_ms":
		part = tokens.BlurredFirst
	case "stall_ms":
		part = tokens.BlurredStall
	}
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// mostBlurred is the largest such share, so that one footnote does for all.
func mostBlurred(tokens metric.Tokens) float64 {
	return max(blurred("itl_ms", tokens), blurred("ttft_ms", tokens), blurred("stall_ms", tokens))
}

// tail is the share of values beyond a percentile: 0.01 for "p99".
func tail(key string) float64 {
	digits := strings.TrimPrefix(key, "p")
	if len(digits) == 1 {
		digits = "0" + digits
	}
	p, err := strconv.ParseFloat("0."+digits, 64)
	if err != nil {
		return 1
	}
	return 1 - p
}

// markDoubts puts each doubt where it is said once: on the title when it is
// true of every percentile, on a heading when of a whole column, on a name
// when of a whole row, and else on the number.
func (p *page) markDoubts(t *table, doubts [][]string) {
	percentiles := percentileColumns(t.columns)
	var all []string
	for i := range doubts {
		all = append(all, pick(doubts[i], percentiles)...)
	}
	if doubt, same := common(all); same {
		t.columns[0].head.mark = p.notes.mark(doubt)
		t.columns[0].head.tone = unset
		return
	}
	for _, j := range percentiles {
		p.markColumn(t, doubts, j)
	}
	for i := range doubts {
		p.markRow(t.rows[i], doubts[i], percentiles)
	}
}

// markColumn moves a doubt that a whole column shares to its heading.
func (p *page) markColumn(t *table, doubts [][]string, j int) {
	column := make([]string, len(doubts))
	for i := range doubts {
		column[i] = doubts[i][j]
	}
	doubt, same := common(column)
	if !same || len(doubts) == 1 {
		return
	}
	t.columns[j].head.mark, t.columns[j].head.tone = p.notes.mark(doubt), weak
	for i := range doubts {
		doubts[i][j] = ""
	}
}

func (p *page) markRow(cells []cell, doubts []string, percentiles []int) {
	if doubt, same := common(pick(doubts, percentiles)); same {
		cells[0].mark += p.notes.mark(doubt)
		cells[0].tone = weak
		return
	}
	for _, j := range percentiles {
		if doubts[j] != "" {
			cells[j].mark, cells[j].tone = p.notes.mark(doubts[j]), weak
		}
	}
}

func percentileColumns(columns []column) []int {
	var at []int
	for i, c := range columns {
		if strings.HasPrefix(c.key, "p") {
			at = append(at, i)
		}
	}
	return at
}

func pick(doubts []string, at []int) []string {
	picked := make([]string, len(at))
	for i, j := range at {
		picked[i] = doubts[j]
	}
	return picked
}

// common gives the text that all share, if there is one.
func common(texts []string) (text string, same bool) {
	for _, t := range texts {
		if t == "" || t != texts[0] {
			return "", false
		}
	}
	if len(texts) == 0 {
		return "", false
	}
	return texts[0], true
}

func latencyShown(point *result.Point) []latencyRow {
	return slices.DeleteFunc(latencyRows(), func(row latencyRow) bool {
		d := row.dist(&point.Latency)
		if d == nil || d.N == 0 {
			return true
		}
		switch row.key {
		case "ttfa_ms":
			return alike(d, point.Latency.TTFT)
		case "ttft_ms":
			return alike(d, point.Latency.TTFTDue)
		case "e2e_ms":
			return alike(d, point.Latency.E2EDue)
		case "icl_ms":
			return point.Latency.ITL != nil && point.Latency.ITL.N > 0
		case "slot_wait_ms":
			return d.Max < 1 // nothing waited for a slot
		}
		return false
	})
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

// percentileName is "p99.9" for the key "p999".
func percentileName(key string) string {
	if digits, ok := strings.CutPrefix(key, "p"); ok && len(digits) > 2 && strings.Trim(digits, "0123456789") == "" {
		return "p" + digits[:2] + "." + digits[2:]
	}
	return key
}
