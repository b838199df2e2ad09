package live

import (
	"cmp"
	"strings"

	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/show/document"
	"redline/internal/text"
)

// rates is what is offered against what is served.
func (p *picture) rates() string {
	s := p.now
	tone := document.Plain
	if s.OfferedPerS > 1 && s.Phase == record.Measure && s.RequestsPerS < 0.8*s.OfferedPerS {
		tone = document.Weak
	}
	s.Workers, s.Lost = 0, 0 // which the head names
	return p.row(part{text: "requests/s", brief: "req/s"},
		part{text: inPlace.right(text.Figure(s.OfferedPerS), 5) + " offered", rank: 2},
		part{text: inPlace.right(text.Figure(s.RequestsPerS), 5) + " served", tone: tone},
		inPlace.inFlight(s), part{text: inPlace.right(text.Figure(s.TokensPerS), 6) + " tokens/s", rank: 3})
}

// outcomes counts what came of the requests, and names what went wrong.
func (p *picture) outcomes() string {
	s := p.now
	errors := part{text: "0 errors", rank: 3}
	if failed := s.Of(llm.Failures); failed > 0 {
		var kinds []string
		for _, row := range llm.Outcomes {
			if n := s.Outcomes[row.Outcome]; n > 0 && row.Count == llm.Failures {
				kinds = append(kinds, strings.ReplaceAll(string(row.Outcome), "_", " ")+" "+text.Count(n))
			}
		}
		errors = part{text: text.Plural(failed, "error") + ": " + strings.Join(kinds, ", "), brief: text.Plural(failed, "error"), tone: document.Bad}
	}
	parts := []part{{text: "requests  ", rank: 4}, {text: inPlace.right(text.Count(s.Due), 5) + " due", rank: 2}, {text: inPlace.right(text.Count(s.OK), 5) + " ok"}}
	return p.row(append(append(parts, otherCounts(s, 1)...), errors)...)
}

// otherCounts are the requests that ended neither ok nor with an error.
func otherCounts(s progress.Snapshot, rank int) (parts []part) {
	for _, c := range llm.Counts() {
		if n := s.Of(c); n > 0 && c != llm.OKs && c != llm.Failures {
			one := part{text: text.Count(n) + " " + c.Word, rank: rank}
			if c.Fault {
				one.tone = document.Bad
			}
			parts = append(parts, one)
		}
	}
	return parts
}

// spoils warns of what would spoil the run, while there is time to do something
// about it.
func (p *picture) spoils(height int) []string {
	var lines []string
	for _, one := range p.now.Spoils {
		lines = append(lines, document.Wrap(one, p.width)...)
		if len(lines) > height {
			last := lines[height-1]
			for end := strings.LastIndexByte(last, ' '); end > 0 && document.Visible(last)+2 > p.width; end = strings.LastIndexByte(last, ' ') {
				last = last[:end]
			}
			lines = append(lines[:height-1], last+" …")
			break
		}
	}
	return text.Each(lines, func(line string) string { return p.paint(document.Weak, line) })
}

// latencies are the rows of the table.
var latencies = []struct {
	name string
	of   func(*progress.Snapshot) *progress.Spread
}{
	{"ttft", func(s *progress.Snapshot) *progress.Spread { return &s.TTFT }},
	{"tpot", func(s *progress.Snapshot) *progress.Spread { return &s.TPOT }},
	{"itl", func(s *progress.Snapshot) *progress.Spread { return &s.ITL }},
	{"e2e", func(s *progress.Snapshot) *progress.Spread { return &s.E2E }},
}

// table is the percentiles against their limits.
func (p *picture) table() []string {
	column := 8
	if p.width < tableWidth {
		column = 7 // and more room for limits
	}
	lines := []string{"ms    " + document.PadLeft("p50", column) + document.PadLeft("p95", column) + document.PadLeft("p99", column) + "  limit"}
	for _, l := range latencies {
		spread := l.of(&p.now)
		unit, by := text.TimeUnit(spread.P99)
		if unit == "ms" {
			unit = "" // as the head says
		}
		line, limits := document.PadRight(text.Join(" ", l.name, unit), 6), ""
		tones := map[string]document.Tone{}
		for _, o := range p.now.Objectives {
			name, rest, _ := strings.Cut(o.Objective, ":")
			stat, _, _ := strings.Cut(rest, "<")
			if name == l.name {
				tones[stat] = toneOf(o.Standing)
				if 6+3*column+document.Visible(limits)+2+len(rest) <= p.width {
					limits += "  " + p.paint(toneOf(o.Standing), rest)
				}
			}
		}
		for i, ms := range []float64{spread.P50, spread.P95, spread.P99} {
			line += p.paint(tones[[]string{"p50", "p95", "p99"}[i]], document.PadLeft(figureOr(ms/by), column))
		}
		lines = append(lines, line+limits)
	}
	return lines
}

func figureOr(v float64) string {
	if v != v {
		return "–"
	}
	return text.Figure(v)
}

func timeOr(ms float64) string {
	if ms != ms {
		return "–"
	}
	unit, by := text.TimeUnit(ms)
	return text.Unit(text.Figure(ms/by), unit)
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

// verdict says on which side of their limits the figures so far are, which is no
// verdict: that takes evidence, and only a look or the end weighs it.
func (p *picture) verdict(width int) []string {
	s := p.now
	switch {
	case !p.started:
		return []string{""}
	case len(s.Objectives) == 0 && p.stage != nil:
		return []string{"not judged by objectives"}
	case len(s.Objectives) == 0:
		return []string{"no objectives: --slo sets them"}
	}
	overall, word := slo.Met, "within limits so far"
	var missed, later, few []string
	for _, o := range s.Objectives {
		switch {
		case o.Standing == slo.Missed:
			missed = append(missed, o.Objective+" "+valueText(o))
		case o.Standing == slo.NotJudged:
			later = append(later, o.Objective)
		case o.Standing == slo.Undecided:
			few = append(few, o.Objective)
		}
	}
	switch {
	case len(missed) > 0:
		overall, word = slo.Missed, "over so far: "+strings.Join(missed, ", ")
	case len(later) == len(s.Objectives):
		overall, word = slo.None, "no verdict yet"
	case len(few) > 0:
		overall, word = slo.Undecided, "too few requests yet"
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
	return text.Time(*v.Value)
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
		return fill([]string{noReply(p.now)}, height)
	}
	return append([]string{"ttft of " + text.Plural(n, "reply", "replies")}, histogram(&spread.Bins, limit, width, height-1, p.paint)...)
}

// sparks are the figures over time; a tall terminal shows them taller.
func (p *picture) sparks() []section {
	one := func(rank int, gap bool, name string, s *series, now string) section {
		return section{rank, 1, 3, gap, func(height int) []string { return spark(name, s, now, p.width, height) }}
	}
	list := []section{one(5, true, "ttft p99", &p.ttft, timeOr(p.now.RecentTTFT)),
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
		words = "FROZEN · p resume · q stop · ? help"
	case p.stopping:
		words = "q stop at once · p freeze · ? help"
	}
	return p.paint(document.Weak, words)
}
