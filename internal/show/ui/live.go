package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/regular"
	"redline/internal/run/store"
	"redline/internal/text"
)

// beat is how often a page of a run under way hears of it.
const beat = time.Second

// events sends the figures of a run while it goes on, and says when it has ended.
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
	var f *follower
	defer func() { f.stop() }()
	for {
		path := filepath.FromSlash(one.Path)
		if store.Writer(path) == "" {
			_, _ = io.WriteString(w, "event: end\ndata: {}\n\n")
			return
		}
		if at := stageOf(path); f == nil || f.path != at {
			f.stop()
			f = follow(r.Context(), at)
			select {
			case <-f.caught:
			case <-time.After(often): // the log is long
			}
		}
		data, err := json.Marshal(f.news(time.Now()))
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n\n", data)
		}
		if errors.Join(err, out.Flush()) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// stageOf is the directory that is being written to: the newest stage of an
// experiment, else the run's own.
func stageOf(path string) string {
	if stages := (&store.Dir{Path: path}).Stages(); len(stages) > 0 {
		return stages[len(stages)-1]
	}
	return path
}

// follower reads a record log while it grows.
type follower struct {
	path string
	live progress.Live
	end  context.CancelFunc
	done chan struct{}
	// caught is closed once what the log held at first is read.
	caught chan struct{}

	mu     sync.Mutex
	origin time.Time
	phase  record.Phase
	events int64
	past   timeline
}

// follow begins to read the log of a run directory.
func follow(ctx context.Context, path string) *follower {
	ctx, end := context.WithCancel(ctx)
	f := &follower{path: path, end: end, done: make(chan struct{}), caught: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.read(&growing{ctx: ctx, path: (&store.Dir{Path: path}).RecordsPath(), caught: sync.OnceFunc(func() { close(f.caught) })})
	}()
	return f
}

// stop ends the reading; a nil follower reads nothing.
func (f *follower) stop() {
	if f != nil {
		f.end()
		<-f.done
	}
}

func (f *follower) read(log *growing) {
	defer log.close()
	r, err := record.NewReader(log)
	if err != nil {
		return
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
		f.phase = one.Phase
		f.events += int64(one.ChunkCount())
		f.past.add(one)
		f.mu.Unlock()
	}
}

// news is what a page hears of a run: figures as a person reads them, and the
// points of lines over time.
type news struct {
	Figures map[string]string `json:"figures"`
	Lines   map[string]string `json:"lines,omitempty"`
}

func (f *follower) news(now time.Time) news {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.origin.IsZero() {
		return news{Figures: map[string]string{"phase": "before the load"}}
	}
	s := f.live.Snapshot(progress.Snapshot{Elapsed: now.Sub(f.origin)}, f.events)
	list := map[string]string{
		"phase":   map[record.Phase]string{record.Warmup: "warm-up", record.Measure: "measuring", record.Cooldown: "cool-down"}[f.phase],
		"elapsed": text.Seconds(math.Round(s.Elapsed.Seconds())), "ok": text.Count(s.OK), "failed": text.Count(s.Errors), "rejected": text.Count(s.Rejected),
		"requests": text.Number(s.RequestsPerS), "tokens": text.Number(s.TokensPerS),
	}
	if stage := filepath.Base(f.path); filepath.Base(filepath.Dir(f.path)) == store.StagesDir {
		list["stage"] = stage
	}
	list["spoils"] = strings.Join((&store.Dir{Path: f.path}).Spoils(), " · ")
	for name, v := range map[string]float64{"ttft50": s.TTFT.P50, "ttft99": s.TTFT.P99, "tpot50": s.TPOT.P50, "tpot99": s.TPOT.P99, "e2e99": s.E2E.P99} {
		if v == v {
			list[name] = text.Number(v)
		}
	}
	return news{list, f.past.lines()}
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
