package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"redline/internal/lock"
	"redline/internal/regular"
	"redline/internal/store"
)

// State is what a watch remembers over a restart.
type State struct {
	Schema    string              `json:"schema"`
	Schedules map[string]*Journal `json:"schedules"`

	path string
}

// Journal is what is remembered of one schedule.
type Journal struct {
	// Handled is the latest due time that was run or passed over.
	Handled time.Time `json:"handled"`
	// Last is what came of the last run.
	Last *Outcome `json:"last,omitempty"`
	// Values are the figures of the last sound run.
	Values map[string]float64 `json:"values,omitempty"`
	// Firing are the alerts that were told and are not over, and since when.
	Firing map[string]time.Time `json:"firing"`
	// Counts are runs by what came of them.
	Counts map[string]int `json:"counts"`
}

const stateSchema = "redline/watch/1"

// StateFile is where the state lies, in the directory of runs.
const StateFile = "redline-watch.json"

// LoadState reads the state in a directory of runs. One that cannot be read is
// put aside with a line, because a watch that does not run is worse than one
// that forgot.
func LoadState(dir string) (s *State, problem error) {
	s = &State{Schema: stateSchema, Schedules: map[string]*Journal{}, path: filepath.Join(dir, StateFile)}
	text, err := regular.Read(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	kept := *s
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err == nil && kept.Schema != stateSchema {
		err = fmt.Errorf("it is of another form (%q)", kept.Schema)
	}
	if err != nil {
		return s, fmt.Errorf("%s cannot be read (%v): it starts empty", s.path, err)
	}
	if kept.Schedules == nil {
		kept.Schedules = s.Schedules
	}
	return &kept, nil
}

func (s *State) of(name string) *Journal {
	j := s.Schedules[name]
	if j == nil {
		j = &Journal{}
		s.Schedules[name] = j
	}
	if j.Firing == nil {
		j.Firing = map[string]time.Time{}
	}
	if j.Counts == nil {
		j.Counts = map[string]int{}
	}
	return j
}

// save replaces the file as a whole, so that a kill leaves the old one or the
// new one.
func (s *State) save() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return store.ReplaceFile(s.path, append(text, '\n'))
}

const lockFile = "redline-watch.lock"

// Lock makes sure that no other watch runs in a directory. A file system
// without locks gives errors.ErrUnsupported.
func Lock(dir string) (*lock.Lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l, err := lock.Take(filepath.Join(dir, lockFile), "redline watch")
	var held *lock.HeldError
	if errors.As(err, &held) {
		return nil, fmt.Errorf("another redline watch runs in %s: %s holds %s; stop it, or give this one its own directory with the key runs", dir, held.By, lockFile)
	}
	return l, err
}
