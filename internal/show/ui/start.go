package ui

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"redline/internal/child"
	"redline/internal/run/measure"
	"redline/internal/store"
	"redline/internal/text"
)

// job is a run that was started here.
type job struct {
	run     *run
	words   []string
	process *child.Process
	output  *child.Tail
	stopped bool
}

func (j *job) alive() bool {
	select {
	case <-j.process.Done():
		return false
	default:
		return true
	}
}

// startForm asks what to run, and shows the command before it is run.
func (s *Server) startForm(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	v, checked := view{Title: "start a run"}, query.Has("check")
	words, given, err := parseForm(query)
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, nil, err)
		return
	}
	wrong := ""
	if checked {
		v.Commands = []string{startCommand(words, s.freeDir(query.Get("label")))}
		// A check may read a plan file, which is not for everybody.
		if may, _ := s.mayChange(r); may {
			if err := check(words[0], given); err != nil {
				wrong = text.Clean(err.Error())
			}
		}
	}
	values := map[string]string{}
	for _, f := range fields {
		values[f.Flag] = query.Get(f.Flag)
	}
	s.show(w, r, v, "start", map[string]any{"Kinds": kinds, "Kind": chosenKind(query), "Fields": fields, "Values": values, "Checked": checked, "Wrong": wrong})
}

// startCommand is the command that a form starts, as a shell reads it.
func startCommand(words []string, dir *run) string {
	return command(append(append([]string{"redline"}, words...), "--out", dir.Path)...)
}

// freeDir is a directory below the root that no run has.
func (s *Server) freeDir(label string) *run {
	base := filepath.Base(store.Name(time.Now(), label))
	name := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(s.Root, name)); err != nil {
			return s.newRun(name)
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// start runs what the form asks for.
func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, http.StatusBadRequest, nil, errors.New("the form cannot be read: it is longer than 64 KiB or damaged"))
		return
	}
	j, err := s.begin(r.PostForm)
	if err != nil {
		s.fail(w, r, http.StatusConflict, nil, err)
		return
	}
	http.Redirect(w, r, "/run/"+j.run.Key, http.StatusSeeOther)
}

// begin starts a run, one at a time: two of them would disturb each other.
func (s *Server) begin(form url.Values) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job != nil && s.job.alive() {
		return nil, fmt.Errorf("%s is still running, and a second run would disturb it: stop it, or wait for its end", s.job.run.Path)
	}
	words, given, err := parseForm(form)
	if err == nil {
		err = check(words[0], given)
	}
	if err != nil {
		return nil, err
	}
	j := &job{run: s.freeDir(form.Get("label")), words: words, output: &child.Tail{Max: 1 << 14}}
	j.process, err = child.Start(child.Spec{Args: append(append([]string{s.Program}, j.words...), "--out", j.run.Path, "--quiet"), Output: j.output})
	if err != nil {
		return nil, err
	}
	s.job = j
	return j, nil
}

// jobOf is the job of a key, nil where it was not started here.
func (s *Server) jobOf(key string) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job != nil && s.job.run.Key == key {
		return s.job
	}
	return nil
}

// showJob shows a run that was started here while it goes on, or what it said
// where nothing came of it.
func (s *Server) showJob(w http.ResponseWriter, r *http.Request, j *job, found *run) bool {
	commands := []string{startCommand(j.words, j.run)}
	switch {
	case j.alive():
		s.mu.Lock()
		stopped := j.stopped
		s.mu.Unlock()
		one := *j.run
		one.State, one.Reason = running, "this redline ui"
		s.show(w, r, view{Title: one.Path, Commands: commands, Refresh: 2, Always: found == nil}, "live",
			map[string]any{"Run": &one, "Own": true, "Stopped": stopped, "Waits": found == nil, "News": one.news(r.Context())})
		return true
	case found == nil:
		s.show(w, r, view{Title: j.run.Path, Commands: commands}, "ended", map[string]any{"Code": j.process.ExitCode(), "Said": j.output.Lines(20)})
		return true
	}
	return false
}

// stop asks a run that was started here to end, once: it keeps what it has.
func (s *Server) stop(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("run")
	j := s.jobOf(key)
	if j == nil || !j.alive() {
		s.fail(w, r, http.StatusConflict, nil, errors.New("this run was not started here, or has ended: stop it where it was started"))
		return
	}
	s.mu.Lock()
	if !j.stopped {
		j.stopped = true
		j.process.Interrupt()
	}
	s.mu.Unlock()
	http.Redirect(w, r, "/run/"+j.run.Key, http.StatusSeeOther)
}

// endGrace is how long a run may take to keep what it has when the pages end: its
// requests in flight have their own time, and then it judges and writes.
const endGrace = measure.Grace + 20*time.Second

// endJob leaves nothing running.
func (s *Server) endJob() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job != nil {
		s.job.process.Stop(endGrace)
	}
}
