package ui

import (
	"context"
	"fmt"
	"path/filepath"

	"redline/internal/answer/capacity"
	"redline/internal/judge/result"
	"redline/internal/twin"
)

// fit is an engine that is being fitted to a run, or was. The newest is kept, so
// that every move of a slider finds it.
type fit struct {
	run  string // its id
	done chan struct{}
	twin *twin.FittedEngine
	err  error
}

// fitTwin gives the engine that was fitted to a run. The first that asks begins
// the fit, which goes on without the request; until its end the error is *unready.
func (s *Server) fitTwin(one *run, res *result.Result) (*twin.FittedEngine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.fit; f != nil {
		select {
		case <-f.done:
			if f.run == res.ID {
				return f.twin, f.err
			}
		default:
			return nil, &unreadyError{text: "An engine is being fitted to a run: seconds of computing."}
		}
	}
	if s.job != nil && s.job.alive() {
		return nil, fmt.Errorf("%s is running, and fitting an engine would disturb it: wait for its end", s.job.run.Path)
	}
	f := &fit{run: res.ID, done: make(chan struct{})}
	s.fit = f
	s.readers.Go(func() {
		defer close(f.done)
		f.twin, f.err = twin.Fit(s.life, filepath.FromSlash(one.Path))
	})
	return nil, &unreadyError{text: "An engine is being fitted to " + one.Path + ": seconds of computing."}
}

// rehearsal tries plans on an engine as redline capacity --simulate does.
func rehearsal(engine *twin.FittedEngine) capacity.Rehearse {
	return func(ctx context.Context, _ capacity.Configuration, t capacity.Trial) (*result.Rehearsal, error) {
		return twin.Trial{Fitted: engine, Seed: 1, Instances: t.Instances, Limit: t.Limit,
			Objectives: t.Objectives, Arrivals: twin.Day(t.Rate, t.Mean, 1)}.Try(ctx)
	}
}
