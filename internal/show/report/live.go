package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
)

// LiveOptions says where a live line goes. The zero value writes plain lines.
type LiveOptions struct {
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
}

// LiveLine shows a run while it goes on. It is safe for concurrent use.
type LiveLine struct {
	mu       sync.Mutex
	w        io.Writer
	o        LiveOptions
	onScreen bool
	finished bool
	// next is when the next plain line is due, by the run's own clock.
	next  time.Duration
	phase string
	// measuring is when the measured window began to show.
	measuring time.Duration
	stage     *LiveStage // nil in a single run
}

// plainEvery is how far plain lines lie apart: often enough to see that a run
// is alive, seldom enough for a log.
const plainEvery = 5 * time.Second

const clearLine = "\r\x1b[K"

// NewLiveLine makes a live line that writes to w.
func NewLiveLine(w io.Writer, o LiveOptions) *LiveLine { return &LiveLine{w: w, o: o} }

// Show brings the line up to date. What cannot be written is lost: a broken
// terminal is no reason to end a run.
func (l *LiveLine) Show(s metric.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished {
		return
	}
	if s.Phase == record.Measure && l.measuring == 0 {
		l.measuring = s.Elapsed
	}
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
	l.phase, l.next = phase, s.Elapsed.Truncate(every)+every
	_, _ = io.WriteString(l.w, inLog.join(l.parts(inLog, s))+"\n")
}

// parts are the figures of a line, about a single run or one of several.
func (l *LiveLine) parts(lay layout, s metric.Snapshot) []livePart {
	if l.stage != nil {
		return l.stageParts(lay, s)
	}
	return lay.parts(s, l.stretch(s))
}

// Say writes a line of its own without tearing the live one.
func (l *LiveLine) Say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lead := ""
	if l.onScreen {
		lead = clearLine
	}
	l.onScreen = false
	_, _ = io.WriteString(l.w, lead+line+"\n")
}

// Finish takes the line off the terminal, for good.
func (l *LiveLine) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished = true
	if l.onScreen {
		l.onScreen = false
		_, _ = io.WriteString(l.w, clearLine)
	}
}

// livePart is one figure of the line. Of parts that do not fit, those of the
// highest rank go first.
type livePart struct {
	text string
	// brief takes the text's place where the line is too long, before any part
	// goes.
	brief string
	rank  int
	tone  tone
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

func (l layout) left(text string, width int) string {
	if l.columns {
		return padRight(text, width)
	}
	return text
}

func (l layout) right(text string, width int) string {
	if l.columns {
		return padLeft(text, width)
	}
	return text
}

func (l layout) join(parts []livePart) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.text
	}
	return strings.Join(texts, l.separator)
}

func (l layout) parts(s metric.Snapshot, stretch string) []livePart {
	inFlight := l.right(count(s.InFlight), 3) + " in flight"
	if s.Waiting > 0 {
		inFlight += " + " + count(s.Waiting) + " waiting"
	}
	errors := livePart{text: "0 errors", rank: 7}
	if s.Errors > 0 {
		errors = livePart{text: strings.ReplaceAll(plural(s.Errors, "error"), hard, " "), rank: 2, tone: bad}
	}
	parts := []livePart{{text: l.right(clockTime(s.Elapsed), 4) + " " + l.left(stretch, widestStretch)}}
	if s.Open != nil && s.Phase == record.Measure {
		parts = append(parts, livePart{text: openObjectives(s.Open), brief: firstOpen(s.Open), rank: 3})
	}
	parts = append(parts, []livePart{
		{text: inFlight, rank: 1},
		{text: l.right(figure(s.RequestsPerS), 4) + " req/s", rank: 4},
		{text: l.right(figure(s.TokensPerS), 6) + " tok/s", rank: 6},
		{text: l.ttft(s), rank: 5},
	}...)
	if s.Rejected > 0 {
		parts = append(parts, livePart{text: count(s.Rejected) + " rejected", rank: 2, tone: bad})
	}
	return append(parts, errors)
}

// openObjectives names what the run goes on for.
func openObjectives(open []string) string {
	if len(open) == 0 {
		return "all decided"
	}
	return "open: " + strings.Join(open, ", ")
}

// firstOpen is the same in brief.
func firstOpen(open []string) string {
	if len(open) < 2 {
		return openObjectives(open)
	}
	return fmt.Sprintf("open: %s + %d more", open[0], len(open)-1)
}

// widestStretch keeps the figures behind the phase in their columns.
const widestStretch = len("measuring 40s/60s")

// stretch says where in the run it is: only the window has a length that is
// known beforehand.
func (l *LiveLine) stretch(s metric.Snapshot) string {
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

func (l layout) ttft(s metric.Snapshot) string {
	if math.IsNaN(s.TTFTp50) || math.IsNaN(s.TTFTp99) {
		return "no ttft yet"
	}
	return "ttft p50 " + l.right(figure(s.TTFTp50), 4) + " p99 " + l.right(figure(s.TTFTp99), 4) + " ms"
}

// clockTime is whole seconds, or minutes and seconds from two minutes on.
func clockTime(d time.Duration) string {
	whole := int64(d / time.Second)
	if whole < 120 {
		return fmt.Sprintf("%ds", whole)
	}
	return fmt.Sprintf("%dm%02ds", whole/60, whole%60)
}

// fit drops parts until the line leaves the terminal's last column free: a
// line that fills it wraps on some terminals and can no longer be rewritten.
func (l *LiveLine) fit(parts []livePart) string {
	width := 0
	if l.o.Width != nil {
		width = l.o.Width()
	}
	if width <= 0 {
		width = maxWidth
	}
	if visible(inPlace.join(parts)) >= width {
		for i, part := range parts {
			parts[i].text = cmp.Or(part.brief, part.text)
		}
	}
	for len(parts) > 1 && visible(inPlace.join(parts)) >= width {
		last := 0
		for i, part := range parts {
			if part.rank >= parts[last].rank {
				last = i
			}
		}
		parts = append(parts[:last:last], parts[last+1:]...)
	}
	if line := inPlace.join(parts); visible(line) >= width {
		head, _ := cut(line, width-1)
		return head
	}
	p := page{color: l.o.Color}
	for i := range parts {
		parts[i].text = p.paint(parts[i].tone, parts[i].text)
	}
	return inPlace.join(parts)
}
