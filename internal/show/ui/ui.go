// Package ui shows a directory of runs in a browser: it takes the directory and
// serves pages of its runs, their reports, comparisons, frontiers, drift and
// capacity, each with a URL and the command that prints the same, and starts
// and stops runs for whoever has its token. It computes no figure: every answer
// is that of the command it names. Nothing leaves the machine.
package ui

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"redline/internal/show/document"
	"redline/internal/text"
)

// Options are what the pages are made of.
type Options struct {
	// Root is the directory of the runs, as commands name it.
	Root string
	// ReadOnly refuses whatever changes anything.
	ReadOnly bool
	// Program is this program, which runs are started with.
	Program string
	Version string
}

// Server serves the pages.
type Server struct {
	Options
	guard
	pages *http.ServeMux

	life    context.Context              // ends with Serve
	index   sync.Mutex                   // one request at a time uses the index of the runs
	reading atomic.Pointer[unreadyError] // while new runs are read into it
	readers sync.WaitGroup               // those that read them

	mu  sync.Mutex
	job *job // the newest run that was started here; nil for none
	fit *fit // the newest engine that was fitted here; nil for none
}

//go:embed pages.html static
var files embed.FS

var templates = template.Must(template.New("").ParseFS(files, "pages.html"))

// New makes the server of the pages that a listener at that address is for.
func New(o Options, listen net.Addr) *Server {
	s := &Server{Options: o, guard: newGuard(listen, rand.Text()), pages: http.NewServeMux(), life: context.Background()}
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET /{$}":              s.list,
		"GET /run/{run}":        s.run,
		"GET /run/{run}/events": s.events,
		"GET /compare":          s.compare,
		"GET /frontier":         s.frontier,
		"GET /drift":            s.drift,
		"GET /capacity":         s.capacities,
		"GET /capacity/{run}":   s.capacity,
		"GET /start":            s.startForm,
		"GET /static/{name}":    s.static,
		"POST /start":           s.start,
		"POST /run/{run}/stop":  s.stop,
		"POST /run/{run}/pin":   s.pin,
		"POST /run/{run}/unpin": s.pin,
		"GET /":                 s.unknown,
		"GET /favicon.ico":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	} {
		s.pages.HandleFunc(pattern, serve)
	}
	return s
}

// URL is where the pages are, with the token that changes need.
func (s *Server) URL() string {
	if s.ReadOnly && !s.closed {
		return "http://" + s.site.Address + "/"
	}
	return "http://" + s.site.Address + "/?token=" + s.token
}

// headerPatience is how long a browser may take for the head of a request.
const headerPatience = 5 * time.Second

// Serve answers until the context ends, and leaves no run behind that it started.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, end := context.WithCancel(ctx)
	s.life = ctx
	defer s.readers.Wait()
	defer end() // also where the listener fails
	s.readers.Go(func() {
		_, _ = s.runs(ctx) // the index begins before the first visit, which hears what is wrong
		<-ctx.Done()
	})
	server := &http.Server{Handler: s, ReadHeaderTimeout: headerPatience, MaxHeaderBytes: 1 << 16,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	defer s.endJob()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// view is a page before it is laid out.
type view struct {
	Title string
	// Place is the part of the site that it belongs to, as its address begins.
	Place string
	// Commands print the same.
	Commands []string
	// May says that whoever asks may change things, and Why not.
	May  bool
	Why  string
	Root string
	// Refresh is after how many seconds a page without script is asked for again,
	// and Always one with script too.
	Refresh int
	Always  bool
	Version string
	Content template.HTML
}

// show lays a template out within the page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, v view, name string, data any) {
	s.showAs(w, r, http.StatusOK, v, name, data)
}

func (s *Server) showAs(w http.ResponseWriter, r *http.Request, status int, v view, name string, data any) {
	v.Root, v.Version = s.Root, s.Version
	v.Place, _, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	v.May, v.Why = s.mayChange(r)
	var content, page bytes.Buffer
	err := templates.ExecuteTemplate(&content, name, map[string]any{"View": v, "Data": data})
	if err == nil {
		v.Content = template.HTML(content.String()) // a template has escaped it
		err = templates.ExecuteTemplate(&page, "page", v)
	}
	if err != nil {
		http.Error(w, "the page cannot be made: "+text.Line(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes())
}

// fail shows what went wrong.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, commands []string, err error) {
	if u := (*unreadyError)(nil); errors.As(err, &u) {
		s.showAs(w, r, http.StatusAccepted, view{Title: "not yet", Commands: commands, Refresh: 1, Always: true}, "unready", map[string]any{"Said": u.text, "Done": u.done, "Total": u.total})
		return
	}
	s.showAs(w, r, status, view{Title: "not shown", Commands: commands}, "failure", text.Clean(err.Error()))
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, http.StatusNotFound, nil, errors.New("there is no such page"))
}

// static serves the style sheets and the script.
func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, err := files.ReadFile("static/" + name)
	kind := map[string]string{"ui.css": "text/css", "ui.js": "text/javascript"}[name]
	switch name {
	case "page.css":
		content, kind, err = []byte(document.Style()), "text/css", nil
	case "charts.js":
		content, kind, err = []byte(document.Script()), "text/javascript", nil
	}
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write(content)
}

// renderFragment is a document as a part of a page. The script draws the charts of the
// first one.
func renderFragment(d *document.Document, number int) (template.HTML, error) {
	var out bytes.Buffer
	prefix := ""
	if number > 0 {
		prefix = fmt.Sprintf("d%d-", number)
	}
	err := document.Fragment(&out, d, prefix)
	return template.HTML(out.String()), err // the document's template has escaped it
}
