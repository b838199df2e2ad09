package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"redline/internal/run/history"
	"redline/internal/store"
	"redline/internal/text"
)

// unreadyError is what a page waits for: it says so and is asked for again.
type unreadyError struct {
	text        string
	done, total int // of what is counted
}

func (u *unreadyError) Error() string { return u.text }

// worthTelling is how many new runs take long enough for a page to say so.
const worthTelling = 100

// tell keeps how far the index is, so that pages can say so.
func (s *Server) tell(done, total int) {
	if total < worthTelling {
		return
	}
	s.reading.Store(&unreadyError{fmt.Sprintf("Reading the runs into the index: %s of %s. This happens once.", text.Count(done), text.Count(total)), done, total})
}

// withIndex uses the index of the runs, one request at a time.
func (s *Server) withIndex(ctx context.Context, do func(*history.Index) error) error {
	if r := s.reading.Load(); r != nil {
		return r
	}
	return s.runExclusive(ctx, do)
}

func (s *Server) runExclusive(ctx context.Context, do func(*history.Index) error) error {
	s.index.Lock()
	defer s.index.Unlock()
	defer s.reading.Store(nil)
	ix, err := history.OpenWithProgress(ctx, s.Root, s.tell)
	if err != nil {
		return err
	}
	return errors.Join(do(ix), ix.Close())
}

// patience is how long a page waits for new runs to be read before it shows how
// far that is.
const patience = 500 * time.Millisecond

// runs are all run directories, newest first: those that the index does not
// have before those that it has. Finished ones that it does not have yet are
// added to it. Where that takes long, it goes on without the request, and the
// error is *unready.
func (s *Server) runs(ctx context.Context) ([]*run, error) {
	if err := s.life.Err(); err != nil {
		return nil, err
	}
	if r := s.reading.Load(); r != nil {
		return nil, r
	}
	type answer struct {
		list []*run
		err  error
	}
	got := make(chan answer, 1)
	s.readers.Go(func() {
		var a answer
		a.err = s.runExclusive(s.life, func(ix *history.Index) (err error) { a.list, err = s.listRuns(s.life, ix); return err })
		got <- a
	})
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for {
		select {
		case a := <-got:
			return a.list, a.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
			if r := s.reading.Load(); r != nil {
				return nil, r
			}
		}
	}
}

// listRuns brings the index up to date and lists it with what it does not have.
func (s *Server) listRuns(ctx context.Context, ix *history.Index) (list []*run, err error) {
	entries, err := ix.List(ctx, history.Filter{})
	if err != nil {
		return nil, err
	}
	dirs, err := history.UnlistedDirs(s.Root, entries)
	if err != nil {
		return nil, err
	}
	slices.Reverse(dirs)
	var finished []string
	for _, dir := range dirs {
		if r := s.unlistedRun(dir); r != nil {
			list = append(list, r)
		} else {
			finished = append(finished, dir)
		}
	}
	if len(finished) > 0 {
		refused, err := ix.AddAll(ctx, finished, s.tell)
		if err != nil {
			return nil, err
		}
		for _, dir := range finished {
			if why := refused[dir]; why != nil {
				r := s.runAt(dir)
				r.State, r.Reason = broken, r.errorText(why)
				list = append(list, r)
			}
		}
		if entries, err = ix.List(ctx, history.Filter{}); err != nil {
			return nil, err
		}
	}
	for _, e := range slices.Backward(entries) {
		list = append(list, s.listedRun(e))
	}
	return list, nil
}

// runAt is a directory that the index does not have.
func (s *Server) runAt(path string) *run {
	rel, err := filepath.Rel(s.Root, path)
	if err != nil {
		rel = filepath.Base(path)
	}
	r := s.newRun(filepath.ToSlash(rel))
	if info, err := os.Stat(path); err == nil {
		r.Started = info.ModTime()
	}
	return r
}

// unlistedRun is a directory that the index does not have with its state, nil where
// its run is finished.
func (s *Server) unlistedRun(path string) *run {
	r := s.runAt(path)
	if by := store.Writer(path); by != "" {
		r.State, r.Reason = running, by
		return r
	}
	if _, err := os.Lstat(filepath.Join(path, store.ResultFile)); err == nil {
		return nil
	}
	r.State, r.Reason = killed, "it ended before it had a result"
	if err := readable(path); err != nil {
		r.State, r.Reason = broken, r.errorText(err)
	}
	return r
}

// readable reports whether something can be made of a run without a result.
func readable(path string) error {
	dir, err := store.Open(path)
	if err != nil || dir.IsExperiment() {
		return err
	}
	_, err = dir.Header()
	return err
}
