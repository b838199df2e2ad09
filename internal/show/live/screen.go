package live

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"redline/internal/show/document"
)

// Terminal is one that a screen can take over and give back.
type Terminal interface {
	io.Writer
	Size() (width, height int) // 0 where it is not known
	// Keys gives what was typed since the last call, without waiting for more.
	Keys() []byte
	// Restore gives it back as it was found.
	Restore()
}

// Screen says how a full screen is shown.
type Screen struct {
	Terminal Terminal
	Color    bool
	Title    string
	Panel    Panel
	// Sides name the two servers of a comparison.
	Sides [2]string
	// Stop does what Ctrl-C does.
	Stop func()
	// Stopping is closed by the first interrupt; Gone by the second, which ends
	// the screen before another can kill the process and leave the terminal as it
	// is.
	Stopping, Gone <-chan struct{}
}

// frameEvery is how often the screen is drawn and the keyboard is asked: four
// times a second, by one goroutine.
const frameEvery = 250 * time.Millisecond

// maxMessages bounds the lines that a screen leaves behind.
const maxMessages = 2000

const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J" // another page, no cursor, no wrapping
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// display is a screen while it is shown.
type display struct {
	Screen
	out io.Writer // for what it leaves behind

	mu     sync.Mutex
	view   view
	still  *view // what a frozen screen shows
	log    []string
	closed bool

	began time.Time
	quit  chan struct{}
	done  sync.WaitGroup
	// The last frame; only its goroutine knows of it.
	rows          []string
	width, height int
}

// open takes the terminal and begins to draw.
func open(s *Screen, o Options) *display {
	d := &display{Screen: *s, out: s.Terminal, began: time.Now(), quit: make(chan struct{})}
	d.view = view{title: s.Title, panel: s.Panel, sides: s.Sides, window: o.Window}
	d.view.restart()
	_, _ = io.WriteString(d.Terminal, enterScreen)
	d.done.Go(d.run)
	return d
}

func (d *display) run() {
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	stopping := d.Stopping
	d.frame()
	for {
		select {
		case <-tick.C:
			for _, key := range d.Terminal.Keys() {
				d.press(key)
			}
			d.frame()
		case <-stopping:
			stopping = nil
			d.update(func(v *view) { v.stopping = true })
			d.frame()
		case <-d.Gone:
			d.leave()
			return
		case <-d.quit:
			d.leave()
			return
		}
	}
}

// press does what a key asks for.
func (d *display) press(key byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch key {
	case 'q', 'Q':
		d.Stop()
	case 'p', 'P':
		d.view.frozen = !d.view.frozen
		d.still = nil
		if d.view.frozen {
			d.still = d.view.clone()
		}
	case '?', 'h':
		d.view.help = !d.view.help
	}
}

func (d *display) update(change func(*view)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.view)
}

// say keeps a line, and shows it where it is no part of what is shown anyway. It
// reports whether there is a screen to keep it.
func (d *display) say(line string, shown bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	if d.log = append(d.log, line); len(d.log) > maxMessages {
		d.log = d.log[1:]
	}
	if shown {
		d.view.messageLog = append(d.view.messageLog[max(len(d.view.messageLog)-9, 0):], line)
	}
	return true
}

// frame writes the rows that have changed, all at once.
func (d *display) frame() {
	width, height := d.Terminal.Size()
	if width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	var out strings.Builder
	if width != d.width || height != d.height {
		d.width, d.height, d.rows = width, height, nil
		out.WriteString("\x1b[2J")
	}
	rows := d.picture(width, height)
	for i := range max(len(rows), len(d.rows)) {
		row := ""
		if i < len(rows) {
			row = rows[i]
		}
		if i >= len(d.rows) || d.rows[i] != row {
			fmt.Fprintf(&out, "\x1b[%d;1H%s", i+1, row)
			if document.Visible(row) < width { // else it would clear the last column
				out.WriteString("\x1b[K")
			}
		}
	}
	d.rows = rows
	if out.Len() > 0 { // between marks by which a terminal shows it in one go
		_, _ = io.WriteString(d.Terminal, "\x1b[?2026h"+out.String()+"\x1b[?2026l")
	}
}

func (d *display) picture(width, height int) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view.total = time.Since(d.began)
	shown := &d.view
	if d.still != nil {
		shown = d.still
		shown.help, shown.stopping = d.view.help, d.view.stopping
	}
	return shown.lines(width, height, d.Color)
}

// leave gives the terminal back, with what was said on the way.
func (d *display) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.closed = true
	_, _ = io.WriteString(d.Terminal, leaveScreen)
	d.Terminal.Restore()
	width, _ := d.Terminal.Size()
	for _, line := range d.log {
		_, _ = io.WriteString(d.Terminal, document.WrapWords(line, width)+"\n")
	}
}

// close ends the screen and waits for it.
func (d *display) close() {
	d.mu.Lock()
	select {
	case <-d.quit:
	default:
		close(d.quit)
	}
	d.mu.Unlock()
	d.done.Wait()
}
