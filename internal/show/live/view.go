package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/show/document"
	"redline/internal/text"
)

// view is everything that a full screen shows. Its picture is a pure function of
// it and of the size of the terminal.
type view struct {
	title string
	panel Panel
	sides [2]string
	// window and measuring are those of the line.
	window    time.Duration
	measuring time.Duration
	stage     *Stage // nil in a single run
	ended     []Ended
	now       metric.Snapshot
	begun     bool // now was seen
	ttft      series
	tokens    series
	served    series
	said      []string

	stopping, frozen, help bool
}

type painter func(document.Tone, string) string

func inColor(t document.Tone, s string) string { return document.ANSI(t, s) }
func plainly(_ document.Tone, s string) string { return s }

// show takes in a snapshot.
func (v *view) show(s metric.Snapshot) {
	if s.Elapsed < v.now.Elapsed {
		v.restart()
	}
	if s.Phase == record.Measure && v.measuring == 0 {
		v.measuring = s.Elapsed
	}
	v.now, v.begun = s, true
	v.ttft.set(s.Elapsed, s.RecentTTFT)
	v.tokens.set(s.Elapsed, s.TokensPerS)
	v.served.set(s.Elapsed, s.RequestsPerS)
}

// restart forgets what the stage before showed.
func (v *view) restart() {
	none := metric.Spread{P50: math.NaN(), P95: math.NaN(), P99: math.NaN()}
	v.now, v.begun, v.measuring = metric.Snapshot{TTFT: none, TPOT: none, ITL: none, E2E: none, RecentTTFT: math.NaN()}, false, 0
	v.ttft, v.tokens, v.served = series{join: math.Max}, series{join: mean}, series{join: mean}
}

// clone is a copy that later snapshots leave alone.
func (v *view) clone() *view {
	c := *v
	c.ttft.values, c.tokens.values, c.served.values = slices.Clone(v.ttft.values), slices.Clone(v.tokens.values), slices.Clone(v.served.values)
	c.ended, c.said = slices.Clone(v.ended), slices.Clone(v.said)
	return &c
}

// section is one block of the screen. Of sections that do not fit, those of the
// highest rank go first; those that can grow get what is left.
type section struct {
	rank      int
	min, want int
	gap       bool // an empty row before it, where there is room
	draw      func(height int) []string
}

func fixed(rank int, gap bool, lines ...string) section {
	return section{rank, len(lines), len(lines), gap, func(int) []string { return lines }}
}

// lines is the picture: height rows at most, none wider than width.
func (v *view) lines(width, height int, color bool) []string {
	p := picture{view: v, width: max(width, 1), paint: plainly}
	if color {
		p.paint = inColor
	}
	sections := p.sections()
	if v.help {
		sections = p.helpSections()
	}
	var rows []string
	for _, s := range arrange(sections, height) {
		rows = append(rows, s...)
	}
	for i, row := range rows {
		rows[i] = strings.TrimRight(clip(row, p.width), " ")
	}
	return fill(rows, min(len(rows), height))
}

// arrange gives each section its rows.
func arrange(sections []section, height int) [][]string {
	need := func() (n int) {
		for _, s := range sections {
			n += s.min
		}
		return n
	}
	for len(sections) > 1 && need() > height {
		last := 0
		for i, s := range sections {
			if s.rank >= sections[last].rank {
				last = i
			}
		}
		sections = slices.Delete(sections, last, last+1)
	}
	left := height - need()
	heights := make([]int, len(sections))
	for i, s := range sections {
		heights[i] = s.min
	}
	gaps := make([]bool, len(sections))
	for i := 1; i < len(sections) && left > 0; i++ {
		if sections[i].gap {
			gaps[i], left = true, left-1
		}
	}
	for grown := true; grown && left > 0; {
		grown = false
		for i, s := range sections {
			if left > 0 && heights[i] < s.want {
				heights[i], left, grown = heights[i]+1, left-1, true
			}
		}
	}
	blocks := make([][]string, len(sections))
	for i, s := range sections {
		blocks[i] = fill(s.draw(heights[i]), heights[i])
		if gaps[i] {
			blocks[i] = append([]string{""}, blocks[i]...)
		}
	}
	if n := len(blocks); n > 1 && left > 0 { // the keys stay at the bottom
		blocks[n-1] = append(make([]string, left), blocks[n-1]...)
	}
	return blocks
}

