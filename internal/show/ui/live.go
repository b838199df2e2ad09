package ui

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/regular"
	"redline/internal/run/history"
	"redline/internal/store"
)

// beat is how often a page of a run under way hears of it.
const beat = time.Second

// events sends what a page shows of a run while it goes on, and says when it has
// ended.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	one, err := s.find(r.Context(), r.PathValue("run"))
	for far := (*unreadyError)(nil); errors.As(err, &far) && r.Context().Err() == nil; one, err = s.find(r.Context(), r.PathValue("run")) {
		<-tick.C // a browser that is refused does not ask again
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	watch := &watch{path: filepath.FromSlash(one.Path)}
	defer watch.stop()
	for {
		if store.Writer(watch.path) == "" {
			_, _ = io.WriteString(w, "event: end\ndata: {}\n\n")
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", quoteJSON(string(watch.page(r.Context(), time.Now())))); errors.Join(err, out.Flush()) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// quoteJSON is a text as JSON, in one line; nothing but the page's own script reads it.
func quoteJSON(s string) []byte {
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false) // which would be half of it
	_ = to.Encode(s)        // a text can always be written
	return bytes.TrimSpace(out.Bytes())
}

// watch follows a run under way, from stage to stage where it has several.
type watch struct {
	path  string
	f     *follower
	ended map[string]*history.Entry // stages that are over, by their directories
}

func (w *watch) stop() { w.f.stop() }

// news is what a page shows of a run under way before it hears more.
func (r *run) news(ctx context.Context) template.HTML {
	w := &watch{path: filepath.FromSlash(r.Path)}
	defer w.stop()
	return w.page(ctx, time.Now())
}

// page is what a page shows of the run now.
func (w *watch) page(ctx context.Context, now time.Time) template.HTML {
	stages := (&store.Dir{Path: w.path}).Stages()
	at := w.path
	if len(stages) > 0 {
		at = stages[len(stages)-1]
	}
	if w.f == nil || w.f.path != at {
		w.f.stop()
		w.f = follow(ctx, at)
		select {
		case <-w.f.caught:
		case <-time.After(often): // the log is long
		}
	}
	n := w.f.news(now)
	if len(stages) > 0 {
		n.Stage = filepath.Base(at)
		n.Stages = w.endedStages(stages[:len(stages)-1])
	}
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, "news", n); err != nil {
		return template.HTML(template.HTMLEscapeString(err.Error()))
	}
	return template.HTML(out.String()) // a template has escaped it
}

// endedStages reads each of the stages that are over once.
func (w *watch) endedStages(paths []string) (list []*run) {
	if w.ended == nil {
		w.ended = map[string]*history.Entry{}
	}
	for _, path := range paths {
		e, known := w.ended[path]
		if !known {
			if res, err := (&store.Dir{Path: path}).Outline(); err == nil {
				e = history.EntryOf(res)
				w.ended[path] = e
			}
		}
		if e != nil {
			list = append(list, &run{Dir: filepath.Base(path), Entry: e})
		}
	}
	return list
}

// follower reads the logs of a run while they grow.
type follower struct {
	path string
	live progress.Live
	end  context.CancelFunc
	done sync.WaitGroup
	// caught is closed once what the log held at first is read.
	caught chan struct{}
	plan   *config.Config // nil where it cannot be read

	mu       sync.Mutex
	origin   time.Time
	phase    record.Phase // of the request that was due last
	latest   int64        // when that was
	window   int64        // when the first request of the window was due, 0 before
	measured int          // requests of the window that have ended
	events   int64
	spoils   []string // what would spoil the run were it over
	open     map[int]bool
	past     timeline
}

// follow begins to read the logs of a run directory.
func follow(ctx context.Context, path string) *follower {
	ctx, end := context.WithCancel(ctx)
	dir := &store.Dir{Path: path}
	f := &follower{path: path, end: end, caught: make(chan struct{}), open: map[int]bool{}}
	if plan, err := config.Reopen(dir.PlanPath()); err == nil {
		f.plan, f.live.Objectives = plan, plan.Objectives
	}
	f.done.Go(func() {
		f.read(&growingFile{ctx: ctx, path: dir.RecordsPath(), caught: sync.OnceFunc(func() { close(f.caught) })})
	})
	f.done.Go(func() { f.readTelemetry(&growingFile{ctx: ctx, path: dir.TelemetryPath(), caught: func() {}}) })
	return f
}

// stop ends the reading; a nil follower reads nothing.
func (f *follower) stop() {
	if f != nil {
		f.end()
		f.done.Wait()
	}
}

func (f *follower) read(log *growingFile) {
	defer log.close()
	r, err := record.NewReader(log)
	if err != nil {
		return
	}
	r.Opened = func(one *record.Record) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.begin(one)
	}
	f.mu.Lock()
	f.origin = time.Unix(0, r.Header.OriginUnixNS)
	f.mu.Unlock()
	for one, err := range r.All() {
		if err != nil || log.ctx.Err() != nil {
			return
		}
		f.live.Observe(one)
		f.mu.Lock()
		f.begin(one)
		delete(f.open, one.ID)
		f.events += int64(one.ChunkCount())
		if one.Phase == record.Measure {
			f.measured++
		}
		f.past.add(one)
		f.mu.Unlock()
	}
}

// begin takes in a request once.
func (f *follower) begin(r *record.Record) {
	if f.open[r.ID] {
		return
	}
	f.open[r.ID] = true
	f.past.begin(r)
	if r.Due >= f.latest {
		f.latest, f.phase = r.Due, r.Phase
	}
	if r.Phase == record.Measure && (f.window == 0 || r.Due < f.window) {
		f.window = r.Due
	}
}

// readTelemetry takes in what the server and this machine say of themselves.
func (f *follower) readTelemetry(log *growingFile) {
	defer log.close()
	lines := bufio.NewReader(log)
	for {
		content, err := lines.ReadBytes('\n')
		if err != nil || log.ctx.Err() != nil {
			return
		}
		var line telemetry.Line
		if json.Unmarshal(content, &line) != nil {
			continue
		}
		f.mu.Lock()
		if line.Server != nil && line.Server.Reading != nil {
			f.past.gauge(line.At, line.Server.Reading)
		}
		if line.Spoils != nil {
			f.spoils = *line.Spoils
		}
		f.mu.Unlock()
	}
}

// growingFile is a file that may not be there yet and has more to come.
type growingFile struct {
	ctx  context.Context
	path string
	file *os.File
	// caught is called when there is no more at present.
	caught func()
}

// often is how often the file is looked at.
const often = 250 * time.Millisecond

func (g *growingFile) Read(p []byte) (int, error) {
	for {
		if g.file == nil {
			g.file, _ = regular.Open(g.path) // it may come
		}
		if g.file != nil {
			if n, err := g.file.Read(p); n > 0 || err != nil && !errors.Is(err, io.EOF) {
				return n, err
			}
		}
		g.caught()
		select {
		case <-g.ctx.Done():
			return 0, io.EOF
		case <-time.After(often):
		}
	}
}

func (g *growingFile) close() {
	if g.file != nil {
		_ = g.file.Close() // it was only read
	}
}
