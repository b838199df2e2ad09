package live

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/progress"
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
	window     time.Duration
	measuring  time.Duration
	total      time.Duration // since the screen began
	stage      *Stage        // nil in a single run
	ended      []EndedStage
	now        progress.Snapshot
	started    bool // now was seen
	ttft       series
	tokens     series
	served     series
	messageLog []string
	spoiled    string // says why the last stage that does not count does not
	// awaited says which workers came while not all have; earlier is what was said
	// before it.
	awaited string
	earlier []string

	stopping, frozen, help bool
}

type painter func(document.Tone, string) string

func inColor(t document.Tone, s string) string { return document.ANSI(t, s) }
func noPaint(_ document.Tone, s string) string { return s }

// show takes in a snapshot.
func (v *view) show(s progress.Snapshot) {
	if s.Elapsed < v.now.Elapsed {
		v.restart()
	}
	if s.Phase == record.Measure && v.measuring == 0 {
		v.measuring = s.Elapsed
	}
	v.now, v.started = s, true
	v.ttft.set(s.Elapsed, s.RecentTTFT)
	v.tokens.set(s.Elapsed, s.TokensPerS)
	v.served.set(s.Elapsed, s.RequestsPerS)
}

// setWorkers takes in how many workers came.
func (v *view) setWorkers(have, want int) {
	if v.awaited == "" {
		v.earlier = slices.Clone(v.messageLog)
	}
	if v.awaited = waitingForWorkers(have, want); have == want {
		v.awaited, v.messageLog = "", v.earlier
	}
}

// restart forgets what the stage before showed.
func (v *view) restart() {
	none := progress.Spread{P50: math.NaN(), P95: math.NaN(), P99: math.NaN()}
	v.now, v.started, v.measuring = progress.Snapshot{TTFT: none, TPOT: none, ITL: none, E2E: none, RecentTTFT: math.NaN()}, false, 0
	v.ttft, v.tokens, v.served = series{join: math.Max}, series{join: mean}, series{join: mean}
}

// end takes in a stage that is over. The stage itself stays, since a frozen screen
// may show it.
func (v *view) end(e EndedStage) {
	v.ended = append(v.ended, e)
	if !e.Valid {
		v.spoiled = "redline: " + text.Join(": ", e.Name+" is not valid", e.Why)
	}
	if v.stage != nil && v.stage.Name == e.Name {
		over := *v.stage
		over.ended = true
		v.stage = &over
	}
}

// clone is a copy that later snapshots leave alone.
func (v *view) clone() *view {
	c := *v
	c.ttft.values, c.tokens.values, c.served.values = slices.Clone(v.ttft.values), slices.Clone(v.tokens.values), slices.Clone(v.served.values)
	c.ended, c.messageLog = slices.Clone(v.ended), slices.Clone(v.messageLog)
	return &c
}

// lines is the picture: height rows at most, none wider than width.
func (v *view) lines(width, height int, color bool) []string {
	p := picture{view: v, width: max(width, 1), paint: noPaint}
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
	sections := []section{fixedSection(0, false, p.head()...), fixedSection(1, true, p.rates(), p.outcomes())}
	if warnings := p.spoils(math.MaxInt); len(warnings) > 0 {
		sections = append(sections, section{1, min(len(warnings), 2), len(warnings), false, func(height int) []string { return fill(p.spoils(height), height) }})
	}
	table := p.table()
	right := p.width - tableWidth - 2
	if p.width >= sideBySide {
		table = append(table, p.verdict(tableWidth)...)
		// What is more than the table goes first where there is no room.
		sections = append(sections, section{2, min(len(table), 6), max(len(table), 12), true, func(height int) []string {
			return joinColumns(fill(table, min(height, len(table))), p.distribution(right, height), tableWidth+2)
		}})
	} else {
		sections = append(sections, fixedSection(2, true, table...), fixedSection(3, false, p.verdict(p.width)...),
			section{7, 4, 8, true, func(height int) []string { return p.distribution(p.width, height) }})
	}
	sections = append(sections, p.sparks()...)
	if g := p.gauges(); g != "" {
		sections = append(sections, fixedSection(4, true, g))
	}
	if s, ok := p.experiment(); ok {
		sections = append(sections, s)
	}
	if said := p.allMessages(); len(said) > 0 {
		// The latest is shown whole before anything is drawn over time.
		latest := document.Wrap(said[len(said)-1], p.width)
		sections = append(sections, section{3, min(len(latest), 4), min(len(p.messages(6)), 6), true, p.messages})
	}
	return append(sections, fixedSection(2, false, p.keys()))
}