// clip cuts a row that is too wide, without the colors that would be cut open.
func clip(row string, width int) string {
	if document.Visible(row) <= width {
		return row
	}
	var out strings.Builder
	for n, rest := 0, row; rest != ""; {
		if strings.HasPrefix(rest, "\x1b[") {
			end := strings.IndexByte(rest, 'm') + 1
			out.WriteString(rest[:end])
			rest = rest[end:]
			continue
		}
		r := []rune(rest[:min(len(rest), 4)])[0]
		if n++; n <= width {
			out.WriteRune(r)
		}
		rest = rest[len(string(r)):]
	}
	return out.String()
}

// picture is a view that is drawn for a terminal.
type picture struct {
	*view
	width int
	paint painter
}

// row sets parts in a row; those that do not fit are left out by rank.
func (p *picture) row(parts ...part) string {
	parts = slices.DeleteFunc(parts, func(t part) bool { return t.text == "" })
	return fit(parts, p.width+1, p.paint)
}

// sideBySide is how wide a terminal has to be for the distribution to stand
// beside the table.
const sideBySide, tableWidth = 76, 46

func (p *picture) sections() []section {
	sections := []section{fixed(0, false, p.head()...), fixed(1, true, p.rates(), p.outcomes())}
	table := p.table()
	right := p.width - tableWidth - 2
	if p.width >= sideBySide {
		table = append(table, p.verdict(tableWidth)...)
		// What is more than the table goes first where there is no room.
		sections = append(sections, section{2, min(len(table), 6), max(len(table), 12), true, func(height int) []string {
			return beside(fill(table, min(height, len(table))), p.distribution(right, height), tableWidth+2)
		}})
	} else {
		sections = append(sections, fixed(2, true, table...), fixed(3, false, p.verdict(p.width)...),
			section{7, 4, 8, true, func(height int) []string { return p.distribution(p.width, height) }})
	}
	sections = append(sections, p.sparks()...)
	if g := p.gauges(); g != "" {
		sections = append(sections, fixed(4, true, g))
	}
	if s, ok := p.experiment(); ok {
		sections = append(sections, s)
	}
	if len(p.said) > 0 {
		sections = append(sections, section{6, 1, min(len(p.messages(6)), 6), true, p.messages})
	}
	return append(sections, fixed(2, false, p.keys()))
}

// messages are the last lines that were said, each whole where there is room.
func (p *picture) messages(height int) []string {
	var rows []string
	for i := len(p.said) - 1; i >= 0; i-- {
		lines := document.Wrap(p.said[i], p.width)
		if len(rows)+len(lines) > height {
			if rows == nil {
				return append(lines[:height-1], shorten(strings.Join(lines[height-1:], " "), p.width))
			}
			break
		}
		rows = append(lines, rows...)
	}
	return rows
}

// head names the run, says where it is and what is left of it.
func (p *picture) head() []string {
	elapsed := ""
	if p.begun {
		elapsed = clockTime(p.now.Elapsed)
	}
	title, _ := document.Cut(p.title, max(p.width-len(elapsed)-2, 1))
	lines := []string{p.paint(document.Bold, title) + strings.Repeat(" ", max(p.width-document.Visible(title)-len(elapsed), 1)) + elapsed}
	phase, left, share := p.phase()
	bar := part{rank: 2}
	if share >= 0 {
		bar.text = gauge(share, min(max(p.width/4, 10), 40))
	}
	if p.stage == nil {
		return append(lines, p.row(part{text: phase}, bar, part{text: left, rank: 1}))
	}
	lines = append(lines, p.row(part{text: p.stage.place(), brief: p.stage.briefly(), tone: document.Bold},
		part{text: phase, rank: 1}, bar, part{text: left, rank: 1}))
	togo := ""
	if rest := p.stage.Ahead - p.now.Elapsed; p.stage.Ahead > 0 && rest > 0 {
		togo = "about " + roughly(rest) + " to go"
	}
	return append(lines, p.row(part{text: p.stage.Found, brief: strings.TrimSuffix(p.stage.Found, " requests/s"), tone: document.Bold},
		part{text: togo, rank: 2}, part{text: p.next(3), brief: p.next(1), rank: 1}))
}

// next names the first of the stages that follow.
func (p *picture) next(most int) string {
	if p.stage == nil || len(p.stage.Next) == 0 {
		return ""
	}
	list := p.stage.Next
	if len(list) > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("%d more", len(p.stage.Next)-most))
	}
	return "next: " + strings.Join(list, ", ")
}

