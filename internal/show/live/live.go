// Package live shows a run while it goes on: it turns snapshots into a full
// screen, into one line that a terminal rewrites in place, or into a line of a
// log now and then.
package live

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/llm"
	"redline/internal/show/document"
	"redline/internal/text"
)

// Options says where a live line goes. The zero value writes plain lines.
type Options struct {
	// Terminal rewrites one line in place; else a plain line is written now
	// and then, without control characters.
	Terminal bool
	Color    bool
	// Width asks how wide the terminal is now; nil or 0 means 100 columns.
	Width func() int
	// Window is how long the measured window is meant to last, or at most where
	// it ends once its objectives are decided; 0 where only its requests are
	// counted.
	Window time.Duration
	// Screen shows a full screen in place of the line; nil does not.
	Screen *Screen
}

// Line shows a run in progress. It is safe for concurrent use.
type Line struct {
	mu       sync.Mutex
	w        io.Writer
	o        Options
	onScreen bool
	finished bool
	// next is when the next plain line is due, by the run's own clock.
	next  time.Duration
	phase string
	// measuring is when the measured window began to show.
	measuring time.Duration
	stage     *Stage   // nil in a single run
	screen    *display // nil where a line is shown
	// spoiled are the names of what was said to spoil the run.
	spoiled map[string]bool
}

// plainEvery is how far plain lines lie apart: often enough to see that a run
// is alive, seldom enough for a log.
const plainEvery = 5 * time.Second

const clearLine = "\r\x1b[K"

// NewLine makes a live line that writes to w, or takes the terminal for a full
// screen at once.
func NewLine(w io.Writer, o Options) *Line {
	l := &Line{w: w, o: o}
	if o.Screen != nil {
		l.screen = open(o.Screen, o)
	}
	return l
}

