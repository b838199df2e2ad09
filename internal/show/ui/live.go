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
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/progress"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/regular"
	"redline/internal/run/history"
	"redline/internal/run/store"
	"redline/internal/show/chart"
	"redline/internal/show/document"
	"redline/internal/show/objective"
	"redline/internal/text"
)

// beat is how often a page of a run under way hears of it.
const beat = time.Second

// events sends what a page shows of a run while it goes on, and says when it has
// ended.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	one, err := s.find(r.Context(), r.PathValue("run"))
	for far := (*unready)(nil); errors.As(err, &far) && r.Context().Err() == nil; one, err = s.find(r.Context(), r.PathValue("run")) {
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
		if _, err := fmt.Fprintf(w, "data: %s\n\n", quoted(string(watch.page(r.Context(), time.Now())))); errors.Join(err, out.Flush()) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// quoted is a text as JSON, in one line; nothing but the page's own script reads it.
func quoted(s string) []byte {
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
		n.Stages = w.over(stages[:len(stages)-1])
	}
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, "news", n); err != nil {
		return template.HTML(template.HTMLEscapeString(err.Error()))
	}
	return template.HTML(out.String()) // a template has escaped it
}

// over are the stages that have ended, each read once.
func (w *watch) over(paths []string) (list []*run) {
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
	heldUp   float64 // share of the last second
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
		f.read(&growing{ctx: ctx, path: dir.RecordsPath(), caught: sync.OnceFunc(func() { close(f.caught) })})
	})
	f.done.Go(func() { f.readTelemetry(&growing{ctx: ctx, path: dir.TelemetryPath(), caught: func() {}}) })
	return f
}

// stop ends the reading; a nil follower reads nothing.
func (f *follower) stop() {
	if f != nil {
		f.end()
		f.done.Wait()
	}
}

func (f *follower) read(log *growing) {
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
func (f *follower) readTelemetry(log *growing) {
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
		if h := line.Host; h != nil && h.Wall > 0 {
			held := holdup.NewTimeline(h.Holdups, holdup.Threads, holdup.Machine).Held(line.At-int64(h.Wall), line.At)
			f.heldUp = float64(held) / float64(h.Wall)
		}
		f.mu.Unlock()
	}
}

// news is what a page shows of a run under way: figures as a person reads them, and
// charts.
type news struct {
	Stage, Phase, Elapsed string
	// Share is how much of the window is over, negative where that is not known;
	// Progress says it in words.
	Share    float64
	Progress string
	Tiles    []document.Tile
	// Goals are the objectives by the figures so far.
	Goals  []goal
	Server []document.Tile
	HeldUp string
	Charts []picture
	Stages []*run
}

// goal is an objective, where it stands so far, and the class of that.
type goal struct{ Name, Figure, Limit, Word, Tone string }

type picture struct {
	Title string
	SVG   template.HTML
}

// heldUpShown is the share of a second from which hold-ups are said.
const heldUpShown = 0.05

var phaseWords = map[record.Phase]string{record.Warmup: "warm-up", record.Measure: "measuring", record.Cooldown: "last replies"}

func (f *follower) news(now time.Time) news {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := news{Phase: "before the load", Share: -1}
	if f.origin.IsZero() {
		return n
	}
	elapsed := now.Sub(f.origin)
	s := f.live.Snapshot(progress.Snapshot{Elapsed: elapsed}, f.events)
	n.Phase, n.Elapsed = phaseWords[f.phase], text.Seconds(math.Round(elapsed.Seconds()))
	n.Share, n.Progress = f.progress(elapsed)
	tile := func(name string, v float64, unit, remark string) {
		if v == v {
			n.Tiles = append(n.Tiles, document.Tile{Name: name, Number: text.Number(v), Unit: unit, Remark: remark})
		}
	}
	median := func(v float64) string { return "p50 " + text.Milliseconds(v) }
	tile("ttft p99", s.TTFT.P99, "ms", median(s.TTFT.P50))
	tile("tpot p99", s.TPOT.P99, "ms", median(s.TPOT.P50))
	tile("e2e p99", s.E2E.P99, "ms", median(s.E2E.P50))
	tile("served, last 5 s", s.RequestsPerS, "requests/s", f.asked())
	tile("output, last 5 s", s.TokensPerS, "tokens/s", "of ended replies")
	tile("in flight", float64(f.past.inFlight()), "requests", "")
	tile("ended ok", float64(s.OK), "requests", fmt.Sprintf("%s failed, %s rejected", text.Count(s.Errors), text.Count(s.Rejected)))
	for _, v := range s.Objectives {
		n.Goals = append(n.Goals, goalOf(v))
	}
	if r := f.past.latest; r != nil {
		n.gauges(r)
	}
	if f.heldUp >= heldUpShown {
		n.HeldUp = fmt.Sprintf("This machine held redline up for %s of the last second: that widens the figures, and may spoil the run.", text.RoughPercent(f.heldUp))
	}
	rate := 0.0
	if f.plan != nil && f.plan.Load.Profile == "" {
		rate = f.plan.Load.Rate
	}
	for i, c := range f.past.charts(f.limits, rate) {
		n.Charts = append(n.Charts, picture{document.Capital(c.Title), template.HTML(c.SVG(fmt.Sprintf("live%d", i), liveSize))}) // a picture escapes what it is given
	}
	return n
}