// phase says what goes on, what is left of it, and which share of the window is
// over, below 0 where it has none.
func (p *picture) phase() (name, left string, share float64) {
	s := p.now
	over := s.Elapsed - p.measuring
	switch {
	case p.stopping:
		return "stopping: last replies", "q again stops at once", -1
	case !p.begun:
		return "starting", "", -1
	case s.Phase == record.Cooldown:
		return "last replies", "", -1
	case s.Phase != record.Measure:
		if p.stage != nil && p.stage.Warmup > 0 {
			return "warming up", clockTime(max(p.stage.Warmup-s.Elapsed, 0)) + " left", float64(s.Elapsed) / float64(p.stage.Warmup)
		}
		return "warming up", "", -1
	case p.window <= 0:
		return "measuring " + clockTime(over), "", -1
	}
	left = clockTime(max(p.window-over, 0)) + " left"
	if s.Open != nil {
		left = "at most " + left
	}
	return "measuring " + clockTime(over) + " of " + clockTime(p.window), left, float64(over) / float64(p.window)
}

func (p *picture) rates() string {
	s := p.now
	inFlight := inPlace.right(text.Count(s.InFlight), 3) + " in flight"
	if s.Waiting > 0 {
		inFlight += " + " + text.Count(s.Waiting) + " waiting"
	}
	tone := document.Plain
	if s.OfferedPerS > 1 && s.Phase == record.Measure && s.RequestsPerS < 0.8*s.OfferedPerS {
		tone = document.Weak
	}
	return p.row(part{text: "requests/s", rank: 3},
		part{text: inPlace.right(text.Figure(s.OfferedPerS), 5) + " offered", rank: 2},
		part{text: inPlace.right(text.Figure(s.RequestsPerS), 5) + " served", tone: tone},
		part{text: inFlight, rank: 1}, part{text: inPlace.right(text.Figure(s.TokensPerS), 6) + " tokens/s", rank: 1})
}

// outcomes counts what came of the requests, and names what went wrong.
func (p *picture) outcomes() string {
	s := p.now
	errors := part{text: "0 errors", rank: 3}
	if s.Errors > 0 {
		var kinds []string
		for _, o := range llm.Outcomes {
			if n := s.Outcomes[o]; n > 0 && o != llm.Rejected {
				kinds = append(kinds, strings.ReplaceAll(string(o), "_", " ")+" "+text.Count(n))
			}
		}
		errors = part{text: text.Plural(s.Errors, "error") + ": " + strings.Join(kinds, ", "), brief: text.Plural(s.Errors, "error"), tone: document.Bad}
	}
	rejected := part{}
	if s.Rejected > 0 {
		rejected = part{text: text.Count(s.Rejected) + " rejected", rank: 1, tone: document.Bad}
	}
	return p.row(part{text: "requests  ", rank: 4}, part{text: inPlace.right(text.Count(s.Due), 5) + " due", rank: 2},
		part{text: inPlace.right(text.Count(s.OK), 5) + " ok"}, rejected, errors)
}

// latencies are the rows of the table.
var latencies = []struct {
	name string
	of   func(*metric.Snapshot) *metric.Spread
}{
	{"ttft", func(s *metric.Snapshot) *metric.Spread { return &s.TTFT }},
	{"tpot", func(s *metric.Snapshot) *metric.Spread { return &s.TPOT }},
	{"itl", func(s *metric.Snapshot) *metric.Spread { return &s.ITL }},
	{"e2e", func(s *metric.Snapshot) *metric.Spread { return &s.E2E }},
}

// table is the percentiles against their limits.
func (p *picture) table() []string {
	const column = 8
	lines := []string{"ms    " + document.PadLeft("p50", column) + document.PadLeft("p95", column) + document.PadLeft("p99", column) + "  limit"}
	for _, l := range latencies {
		spread := l.of(&p.now)
		line, limits := document.PadRight(l.name, 6), []string{}
		tones := map[string]document.Tone{}
		for _, o := range p.now.Objectives {
			name, rest, _ := strings.Cut(o.Objective, ":")
			stat, _, _ := strings.Cut(rest, "<")
			if name == l.name {
				tones[stat] = toneOf(o.Standing)
				limits = append(limits, p.paint(toneOf(o.Standing), rest))
			}
		}
		for i, ms := range []float64{spread.P50, spread.P95, spread.P99} {
			line += p.paint(tones[[]string{"p50", "p95", "p99"}[i]], document.PadLeft(figureOr(ms), column))
		}
		lines = append(lines, line+"  "+strings.Join(limits, " "))
	}
	return lines
}