// Show brings the line up to date. What cannot be written is lost: a broken
// terminal is no reason to end a run.
func (l *Line) Show(s progress.Snapshot) {
	if l.screen != nil {
		l.screen.update(func(v *view) { v.show(s) })
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished {
		return
	}
	if s.Phase == record.Measure && l.measuring == 0 {
		l.measuring = s.Elapsed
	}
	l.warn(s.Spoils)
	if l.o.Terminal {
		l.onScreen = true
		_, _ = io.WriteString(l.w, clearLine+l.fit(l.parts(inPlace, s)))
		return
	}
	phase, every := string(s.Phase), plainEvery
	if l.stage != nil {
		phase, every = "", stageEvery
	}
	if s.Elapsed < l.next && phase == l.phase {
		return
	}
	_, _ = io.WriteString(l.w, inLog.join(l.parts(inLog, s))+"\n")
	l.phase, l.next = phase, s.Elapsed.Truncate(every)+every
}

// parts are the figures of a line, about a single run or one of several.
func (l *Line) parts(lay layout, s progress.Snapshot) []part {
	if l.stage != nil {
		return l.stageParts(lay, s)
	}
	parts := lay.parts(s, l.stretch(s))
	if why := l.reason(s); why != "" {
		parts[0].brief = parts[0].text
		parts[0].text = lay.right(clockTime(s.Elapsed), 4) + " " + why
	}
	return parts
}

// reason says why there is a warm-up or a cool-down, and how long it may last; in a
// log once, where it begins. It is "" where there is nothing to say.
func (l *Line) reason(s progress.Snapshot) string {
	if s.PhaseLimit <= 0 || !l.o.Terminal && l.phase == string(s.Phase) {
		return ""
	}
	switch s.Phase {
	case record.Warmup:
		return "warm-up until replies settle, " + clockTime(s.PhaseLimit) + " at most"
	case record.Cooldown:
		return "cool-down until the last replies end, " + clockTime(s.PhaseLimit) + " at most"
	}
	return ""
}

// Say writes a line of its own without tearing the live one. A full screen shows
// it among others, and leaves it behind when it ends.
func (l *Line) Say(line string) {
	if l.screen != nil && l.screen.say(line, true) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(line)
}

// warn says once of each thing that would spoil the run what it is.
func (l *Line) warn(spoils []string) {
	for _, one := range spoils {
		if name, _, _ := strings.Cut(one, ":"); !l.spoiled[name] {
			if l.spoiled == nil {
				l.spoiled = map[string]bool{}
			}
			l.spoiled[name] = true
			l.write("redline: " + one)
		}
	}
}

func (l *Line) write(line string) {
	lead := ""
	if l.onScreen {
		lead = clearLine
	}
	l.onScreen = false
	if l.o.Terminal && l.o.Width != nil {
		line = document.WrapWords(line, l.o.Width())
	}
	_, _ = io.WriteString(l.w, lead+line+"\n")
}

// Note is Say for a line whose news a full screen shows elsewhere.
func (l *Line) Note(line string) {
	if l.screen == nil || !l.screen.say(line, false) {
		l.Say(line)
	}
}

// Came says how many of the workers that send the load are there, 0 before the
// first. What was said since then goes once all are.
func (l *Line) Came(have, want int) {
	if l.screen != nil {
		l.screen.update(func(v *view) { v.setWorkers(have, want) })
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.o.Terminal && !l.finished {
		l.onScreen = true
		_, _ = io.WriteString(l.w, clearLine+l.fit([]part{{text: waitingForWorkers(have, want)}}))
	}
}

func waitingForWorkers(have, want int) string {
	return fmt.Sprintf("waiting: %d of %s came", have, text.Plural(want, "worker"))
}

// AddStage adds a stage that is over to what a full screen shows.
func (l *Line) AddStage(e EndedStage) {
	if l.screen != nil {
		l.screen.update(func(v *view) { v.end(e) })
	}
}

// Finish takes the line or the screen off the terminal, for good.
func (l *Line) Finish() {
	if l.screen != nil {
		l.screen.close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished = true
	if l.onScreen {
		l.onScreen = false
		_, _ = io.WriteString(l.w, clearLine)
	}
}

// part is one figure of the line. Of parts that do not fit, those of the
// highest rank go first.
type part struct {
	text string
	// brief takes the text's place where the line is too long, before any part
	// goes.
	brief string
	rank  int
	tone  document.Tone
}

// layout is how the parts of a line are set. On a terminal numbers keep their
// columns, so that the line does not dance while it is rewritten.
type layout struct {
	separator string
	columns   bool
}

var (
	inPlace = layout{"  ", true}
	inLog   = layout{" · ", false}
)

func (l layout) padRight(text string, width int) string {
	if l.columns {
		return document.PadRight(text, width)
	}
	return text
}

func (l layout) right(text string, width int) string {
	if l.columns {
		return document.PadLeft(text, width)
	}
	return text
}

func (l layout) join(parts []part) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.text
	}
	return strings.Join(texts, l.separator)
}

// inFlight is what is under way, and by how many workers where there is room.
func (l layout) inFlight(s progress.Snapshot) part {
	now := part{text: l.right(text.Count(s.InFlight), 3) + " in flight", rank: 1}
	if s.Waiting > 0 {
		now.text += " + " + text.Count(s.Waiting) + " waiting"
	}
	if s.Workers > 0 {
		now.brief = now.text
		now.text += " by " + senders(s)
	}
	if s.Lost > 0 {
		now.tone = document.Bad
	}
	return now
}

// senders are the processes that send the load, "" where this one does.
func senders(s progress.Snapshot) string {
	switch {
	case s.Workers == 0:
		return ""
	case s.Lost > 0:
		return fmt.Sprintf("%s, %d lost", text.Plural(s.Workers, "worker"), s.Lost)
	}
	return text.Plural(s.Workers, "worker")
}

func (l layout) parts(s progress.Snapshot, stretch string) []part {
	errors := part{text: "0 errors", rank: 7}
	if n := s.Of(llm.Failures); n > 0 {
		errors = part{text: text.Plural(n, "error"), rank: 2, tone: document.Bad}
	}
	parts := []part{{text: l.right(clockTime(s.Elapsed), 4) + " " + l.padRight(stretch, maxStretch)}}
	if s.Open != nil && s.Phase == record.Measure {
		parts = append(parts, part{text: openObjectives(s.Open), brief: firstOpen(s.Open), rank: 3})
	}
	parts = append(parts, []part{
		l.inFlight(s),
		{text: l.right(text.Figure(s.RequestsPerS), 4) + " req/s", rank: 4},
		{text: l.right(text.Figure(s.TokensPerS), 6) + " tok/s", rank: 6},
		{text: l.ttft(s), rank: 5},
	}...)
	parts = append(parts, otherCounts(s, 2)...)
	if s.HeldUp >= progress.HeldUpShown {
		parts = append(parts, part{text: "held up " + text.RoughPercent(s.HeldUp), rank: 3, tone: document.Weak})
	}
	return append(parts, errors)
}

// openObjectives names what the run goes on for.
func openObjectives(open []string) string {
	if len(open) == 0 {
		return "all decided"
	}
	return "still open: " + strings.Join(open, ", ")
}

// firstOpen is the same in brief.
func firstOpen(open []string) string {
	if len(open) < 2 {
		return openObjectives(open)
	}
	return fmt.Sprintf("still open: %s + %d more", open[0], len(open)-1)
}

// maxStretch keeps the figures behind the phase in their columns.
const maxStretch = len("measuring 40s/60s")

// stretch says where in the run it is: only the window has a length that is
// known beforehand.
func (l *Line) stretch(s progress.Snapshot) string {
	switch s.Phase {
	case record.Warmup:
		return "warm-up"
	case record.Cooldown:
		return "cool-down"
	case record.Measure:
		if l.o.Window > 0 {
			return "measuring " + clockTime(s.Elapsed-l.measuring) + "/" + clockTime(l.o.Window)
		}
		return "measuring"
	}
	return "starting"
}

func (l layout) ttft(s progress.Snapshot) string {
	if math.IsNaN(s.TTFT.P50) || math.IsNaN(s.TTFT.P99) {
		return noReply(s)
	}
	unit, by := text.TimeUnit(s.TTFT.P99)
	return "ttft p50 " + l.right(text.Figure(s.TTFT.P50/by), 4) + " p99 " + l.right(text.Figure(s.TTFT.P99/by), 4) + " " + unit
}

// noReply says that there is no ttft yet: a request counts when it has ended.
func noReply(s progress.Snapshot) string {
	if s.TokensPerS > 0 {
		return "no reply has ended yet"
	}
	return "no reply yet"
}

// clockTime is whole seconds, or minutes and seconds from two minutes on.
func clockTime(d time.Duration) string {
	whole := int64(d / time.Second)
	if whole < 120 {
		return fmt.Sprintf("%ds", whole)
	}
	return fmt.Sprintf("%dm%02ds", whole/60, whole%60)
}

// fit sets the parts for the terminal, whose last column stays free: a line that
// fills it wraps on some terminals and can no longer be rewritten.
func (l *Line) fit(parts []part) string {
	width := 0
	if l.o.Width != nil {
		width = l.o.Width()
	}
	if width <= 0 {
		width = 100
	}
	paint := noPaint
	if l.o.Color {
		paint = inColor
	}
	return fit(parts, width, paint)
}

// fit drops parts until they are narrower than width.
func fit(parts []part, width int, paint painter) string {
	if document.Visible(inPlace.join(parts)) >= width {
		for i, part := range parts {
			parts[i].text = cmp.Or(part.brief, part.text)
		}
	}
	for len(parts) > 1 && document.Visible(inPlace.join(parts)) >= width {
		last := 0
		for i, part := range parts {
			if part.rank >= parts[last].rank {
				last = i
			}
		}
		parts = append(parts[:last:last], parts[last+1:]...)
	}
	if line := inPlace.join(parts); document.Visible(line) >= width {
		head, _ := document.Cut(line, width-1)
		return head
	}
	for i := range parts {
		parts[i].text = paint(parts[i].tone, parts[i].text)
	}
	return inPlace.join(parts)
}