// allMessages is what was said of this stage, and what became of one before it.
func (p *picture) allMessages() []string {
	if p.spoiled == "" {
		return p.messageLog
	}
	return append([]string{p.spoiled}, p.messageLog...)
}

// messages are the last lines that were said, each whole where there is room.
func (p *picture) messages(height int) []string {
	var rows []string
	said := p.allMessages()
	for i := len(said) - 1; i >= 0; i-- {
		lines := document.Wrap(said[i], p.width)
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
	lines := []string{p.headline()}
	phase, left, share := p.phase()
	bar := part{rank: 2}
	if share >= 0 {
		bar.text = gauge(share, min(max(p.width/4, 10), 40))
	}
	if p.stage == nil {
		return append(lines, p.row(part{text: phase}, bar, part{text: left, rank: 1}))
	}
	lines = append(lines, p.row(part{text: p.stage.place(), brief: p.stage.shortPlace(), tone: document.Bold},
		part{text: phase, rank: 1}, bar, part{text: left, rank: 1}))
	togo := ""
	if rest := p.stage.Ahead - p.now.Elapsed; p.stage.Ahead > 0 && rest > 0 {
		togo = "about " + roughTime(rest) + " to go"
	}
	return append(lines, p.row(part{text: p.stage.Found, brief: strings.TrimSuffix(p.stage.Found, " requests/s"), tone: document.Bold},
		part{text: togo, rank: 2}, part{text: p.next(3), brief: p.next(1), rank: 1}))
}

// headline is the title, who sends, and the time.
func (p *picture) headline() string {
	elapsed, crew := "", senders(p.now)
	switch {
	case p.stage != nil:
		elapsed = clockTime(p.total) // a stage has its own below
	case p.started:
		elapsed = clockTime(p.now.Elapsed)
	}
	if crew != "" {
		crew += "  "
	}
	room := max(p.width-document.Visible(crew)-len(elapsed), 3)
	title := shorten(p.title, room-2)
	if p.now.Lost > 0 {
		crew = p.paint(document.Bad, crew)
	}
	return p.paint(document.Bold, title) + strings.Repeat(" ", room-document.Visible(title)) + crew + elapsed
}

// next names the first of the stages that follow.
func (p *picture) next(limit int) string {
	if p.stage == nil || len(p.stage.Next) == 0 {
		return ""
	}
	list := p.stage.Next
	if len(list) > limit {
		list = append(slices.Clone(list[:limit]), fmt.Sprintf("%d more", len(p.stage.Next)-limit))
	}
	return "next: " + strings.Join(list, ", ")
}

// atMost is what bounds a phase, "" where its limit is not known.
func atMost(until string, limit time.Duration) string {
	if limit <= 0 {
		return ""
	}
	return until + clockTime(limit) + " at most"
}

// phase says what goes on, what is left of it, and which share of the window is
// over, below 0 where it has none.
func (p *picture) phase() (name, left string, share float64) {
	s := p.now
	over := s.Elapsed - p.measuring
	switch {
	case p.stopping:
		return "stopping: last replies", "q again stops at once", -1
	case p.stage != nil && p.stage.ended:
		return "done", "", -1
	case p.awaited != "":
		return p.awaited, "", -1
	case !p.started:
		return "starting", "", -1
	case s.Phase == record.Cooldown:
		return "last replies", atMost("", s.PhaseLimit), -1
	case s.Phase != record.Measure:
		if p.stage != nil && p.stage.Warmup > 0 {
			return "warming up", clockTime(max(p.stage.Warmup-s.Elapsed, 0)) + " left", float64(s.Elapsed) / float64(p.stage.Warmup)
		}
		return "warming up", atMost("until replies settle, ", s.PhaseLimit), -1
	case p.window <= 0:
		return "measuring " + clockTime(over), "", -1
	}
	left = clockTime(max(p.window-over, 0)) + " left"
	if s.Open != nil {
		left = "at most " + left
	}
	return "measuring " + clockTime(over) + " of " + clockTime(p.window), left, float64(over) / float64(p.window)
}
