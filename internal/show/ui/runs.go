package ui

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/history"
	"redline/internal/show/document"
	"redline/internal/show/listing"
	"redline/internal/store"
	"redline/internal/text"
)

// The states of a run that the index does not have.
const (
	running = "running"
	killed  = "killed"
	broken  = "broken"
)

// run is a run directory. Pages name it by its key, which no file name is made
// of: what is not in the list cannot be asked for.
type run struct {
	Key string
	// Path is how a command names it, Dir where it is below the root.
	Path, Dir string
	Entry     *history.Entry // nil where the index does not have it
	// State is running, killed or broken, "" for a finished run; Reason says by
	// whom or why.
	State, Reason string
	Started       time.Time
	Trend         *trend // nil where it has no throughput
}

// Key is how pages name the run of a directory below the root.
func Key(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

func (s *Server) newRun(dir string) *run {
	return &run{Key: Key(dir), Dir: dir, Path: filepath.ToSlash(filepath.Join(s.Root, filepath.FromSlash(dir)))}
}

// listedRun is a run that the index has.
func (s *Server) listedRun(e *history.Entry) *run {
	r := s.newRun(e.Path)
	r.Entry, r.Started = e, e.Started
	return r
}

// Verdict is the word that matters of a run, as a filter has it.
func (r *run) Verdict() string {
	if r.State != "" {
		return r.State
	}
	return r.Entry.Verdict()
}

// Word is the verdict as a person reads it.
func (r *run) Word() string {
	if r.State != "" {
		return wordOf(r.State)
	}
	word, _ := listing.Word(r.Entry)
	return word
}

func wordOf(verdict string) string {
	word, _ := listing.Verdict(verdict)
	return word
}

// Tone is the class of the verdict.
func (r *run) Tone() string {
	if tone := map[string]string{broken: "bad", killed: "weak", running: "live"}[r.State]; tone != "" {
		return tone
	}
	_, tone := listing.Verdict(r.Verdict())
	return document.Class(tone)
}

// about is a model and what is asked of it.
type about struct{ Model, Load string }

// About is what the index has of model and load, or without it the plan.
func (r *run) About() about {
	if r.Entry != nil {
		return about{cmp.Or(r.Entry.Model, text.Absent), strings.TrimSpace(r.Entry.Kind + " " + listing.Load(r.Entry))}
	}
	dir := &store.Dir{Path: filepath.FromSlash(r.Path)}
	c, err := config.Reopen(dir.PlanPath())
	if err != nil {
		return about{text.Absent, text.Absent}
	}
	load := c.Load.Profile
	switch {
	case c.Load.Rate > 0:
		load = text.Digits(c.Load.Rate, 4) + "/s"
	case c.Load.Bounds.MaxConcurrency > 0:
		load = text.Count(c.Load.Bounds.MaxConcurrency) + " in flight"
	}
	kind, _ := dir.Kind() // what cannot be read is said elsewhere
	if kind != "" {
		kind = string(result.KindOf(kind, c.Experiment.FindLimit))
	}
	return about{cmp.Or(text.Line(c.Provider.Model), text.Absent), text.Line(strings.TrimSpace(cmp.Or(kind, string(result.OfRun)) + " " + load))}
}

// Shown are its figures, none where it has no result.
func (r *run) Shown() *history.KeyFigures {
	if r.Entry == nil {
		return &history.KeyFigures{}
	}
	return &r.Entry.Shown
}

// Figure is a number of the list, or that it is not known.
func (r *run) Figure(v *float64) string { return listing.Figure(v) }

// When is the start as the list has it.
func (r *run) When() string { return r.Started.Local().Format("2006-01-02 15:04") }

// errorText is an error beside the name of the run.
func (r *run) errorText(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(text.Line(err.Error()), r.Path+"/"), r.Path+" ")
}

// look adds what has become of a listed run since it was listed.
func (s *Server) look(r *run) {
	path := filepath.FromSlash(r.Path)
	switch by := store.Writer(path); {
	case r.State != "":
	case by != "":
		r.State, r.Reason = running, by
	default:
		if _, err := os.Stat(filepath.Join(path, store.ResultFile)); err != nil {
			r.State, r.Reason = broken, "its result.json is gone: redline history rebuild forgets the run"
		}
	}
}