func figureOr(v float64) string {
	if v != v {
		return "–"
	}
	return text.Figure(v)
}

func toneOf(s slo.Standing) document.Tone {
	switch s {
	case slo.Met:
		return document.Good
	case slo.Missed:
		return document.Bad
	case slo.Undecided:
		return document.Weak
	}
	return document.Plain
}

// verdict says where the objectives stand by the figures so far.
func (p *picture) verdict(width int) []string {
	s := p.now
	switch {
	case !p.begun:
		return []string{""}
	case len(s.Objectives) == 0:
		return []string{"no objectives: --slo sets them"}
	}
	overall, word := slo.Met, "MET so far"
	var missed, later []string
	for _, o := range s.Objectives {
		switch {
		case o.Standing == slo.Missed:
			missed = append(missed, o.Objective+" "+valueText(o))
		case o.Standing == slo.NotJudged:
			later = append(later, o.Objective)
		}
	}
	switch {
	case len(missed) > 0:
		overall, word = slo.Missed, "MISSED so far: "+strings.Join(missed, ", ")
	case len(later) == len(s.Objectives):
		overall, word = slo.None, "no verdict yet"
	}
	lines := text.Each(document.Wrap(word, width), func(line string) string { return p.paint(toneOf(overall), line) })
	if len(later) > 0 && len(later) < len(s.Objectives) {
		lines = append(lines, shorten("judged at the end: "+strings.Join(later, ", "), width))
	}
	if s.Open != nil && s.Phase == record.Measure {
		lines = append(lines, shorten(openObjectives(s.Open), width))
	}
	return lines
}

func valueText(v slo.Verdict) string {
	switch {
	case v.Value == nil:
		return ""
	case v.Unit == "fraction":
		return text.Percent(*v.Value)
	}
	return text.Milliseconds(*v.Value)
}

// distribution is that of ttft, with the limit of its objective.
func (p *picture) distribution(width, height int) []string {
	spread := p.now.TTFT
	n, limit := uint64(0), 0.0
	for _, count := range spread.Bins {
		n += uint64(count)
	}
	for _, o := range p.now.Objectives {
		if strings.HasPrefix(o.Objective, "ttft:") && o.Value != nil {
			limit = cmp.Or(limit, o.Limit)
		}
	}
	if n == 0 {
		return fill([]string{"no ttft yet"}, height)
	}
	return append([]string{"ttft of " + text.Plural(n, "reply", "replies")}, histogram(&spread.Bins, limit, width, height-1, p.paint)...)
}

// sparks are the figures over time; a tall terminal shows them taller.
func (p *picture) sparks() []section {
	one := func(rank int, gap bool, name string, s *series, now string) section {
		return section{rank, 1, 3, gap, func(height int) []string { return spark(name, s, now, p.width, height) }}
	}
	list := []section{one(5, true, "ttft p99", &p.ttft, text.Unit(figureOr(p.now.RecentTTFT), "ms")),
		one(5, false, "tokens/s", &p.tokens, text.Figure(p.now.TokensPerS))}
	if p.stage == nil {
		list = append(list, one(8, false, "served/s", &p.served, text.Figure(p.now.RequestsPerS)))
	}
	return list
}

// gauges are what the server and its accelerators say, "" where they do not.
func (p *picture) gauges() string {
	g := p.now.Server
	var parts []part
	add := func(v *float64, rank int, words func(float64) string) {
		if v != nil {
			parts = append(parts, part{text: words(*v), rank: rank})
		}
	}
	number := func(name string) func(float64) string {
		return func(v float64) string { return name + " " + text.Number(v) }
	}
	add(g.Running, 1, number("running"))
	add(g.Waiting, 1, number("waiting"))
	add(g.KVUsage, 2, func(v float64) string { return "KV " + gauge(v, 10) + " " + text.RoughPercent(v) })
	add(g.Watts, 3, func(v float64) string { return "power " + text.Unit(text.Number(v), "W") })
	add(g.Utilization, 4, func(v float64) string { return "busy " + text.RoughPercent(v) })
	if len(parts) == 0 {
		return ""
	}
	return p.row(append([]part{{text: "server"}}, parts...)...)
}

func (p *picture) keys() string {
	words := "q stop · p freeze · ? help"
	switch {
	case p.help:
		words = "? back"
	case p.frozen:
		words = "FROZEN · p goes on · q stop · ? help"
	case p.stopping:
		words = "q stop at once · p freeze · ? help"
	}
	return p.paint(document.Weak, words)
}
