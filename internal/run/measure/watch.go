package measure

import (
	"context"
	"fmt"
	"sync/atomic"

	"redline/internal/drive/client"
	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/judge/validity"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/store"
)

// watch looks at this machine and at the server's own metrics while a run goes
// on. What it cannot see never stops the run.
type watch struct {
	log       *store.Telemetry // nil where it could not be written
	host      *telemetry.Host
	server    *telemetry.Scraper // nil where the server shows no metrics
	boards    *boards            // nil where no accelerators are watched
	pages     *Pages             // nil likewise
	unread    string             // why the pages that the plan names are not read
	firstRead int64              // when the page before the load was read
	ended     int64              // when the page after it was
	sent      atomic.Int64       // requests put on the wire meanwhile
	cut       atomic.Int64       // of those, not answered when the run was over
	earlier   int64              // cut off by the run before, which the server may end meanwhile
}

// startWatch begins to look, with a page of the server's metrics from before
// the load.
func (r *run) startWatch(ctx context.Context) *watch {
	w := &watch{earlier: r.target.cut}
	unixNS, monoNS := r.clock.Origin()
	log, err := r.dir.StartTelemetry(telemetry.Header{Run: r.id, OriginUnixNS: unixNS, OriginMonoNS: monoNS, Subject: r.subject()}, r.Config.Mask())
	if err != nil {
		r.say("%v; the run goes on without a telemetry log", err)
	}
	w.log = log
	w.host = telemetry.WatchHostTo(r.clock, w.lines(), r.target.late)
	if r.Config.Telemetry.Scrapes() {
		r.watchServer(ctx, w)
	}
	w.boards = r.watchAccelerators(ctx, w.lines())
	w.firstRead = r.clock.Now()
	return w
}

// watchServer begins to read the server's metrics, where there are any.
func (r *run) watchServer(ctx context.Context, w *watch) {
	spec := r.Config.Telemetry
	if r.Config.Embedded() {
		spec.MetricsURLs = nil
	}
	pages, err := OpenPages(r.target.client, r.Config.Provider, spec, client.Options{Clock: r.clock, Dial: r.Dial})
	if err == nil {
		if _, err = pages.Recognize(ctx); err != nil {
			pages.Close()
		}
	}
	if err != nil {
		// There need not be a page beside the API.
		if len(spec.MetricsURLs) > 0 {
			w.unread = fmt.Sprintf("the server's metrics cannot be read: %v", err)
			r.say("%s; the run goes on without them", w.unread)
		}
		return
	}
	w.pages = pages
	w.server = telemetry.WatchServer(r.clock, telemetry.ScrapeOptions{Fetch: pages.Fetch, Every: spec.Interval, Log: w.lines()})
	w.server.Now(ctx)
}

// sharesHost reports whether the server runs on this machine: not so in virtual
// time, where the machine's own says nothing.
func (r *run) sharesHost() bool { return r.target.client.Local() && r.Dial == nil }

// subject is what a report of the run has to name, even if the run is killed.
func (r *run) subject() *telemetry.Subject {
	about := r.target.about
	return &telemetry.Subject{Command: r.Command, Version: r.Version, Model: r.target.model, Engine: about.Name,
		EngineVersion: about.Version, API: about.API, URL: about.URL, SharesHost: r.sharesHost(), Facts: &r.target.facts}
}

// lines is where telemetry goes; a nil log takes lines and drops them.
func (w *watch) lines() *telemetry.Log {
	if w.log == nil {
		return nil
	}
	return w.log.Log
}

func (w *watch) count(rec *record.Record) {
	if rec.Sent != 0 {
		w.sent.Add(int64(max(1, rec.Try)))
		if rec.Outcome.Count().Judged == llm.ByProgress {
			w.cut.Add(1)
		}
	}
}

func (w *watch) stop(ctx context.Context, now func() int64) error {
	if w.server != nil {
		w.server.Now(context.WithoutCancel(ctx))
		w.server.Stop()
		w.pages.Close()
	}
	w.ended = now()
	w.boards.stop()
	w.host.Stop()
	if w.log == nil {
		return nil
	}
	return w.log.Close()
}

// gauges are what the server and its accelerators last said, for the live view.
func (w *watch) gauges() (g progress.Gauges) {
	if w.server != nil {
		if last := w.server.Last(); last != nil {
			g.Running, g.Waiting, g.KVUsage = last.Running, last.Waiting, last.KVUsage
		}
	}
	if w.boards != nil && w.boards.watch != nil {
		g.Watts, g.Utilization = w.boards.watch.Last().Power()
	}
	return g
}

// serverUse is the server's own account of a stretch, nil where it gives none.
func (w *watch) serverUse(start, end int64) *telemetry.ServerUse {
	if w.server == nil {
		return nil
	}
	return new(w.server.Over(start, end))
}

// config is how the server says it is set up, by its page from before the load.
func (w *watch) config() map[string]string {
	if w.server == nil {
		return nil
	}
	return w.server.Over(0, w.firstRead).Config
}

// scrapes are all readings of the server's metrics.
func (w *watch) scrapes() []telemetry.Scrape {
	if w.server == nil {
		return nil
	}
	return w.server.Scrapes()
}

// traffic lays the server's count of requests beside ours.
func (w *watch) traffic() *validity.Traffic {
	if w.server == nil {
		return nil
	}
	theirs := w.server.Over(w.firstRead, w.ended).Requests
	if theirs == nil {
		return nil
	}
	return &validity.Traffic{Ours: float64(w.earlier + w.sent.Load()), Theirs: *theirs}
}