// pick gives the run that an address names: by its key, its directory below the
// root, its id or the beginning of that as the history lists it; nil where none or
// several have the name.
func pick(list []*run, name string) (found *run) {
	const enough = 6 // letters of an id
	several := false
	for _, r := range list {
		switch {
		case r.Key == name || r.Dir == name || r.Entry != nil && r.Entry.ID == name:
			return r
		case path.Base(r.Dir) == name, r.Entry != nil && len(name) >= enough && strings.HasPrefix(r.Entry.ID, name):
			several, found = found != nil, r
		}
	}
	if several {
		return nil
	}
	return found
}

// find gives the run that an address names.
func (s *Server) find(ctx context.Context, key string) (*run, error) {
	list, err := s.runs(ctx)
	if err != nil {
		return nil, err
	}
	if r := pick(list, key); r != nil {
		s.look(r)
		return r, nil
	}
	return nil, fmt.Errorf("there is no run %s in %s: the list has all that are there", text.Quote(text.Line(key)), s.Root)
}

// perPage is how many runs a page of the list has.
const perPage = 50

// page is what the list shows.
type page struct {
	Filter             history.Filter
	Runs               []*run
	Total, Page, Pages int
	Newer, Older       string // addresses
	Verdicts           []string
	Labels, Models     []string
	Engines            []string
	Verdict            string
	First, Last        int
}

// list is the first page: the runs that are wanted, newest first.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	all, err := s.runs(r.Context())
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, nil, err)
		return
	}
	query := r.URL.Query()
	l := page{Verdict: query.Get("verdict"), Verdicts: append(slices.Clone(history.Verdicts), running, killed, broken)}
	l.Filter = history.Filter{Label: query.Get("label"), Model: query.Get("model"), Engine: query.Get("engine")}
	var chosen []*run
	for _, one := range all {
		if e := one.Entry; e != nil {
			l.Labels, l.Models, l.Engines = append(l.Labels, e.Label), append(l.Models, e.Model), append(l.Engines, e.Engine)
		}
		if l.wants(one) {
			chosen = append(chosen, one)
		}
	}
	l.Labels, l.Models, l.Engines = distinct(l.Labels), distinct(l.Models), distinct(l.Engines)
	l.cut(chosen, query)
	for _, one := range l.Runs {
		s.look(one)
	}
	trends(all, l.Runs)
	s.show(w, r, view{Title: "runs", Commands: []string{s.historyCommand(l)}}, "list", l)
}

// Word is a verdict as a person reads it.
func (l page) Word(verdict string) string { return wordOf(verdict) }

func (l *page) wants(r *run) bool {
	if r.Entry == nil && (l.Filter != history.Filter{}) {
		return false
	}
	return (r.Entry == nil || l.Filter.Wants(r.Entry)) && (l.Verdict == "" || r.Verdict() == l.Verdict)
}

// cut takes the page that is asked for out of what is wanted.
func (l *page) cut(chosen []*run, query url.Values) {
	l.Total, l.Pages = len(chosen), max(1, (len(chosen)+perPage-1)/perPage)
	page, _ := strconv.Atoi(query.Get("page")) // what is no number is the first page
	l.Page = min(max(page, 1), l.Pages)
	from := (l.Page - 1) * perPage
	l.Runs = chosen[from:min(from+perPage, len(chosen))]
	l.First, l.Last = from+1, from+len(l.Runs)
	at := func(page int) string {
		query.Set("page", strconv.Itoa(page))
		return "/?" + query.Encode()
	}
	if l.Page > 1 {
		l.Newer = at(l.Page - 1)
	}
	if l.Page < l.Pages {
		l.Older = at(l.Page + 1)
	}
}

// distinct sorts names and drops repeated and empty ones.
func distinct(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// historyCommand is the command that prints the list.
func (s *Server) historyCommand(l page) string {
	words := append([]string{"redline", "history"}, s.rootFlag()...)
	for _, f := range [][2]string{{"--label", l.Filter.Label}, {"--model", l.Filter.Model}, {"--engine", l.Filter.Engine}, {"--verdict", l.Verdict}} {
		// The command lists finished runs alone.
		if f[1] != "" && (f[0] != "--verdict" || slices.Contains(history.Verdicts, f[1])) {
			words = append(words, f[0], f[1])
		}
	}
	return command(append(words, "--all")...)
}

// rootFlag names the directory of the runs where it is not the usual one.
func (s *Server) rootFlag() []string {
	if filepath.Clean(s.Root) == "runs" {
		return nil
	}
	return []string{"--runs", s.Root}
}

// command is words as a shell reads them.
func command(words ...string) string {
	return strings.Join(text.Each(words, func(w string) string { return text.Shell(text.Line(w)) }), " ")
}