// liveSize is that of a chart of which three stand side by side.
var liveSize = chart.Size{Width: 420, Height: 240}

func (n *news) gauges(r *telemetry.Reading) {
	add := func(name string, v *float64, say func(float64) string) {
		if v != nil {
			n.Server = append(n.Server, document.Tile{Name: name, Number: say(*v)})
		}
	}
	add("running", r.Running, text.Number)
	add("waiting", r.Waiting, text.Number)
	add("KV cache", r.KVUsage, text.RoughPercent)
}

// asked is the load that the plan wants.
func (f *follower) asked() string {
	switch {
	case f.plan == nil:
	case f.plan.Load.Rate > 0:
		return "asked " + text.Number(f.plan.Load.Rate)
	case f.plan.Load.Bounds.MaxConcurrency > 0:
		return text.Count(f.plan.Load.Bounds.MaxConcurrency) + " at a time"
	}
	return ""
}

// progress is how much of the window is over, negative where that is not known.
func (f *follower) progress(elapsed time.Duration) (share float64, words string) {
	if f.window == 0 || f.plan == nil || f.phase != record.Measure {
		return -1, ""
	}
	over, b := max(0, elapsed-time.Duration(f.window)), f.plan.Load.Bounds
	seconds := func(d time.Duration) string { return text.Seconds(math.Round(d.Seconds())) }
	switch {
	case b.Duration > 0:
		return min(1, over.Seconds()/b.Duration.Seconds()), seconds(min(over, b.Duration)) + " of " + seconds(b.Duration)
	case b.TotalRequests > 0:
		return min(1, float64(f.measured)/float64(b.TotalRequests)), text.Count(f.measured) + " of " + text.Plural(b.TotalRequests, "request")
	case b.MaxDuration > 0:
		return min(1, over.Seconds()/b.MaxDuration.Seconds()), seconds(over) + "; it ends once the objectives are decided, after " + seconds(b.MaxDuration) + " at most"
	}
	return -1, seconds(over) + " so far"
}

// limits are what objectives allow of a latency.
func (f *follower) limits(metric string) (list []chart.Bound) {
	for _, o := range f.live.Objectives {
		if o.Metric == metric && !o.Above && o.P > 0 && o.Scope == (slo.Scope{}) {
			list = append(list, chart.Bound{Y: o.Limit / 1e6, Text: "objective " + text.Line(o.Text)})
		}
	}
	return list
}

func goalOf(v slo.Verdict) goal {
	name, limit, _ := strings.Cut(v.Objective, "<")
	g := goal{Name: text.Line(name), Limit: "< " + text.Line(limit), Figure: text.Absent, Word: "no figure yet"}
	if v.Value == nil {
		return g
	}
	g.Name, g.Figure, g.Limit = objective.Name(v), objective.Figure(v), strings.TrimSpace(objective.Sign(v)+" "+objective.Limit(v))
	g.Word, g.Tone = "met so far", "good"
	if v.Standing == slo.Missed {
		g.Word, g.Tone = "missed so far", "bad"
	}
	return g
}

// growing is a file that may not be there yet and has more to come.
type growing struct {
	ctx  context.Context
	path string
	file *os.File
	// caught is called when there is no more at present.
	caught func()
}

// often is how often the file is looked at.
const often = 250 * time.Millisecond

func (g *growing) Read(p []byte) (int, error) {
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

func (g *growing) close() {
	if g.file != nil {
		_ = g.file.Close() // it was only read
	}
}
